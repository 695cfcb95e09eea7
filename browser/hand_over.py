"""Answers by which a checkout hands over to the buyer: recognised, and told in a sentence.

The shape is that of the Universal Commerce Protocol: a document whose status is
`requires_escalation`, with messages, line items and totals. Pure.
"""

from collections.abc import Awaitable, Callable
from typing import cast

from pydantic import JsonValue

from webmcp_agent.browser.answers import message
from webmcp_agent.browser.tools import JsonObject, PageTool, ToolFail, ToolOk

PersonActs = Callable[[str], Awaitable[bool]]
"""Lets the person act on the page, and returns whether to go on. Gets what there is to do; is
cancelled when the page has moved on by then."""

TODO_LENGTH = 220
"""Characters of what the page says that the buyer has to do."""
LINES = 3
"""Line items that are named; more are counted."""

_WHOLE_UNITS = {"CLP", "ISK", "JPY", "KRW", "PYG", "UGX", "VND", "XAF", "XOF", "XPF"}
_THOUSANDTHS = {"BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"}
"""ISO 4217 currencies whose minor unit is not a hundredth."""


def handed_over(outcome: ToolOk | ToolFail, tool: PageTool) -> ToolOk | ToolFail:
    """The outcome, as `needs-user` when the tool's answer says that only the buyer can go on.

    What merely reads tells of such a state and hands over nothing."""
    if isinstance(outcome, ToolFail) or tool.read_only:
        return outcome
    document = _document(outcome.value)
    if document is None:
        return outcome
    return ToolFail(
        "needs-user",
        hand_over_text(document),
        may_have_happened=not tool.consequential,
        hand_over=True,
    )


def hand_over_text(document: JsonObject) -> str:
    """What the buyer has to do, what it costs, and what is filled in, in one line."""
    said = message(" ".join(_wanted(document)))
    todo = said if len(said) <= TODO_LENGTH else said[: TODO_LENGTH - 1] + "…"
    pieces = [f'The buyer has to go on; the shop says: "{todo}"' if todo else _UNSAID]
    if cost := _cost(document):
        pieces.append(f"To pay: {cost}.")
    if filled := "; ".join(_filled(document)):
        pieces.append(f"Filled in: {filled}.")
    return message(" ".join(pieces))


_UNSAID = "The buyer has to go on."


def _document(value: JsonValue) -> JsonObject | None:
    """The checkout in an answer, when it waits for the buyer; it may be wrapped once."""
    if not isinstance(value, dict):
        return None
    for candidate in (value, value.get("checkout")):
        if isinstance(candidate, dict) and candidate.get("status") == "requires_escalation":
            known = candidate.get("ucp"), candidate.get("messages"), candidate.get("line_items")
            return candidate if any(known) else None
    return None


def _wanted(document: JsonObject) -> list[str]:
    """What the messages say that need the buyer; all of them, when none says whom it needs."""
    messages = [each for each in _list(document, "messages") if _text(each, "content")]
    needing = [each for each in messages if _text(each, "severity").startswith("requires_buyer")]
    return [_text(each, "content") for each in needing or messages]


def _cost(document: JsonObject) -> str:
    totals = _list(document, "totals")
    amounts = [each.get("amount") for each in totals if each.get("type") == "total"]
    amount = amounts[0] if amounts else None
    if not isinstance(amount, int) or isinstance(amount, bool):
        return ""
    currency = _text(document, "currency")
    digits = 0 if currency in _WHOLE_UNITS else 3 if currency in _THOUSANDTHS else 2
    return f"{amount / 10**digits:.{digits}f} {currency}".strip()


def _filled(document: JsonObject) -> list[str]:
    """What stands in the checkout: products, buyer, address, delivery, payment."""
    lines = [
        f"{line.get('quantity')} × {_text(_object(line, 'item'), 'title')}"
        for line in _list(document, "line_items")
    ]
    more = [f"{len(lines) - LINES} more"] if len(lines) > LINES else []
    buyer = _object(document, "buyer")
    names = _texts(buyer, "first_name", "last_name")
    return [
        piece
        for piece in (
            ", ".join([*lines[:LINES], *more]),
            ", ".join([*([" ".join(names)] if names else []), *_texts(buyer, "email")]),
            *(_delivery(each) for each in _list(_object(document, "fulfillment"), "methods")),
            *(
                _text(_object(each, "display"), "name")
                for each in _list(_object(document, "payment"), "instruments")
                if each.get("selected") is True
            ),
        )
        if piece
    ]


def _delivery(method: JsonObject) -> str:
    """Where a chosen method brings things, and how."""
    chosen = method.get("selected_destination_id")
    places = [each for each in _list(method, "destinations") if each.get("id") == chosen]
    place = places[0] if places and chosen is not None else {}
    inner = _object(place, "address") or place
    town = " ".join(_texts(inner, "postal_code", "address_locality"))
    options = [
        _text(option, "title")
        for group in _list(method, "groups")
        for option in _list(group, "options")
        if _text(option, "id") and option["id"] == group.get("selected_option_id")
    ]
    street = _texts(place, "name") + _texts(inner, "street_address")
    return ", ".join(each for each in (*street, town, *options) if each)


def _list(holder: JsonObject, key: str) -> list[JsonObject]:
    """The objects in a list; none when it is something else."""
    value = holder.get(key)
    items = value if isinstance(value, list) else []
    return [cast("JsonObject", each) for each in items if isinstance(each, dict)]


def _object(holder: JsonObject, key: str) -> JsonObject:
    value = holder.get(key)
    return value if isinstance(value, dict) else {}


def _text(holder: JsonObject, key: str) -> str:
    value = holder.get(key)
    return value if isinstance(value, str) else ""


def _texts(holder: JsonObject, *keys: str) -> list[str]:
    return [text for key in keys if (text := _text(holder, key))]
