"""What made-up shops sell: their stock, how it is searched and ordered, and what is said of it."""

from collections.abc import Sequence
from typing import cast

from webmcp_agent.scenarios.phrases import Table
from webmcp_agent.scenarios.simulator import Manner, Record
from webmcp_agent.scenarios.vocabulary import Draw

SORTS = (
    ("relevance", "price-asc", "price-desc", "rating"),
    ("relevance", "price_asc", "price_desc", "rating"),
    ("price", "rating", "name"),
    ("cheapest", "best-rated", "newest"),
    ("PRICE_LOW", "PRICE_HIGH", "RATING"),
)
UP = ("price-asc", "price_asc", "price", "cheapest", "PRICE_LOW")
DOWN = ("price-desc", "price_desc", "PRICE_HIGH")
BEST = ("rating", "best-rated", "RATING")

OPINIONS = (
    "Works as it should, would buy it again.",
    "Smaller than I thought, but well made.",
    "The colour is nicer than in the picture.",
    "Broke after two weeks.",
    "Arrived quickly and well packed.",
    "A bit pricey, still worth it.",
    "My daughter loves it.",
    "Not what I expected.",
)
"""Reviews about nothing much."""

TOPICS: dict[str, tuple[str, str]] = {
    "size": ("Runs a size too small.", "The size is exactly as described."),
    "colour": ("The colour is darker than in the picture.", "The colour faded after a month."),
    "weight": ("Much heavier than I expected.", "So light that I hardly notice it."),
    "battery": ("The battery lasts a whole week.", "The battery was empty after an hour."),
    "smell": ("It smelled of glue for the first few days.", "There is no smell at all."),
    "handle": ("The handle came loose.", "The handle is comfortable even with gloves."),
    "lid": ("The lid leaks a little.", "The lid closes tightly."),
    "noise": ("It makes less noise than my old one.", "The noise is hard to bear at night."),
    "packaging": ("The packaging was all cardboard.", "Far too much plastic in the packaging."),
    "instructions": ("The instructions are hard to follow.", "Good instructions with pictures."),
    "seams": ("The seams opened after one wash.", "Strong seams, nothing came apart."),
    "surface": ("The surface scratches easily.", "The surface is easy to clean."),
}
"""What reviews speak of, and how."""


def stock(draw: Draw, manner: Manner, domain: Table, kinds: Sequence[str]) -> list[Record]:
    """Things of those kinds, up to five of each, in any order."""
    low, high = cast("list[int]", domain["price"])
    words = cast("list[str]", domain["words"])
    categories = cast("list[str]", domain["categories"])
    titles: set[str] = set()
    items: list[Record] = []
    for kind in kinds:
        category = draw.pick(categories)
        for _ in range(draw.pick((1, 2, 3, 3, 4, 5))):
            title = _title(draw, kind, words)
            if title in titles:
                continue
            titles.add(title)
            items.append(
                {
                    "id": manner.new_id(title),
                    "title": title,
                    "price": draw.price(low, high),
                    "rating": round(draw.random.uniform(2.8, 5.0), 1),
                    "in_stock": draw.chance(0.88),
                    "category": category,
                    "kind": kind,
                }
            )
    return draw.shuffled(items)


def _title(draw: Draw, kind: str, words: Sequence[str]) -> str:
    name = kind.title()
    titles = (
        f"{draw.pick(words)} {name}",
        f"{draw.brand()} {name}",
        f"{draw.brand()} {draw.pick(words)} {name}",
        f"{draw.pick(words)} {name} {draw.whole(2, 9)}",
        f"{draw.brand()} {draw.pick(words)}",
        f"{draw.pick(words)} {name.split()[0]} {draw.whole(1, 4)}",
    )
    return draw.pick(titles)


def matching(items: Sequence[Record], query: str) -> list[Record]:
    """The items that hold all words of the query; all for an empty one."""
    wanted = {_stem(word) for word in query.lower().split()}
    return [item for item in items if wanted <= set(_words(item))]


def _words(item: Record) -> list[str]:
    return [_stem(word) for word in f"{item['title']} {item['kind']}".lower().split()]


def price_of(item: Record) -> float:
    """An item's price as a number."""
    return cast("float", item["price"])


def rating_of(item: Record) -> float:
    """An item's stars as a number."""
    return cast("float", item["rating"])


def in_order(items: Sequence[Record], sort: str) -> list[Record]:
    """The items as a value of the sort parameter orders them; as they are for any other."""
    if sort in UP:
        return sorted(items, key=price_of)
    if sort in DOWN:
        return sorted(items, key=lambda item: -price_of(item))
    if sort in BEST:
        return sorted(items, key=lambda item: -rating_of(item))
    return list(items)


def _stem(word: str) -> str:
    """One form for singular and plural: knife and knives, movie and movies, box and boxes."""
    if word.endswith("ies"):
        return word.removesuffix("es")
    if not word.endswith("ss"):
        word = word.removesuffix("s")
    word = word.removesuffix("e")
    ends = {"v": "f", "y": "i"}
    return word[:-1] + ends.get(word[-1], word[-1]) if word else word
