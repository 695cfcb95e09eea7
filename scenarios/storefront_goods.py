"""What a made-up storefront sells: products in colours and sizes, each with an id."""

from dataclasses import dataclass, field
from typing import cast

from webmcp_agent.scenarios.phrases import Table
from webmcp_agent.scenarios.vocabulary import COLOURS, Draw

SIZES = (
    tuple(str(size) for size in range(36, 46)),
    ("XS", "S", "M", "L", "XL"),
    ("Small", "Medium", "Large"),
    ("250 ml", "500 ml", "1 l"),
    ("A4", "A5", "A6"),
    ("80 cm", "100 cm", "120 cm"),
)


@dataclass(frozen=True, slots=True)
class Variant:
    """What can be bought: one choice of each option."""

    id: str
    product: "Product"
    options: dict[str, str]
    price: int
    """In minor units."""
    available: bool

    @property
    def title(self) -> str:
        """`Blue / 42`."""
        return " / ".join(self.options.values()) or self.product.title

    @property
    def full_title(self) -> str:
        """`Trail Runner, Blue / 42`."""
        return f"{self.product.title}, {self.title}" if self.options else self.product.title


@dataclass(slots=True)
class Product:
    """A product and what it can be chosen in."""

    id: str
    title: str
    kind: str
    options: dict[str, tuple[str, ...]]
    variants: list[Variant] = field(default_factory=list[Variant])


def stocked(draw: Draw, domain: Table, seller: str) -> list[Product]:
    """Products of a domain in any order; `seller` stands in their ids."""
    number = draw.whole(100, 900)
    kinds = draw.some(cast("list[str]", domain["kinds"]), draw.whole(3, 5))
    words = draw.shuffled(cast("list[str]", domain["words"]))
    low, high = cast("list[int]", domain["price"])
    products: list[Product] = []
    for kind in kinds:
        for word in draw.some(words, draw.pick((1, 1, 2, 3))):
            number += 1
            made = Product(_gid(seller, "Product", number), f"{word} {kind.title()}", kind, {})
            if draw.chance(0.8):
                colours = [colour.title() for colour in draw.some(COLOURS, draw.whole(2, 3))]
                made.options["Color"] = tuple(colours)
            if draw.chance(0.5):
                sizes = draw.pick(SIZES)
                start = draw.whole(0, max(0, len(sizes) - 3))
                made.options["Size"] = sizes[start : start + 3]
            _vary(draw, made, seller, round(draw.price(low, high) * 100))
            products.append(made)
    return draw.shuffled(products)


def cheapest(product: Product) -> int:
    """Its lowest price, in minor units."""
    return min(variant.price for variant in product.variants)


def _vary(draw: Draw, product: Product, seller: str, price: int) -> None:
    chosen: list[dict[str, str]] = [{}]
    for name, labels in product.options.items():
        chosen = [{**one, name: label} for one in chosen for label in labels]
    first = draw.whole(10_000, 90_000)
    for at, options in enumerate(chosen):
        ident = _gid(seller, "ProductVariant", first + at)
        product.variants.append(Variant(ident, product, options, price, draw.chance(0.85)))


def _gid(seller: str, kind: str, number: int) -> str:
    return f"gid://{seller}/{kind}/{number}"
