"""Lessons at a storefront's checkout: what is filled in, and how it is paid."""

from typing import cast

from pydantic import JsonValue

from webmcp_agent.browser.tools import ToolFail
from webmcp_agent.scenarios.lessons import answer, told_failure
from webmcp_agent.scenarios.phrases import data
from webmcp_agent.scenarios.simulator import Place, Script, Turn
from webmcp_agent.scenarios.storefront_checkout import Checkout
from webmcp_agent.scenarios.storefront_world import CHECKOUT_PATH, Storefront

_TOWNS = ("Utrecht", "Ghent", "Bonn", "Leeds", "Aarhus", "Turin")


def filled(world: Storefront) -> Turn:
    """Fill in the checkout, and leave the order to the person."""
    draw, checkout = world.draw, _checkout_of(world)
    world.fill_cart(draw.whole(1, 2))
    delivery = draw.pick(checkout.deliveries) if draw.chance(0.6) else None
    text, sent = _wanted(world, "fill", delivery)

    def script() -> Script:
        seen = yield from world.act("checkout")
        if not isinstance(seen, ToolFail):
            seen = yield from world.act("fill", checkout=sent)
        if isinstance(seen, ToolFail):
            yield told_failure(world, seen, "fill in the checkout")
        else:
            total = world.money(world.total())
            yield answer(world, "storefront", "say", "filled", total.split()[0], total=total)

    return Turn(text, script)


def paid(world: Storefront) -> Turn:
    """Order what is filled in already, by one of the payments on offer."""
    draw, checkout = world.draw, _checkout_of(world)
    world.fill_cart(draw.whole(1, 2))
    checkout.is_filled = True
    world.place = Place(CHECKOUT_PATH, f"Checkout – {world.brand}")
    payment = draw.pick(checkout.payments)
    pattern = draw.pick(cast("list[str]", data("storefront")["ask"]["pay"]))
    text = draw.roughly(draw.phrase(pattern, by=draw.pick(payment.by.split("|"))), ())

    def script() -> Script:
        instruments: JsonValue = [{"id": payment.id}]
        seen = yield from world.act("complete", checkout={"payment": {"instruments": instruments}})
        if isinstance(seen, ToolFail):
            yield told_failure(world, seen, "place the order")
        else:
            yield answer(
                world, "storefront", "say", "ordered", checkout.order, order=checkout.order
            )

    return Turn(text, script)


def _checkout_of(world: Storefront) -> Checkout:
    assert world.checkout is not None, "only storefronts whose checkout offers something"
    return world.checkout


def _wanted(world: Storefront, flow: str, delivery: str | None) -> tuple[str, JsonValue]:
    """A request with a buyer and an address, and what is sent for it."""
    draw = world.draw
    name = draw.person()
    first, last = name.split()
    values = {
        "name": name,
        "email": draw.email(name),
        "street": draw.street(),
        "town": draw.pick(_TOWNS),
        "code": draw.whole(1000, 9999),
        "delivery": f", {draw.pick(('', 'with '))}{delivery} delivery" if delivery else "",
    }
    pattern = draw.pick(cast("list[str]", data("storefront")["ask"][flow]))
    text = draw.roughly(draw.phrase(pattern, **values), [str(each) for each in values.values()])
    place: JsonValue = {
        "street_address": values["street"],
        "postal_code": str(values["code"]),
        "address_locality": values["town"],
    }
    method: dict[str, JsonValue] = {"type": "shipping", "destinations": [place]}
    if delivery is not None:
        method["groups"] = [{"selected_option_id": delivery}]
    buyer: JsonValue = {"first_name": first, "last_name": last, "email": values["email"]}
    return text, {"buyer": buyer, "fulfillment": {"methods": [method]}}
