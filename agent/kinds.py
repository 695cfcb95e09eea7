"""The kinds of JSON values: the names that schemas use, and the words that people read."""

import json
from collections.abc import Iterable
from typing import Literal, TypeGuard, get_args

from pydantic import JsonValue

Kind = Literal["string", "integer", "number", "boolean", "array", "object", "null"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_WORDS: dict[Kind, str] = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


def is_kind(name: object) -> TypeGuard[Kind]:
    """Whether JSON Schema knows the type name."""
    return isinstance(name, str) and name in KINDS


def kind_of(value: object) -> Kind:
    """The kind of a value; a float is a `number`, also without a fraction."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def fits_kinds(value: JsonValue, kinds: Iterable[Kind]) -> bool:
    """Whether the value is of one of the kinds; 2.0 is an integer too."""
    allowed = set(kinds)
    kind = kind_of(value)
    if kind == "integer":
        return bool(allowed & {"integer", "number"})
    if isinstance(value, float) and value.is_integer() and "integer" in allowed:
        return True
    return kind in allowed


def kind_words(kinds: Iterable[Kind]) -> str:
    """`text`, `a whole number or null`, `text, a number or null`."""
    unique = list(dict.fromkeys(kinds))
    if "number" in unique:
        unique = [kind for kind in unique if kind != "integer"]
    words = [_WORDS[kind] for kind in unique]
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def shown(value: JsonValue, limit: int = 40) -> str:
    """The value as JSON on one line, at most `limit` characters."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = f"a value of {len(value)} parts" if isinstance(value, list | dict) else "a value"
    return text if len(text) <= limit else text[: limit - 1] + "…"


def identity(value: JsonValue) -> object:
    """A key that is equal for equal JSON values: 1 and 1.0 are, 1, true and "1" are not."""
    match value:
        case bool() | None:
            return (kind_of(value), value)
        case int() | float():
            return ("number", value)
        case str():
            return ("string", value)
        case list():
            return ("array", tuple(identity(item) for item in value))
        case dict():
            return ("object", frozenset((name, identity(item)) for name, item in value.items()))
