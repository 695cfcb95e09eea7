"""Lessons in storefronts: variants in colours and sizes, carts as documents, checkout."""

from collections.abc import Callable, Sequence

from pydantic import JsonValue

from webmcp_agent.agent.digest import cut_result
from webmcp_agent.agent.wording import RESULT_LIMIT
from webmcp_agent.browser.tools import ToolFail, ToolOk
from webmcp_agent.scenarios.lessons import answer, told_failure
from webmcp_agent.scenarios.lessons_checkout import filled, paid
from webmcp_agent.scenarios.phrases import Table, Wording, data, plural
from webmcp_agent.scenarios.shop_wishes import amount_words
from webmcp_agent.scenarios.simulator import Doing, Lesson, Reply, Script, Turn
from webmcp_agent.scenarios.storefront_goods import Variant
from webmcp_agent.scenarios.storefront_world import POLICIES, Storefront
from webmcp_agent.scenarios.vocabulary import Draw


def storefront_lesson(draw: Draw, domain: Table, wording: Wording) -> Lesson:
    """One storefront and a request to it."""
    world = Storefront(draw, domain)
    steps = world.checkout is not None and draw.chance(_STEPS_SHARE)
    able = [flow for flow in (_STEPS if steps else _FLOWS) if world.has(flow[1])]
    make = draw.random.choices([f[2] for f in able], [f[0] for f in able])[0]
    return Lesson("storefront", world, [make(world)])


def _say(world: Storefront, key: str, /, *facts: object, **values: object) -> Reply:
    return answer(world, "storefront", "say", key, *facts, **values)


def _ask(world: Storefront, flow: str, /, **values: object) -> str:
    """A request; the parts in the language of the data, so English only."""
    draw = world.draw
    pattern = draw.pick(data("storefront")["ask"][flow])
    text = draw.phrase(pattern, **values)
    return draw.roughly(text, [str(value) for value in values.values()])


def _wished(world: Storefront, variant: Variant) -> str:
    """The variant as a person asks for it: `blue trail runner in size 42`."""
    draw, chosen = world.draw, dict(variant.options)
    title = variant.product.title
    title = title if draw.chance(0.5) else title.lower()
    colour, size = chosen.get("Color"), chosen.get("Size")
    if colour and draw.chance(0.5):
        title, colour = f"{colour.lower()} {title}", None
    words = [f"in {colour.lower()}"] if colour else []
    if size:
        words.append(draw.pick((f"in size {size}", f"size {size}", f"in {size}")))
    return " ".join([title, (", " if draw.chance(0.3) else " ").join(words)]).strip()


def _query(variant: Variant) -> str:
    return " ".join([variant.product.title, *variant.options.values()]).lower()


def _line(variant: Variant, count: int) -> JsonValue:
    return {"line_items": [{"item": {"id": variant.id}, "quantity": count}]}


def _located(world: Storefront, variant: Variant) -> Doing:
    """Search for a variant; where its id is not in what is shown, ask for the product itself."""
    seen = yield from _searched(world, _query(variant))
    if isinstance(seen, ToolFail) or variant.id in cut_result(seen.text, RESULT_LIMIT):
        return seen
    selected: JsonValue = [{"name": n, "label": label} for n, label in variant.options.items()]
    return (
        yield from world.act("product", catalog={"id": variant.product.id, "selected": selected})
    )


def _searched(world: Storefront, query: str, top: int | None = None) -> Doing:
    catalog: dict[str, JsonValue] = {"query": query}
    if top is not None:
        catalog["filters"] = {"price": {"max": top * 100}}
    return (yield from world.act("search", catalog=catalog))


def _add(world: Storefront) -> Turn:
    draw, variant = world.draw, world.draw.pick(world.variants)
    count = draw.pick((1, 1, 2, 3))
    amount = amount_words(draw, count, "en") if count > 1 else draw.pick(("a", "one", "the"))
    text = _ask(world, "add", what=_wished(world, variant), amount=amount)

    def script() -> Script:
        seen = yield from _located(world, variant)
        if isinstance(seen, ToolFail):
            yield told_failure(world, seen, f"search for {variant.product.title}")
        elif not variant.available:
            yield _say(
                world, "sold_out", "sold out|not available|out of stock", title=variant.full_title
            )
        else:
            seen = yield from world.act("update", cart=_line(variant, count))
            if isinstance(seen, ToolFail):
                yield told_failure(world, seen, f"add {variant.full_title}")
            else:
                yield _say(world, "added", variant.product.title, n=count, title=variant.full_title)

    return Turn(text, script)


def _two(world: Storefront) -> Turn:
    """Two products in one request."""
    draw = world.draw
    able = [p for p in world.products if any(v.available for v in p.variants)]
    if len(able) < 2:
        return _add(world)
    wished = [draw.pick([v for v in p.variants if v.available]) for p in draw.some(able, 2)]
    counts = [draw.pick((1, 1, 2, 3)) for _ in wished]
    amounts = [
        amount_words(draw, count, "en") if count > 1 else draw.pick(("a", "one", "the"))
        for count in counts
    ]
    whats = [_wished(world, variant) for variant in wished]
    text = _ask(world, "two", amount=amounts[0], what=whats[0], amount2=amounts[1], what2=whats[1])

    def script() -> Script:
        for variant, count in zip(wished, counts, strict=True):
            seen = yield from _located(world, variant)
            if not isinstance(seen, ToolFail):
                seen = yield from world.act("update", cart=_line(variant, count))
            if isinstance(seen, ToolFail):
                yield told_failure(world, seen, f"add {variant.full_title}")
                return
        titles = [variant.full_title for variant in wished]
        facts = [variant.product.title for variant in wished]
        told = {"n": counts[0], "title": titles[0], "n2": counts[1], "title2": titles[1]}
        yield _say(world, "two", *facts, **told)

    return Turn(text, script)


def _listed(world: Storefront) -> Turn:
    draw, kind = world.draw, world.draw.pick(world.products).kind
    top = draw.pick((None, draw.whole(2, 12) * 10))
    limit = ""
    if top is not None:
        limit = f" {draw.pick(('under', 'below', 'for less than'))} {top} {world.manner.currency}"
    text = _ask(world, "list", what=plural(kind), limit=limit)

    def script() -> Script:
        seen = yield from _searched(world, plural(kind), top)
        found = world.found(plural(kind), top * 100 if top is not None else None)
        if isinstance(seen, ToolFail):
            yield told_failure(world, seen, f"search for {plural(kind)}")
        elif not found:
            yield _say(world, "none", "no", what=plural(kind), limit=limit)
        else:
            names = [f"{p.title} ({world.money(min(v.price for v in p.variants))})" for p in found]
            yield _say(world, "listed", found[0].title, names=", ".join(names[:3]), n=len(found))

    return Turn(text, script)


def _price(world: Storefront) -> Turn:
    variant = world.draw.pick(world.variants)
    text = _ask(world, "price", what=_wished(world, variant))

    def script() -> Script:
        seen = yield from _located(world, variant)
        cost = world.money(variant.price)
        if isinstance(seen, ToolFail):
            yield told_failure(world, seen, f"look up {variant.product.title}")
        else:
            yield _say(world, "price", cost.split()[0], title=variant.full_title, price=cost)

    return Turn(text, script)


def _stock(world: Storefront) -> Turn:
    variant = world.draw.pick(world.variants)
    text = _ask(world, "stock", what=_wished(world, variant))

    def script() -> Script:
        seen = yield from _located(world, variant)
        if isinstance(seen, ToolFail):
            yield told_failure(world, seen, f"look up {variant.product.title}")
        elif variant.available:
            yield _say(world, "in_stock", title=variant.full_title)
        else:
            yield _say(
                world, "sold_out", "sold out|not available|out of stock", title=variant.full_title
            )

    return Turn(text, script)


def _cart(world: Storefront) -> Turn:
    world.fill_cart(world.draw.pick((0, 1, 2, 3)))
    text = _ask(world, "cart")

    def script() -> Script:
        seen = yield from world.act("cart")
        if isinstance(seen, ToolFail):
            yield told_failure(world, seen, "read the cart")
        elif not world.cart:
            yield _say(world, "empty", "empty")
        else:
            told = [f"{n} × {world.variant(key).full_title}" for key, n in world.cart.items()]
            total = world.money(world.total())
            yield _say(world, "cart", total.split()[0], told=", ".join(told), total=total)

    return Turn(text, script)


def _change(world: Storefront) -> Turn:
    draw, lines = world.draw, world.fill_cart(world.draw.whole(1, 3))
    variant = draw.pick(lines)
    old, removing = world.cart[variant.id], draw.chance(0.45)
    new = 0 if removing else draw.pick([n for n in range(1, 7) if n != old])
    what = draw.pick((variant.product.title, variant.product.title.lower(), variant.product.kind))
    words = {"what": what, "n": amount_words(draw, new, "en"), "old": amount_words(draw, old, "en")}
    text = _ask(world, "remove" if removing else "change", **words)

    def script() -> Script:
        seen = yield from world.act("cart")
        if isinstance(seen, ToolOk):
            seen = yield from world.act("update", cart=_line(variant, new))
        if isinstance(seen, ToolFail):
            yield told_failure(world, seen, "change the cart")
        else:
            key = "removed" if removing else "changed"
            yield _say(world, key, variant.product.title, n=new, title=variant.full_title)

    return Turn(text, script)


def _coupon(world: Storefront) -> Turn:
    draw = world.draw
    world.fill_cart(draw.whole(1, 2))
    code = draw.pick([*world.coupons]) if draw.chance(0.7) else draw.brand().upper()[:6] + "5"
    text = _ask(world, "coupon", code=code)

    def script() -> Script:
        seen = yield from world.act("update", cart={"discounts": {"codes": [code]}})
        if isinstance(seen, ToolFail):
            yield told_failure(world, seen, f"use {code}")
        else:
            total = world.money(world.total())
            yield _say(world, "coupon", total.split()[0], code=code, total=total)

    return Turn(text, script)


def _policy(world: Storefront) -> Turn:
    name = world.draw.pick([*POLICIES])
    text = _ask(world, name)

    def script() -> Script:
        seen = yield from world.act("policies", query=name)
        if isinstance(seen, ToolFail):
            yield told_failure(world, seen, "look that up")
        else:
            yield _say(world, "policy", world.days, text=world.policy(name))

    return Turn(text, script)


def _checkout(world: Storefront) -> Turn:
    if not world.draw.chance(0.15):
        world.fill_cart(world.draw.whole(1, 2))
    text = _ask(world, "checkout")

    def script() -> Script:
        seen = yield from world.act("checkout")
        if isinstance(seen, ToolFail):
            yield told_failure(world, seen, "go to the checkout")
        else:
            total = world.money(world.total())
            yield _say(world, "checkout", total.split()[0], total=total)

    return Turn(text, script)


def _order(world: Storefront) -> Turn:
    draw = world.draw
    world.fill_cart(draw.whole(1, 2))
    name = draw.person()
    first, last = name.split()
    street, town, code = (
        draw.street(),
        draw.pick(("Utrecht", "Ghent", "Bonn")),
        draw.whole(1000, 9999),
    )
    email = draw.email(name)
    text = _ask(world, "order", name=name, email=email, street=street, town=town, code=code)
    place: JsonValue = {
        "street_address": street,
        "postal_code": str(code),
        "address_locality": town,
    }
    buyer: JsonValue = {"first_name": first, "last_name": last, "email": email}
    methods: JsonValue = [{"type": "shipping", "destinations": [place]}]
    checkout: JsonValue = {"buyer": buyer, "fulfillment": {"methods": methods}}

    def script() -> Script:
        seen = yield from world.act("checkout")
        if isinstance(seen, ToolOk):
            seen = yield from world.act("fill", checkout=checkout)
        if isinstance(seen, ToolOk):
            seen = yield from world.act("complete")
        if isinstance(seen, ToolFail):
            yield told_failure(world, seen, "place the order")

    return Turn(text, script)


_FLOWS: Sequence[tuple[int, str, Callable[[Storefront], Turn]]] = (
    (30, "search", _add),
    (9, "search", _listed),
    (7, "search", _price),
    (8, "search", _stock),
    (7, "cart", _cart),
    (14, "update", _change),
    (6, "update", lambda world: _coupon(world) if world.takes_coupons else _change(world)),
    (5, "policies", _policy),
    (6, "checkout", _checkout),
    (5, "checkout", _order),
)
_STEPS: Sequence[tuple[int, str, Callable[[Storefront], Turn]]] = (
    (30, "search", _two),
    (20, "checkout", filled),
    (20, "checkout", paid),
    (5, "checkout", _order),
    (15, "policies", _policy),
    (10, "update", lambda world: _coupon(world) if world.takes_coupons else _change(world)),
)
"""Where the checkout offers something: those of several steps, and those that were too few."""
_STEPS_SHARE = 0.75
