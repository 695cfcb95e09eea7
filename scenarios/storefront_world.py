"""A made-up storefront with the tools that most real ones register: nested inputs, long documents.

Names and shapes are those of the Universal Commerce Protocol: products with options and variants,
prices in minor units with a currency, messages, a checkout with tools of its own.
"""

import json
from typing import cast

from pydantic import JsonValue

from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.phrases import Table, plural
from webmcp_agent.scenarios.shop_world import ShopMix
from webmcp_agent.scenarios.simulator import (
    Answer,
    Args,
    Manner,
    Moved,
    Parameter,
    Place,
    Refusal,
    World,
)
from webmcp_agent.scenarios.storefront_checkout import Checkout
from webmcp_agent.scenarios.storefront_documents import (
    cart_document,
    envelope,
    info,
    list_of,
    minor_units,
    object_of,
    product_document,
    text_of,
)
from webmcp_agent.scenarios.storefront_goods import Product, Variant, cheapest, stocked
from webmcp_agent.scenarios.vocabulary import Draw

CURRENCIES = (("EUR", "euros"), ("USD", "dollars"), ("GBP", "pounds"), ("CHF", "francs"))
POLICIES = {
    "returns": "You can return unused things within {n} days and get your money back.",
    "delivery": "Standard delivery takes {n} days. Express comes the next day.",
    "warranty": "Everything has a warranty of {n} months.",
    "payment": "You can pay by card or by invoice within {n} days.",
}
CHECKOUT_PATH = "/checkout"


class Storefront(World):
    """A shop of that kind, with a cart."""

    def __init__(self, draw: Draw, domain: Table) -> None:
        brand = draw.brand()
        super().__init__(draw, Manner(draw), Place("/", f"{brand} – {plural(str(domain['noun']))}"))
        self.manner.style, self.manner.snake_parameters = "snake", True
        self.manner.described = draw.pick((0.5, 1.0))
        self.brand = brand
        self.code, self.manner.currency = draw.pick(CURRENCIES)
        self.products = stocked(draw, domain, brand.lower())
        self.cart: dict[str, int] = {}
        self.coupons = {draw.brand().upper()[:5] + str(draw.whole(5, 30)): draw.pick((5, 10, 20))}
        self.coupon: str | None = None
        self.days = draw.whole(2, 60)
        self.line_ids = draw.chance(0.6)
        """Lines and the cart itself have ids of their own, besides those of the variants."""
        mix: ShopMix = domain.get("mix") or ShopMix()
        offers = mix.checkouts > 0 and draw.chance(mix.checkouts)
        self.checkout = Checkout(draw) if offers else None
        """What the checkout offers; None where it only asks for name and address."""
        self._tools()

    @property
    def variants(self) -> list[Variant]:
        """Everything that can be bought."""
        return [variant for product in self.products for variant in product.variants]

    def money(self, minor: int) -> str:
        """`19.99 EUR`, as a shortened result has it."""
        return f"{minor / 100:.2f} {self.code}"

    def matching(self, query: str) -> list[Product]:
        """The products that hold the most words of the query, or nearly so; best first."""
        wanted = {_stem(word) for word in query.lower().split()}
        scored = [(len(wanted & self._words(product)), product) for product in self.products]
        best = max((score for score, _ in scored), default=0)
        close = [(score, product) for score, product in scored if score * 3 > best * 2]
        return [product for _, product in sorted(close, key=lambda pair: -pair[0])]

    def found(self, query: str, top: int | None) -> list[Product]:
        """What a search lists, in its order; `top` in minor units."""
        return [p for p in self.matching(query) if top is None or cheapest(p) <= top]

    def total(self) -> int:
        """What the cart costs, in minor units."""
        whole = sum(variant.price * count for variant, count in self.lines())
        return whole * (100 - self.coupons.get(self.coupon or "", 0)) // 100

    def variant(self, ident: str) -> Variant:
        """The variant of an id. Raises `Refusal` for another one."""
        for variant in self.variants:
            if variant.id == ident:
                return variant
        raise Refusal(f'There is no variant with the id "{ident}". search_catalog gives ids.')

    def _words(self, product: Product) -> set[str]:
        labels = [label for values in product.options.values() for label in values]
        text = f"{product.title} {product.kind} {' '.join(labels)}"
        return {_stem(word) for word in text.lower().split()}

    # --- tools ------------------------------------------------------------------------------

    def _tools(self) -> None:
        draw = self.draw
        here = ("/",)
        ident = text_of("Product or variant id")
        price = object_of(
            min=minor_units("Lowest price"), max=minor_units("Highest price: 10000 is 100.00")
        )
        page = object_of(cursor=text_of("Of an earlier answer"), limit={"type": "integer"})
        search = object_of(
            ("query",),
            query=text_of("Words to look for"),
            filters=object_of(categories=list_of(text_of()), price=price),
            **({"pagination": page} if draw.chance(0.6) else {}),
            **(
                {"context": object_of(intent=text_of(), language=text_of())}
                if draw.chance(0.5)
                else {}
            ),
        )
        self.offer(
            "search",
            "search catalog",
            draw.phrase("[Find|Search] products[ of the shop| of this store|] by words and price."),
            self._search,
            [Parameter("catalog", search, required=True)],
            pages=here,
            read_only=True,
            untrusted=True,
        )
        option = object_of(
            ("name", "label"), name=text_of("Such as Color"), label=text_of("Such as Blue")
        )
        self.offer(
            "product",
            "get product",
            draw.phrase("Get one product with its options[ and variants|]."),
            self._product,
            [
                Parameter(
                    "catalog", object_of(("id",), id=ident, selected=list_of(option)), required=True
                )
            ],
            pages=here,
            read_only=True,
            untrusted=True,
        )
        if draw.chance(0.6):
            self.offer(
                "lookup",
                "lookup catalog",
                draw.phrase("Get [several|some] products or variants by their ids."),
                self._lookup,
                [Parameter("catalog", object_of(("ids",), ids=list_of(text_of())), required=True)],
                pages=here,
                read_only=True,
                untrusted=True,
            )
        self.offer(
            "cart",
            "get cart",
            draw.phrase("[Read|Get|See] what is in the cart[ and what it costs|]."),
            self._cart,
            pages=here,
            read_only=True,
            untrusted=True,
        )
        line = object_of(
            ("item", "quantity"),
            item=object_of(("id",), id=text_of("Variant id")),
            quantity={"type": "integer", "minimum": 0, "description": "0 removes it"},
        )
        coupon = {"discounts": object_of(codes=list_of(text_of()))} if draw.chance(0.8) else {}
        self.takes_coupons = bool(coupon)
        self.offer(
            "update",
            "update cart",
            draw.phrase(
                "Add a variant to the cart, change how many there are, remove it[, use a coupon|]."
            ),
            self._update,
            [Parameter("cart", object_of(line_items=list_of(line), **coupon), required=True)],
            pages=here,
        )
        if draw.chance(0.5):
            self.offer(
                "empty", "cancel cart", "Remove everything from the cart.", self._empty, pages=here
            )
        self.offer(
            "checkout",
            draw.pick(("proceed to checkout", "proceed to checkout", "go to checkout")),
            draw.phrase("Go to the checkout[ with what is in the cart|]."),
            self._checkout,
            pages=here,
        )
        if draw.chance(0.7):
            self.offer(
                "policies",
                "search shop policies and faqs",
                draw.phrase("[Look up|Read] what the shop says of delivery, returns and payment."),
                self._policies,
                [Parameter("query", text_of("The question"), required=True)],
                pages=here,
                read_only=True,
            )
        self._checkout_tools()

    def _checkout_tools(self) -> None:
        buyer = object_of(first_name=text_of(), last_name=text_of(), email=text_of())
        place = object_of(
            street_address=text_of(), postal_code=text_of(), address_locality=text_of("City")
        )
        there = (CHECKOUT_PATH,)
        self.offer(
            "read_checkout",
            "get checkout",
            "Read the checkout: status, what is missing, costs.",
            self._read_checkout,
            pages=there,
            read_only=True,
            untrusted=True,
        )
        offered = self.checkout
        groups = {} if offered is None else {"groups": offered.groups_schema()}
        kind = text_of("shipping or pickup")
        method = object_of(type=kind, destinations=list_of(place), **groups)
        checkout = object_of(buyer=buyer, fulfillment=object_of(methods=list_of(method)))
        self.offer(
            "fill",
            "update checkout",
            "Fill in the checkout: buyer, address, delivery.",
            self._fill,
            [Parameter("checkout", checkout, required=True)],
            pages=there,
        )
        self.offer(
            "complete",
            "complete checkout",
            "Place the order once the buyer has agreed to it.",
            self._complete,
            []
            if offered is None
            else [Parameter("checkout", object_of(payment=offered.payment_schema()))],
            pages=there,
            consequential=True,
        )
        self.offer(
            "back",
            "navigate to storefront",
            "Leave the checkout and go back to the shop.",
            self._back,
            pages=there,
        )

    def _search(self, args: Args) -> Answer:
        catalog = cast("JsonObject", args.get("catalog") or {})
        filters = cast("JsonObject", catalog.get("filters") or {})
        limits = cast("JsonObject", filters.get("price") or {})
        query, top = str(catalog.get("query", "")), cast("int | None", limits.get("max"))
        found = self.found(query, top)
        messages: list[JsonValue] = []
        if not found:
            messages.append(info("not_found", f'Nothing matches "{query}".'))
        page: JsonObject = {"has_next_page": False, "total_count": len(found)}
        listed: list[JsonValue] = [self._document_of(product, query) for product in found]
        told: JsonObject = {"ucp": envelope("catalog"), "products": listed, "pagination": page}
        return {**told, "messages": messages} if messages else told

    def as_asked(self, product: Product, query: str) -> list[Variant]:
        """Its variants, those that the query names first, of these the available ones."""
        words = set(query.lower().split())

        def rank(variant: Variant) -> tuple[int, bool]:
            named = sum(set(label.lower().split()) <= words for label in variant.options.values())
            return -named, not variant.available

        return sorted(product.variants, key=rank)

    def _document_of(self, product: Product, query: str = "") -> JsonObject:
        return product_document(product, self.as_asked(product, query), self.brand, self.code)

    def _product(self, args: Args) -> Answer:
        catalog = cast("JsonObject", args.get("catalog") or {})
        ident = str(catalog.get("id"))
        for product in self.products:
            if ident == product.id or any(ident == variant.id for variant in product.variants):
                chosen = cast("list[JsonObject]", catalog.get("selected") or [])
                query = " ".join(str(each.get("label")) for each in chosen)
                return {"ucp": envelope("catalog"), "product": self._document_of(product, query)}
        raise Refusal(f'There is no product with the id "{ident}". search_catalog gives ids.')

    def _lookup(self, args: Args) -> Answer:
        catalog = cast("JsonObject", args.get("catalog") or {})
        ids = {str(each) for each in cast("list[JsonValue]", catalog.get("ids") or [])}
        found = [p for p in self.products if ids & {p.id, *(v.id for v in p.variants)}]
        listed: list[JsonValue] = [self._document_of(product) for product in found]
        return {"ucp": envelope("catalog"), "products": listed}

    def _cart(self, args: Args) -> Answer:
        return self._cart_document()

    def _cart_document(self) -> JsonObject:
        ident = f"gid://{self.brand.lower()}/Cart/{self.days}" if self.line_ids else None
        return cart_document(self.lines(), self.total(), self.code, ident, self.coupon)

    def lines(self) -> list[tuple[Variant, int]]:
        """What is in the cart, and how many of it."""
        return [(self.variant(key), count) for key, count in self.cart.items()]

    def _update(self, args: Args) -> Answer:
        cart = cast("JsonObject", args.get("cart") or {})
        changed = dict(self.cart)
        for line in cast("list[JsonObject]", cart.get("line_items") or []):
            item = cast("JsonObject", line.get("item") or {})
            variant, count = self.variant(str(item.get("id"))), cast("int", line.get("quantity", 1))
            if count and not variant.available:
                raise Refusal(f"{variant.full_title} is sold out.")
            changed[variant.id] = count
        discounts = cast("JsonObject", cart.get("discounts") or {})
        for code in cast("list[JsonValue]", discounts.get("codes") or []):
            if str(code) not in self.coupons:
                raise Refusal(f'The coupon code "{code}" is not valid.')
            self.coupon = str(code)
        self.cart = {key: count for key, count in changed.items() if count}
        return self._cart_document()

    def _empty(self, args: Args) -> Answer:
        if not self.cart:
            raise Refusal("The cart is empty already.")
        self.cart = {}
        return self._cart_document()

    def _checkout(self, args: Args) -> Answer:
        if not self.cart:
            raise Refusal("The cart is empty. Add a product first.")
        told = json.dumps(self._document("incomplete"), ensure_ascii=False)
        return Moved(told, CHECKOUT_PATH, f"Checkout – {self.brand}")

    def _document(self, status: str) -> JsonObject:
        told: JsonObject = {**self._cart_document(), "status": status}
        if status == "incomplete":
            told["messages"] = [
                {"type": "error", "code": f"missing_{name}", "content": f"The {name} is missing."}
                for name in ("name", "email", "address")
            ]
        return told if self.checkout is None else {**told, **self.checkout.told()}

    def _read_checkout(self, args: Args) -> Answer:
        is_filled = self.checkout is not None and self.checkout.is_filled
        return self._document("ready_for_complete" if is_filled else "incomplete")

    def _fill(self, args: Args) -> Answer:
        if self.checkout is not None:
            self.checkout.fill(args)
            return self._read_checkout({})
        return self._document("ready_for_complete")

    def _complete(self, args: Args) -> Answer:
        payment = None if self.checkout is None else self.checkout.paid_by(args)
        if self.checkout is not None and payment is not None and not payment.needs_buyer:
            told: JsonObject = {"ucp": envelope("checkout"), "status": "completed"}
            told["order"] = {"id": self.checkout.order}
            return Moved(json.dumps(told), "/confirmation", f"Thank you – {self.brand}")
        total = self.money(self.total())
        raise Refusal(f"The buyer has to confirm the payment of {total}.", "needs-user")

    def _back(self, args: Args) -> Answer:
        return Moved("Back to the shop.", "/", self.brand)

    def _policies(self, args: Args) -> Answer:
        query = str(args.get("query", "")).lower()
        told: list[JsonValue] = [
            {"type": name, "description": {"plain": self.policy(name)}}
            for name in POLICIES
            if _stem(name) in query or name in query
        ]
        return {"ucp": envelope("catalog"), "policies": told}

    def policy(self, name: str) -> str:
        """What this shop says of that."""
        return POLICIES[name].format(n=self.days)

    def fill_cart(self, count: int) -> list[Variant]:
        """Put `count` different variants in the cart beforehand."""
        chosen = self.draw.some([v for v in self.variants if v.available], count)
        for variant in chosen:
            self.cart[variant.id] = self.draw.whole(1, 4)
        return chosen


def _stem(word: str) -> str:
    """Singular and plural alike."""
    word = word.strip(",.?!").removesuffix("s")
    return word.removesuffix("e")
