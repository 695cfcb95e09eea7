"""A value for an expectation: the value itself, or one that its operators and the schema accept.

So that calls which a file only describes can be made. What no example is found for has to be given
as it is.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import chain

from pydantic import JsonValue

from webmcp_agent.agent.kinds import kind_of
from webmcp_agent.scenarios.matching import mismatch, shown
from webmcp_agent.scenarios.pattern_example import pattern_example

_BY_TYPE: dict[str, JsonValue] = {
    "string": "example",
    "integer": 1,
    "number": 1,
    "boolean": True,
    "array": [],
    "object": {},
    "null": None,
}
_BY_FORMAT: dict[str, str] = {
    "time": "12:30",
    "email": "someone@example.org",
    "uri": "https://example.org/",
    "tel": "555-0100",
}


class NoExample(ValueError):
    """There is no value to be made up; the message says for what."""


Known = Callable[[str], Iterable[JsonValue]]
"""Values that are known for a place of this name, the best ones first."""


def _nothing(_name: str) -> Iterable[JsonValue]:
    return ()


def example(
    expected: JsonValue, schema: JsonValue = None, name: str = "", known: Known = _nothing
) -> JsonValue:
    """A value that matches.

    `schema` is what the tool says of this place, `name` what the place is called. Raises:
    `NoExample`."""
    match expected:
        case dict() if any(key.startswith("$") for key in expected):
            return _fitting(expected, schema, name, known)
        case dict():
            inner = _member(schema, "properties")
            return {
                key: example(value, _member(inner, key), f"{name}.{key}" if name else key, known)
                for key, value in expected.items()
            }
        case list():
            items = _member(schema, "items")
            return [
                example(value, items, f"{name}[{index}]", known)
                for index, value in enumerate(expected)
            ]
        case _:
            return expected


def _fitting(
    expected: dict[str, JsonValue], schema: JsonValue, name: str, known: Known
) -> JsonValue:
    for candidate in chain(known(name), _candidates(expected, schema, name)):
        if mismatch(expected, candidate) is None and _allowed(candidate, schema):
            return candidate
    raise NoExample(f"there is no value to be made up for {name}: {shown(expected)}")


def _candidates(
    expected: dict[str, JsonValue], schema: JsonValue, name: str
) -> Iterator[JsonValue]:
    described = schema if isinstance(schema, dict) else {}
    for key in ("const", "default"):
        if key in described:
            yield described[key]
    for key in ("examples", "enum"):
        listed = described.get(key)
        yield from listed if isinstance(listed, list) else ()
    for operator, operand in expected.items():
        match operand:
            case str() if operator == "$contains":
                yield operand
            case str() if operator == "$pattern":
                yield from pattern_example(operand)
            case int() | float() if operator in {"$gt", "$gte", "$lt", "$lte"}:
                step = -1 if operator in {"$lt", "$lte"} else 1
                yield from (operand, operand + step, operand + step / 2, operand + step / 100)
            case _:
                pass
    yield from _typed(described, name)
    kind = expected.get("$type")
    if isinstance(kind, str):
        yield _BY_TYPE[kind]


def _typed(schema: dict[str, JsonValue], name: str) -> Iterator[JsonValue]:
    """What the schema's own kind and format, and the name, suggest."""
    kinds = schema.get("type")
    listed = kinds if isinstance(kinds, list) else [kinds]
    form = schema.get("format")
    if form == "date" or "date" in name.casefold():
        yield (datetime.now(UTC).date() + timedelta(days=1)).isoformat()
    if isinstance(form, str) and form in _BY_FORMAT:
        yield _BY_FORMAT[form]
    for key in ("minimum", "maximum"):
        if key in schema:
            yield schema[key]
    yield from (_BY_TYPE[kind] for kind in listed if isinstance(kind, str) and kind in _BY_TYPE)
    if kinds is None:
        yield "example"


def _allowed(value: JsonValue, schema: JsonValue) -> bool:
    """Whether the plainest keywords of a schema take a value; the page judges the others."""
    if not isinstance(schema, dict):
        return True
    listed = schema.get("enum")
    if isinstance(listed, list) and value not in listed:
        return False
    kinds = schema.get("type")
    names = kinds if isinstance(kinds, list) else [kinds]
    kind = kind_of(value)
    return kinds is None or kind in names or (kind == "integer" and "number" in names)


def missing_required(args: dict[str, JsonValue], schema: JsonValue) -> list[str]:
    """Required arguments that are not among those that are given."""
    required = _member(schema, "required")
    listed = required if isinstance(required, list) else []
    return [name for name in listed if isinstance(name, str) and name not in args]


def read_schema(schema: JsonValue) -> JsonValue:
    """A tool's schema as a value: older browsers give it as JSON text."""
    if not isinstance(schema, str):
        return schema
    try:
        return json.loads(schema)
    except ValueError:
        return None


def _member(value: JsonValue, key: str) -> JsonValue:
    return value.get(key) if isinstance(value, dict) else None
