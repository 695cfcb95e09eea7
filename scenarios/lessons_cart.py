"""Lessons on a shop's cart: what is in it, changes, coupons, checkout."""

from typing import cast

from pydantic import JsonValue

from webmcp_agent.browser.tools import ToolFail, ToolOk
from webmcp_agent.scenarios.lessons import reply, told_failure
from webmcp_agent.scenarios.phrases import data, language, plural, request
from webmcp_agent.scenarios.shop_wishes import amount_words
from webmcp_agent.scenarios.shop_world import Shop
from webmcp_agent.scenarios.simulator import Record, Reply, Script, Turn
from webmcp_agent.scenarios.vocabulary import plain_number


def say(shop: Shop, key: str, *facts: object, **values: object) -> Reply:
    """An answer by one of the patterns of the shops' data."""
    return reply(shop, "answer", str(data("shop")["say"][key]), facts, values)


def cart_question(shop: Shop, flow: str) -> Turn:
    """A question on the cart: `cart`, `total` or `count`."""
    draw, cur = shop.draw, shop.manner.currency
    if not draw.chance(0.15):
        shop.fill(draw.whole(1, 3))
    lines = shop.lines()
    title = str(draw.pick(lines)["title"]) if lines else str(draw.pick(shop.items)["title"])
    text = request(draw, "shop", flow, language(draw, "shop", flow), title=title)
    one = next((line["quantity"] for line in lines if line["title"] == title), None)

    def script() -> Script:
        seen = yield from shop.act("cart")
        if isinstance(seen, ToolFail):
            yield told_failure(shop, seen, "read the cart")
            return
        total = plain_number(shop.total())
        if not lines:
            yield say(shop, "empty", "empty")
        elif flow == "total":
            yield say(shop, "total", total, total=total, cur=cur)
        elif flow == "count" and title.lower() in text.lower():
            yield say(shop, "count_one", one, n=one, title=title)
        elif flow == "count":
            n = sum(cast("int", line["quantity"]) for line in lines)
            yield say(shop, "count_all", n, n=n)
        else:
            told = ", ".join(f"{line['quantity']} × {line['title']}" for line in lines)
            facts = [*(line["title"] for line in lines), total]
            yield say(shop, "cart", *facts, told=told, total=total, cur=cur)

    return Turn(text, script)


def cart_change(shop: Shop, flow: str) -> Turn:
    """A change of the cart: `remove` or `quantity`."""
    draw = shop.draw
    item = draw.pick(shop.fill(draw.whole(1, 3)))
    if shop.opened is not None and draw.chance(0.6):
        # What was just put in the cart, its page still open: where adding again is near at hand.
        item = shop.opened
        shop.cart_lines[str(item["id"])] = draw.pick((1, 1, 2, 3))
    title, code = str(item["title"]), language(draw, "shop", flow)
    old = shop.cart_lines[str(item["id"])]
    n = draw.pick([count for count in range(1, 7) if count != old])
    called = _called(shop, item)
    words: dict[str, object] = {"title": called, "many": called, "n": n, "old": old}
    if code == "en":
        words["many"] = plural(called) if n > 1 else called
        words["n"], words["old"] = amount_words(draw, n, code), amount_words(draw, old, code)
    text = request(draw, "shop", flow, code, **words)

    def script() -> Script:
        seen = yield from shop.act("cart")
        if isinstance(seen, ToolOk):
            role = "remove" if flow == "remove" else "set"
            seen = yield from shop.act(role, id=item["id"], quantity=n)
        if isinstance(seen, ToolFail):
            yield told_failure(shop, seen, "change the cart")
        elif flow == "remove":
            yield say(shop, "removed", title, title=title)
        else:
            yield say(shop, "changed", title, n, title=title, n=n)

    return Turn(text, script)


def _called(shop: Shop, item: Record) -> str:
    """An item of the cart as a person calls it: its title, or as much of it as tells it apart."""
    title = str(item["title"])
    if shop.draw.chance(0.4):
        return title
    words = title.split()
    others = " ".join(str(line["title"]) for line in shop.lines() if line["id"] != item["id"])
    for start in range(1, len(words)):
        short = " ".join(words[start:])
        if words[-1][0].isalpha() and words[start] not in others and shop.draw.chance(0.6):
            return short.lower()
    return title.lower()


def coupon(shop: Shop) -> Turn:
    """A coupon, valid or not."""
    draw = shop.draw
    shop.fill(draw.whole(1, 2))
    if draw.chance(0.6):
        code = draw.pick(list(shop.codes))
    else:
        code = draw.brand().upper()[:6] + str(draw.whole(1, 99))
    and_total = shop.has("cart") and shop.full > 0 and draw.chance(shop.full)
    """The new sum is asked for, which some carts have to be read for."""
    flow = "coupon_sum" if and_total else "coupon"
    text = request(draw, "shop", flow, language(draw, "shop", flow), code=code)

    def script() -> Script:
        seen = yield from shop.act("coupon", code=code)
        if isinstance(seen, ToolFail):
            yield told_failure(shop, seen, f"apply {code}")
            return
        if and_total and "total" not in seen.text:
            seen = yield from shop.act("cart")
        if isinstance(seen, ToolFail):
            yield told_failure(shop, seen, "read the cart")
        elif "total" in seen.text:
            total, cur = plain_number(shop.total()), shop.manner.currency
            yield say(shop, "coupon_total", code, total, code=code, total=total, cur=cur)
        else:
            yield say(shop, "coupon", code, code=code)

    return Turn(text, script)


def checkout(shop: Shop) -> Turn:
    """On to the checkout, now and then with all that its form asks for."""
    draw = shop.draw
    if not draw.chance(0.2):
        shop.fill(draw.whole(1, 2))
    if shop.has("order") and shop.cart_lines and draw.chance(0.4):
        return _ordering(shop)
    text = request(draw, "shop", "checkout", language(draw, "shop", "checkout"))

    def script() -> Script:
        seen = yield from shop.act("checkout")
        if isinstance(seen, ToolFail):
            yield told_failure(shop, seen, "start the checkout")
        else:
            yield say(shop, "checkout", "checkout")

    return Turn(text, script)


def _ordering(shop: Shop) -> Turn:
    draw = shop.draw
    name = draw.person()
    values: dict[str, JsonValue] = {
        "name": name,
        "email": draw.email(name),
        "address": draw.street(),
        "city": draw.pick(("Berlin", "Lyon", "Porto", "Leeds", "Graz")),
        "postcode": str(draw.whole(10000, 99999)),
        "delivery": draw.pick(("standard", "express", "pickup")),
    }
    text = request(draw, "shop", "order", "en", **values)

    def script() -> Script:
        seen = yield from shop.act("checkout")
        if isinstance(seen, ToolOk):
            seen = yield from shop.act("order", **values)
        if isinstance(seen, ToolFail):
            yield told_failure(shop, seen, "place the order")

    return Turn(text, script)
