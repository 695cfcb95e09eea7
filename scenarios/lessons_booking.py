"""Lessons in places that take bookings: tables, rooms, courts, tours, seats."""

from collections.abc import Callable, Sequence
from typing import cast

from webmcp_agent.browser.tools import ToolFail, ToolOk
from webmcp_agent.scenarios.booking_world import Bookings
from webmcp_agent.scenarios.lessons import answer, told_failure, troubled
from webmcp_agent.scenarios.phrases import Table, Wording, language, request
from webmcp_agent.scenarios.simulator import Lesson, Record, Script, Turn, World
from webmcp_agent.scenarios.vocabulary import Draw, money, plain_number


def _book(world: Bookings) -> Turn:
    draw = world.draw
    code = language(draw, "booking", "book")
    time, time_said = draw.time()
    name, n = draw.person(), draw.whole(1, 6)
    extra = (
        draw.pick(world.extra_values)
        if "extra" in _shown(world, "book") and draw.chance(0.5)
        else None
    )
    slots = world.open_slots(n)
    at = {"en": " at ", "de": " um ", "fr": " à ", "es": " a las ", "it": " alle ", "nl": " om "}[
        code
    ] + time_said
    if not world.direct:
        at = ""
    text = request(
        draw,
        "booking",
        "book",
        code,
        thing=world.thing,
        n=n,
        unit=world.domain["unit"],
        date=world.day_said,
        at=at,
        name=name,
        extra=f", {world.extra_name} {extra}" if extra else "",
    )
    troubled(world, "book")

    def script() -> Script:
        if world.direct:
            seen = yield from world.act(
                "book", date=world.day, time=time, count=n, name=name, extra=extra
            )
        else:
            seen = yield from world.act("free", date=world.day, count=n)
            if isinstance(seen, ToolOk):
                found = slots if world.has("free", "count") else world.slots
                found = [s for s in found if cast("int", s["seats"]) >= n]
                if not found:
                    yield answer(
                        world,
                        "booking",
                        "free",
                        "nothing",
                        thing=world.thing,
                        date=world.day_said,
                        n=n,
                    )
                    return
                seen = yield from world.act(
                    "book", slot=found[0]["id"], name=name, count=n, extra=extra
                )
        if isinstance(seen, ToolFail):
            yield told_failure(world, seen, f"book the {world.thing}")
            return
        made = world.bookings[-1]
        key = "booked" if str(made["id"]) in seen.text else "booked_plain"
        facts = [made["time"]] + ([made["id"]] if key == "booked" else [])
        yield answer(
            world,
            "booking",
            "book",
            key,
            *facts,
            title=made["title"],
            n=n,
            date=made["date"],
            time=made["time"],
            name=name,
            ref=made["id"],
            thing=world.thing,
        )

    return Turn(text, script)


def _shown(world: World, role: str) -> Sequence[str]:
    return [key for action in world.actions if action.role == role for key in action.shown]


def _ask(world: Bookings, flow: str) -> Turn:
    draw = world.draw
    n = draw.whole(1, 6)
    code = language(draw, "booking", flow)
    text = request(
        draw,
        "booking",
        flow,
        code,
        thing=world.thing,
        options=world.domain["options"],
        unit=world.domain["unit"],
        n=n,
        date=world.day_said,
    )
    if draw.chance(0.15):
        world.slots.clear()
    troubled(world, "free", 0.04)

    def script() -> Script:
        seen = yield from world.act("free", date=world.day, count=n)
        if isinstance(seen, ToolFail):
            yield told_failure(world, seen, f"check the {world.domain['options']}")
            return
        found = [s for s in world.slots if cast("int", s["seats"]) >= n]
        if not found:
            yield answer(
                world, "booking", "free", "nothing", thing=world.thing, date=world.day_said, n=n
            )
        elif flow == "free":
            told = ", ".join(f"{s['title']} at {s['time']}" for s in found[:3]) + (
                f" and {len(found) - 3} more" if len(found) > 3 else ""
            )
            yield answer(
                world,
                "booking",
                "free",
                "found_one" if len(found) == 1 else "found",
                *(s["time"] for s in found[:3]),
                count=len(found),
                told=told,
                date=world.day_said,
            )
        else:
            key: Callable[[Record], float | str] = (
                (lambda s: str(s["time"]))
                if flow == "earliest"
                else (lambda s: cast("float", s["price"]))
            )
            best = min(found, key=key)
            price = money(cast("float", best["price"]), world.manner.currency)
            fact = (
                best["time"] if flow == "earliest" else plain_number(cast("float", best["price"]))
            )
            yield answer(
                world,
                "booking",
                flow,
                "told",
                best["title"],
                fact,
                title=best["title"],
                time=best["time"],
                price=price,
            )

    return Turn(text, script)


def _mine(world: Bookings) -> Turn:
    draw = world.draw
    if draw.chance(0.15):
        world.bookings.clear()
    text = request(draw, "booking", "mine", language(draw, "booking", "mine"))
    booked = list(world.bookings)

    def script() -> Script:
        seen = yield from world.act("mine")
        if isinstance(seen, ToolFail):
            yield told_failure(world, seen, "read your bookings")
        elif not booked:
            yield answer(world, "booking", "mine", "none", "no")
        else:
            told = ", ".join(f"{b['title']} on {b['date']} at {b['time']}" for b in booked)
            yield answer(world, "booking", "mine", "told", *(b["date"] for b in booked), told=told)

    return Turn(text, script)


def _change(world: Bookings, flow: str) -> Turn:
    draw = world.draw
    booking = draw.pick(world.bookings)
    time, said = draw.time()
    text = request(
        draw,
        "booking",
        flow,
        language(draw, "booking", flow),
        date=booking["date"],
        title=booking["title"],
        new=said,
    )
    troubled(world, flow, 0.1)

    def script() -> Script:
        seen = yield from world.act("mine")
        if isinstance(seen, ToolOk):
            seen = yield from world.act(flow, id=booking["id"], time=time)
        if isinstance(seen, ToolFail):
            yield told_failure(world, seen, f"{flow} your booking")
            return
        yield answer(
            world,
            "booking",
            flow,
            "told",
            time if flow == "move" else f"{booking['date']}|{booking['title']}",
            title=booking["title"],
            date=booking["date"],
            new=time,
        )

    return Turn(text, script)


def _unclear(world: Bookings) -> Turn:
    text = request(
        world.draw, "booking", "unclear", "en", thing=world.thing, n=world.draw.whole(2, 5)
    )

    def script() -> Script:
        yield answer(world, "booking", "unclear", "told", "?")

    return Turn(text, script)


_FLOWS: Sequence[tuple[int, str, Callable[[Bookings], Turn]]] = (
    (10, "book", _book),
    (5, "free", lambda w: _ask(w, "free")),
    (4, "free", lambda w: _ask(w, "cheapest")),
    (3, "free", lambda w: _ask(w, "earliest")),
    (3, "mine", _mine),
    (5, "cancel", lambda w: _change(w, "cancel")),
    (4, "move", lambda w: _change(w, "move")),
    (2, "book", _unclear),
)


def booking_lesson(draw: Draw, domain: Table, wording: Wording) -> Lesson:
    """One place to book at and a request to it."""
    world = Bookings(draw, domain, wording)
    able = [flow for flow in _FLOWS if world.has(flow[1])]
    make = draw.random.choices([f[2] for f in able], [f[0] for f in able])[0]
    return Lesson("booking", world, [make(world)])
