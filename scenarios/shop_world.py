"""A made-up shop: what it sells, its cart and coupons, and the tools that work on them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

from webmcp_agent.scenarios.phrases import Table, Wording, data, plural
from webmcp_agent.scenarios.shop_goods import (
    OPINIONS,
    SORTS,
    TOPICS,
    in_order,
    matching,
    price_of,
    stock,
)
from webmcp_agent.scenarios.simulator import (
    Answer,
    Args,
    Manner,
    Moved,
    Parameter,
    Place,
    Record,
    Refusal,
    World,
)
from webmcp_agent.scenarios.vocabulary import Draw, plain_number

CHECKOUT_PATH = "/checkout.html"
_MOST = 10
"""Of one thing in the cart."""


@dataclass(frozen=True, slots=True)
class ShopMix:
    """How often shops are of some kind; shares from 0 to 1."""

    demo: float = 0.3
    """Named like the demo shop."""
    exact: float = 0.0
    """Of those, described and answering like it, too."""
    deep: float = 0.0
    """Of those with product pages, one of these pages is open at first."""
    choices: float = 0.0
    """Requests that compare results, or go on with what was found before."""
    checkouts: float = 0.0
    """Storefronts whose checkout offers ways to deliver and to pay, asked for several steps."""


class Shop(World):
    """A shop with a state; some are made like the demo shop, with other things for sale."""

    def __init__(self, draw: Draw, domain: Table, wording: Wording) -> None:
        mix: ShopMix = domain.get("mix") or ShopMix()
        like_demo = wording != "unseen" and draw.chance(mix.demo)
        manner = Manner(draw, wording)
        self.full = float(domain.get("full", 0))
        """Share of the requests that ask for what comes of it, too."""
        self.exact = like_demo and mix.exact > 0 and draw.chance(mix.exact)
        """Described and answering word for word as the demo shop does."""
        if like_demo:
            manner.wording = "known"
            manner.style, manner.snake_parameters, manner.id_kind = "snake", True, "slug"
            manner.listing_shape = draw.pick(("object", "object", "named"))
            manner.keys = {}
        self.noun = str(domain["noun"])
        if self.exact:
            manner.listing_shape, manner.described = "object", 1.0
            manner.currency, manner.currency_code = "euros", "EUR"
            self.noun = "product"
        brand = draw.brand()
        super().__init__(draw, manner, Place(draw.pick(("/", "/index.html", "/shop")), brand))
        self.brand = brand
        self.place.title = draw.phrase(f"{brand}[ – shop| shop|: {domain['id']}|]")
        if draw.chance(0.6):
            self.place.h1 = draw.pick((f"Welcome to {brand}", brand, f"Our {plural(self.noun)}"))
        self.paged = like_demo or draw.chance(0.5)
        """Each thing has a page, and what is on the page is put in the cart."""
        self.product_path = draw.pick(("/product.html", "/product", "/item", "/p"))
        self.cart_lines: dict[str, int] = {}
        self.codes = {
            draw.brand().upper()[:6] + str(draw.whole(5, 30)): draw.pick((5, 10, 15, 20))
            for _ in range(2)
        }
        self.discount = 0
        self.used: str | None = None
        """The coupon."""
        self.opened: Record | None = None
        self.opinions: list[Record] = []
        """The reviews that were shown last."""
        self.topic: str | None = None
        """What one of the reviews speaks of."""
        self.shows_cart = like_demo or draw.chance(0.2)
        """Changes of the cart are answered with the whole cart."""
        self.kinds = draw.some(cast("list[str]", domain["kinds"]), draw.whole(3, 5))
        self.sorts: tuple[str, ...] = ()
        self.categories = cast("list[str]", domain["categories"])
        self.items = stock(draw, manner, domain, self.kinds)
        self.fields = ["id", "title", "price"]
        self.fields += [f for f in ("rating", "in_stock") if draw.chance(0.75) or self.exact]
        self._tools(like_demo)
        if self.paged and mix.deep > 0 and draw.chance(mix.deep):
            self.opened = draw.pick(self.items)
            self.place = Place(self.product_path, f"{self.opened['title']} – {brand}")
            self.place.h1 = str(self.opened["title"])

    def shown(self, item: Record) -> Record:
        """What a list says of an item."""
        return {key: item[key] for key in self.fields}

    def matching(self, query: str) -> list[Record]:
        """The items that hold all words of the query; all for an empty one."""
        return matching(self.items, query)

    def _tools(self, like_demo: bool) -> None:
        draw, manner, offer = self.draw, self.manner, self._offer
        self.like_demo = like_demo
        thing = self.noun.split()[-1]

        def some(share: float) -> bool:
            return draw.chance(share) or like_demo

        def names(more: str) -> str:
            return more.split("|")[0] if like_demo else more

        offer("search", self._search, self._search_parameters(), read_only=True)
        found = f"[Id from the search results|The {self.noun}'s id|Which {self.noun}]"
        if self.exact:
            found = f"Product id, e.g. {draw.pick(self.items)['id']}"
        ident = Parameter(
            "id", manner.id_schema(), names(f"id|{thing} id|id|code|ref"), found, required=True
        )
        if self.paged:
            offer("open", self._open, [ident])
        else:
            offer("details", self._details, [ident], read_only=True)
        limits: dict[str, JsonValue] = {"minimum": 1, "maximum": _MOST, "default": 1}
        amounts = names("quantity|qty|amount|count")
        amount = Parameter(
            "quantity",
            {"type": "integer"} | (limits if draw.chance(0.5) else {}),
            amounts,
            "How many" if self.exact else "[How many|Number of pieces]",
        )
        here = (self.product_path,) if self.paged else ()
        offer("add", self._add, [amount] if self.paged else [ident, amount], pages=here)
        if some(0.5):
            asked = [] if self.paged else [ident]
            offer("reviews", self._reviews, asked, pages=here, read_only=True, untrusted=True)
        offer("cart", self._cart, read_only=True)
        held = found if self.exact else "[Id from the cart|Which one]"
        line = Parameter(
            "id", manner.id_schema(), names(f"id|{thing} id|line id"), held, required=True
        )
        if some(0.75):
            offer("remove", self._remove, [line])
        if some(0.6):
            new: dict[str, JsonValue] = {"type": "integer", "minimum": 0, "maximum": _MOST}
            says = "The new number; 0 removes it" if self.exact else "New quantity"
            count = Parameter("quantity", new, amounts, says, required=True)
            offer("set", self._set, [line, count])
        if some(0.6):
            codes = names("code|coupon|coupon code|voucher")
            code = Parameter(
                "code", {"type": "string"}, codes, "[The code|Coupon code]", required=True
            )
            offer("coupon", self._coupon, [code])
        if some(0.6):
            offer("categories", self._categories, read_only=True)
        if some(0.6):
            offer("checkout", self._checkout)
            if some(0.6):
                offer("order", self._order, _order_form(), pages=(CHECKOUT_PATH,), serious=True)

    def _offer(
        self,
        role: str,
        run: Callable[[Args], Answer],
        parameters: Sequence[Parameter] = (),
        *,
        pages: Sequence[str] = (),
        read_only: bool = False,
        untrusted: bool = False,
        serious: bool = False,
    ) -> None:
        """A tool with a name and a description of the data file."""
        words: dict[str, str] = data("shop")["tool"][role]
        choose = self.manner.choose
        name = words["demo"] if self.like_demo else choose(words["known"], words["unseen"])
        many = plural(self.noun)
        says = words.get("says_paged", words["says"]) if self.paged else words["says"]
        if self.exact:
            says = words.get("exact", says)
        self.offer(
            role,
            name.format(n=self.noun.split()[-1], ns=many.split()[-1]),
            self.draw.phrase(says.format(one=self.noun, many=many)),
            run,
            parameters,
            pages=pages,
            read_only=read_only,
            untrusted=untrusted,
            consequential=serious,
        )

    def _search_parameters(self) -> list[Parameter]:
        draw, like_demo = self.draw, self.like_demo
        says = "[Words to look for|What to search for|Search words|Name or kind of the thing]"
        names = "query|q|text|search text|keywords|term"
        if self.exact:
            names, says = "query", f"Words to look for, e.g. {draw.pick(self.kinds)}"
        parameters = [Parameter("query", {"type": "string"}, names, says, required=True)]
        if draw.chance(0.5) or like_demo:
            listed: dict[str, JsonValue] = {"type": "string", "enum": [*self.categories]}
            says = "[Only this category|Category to search in]"
            names = "category" if self.exact else "category|department"
            parameters.append(Parameter("category", listed, names, says))
        if draw.chance(0.7) or like_demo:
            cur = self.manner.currency
            says = f"[Highest price in {cur}|Upper price limit|Only cheaper ones]"
            names = "max price|price max|max cost|budget|price to"
            if self.exact:
                names, says = "max price", "Highest price in euros"
            parameters.append(Parameter("max_price", {"type": "number"}, names, says))
        if draw.chance(0.5) or like_demo:
            self.sorts = SORTS[0] if like_demo else draw.pick(SORTS)
            says = "[Order of the results|How to sort]"
            orders: dict[str, JsonValue] = {"type": "string", "enum": [*self.sorts]}
            names = "sort" if self.exact else "sort|sort by|order by"
            parameters.append(Parameter("sort", orders, names, says))
        if draw.chance(0.2) and not like_demo:
            names = "limit|max results|page size"
            parameters.append(Parameter("limit", {"type": "integer"}, names, "How many at most"))
        return parameters

    def _search(self, args: Args) -> Answer:
        found = self.matching(str(args.get("query", "")))
        top, category, sort = args.get("max_price"), args.get("category"), args.get("sort")
        if isinstance(top, int | float):
            found = [item for item in found if price_of(item) <= top]
        if category:
            found = [item for item in found if item["category"] == category]
        found = in_order(found, str(sort))
        return self.manner.listing([self.shown(item) for item in found], plural(self.noun))

    def _by_id(self, ident: JsonValue) -> Record:
        for item in self.items:
            if str(item["id"]) == str(ident):
                return item
        reasons = (
            f"There is no {self.noun} {ident}.",
            f"No {self.noun} with id {ident}",
            f"unknown id {ident}",
        )
        raise Refusal(self.draw.pick(reasons))

    def _open(self, args: Args) -> Answer:
        item = self._by_id(args.get("id"))
        self.opened = item
        title = item["title"]
        told = f"Opening {title}, {item['price']} {self.manner.currency}."
        answer = self.draw.pick((f"Opening {title}.", told, ""))
        return Moved(answer, self.product_path, f"{title} – {self.brand}")

    def _details(self, args: Args) -> Answer:
        item = self._by_id(args.get("id"))
        return self.manner.record({k: v for k, v in item.items() if k != "kind"})

    def _meant(self, args: Args) -> Record:
        item = self.opened if self.paged else self._by_id(args.get("id"))
        assert item is not None, "a product page is open"
        return item

    def _add(self, args: Args) -> Answer:
        draw, item = self.draw, self._meant(args)
        title = item["title"]
        if not item["in_stock"]:
            reasons = (
                f"Out of stock: {title}",
                f"{title} is sold out.",
                f"{title} is out of stock at the moment.",
            )
            raise Refusal(draw.pick(reasons))
        count = args.get("quantity", 1)
        if not isinstance(count, int) or count > _MOST:
            raise Refusal(f"quantity must be at most {_MOST}", "invalid-args")
        key = str(item["id"])
        held = self.cart_lines[key] = self.cart_lines.get(key, 0) + count
        if self.shows_cart:
            told: Record = {"id": item["id"], "title": title, "added": count, "in_cart": held}
            return {**told, "total": self.total()}
        messages = (
            f"Added {count} × {title} to the cart.",
            f"{title} added ({count}).",
            f"{count} {title} now in your cart",
        )
        message = draw.pick(messages)
        added: Record = {"id": item["id"], "title": title, "quantity": count}
        nothing: Record = {}
        facts = (
            nothing,
            {"cart_count": sum(self.cart_lines.values())},
            {"added": added, "total": self.total()},
        )
        return self.manner.note(message, **draw.pick(facts))

    def _changed(self, message: str, **facts: JsonValue) -> Answer:
        """What a tool that changed the cart answers: a note, or the cart as it is now."""
        return self._cart({}) if self.shows_cart else self.manner.note(message, **facts)

    def _reviews(self, args: Args) -> Answer:
        self._meant(args)
        draw = self.draw
        others = [text for topic, said in TOPICS.items() if topic != self.topic for text in said]
        texts = draw.some([*OPINIONS, *others], draw.whole(2, 4))
        if self.topic:
            texts = draw.shuffled([draw.pick(TOPICS[self.topic]), *texts])
        self.opinions = [
            {"author": draw.person().split()[0], "stars": draw.whole(2, 5), "text": text}
            for text in texts
        ]
        return self.manner.listing(self.opinions, "reviews")

    def _categories(self, args: Args) -> Answer:
        if self.like_demo:
            return {"categories": [*self.categories]}
        return self.manner.listing([{"name": name} for name in self.categories], "categories")

    def total(self) -> int | float:
        """What the cart costs, the coupon taken off."""
        whole = sum(price_of(self._by_id(key)) * n for key, n in self.cart_lines.items())
        return _plain(whole * (100 - self.discount) / 100)

    def lines(self) -> list[Record]:
        """The cart's lines."""
        found = [(self._by_id(key), count) for key, count in self.cart_lines.items()]
        return [
            {"id": i["id"], "title": i["title"], "quantity": count, "price": i["price"]}
            for i, count in found
        ]

    def _cart(self, args: Args) -> Answer:
        lines = self.lines()
        if self.exact:
            return self._exact_cart(lines)
        if self.manner.listing_shape in {"object", "named", "list"}:
            extra: Record = {"discount": f"{self.discount}%"} if self.discount else {}
            items: list[JsonValue] = [self.manner.keyed(line) for line in lines]
            return {"items": items, "total": self.total(), **extra}
        if not lines:
            return "The cart is empty."
        total = f"Total: {plain_number(self.total())} {self.manner.currency_code}"
        return f"{self.manner.listing(lines, 'items')}\n{total}"

    def _exact_cart(self, lines: Sequence[Record]) -> Answer:
        sums = [price_of(line) * cast("int", line["quantity"]) for line in lines]
        items: list[JsonValue] = [
            {**line, "sum": _plain(each)} for line, each in zip(lines, sums, strict=True)
        ]
        whole = sum(sums)
        off = _plain(whole - self.total())
        return {"items": items, "coupon": self.used, "discount": off, "total": self.total()}

    def _line(self, args: Args) -> str:
        key = str(args.get("id"))
        if key not in self.cart_lines:
            raise Refusal(f"{key} is not in the cart.")
        return key

    def _remove(self, args: Args) -> Answer:
        key = self._line(args)
        del self.cart_lines[key]
        return self._changed(f"Removed {self._by_id(key)['title']}.", items=len(self.cart_lines))

    def _set(self, args: Args) -> Answer:
        key, count = self._line(args), args["quantity"]
        self.cart_lines[key] = cast("int", count)
        message = f"{self._by_id(key)['title']}: quantity is now {count}."
        return self._changed(message, total=self.total())

    def _coupon(self, args: Args) -> Answer:
        code = str(args.get("code"))
        if code not in self.codes:
            reasons = (
                f"The code {code} is not valid.",
                f"Unknown coupon {code}",
                f"{code} has expired.",
            )
            raise Refusal(self.draw.pick(reasons))
        self.discount, self.used = self.codes[code], code
        return self._changed(f"Coupon {code} applied: {self.discount}% off.", total=self.total())

    def _checkout(self, args: Args) -> Answer:
        if not self.cart_lines:
            reasons = ("The cart is empty.", "Your cart is empty, add something first.")
            raise Refusal(self.draw.pick(reasons))
        answer = self.draw.pick(("Going to the checkout.", ""))
        return Moved(answer, CHECKOUT_PATH, f"Checkout – {self.brand}")

    def _order(self, args: Args) -> Answer:
        filled = "name, email, address, city, postcode, delivery"
        waiting = f"The form is filled in ({filled}) and waits for the person to submit it."
        raise Refusal(waiting, "needs-user")

    def fill(self, count: int) -> list[Record]:
        """Put `count` different things in the cart beforehand."""
        chosen = self.draw.some([item for item in self.items if item["in_stock"]], count)
        for item in chosen:
            self.cart_lines[str(item["id"])] = self.draw.whole(1, 4)
        return chosen


def _plain(amount: float) -> int | float:
    """To the cent, whole where it is."""
    amount = round(float(amount), 2)
    return int(amount) if amount.is_integer() else amount


def _order_form() -> list[Parameter]:
    texts = ("name", "email", "address", "city", "postcode")
    kinds: dict[str, JsonValue] = {"type": "string", "enum": ["standard", "express", "pickup"]}
    delivery = Parameter("delivery", kinds, "delivery|shipping", "Kind of delivery")
    return [*(Parameter(text, {"type": "string"}, required=True) for text in texts), delivery]
