"""Shapes of JSON that have a short text of their own: options, availability, formats of a text."""

from pydantic import JsonValue

from webmcp_agent.agent.members import plain_name

JsonObject = dict[str, JsonValue]

MOST_OPTIONS = 40
"""Options of one thing that are looked at."""


def availability_text(value: JsonObject) -> str | None:
    """`{"available": false, "status": "out_of_stock"}` as its status."""
    if not value.keys() <= {"available", "status"} or "available" not in value:
        return None
    available, status = value["available"], value.get("status")
    if not isinstance(available, bool) or not isinstance(status, str | None):
        return None
    plain = "available" if available else "sold out"
    if not status:
        return plain
    fits = available or status in ("out_of_stock", "discontinued")
    return status if fits else f"{status}, {plain}"


def plain_format(value: JsonObject) -> str | None:
    """A text that is given in several formats, as the plainest of them."""
    if not value.keys() <= {"plain", "markdown", "html", "text"}:
        return None
    for name in ("plain", "text", "markdown", "html"):
        text = value.get(name)
        if isinstance(text, str) and text.strip():
            return text
    return None


_OPTION_LISTS = ("options", "selectedoptions", "selected")
_OPTION_MEMBERS = {"name", "label", "value", "values", "position"}


def options_text(name: str, items: list[JsonValue]) -> str | None:
    """`Color: Blue, Red; Size: 41, 42 (sold out)`; None for other lists."""
    named = plain_name(name) in _OPTION_LISTS
    texts: list[str] = []
    for item in items[:MOST_OPTIONS]:
        if not isinstance(item, dict) or not isinstance(item.get("name"), str):
            return None
        if not named and not item.keys() <= _OPTION_MEMBERS:
            return None
        values = item.get("values")
        listed = values if isinstance(values, list) else [item.get("label", item.get("value"))]
        labels = [_choice(value) for value in listed]
        if not labels or None in labels:
            return None
        texts.append(f"{item['name']}: {', '.join(label for label in labels if label)}")
    return "; ".join(texts) or None


def _choice(value: JsonValue) -> str | None:
    """One value of an option, and whether it can be had."""
    match value:
        case str():
            return value or None
        case dict():
            label = next((value[n] for n in ("label", "value", "name") if n in value), None)
            if not isinstance(label, str) or not label:
                return None
            if value.get("exists") is False:
                return f"{label} (not made)"
            return f"{label} (sold out)" if value.get("available") is False else label
        case _:
            return None


def chosen_labels(name: str, items: list[JsonValue]) -> list[str]:
    """The values that a variant is chosen by; empty for other lists."""
    if plain_name(name) not in _OPTION_LISTS:
        return []
    chosen = [
        item.get("label", item.get("value")) if isinstance(item, dict) else None for item in items
    ]
    return [label for label in chosen if isinstance(label, str)] if None not in chosen else []
