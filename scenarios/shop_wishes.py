"""What a request to a shop looks for, in which words, and which of the found things it means."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from webmcp_agent.scenarios.phrases import data, plural
from webmcp_agent.scenarios.shop_goods import BEST, DOWN, UP, in_order, price_of, rating_of
from webmcp_agent.scenarios.shop_world import Shop
from webmcp_agent.scenarios.simulator import Doing, Record
from webmcp_agent.scenarios.vocabulary import Draw

_ORDERS: dict[str, tuple[str, ...]] = {"cheapest": UP, "dearest": DOWN, "best": BEST}


@dataclass(frozen=True, slots=True)
class Wish:
    """What a request looks for."""

    what: str
    """The words that are searched for."""
    mode: str = "first"
    """Which one is meant: `first`, `cheapest`, `best` or `dearest`."""
    top: int | None = None
    """The highest price."""

    def chosen(self, found: Sequence[Record], *, in_stock: bool = False) -> Record | None:
        """The one that is meant; with `in_stock`, among those that can be had, if there are any."""
        fitting = self.fitting(found)
        able = [item for item in fitting if item["in_stock"]] if in_stock else fitting
        fitting = able or fitting
        if not fitting:
            return None
        match self.mode:
            case "cheapest":
                return min(fitting, key=price_of)
            case "dearest":
                return max(fitting, key=price_of)
            case "best":
                return max(fitting, key=rating_of)
            case _:
                return fitting[0]

    def fitting(self, found: Sequence[Record]) -> list[Record]:
        """Those that are not too dear."""
        return [item for item in found if self.top is None or price_of(item) <= self.top]

    def sort(self, shop: Shop) -> str | None:
        """The order to search in, where the shop has one for it."""
        wanted = _ORDERS.get(self.mode, ())
        return next((sort for sort in shop.sorts if sort in wanted), None)

    def search(self, shop: Shop) -> Doing:
        """Search for it."""
        sort = self.sort(shop)
        return (yield from shop.act("search", query=self.what, max_price=self.top, sort=sort))

    def found(self, shop: Shop) -> list[Record]:
        """What that search lists, in its order."""
        found = shop.matching(self.what)
        if self.top is not None and shop.has("search", "max_price"):
            found = self.fitting(found)
        return in_order(found, str(self.sort(shop)))

    def without_limit(self) -> "Wish":
        """The same at any price."""
        return replace(self, top=None)


def wish_for(shop: Shop, mode: str) -> Wish:
    """Something that the shop sells, now and then up to a price that one of them has."""
    draw = shop.draw
    kind = draw.pick(shop.kinds)
    top = None
    if draw.chance(0.45):
        prices = sorted(price_of(item) for item in shop.matching(kind))
        top = int(draw.pick(prices)) + draw.pick((1, 5, 10))
        top = round(top, -1) if top > 30 and draw.chance(0.5) else top
        top = max(top, int(prices[0]) + 1)
    return Wish(plural(kind), mode, top)


def limit_words(shop: Shop, wish: Wish, code: str) -> str:
    """` under 100 euros`, in the language of that code; empty without a limit."""
    if wish.top is None:
        return ""
    pattern = str(data("shop")["under"][code])
    return " " + shop.draw.phrase(pattern, top=wish.top, cur=shop.manner.currency)


def mode_words(draw: Draw, mode: str, code: str) -> str:
    """`cheapest`, in the language of that code; empty for the first one."""
    return draw.phrase(str(data("shop")["best"][mode][code])) if mode != "first" else ""


def amount_words(draw: Draw, count: int, code: str) -> str:
    """`two` or `2`, in the language of that code."""
    words = cast("list[str]", data("shop")["numbers"][code])
    return draw.pick((words[count - 1], str(count)))


def names_amount(text: str) -> bool:
    """Whether an English request names more than one piece."""
    words = cast("list[str]", data("shop")["numbers"]["en"])
    return any(word in text.split() for word in (*words[1:], *map(str, range(2, 9))))
