"""Lessons in shops: look for things, compare, ask, buy; with and without product pages."""

from collections.abc import Callable, Generator, Sequence
from typing import cast

from pydantic import JsonValue

from webmcp_agent.browser.tools import ToolFail, ToolOk
from webmcp_agent.scenarios.lessons import said, told_failure
from webmcp_agent.scenarios.lessons_cart import cart_change, cart_question, checkout, coupon, say
from webmcp_agent.scenarios.lessons_opinions import opinions
from webmcp_agent.scenarios.phrases import Table, Wording, data, language, plural, request
from webmcp_agent.scenarios.shop_goods import price_of
from webmcp_agent.scenarios.shop_wishes import (
    Wish,
    amount_words,
    limit_words,
    mode_words,
    names_amount,
    wish_for,
)
from webmcp_agent.scenarios.shop_world import Shop, ShopMix
from webmcp_agent.scenarios.simulator import Fault, Lesson, Record, Reply, Script, Seen, Turn
from webmcp_agent.scenarios.vocabulary import Draw, money, plain_number

Buying = Generator[Reply, Seen, Record | None]

_CART_FAULTS = (
    Fault("timeout", "no answer after 30 seconds", effect=True),
    Fault("timeout", "no answer after 30 seconds"),
    Fault("denied", "the person said no"),
    Fault("blocked", "the policy does not allow it"),
    Fault("failed", "The cart is locked, try again later"),
)
_MAYBE = frozenset({"timeout", "no-answer", "navigated"})


def _price(shop: Shop, item: Record) -> str:
    return money(price_of(item), shop.manner.currency)


def _buy(shop: Shop, wish: Wish, count: int) -> Buying:
    """Search, (open,) add; the item, or None after a sentence on what went wrong."""
    seen = yield from wish.search(shop)
    if isinstance(seen, ToolFail):
        yield told_failure(shop, seen, f"search for {wish.what}")
        return None
    found = wish.found(shop)
    item = wish.chosen(found, in_stock="in_stock" in shop.fields)
    if item is None:
        yield _none(shop, wish, found)
        return None
    return item if (yield from _put(shop, item, count)) else None


def _put(shop: Shop, item: Record, count: int) -> Generator[Reply, Seen, bool]:
    """(Open and) add; False after a sentence on what went wrong."""
    quantity = count if count > 1 else None
    if shop.paged:
        seen = yield from shop.act("open", id=item["id"])
        if isinstance(seen, ToolFail):
            yield told_failure(shop, seen, f"open {item['title']}")
            return False
        seen = yield from shop.act("add", quantity=quantity)
    else:
        seen = yield from shop.act("add", id=item["id"], quantity=quantity)
    if isinstance(seen, ToolFail):
        yield from _after_add(shop, seen, item)
        return False
    return True


def _after_add(shop: Shop, fail: ToolFail, item: Record) -> Script:
    title = item["title"]
    if fail.code in _MAYBE:
        seen = yield from shop.act("cart")
        if isinstance(seen, ToolOk):
            key = "worked" if str(item["id"]) in shop.cart_lines else "failed"
            told = say(shop, key, title, title=title)
            yield Reply("after-error", told.text, facts=told.facts)
            return
    yield told_failure(shop, fail, f"add {title} to the cart")


def _added(shop: Shop, item: Record, count: int) -> Reply:
    says = cast("dict[str, list[str]]", data("shop")["say"])
    pattern = shop.draw.pick(says["added_many"])
    if count == 1:
        pattern = shop.draw.pick(says["added_one"])
    title = item["title"]
    facts = [title, *([count] if count > 1 else [])]
    return said(shop, pattern, *facts, count=count, title=title, price=_price(shop, item))


def _none(shop: Shop, wish: Wish, found: Sequence[Record]) -> Reply:
    if found and wish.top is not None:
        low = min(found, key=price_of)
        facts = (low["title"], plain_number(price_of(low)))
        price, title = _price(shop, low), low["title"]
        return say(shop, "too_dear", *facts, what=wish.what, top=wish.top, title=title, price=price)
    limit = f" up to {wish.top} {shop.manner.currency}" if wish.top is not None else ""
    return say(shop, "none", wish.what, what=wish.what, limit=limit)


def _buying(shop: Shop, flow: str, mode: str) -> Turn:
    draw = shop.draw
    wish = wish_for(shop, mode)
    code = language(draw, "shop", flow)
    count = draw.pick((1, 1, 2, 2, 3, 4))
    best = mode_words(draw, mode, code)
    limit, amount = limit_words(shop, wish, code), amount_words(draw, count, code)
    if mode != "first" and "in_stock" in shop.fields and draw.chance(0.5):
        _sell_out_the_best(shop, wish)
        if code == "en":
            limit += " " + draw.phrase(
                "[that is in stock|in stock|that you have in stock|I can get now]"
            )
    text = request(draw, "shop", flow, code, what=wish.what, limit=limit, amount=amount, best=best)
    if flow == "best_add" and not names_amount(text):
        count = 1
    if draw.chance(0.06):
        shop.faults["add"] = [draw.pick(_CART_FAULTS)]

    def script() -> Script:
        item = yield from _buy(shop, wish, count)
        if item is not None:
            yield _added(shop, item, count)

    return Turn(text, script)


def _sell_out_the_best(shop: Shop, wish: Wish) -> None:
    """What the wish would choose is out of stock, and another one is not."""
    found = wish.found(shop)
    best = wish.chosen(found)
    others = [item for item in wish.fitting(found) if item is not best]
    if best is not None and others:
        best["in_stock"] = False
        shop.draw.pick(others)["in_stock"] = True


def _here(shop: Shop) -> Turn:
    """The thing whose page is open, into the cart."""
    draw, item = shop.draw, shop.opened
    assert item is not None, "a product page is open"
    count = draw.pick((1, 1, 2, 3, 4))
    code = language(draw, "shop", "here_one")
    flow = "here_one" if count == 1 else "here_many"
    text = request(draw, "shop", flow, code, amount=amount_words(draw, count, code))

    def script() -> Script:
        seen = yield from shop.act("add", quantity=count if count > 1 else None)
        if isinstance(seen, ToolFail):
            yield from _after_add(shop, seen, item)
        else:
            yield _added(shop, item, count)

    return Turn(text, script)


def _asking(shop: Shop, flow: str, mode: str) -> tuple[Turn, Wish]:
    """A question on what there is, and what it looks for."""
    draw = shop.draw
    wish = wish_for(shop, mode)
    code = "en" if mode == "dearest" else language(draw, "shop", flow)
    best = mode_words(draw, mode, code)
    top = f"{wish.top or 0} {shop.manner.currency}"
    while True:
        limit = limit_words(shop, wish, code)
        text = request(draw, "shop", flow, code, what=wish.what, limit=limit, best=best, top=top)
        if wish.top is None or str(wish.top) in text:
            break
        wish = wish.without_limit()
    if wish.top is None and flow == "list_ask" and " less than 0 " in text:
        text = f"Do you have {wish.what}?"
    wanted = wish

    def script() -> Script:
        seen = yield from wanted.search(shop)
        if isinstance(seen, ToolFail):
            yield told_failure(shop, seen, f"search for {wanted.what}")
            return
        found = wanted.found(shop)
        item = wanted.chosen(found)
        if item is None:
            yield _none(shop, wanted, found)
        elif mode == "first":
            yield _listed(shop, wanted, found)
        else:
            yield _superlative(shop, mode, item)

    return Turn(text, script), wanted


def _listed(shop: Shop, wish: Wish, found: Sequence[Record]) -> Reply:
    fitting = wish.fitting(found)
    told = [f"{item['title']} ({_price(shop, item)})" for item in fitting[:3]]
    facts = [item["title"] for item in fitting[:3]]
    if len(fitting) == 1:
        return say(shop, "single", *facts, names=told[0])
    more = f" and {len(fitting) - 3} more" if len(fitting) > 3 else ""
    names = ", ".join(told) if more else f"{', '.join(told[:-1])} and {told[-1]}"
    what, n = wish.what, len(fitting)
    return say(shop, "several", *facts, n=n, things=what, what=what, names=names, more=more)


def _superlative(shop: Shop, mode: str, item: Record) -> Reply:
    title, price, rating = item["title"], _price(shop, item), item["rating"]
    if mode == "best":
        if "rating" not in shop.fields:
            return say(shop, "first", title, title=title)
        return say(shop, "rated", title, rating, title=title, rating=rating, price=price)
    return say(shop, mode, title, plain_number(price_of(item)), title=title, price=price)


_FIELDS = {"price": "price", "rating": "rating", "stock": "in_stock"}


def _about(shop: Shop, flow: str) -> Turn:
    """A question on one item by its title."""
    draw = shop.draw
    item = draw.pick(shop.items)
    title = str(item["title"])
    code = language(draw, "shop", flow)
    written = title if draw.chance(0.7) else title.lower()
    text = request(draw, "shop", flow, code, title=written)
    listed = _FIELDS.get(flow) in shop.fields

    def script() -> Script:
        seen = yield from shop.act("search", query=written)
        doing = f"look up {title}"
        if isinstance(seen, ToolOk) and not listed:
            doing = f"open {title}"
            if shop.paged:
                seen = yield from shop.act("open", id=item["id"])
            else:
                seen = yield from shop.act("details", id=item["id"])
        if isinstance(seen, ToolFail):
            yield told_failure(shop, seen, doing)
        elif flow == "open":
            key, price = ("opened" if shop.paged else "detailed"), _price(shop, item)
            yield say(shop, key, title, title=title, price=price, rating=item["rating"])
        elif not listed and shop.paged:
            yield say(shop, "unseen", title, title=title)
        else:
            yield _fact(shop, item, flow)

    return Turn(text, script)


def _fact(shop: Shop, item: Record, flow: str) -> Reply:
    title = item["title"]
    if flow == "price":
        number = plain_number(price_of(item))
        return say(shop, "price", number, title=title, price=_price(shop, item))
    if flow == "rating":
        return say(shop, "rating", item["rating"], title=title, r=item["rating"])
    if item["in_stock"]:
        return say(shop, "in_stock", title=title)
    return say(shop, "sold_out", "not|out of stock|no", title=title)


def _two(shop: Shop) -> Turn:
    draw = shop.draw
    wishes = [Wish(plural(kind)) for kind in draw.some(shop.kinds, 2)]
    code = language(draw, "shop", "two")
    counts = [draw.pick((1, 2, 2, 3)) for _ in wishes]
    amounts = [amount_words(draw, count, code) for count in counts]
    words = {"what": wishes[0].what, "what2": wishes[1].what}
    text = request(draw, "shop", "two", code, amount=amounts[0], amount2=amounts[1], **words)

    def script() -> Script:
        for wish in wishes:
            if not any(item["in_stock"] for item in wish.found(shop)):
                for item in shop.matching(wish.what):
                    item["in_stock"] = True
        titles: list[JsonValue] = []
        for wish, count in zip(wishes, counts, strict=True):
            item = yield from _buy(shop, wish, count)
            if item is None:
                return
            titles.append(item["title"])
        one, two = titles
        yield say(shop, "two", *titles, a=counts[0], b=counts[1], one=one, two=two)

    return Turn(text, script)


def _compare(shop: Shop) -> Turn:
    draw = shop.draw
    pair = draw.some(shop.items, 2)
    text = request(draw, "shop", "compare", "en", title=pair[0]["title"], title2=pair[1]["title"])

    def script() -> Script:
        for item in pair:
            seen = yield from shop.act("search", query=item["title"])
            if isinstance(seen, ToolFail):
                yield told_failure(shop, seen, f"look up {item['title']}")
                return
        low, high = sorted(pair, key=price_of)
        p, q = _price(shop, low), _price(shop, high)
        numbers = [plain_number(price_of(item)) for item in (low, high)]
        if low["price"] == high["price"]:
            yield say(shop, "same", numbers[0], p=p)
            return
        names = {"low": low["title"], "high": high["title"]}
        yield say(shop, "cheaper", low["title"], *numbers, p=p, q=q, **names)

    return Turn(text, script)


def _categories(shop: Shop) -> Turn:
    text = request(shop.draw, "shop", "categories", language(shop.draw, "shop", "categories"))

    def script() -> Script:
        seen = yield from shop.act("categories")
        if isinstance(seen, ToolFail):
            yield told_failure(shop, seen, "read the categories")
            return
        names = ", ".join(shop.categories[:-1]) + " and " + shop.categories[-1]
        yield say(shop, "categories", *shop.categories, names=names)

    return Turn(text, script)


def _followed(shop: Shop) -> list[Turn]:
    """A question, then "add the cheapest one" on what it listed."""
    draw = shop.draw
    first, wish = _asking(shop, "list_ask", "first")
    mode = draw.pick(("cheapest", "best"))
    count = draw.pick((1, 2, 3))
    best, amount = mode_words(draw, mode, "en"), amount_words(draw, count, "en")
    text = request(draw, "shop", "follow_add", "en", best=best, amount=amount)
    if " of the " not in text:
        count = 1
    if "it" in text.split() or "that one" in text:
        mode = "first"

    def script() -> Script:
        found = wish.found(shop)
        meant = Wish(wish.what, mode, wish.top)
        item = meant.chosen(found, in_stock="in_stock" in shop.fields)
        if item is None:
            yield _none(shop, wish, found)
        elif (yield from _put(shop, item, count)):
            yield _added(shop, item, count)

    return [first, Turn(text, script)]


_FLOWS: Sequence[tuple[int, str, Callable[[Shop], Turn | list[Turn]]]] = (
    (20, "search", lambda s: _buying(s, "find_add", "first")),
    (10, "search", lambda s: _buying(s, "best_add", "cheapest")),
    (5, "search", lambda s: _buying(s, "best_add", "best")),
    (8, "search", lambda s: _asking(s, "best_ask", "cheapest")[0]),
    (4, "search", lambda s: _asking(s, "best_ask", "best")[0]),
    (2, "search", lambda s: _asking(s, "best_ask", "dearest")[0]),
    (8, "search", lambda s: _asking(s, "list_ask", "first")[0]),
    (4, "search", lambda s: _about(s, "price")),
    (5, "search", lambda s: _about(s, "rating")),
    (3, "search", lambda s: _about(s, "stock")),
    (4, "search", lambda s: _about(s, "open")),
    (3, "reviews", lambda s: opinions(s, "reviews")),
    (5, "reviews", lambda s: opinions(s, "reviews_about")),
    (4, "cart", lambda s: cart_question(s, "cart")),
    (3, "cart", lambda s: cart_question(s, "total")),
    (2, "cart", lambda s: cart_question(s, "count")),
    (8, "remove", lambda s: cart_change(s, "remove")),
    (8, "set", lambda s: cart_change(s, "quantity")),
    (5, "coupon", coupon),
    (5, "checkout", checkout),
    (5, "search", _two),
    (2, "search", _compare),
    (3, "categories", _categories),
    (6, "search", _followed),
)


_CHOICES: Sequence[tuple[int, str, Callable[[Shop], Turn | list[Turn]]]] = (
    (10, "search", lambda s: _buying(s, "best_add", "cheapest")),
    (6, "search", lambda s: _buying(s, "best_add", "best")),
    (4, "search", lambda s: _asking(s, "best_ask", "cheapest")[0]),
    (12, "search", _followed),
    (5, "search", _two),
    (4, "remove", lambda s: cart_change(s, "remove")),
    (4, "set", lambda s: cart_change(s, "quantity")),
)
"""Those in which several results are compared, or what was done before counts."""
_HERE = 8
"""Weight of buying what is open, where a product page is open at first."""


def shop_lesson(draw: Draw, domain: Table, wording: Wording) -> Lesson:
    """One shop and one or two requests to it."""
    shop = Shop(draw, domain, wording)
    able = [flow for flow in _FLOWS if shop.has(flow[1])]
    mix: ShopMix = domain.get("mix") or ShopMix()
    if mix.choices and draw.chance(mix.choices):
        able = [flow for flow in _CHOICES if shop.has(flow[1])]
    elif shop.opened is not None:
        able.append((_HERE, "add", _here))
    make = draw.random.choices([f[2] for f in able], [f[0] for f in able])[0]
    made = make(shop)
    return Lesson("shop", shop, made if isinstance(made, list) else [made])
