"""A tool's input schema, read whatever its form, and made small enough for a small model.

What is shown to a model is the compact schema; arguments are always checked against the page's own
(`validation.py`). Nothing here follows an address outside the schema. How the parts of a schema
that apply to one place are put together stands in `schema_view.py`.
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from pydantic import JsonValue

from webmcp_agent.agent.kinds import Kind, fits_kinds, identity, is_kind, kind_of
from webmcp_agent.agent.schema_view import JsonObject, Node, SchemaReader, SchemaView

SAME_SHAPE = "same shape again"
"""Stands for a part that holds itself."""
LISTED_VALUES = 20
"""More values than these are counted, not listed."""
EXAMPLE_LENGTH = 30
"""Characters of a value that follows `e.g. `: with the count before it, it fits in 60."""
SHOWN_TITLES = 8
SHOWN_PROPERTIES = 12

_FORMATS = {"date", "time", "date-time", "email", "uri", "url", "uuid"}
_SAMPLES = {
    "date": "2030-01-31",
    "time": "18:30",
    "date-time": "2030-01-31T18:30:00Z",
    "email": "name@example.com",
    "uri": "https://example.com/",
    "url": "https://example.com/",
}


def read_schema(schema: JsonValue) -> tuple[JsonObject, list[str]]:
    """The schema as an object schema, and what was odd about it.

    Takes an object, a JSON text (older browsers) or None. Nothing, an empty text, `{}` and `[]`
    mean no parameters; so does anything that is no schema of an object, with a warning. The result
    always has a `type` that allows an object; the input is not changed. Never raises."""
    value: JsonValue = schema
    if isinstance(value, str) and value.strip():
        try:
            value = json.loads(value, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            return _no_parameters(), ["the input schema is a text that is no JSON"]
    if isinstance(value, dict):
        return _as_object_schema(value)
    if value is None or value == [] or (isinstance(value, str) and not value.strip()):
        return _no_parameters(), []
    return _no_parameters(), [f"the input schema is {_noun(value)}, not an object"]


def _as_object_schema(schema: JsonObject) -> tuple[JsonObject, list[str]]:
    if not schema:
        return _no_parameters(), []
    if "type" not in schema:
        return {"type": "object", **schema}, []
    kinds = schema["type"]
    if kinds == "object" or (isinstance(kinds, list) and "object" in kinds):
        return schema, []
    return {**schema, "type": "object"}, ["the input schema's type allows no object"]


def _no_parameters() -> JsonObject:
    return {"type": "object", "properties": {}}


def _refuse_constant(name: str) -> JsonValue:
    raise ValueError(f"{name} is no JSON")


def _noun(value: object) -> str:
    match value:
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case _:
            return "a list"


_SIZES = ((4, 120), (3, 60), (3, 0), (2, 0))
"""Depth and longest description, the first one that fits; what lies deeper is not needed often."""
_DEEP_SIZES = ((8, 120), (8, 60), (8, 0), *_SIZES)
"""For tools that keep what is needed deep inside."""


def compact_schema(schema: JsonValue, limit: int = 1200, *, deep: bool = False) -> JsonObject:
    """The schema as a small model sees it: `type`, `properties` and, when not empty, `required`.

    At most `limit` characters of JSON unless only required properties are left: then depth 3 and
    descriptions of 60, then no descriptions, then depth 2, then fewer optional properties. `deep`:
    up to depth 8 where that fits, without descriptions if need be. Idempotent; each required name
    that has a usable property stays, and no name is invented. Returns a value of its own. Never
    raises."""
    try:
        key = json.dumps(schema)
    except (TypeError, ValueError, RecursionError):
        return _compacted(schema, limit, deep)
    return json.loads(_compact_text(key, limit, deep))


@lru_cache(maxsize=512)
def _compact_text(schema_text: str, limit: int, deep: bool) -> str:
    return json.dumps(_compacted(json.loads(schema_text), limit, deep))


def _compacted(schema: JsonValue, limit: int, deep: bool) -> JsonObject:
    root, _ = read_schema(schema)
    compact: JsonObject = {}
    for depth, description in _DEEP_SIZES if deep else _SIZES:
        # A schema that spends the budget would be longer than the limit anyway: each part
        # that is read writes more than one character, unless it is merged into another.
        writer = _Writer(SchemaReader(root, budget=400 + limit), depth, description)
        compact = writer.write_root()
        if not writer.reader.spent and _length(compact) <= limit:
            return compact
    return _without_optional(compact, limit)


def _length(compact: JsonObject) -> int:
    """Characters as a chat template writes them."""
    return len(json.dumps(compact, ensure_ascii=False))


def _without_optional(compact: JsonObject, limit: int) -> JsonObject:
    properties, required = compact["properties"], compact.get("required", [])
    assert isinstance(properties, dict)
    assert isinstance(required, list)
    for name in reversed([name for name in properties if name not in required]):
        if _length(compact) <= limit:
            break
        del properties[name]
    return compact


@dataclass(frozen=True, slots=True)
class _Writer:
    reader: SchemaReader
    depth: int
    """Properties and items at this depth hold no further ones; the root is at 0."""
    description: int
    """Most characters of a description; 0 for none."""

    def write_root(self) -> JsonObject:
        view = self.reader.view(self.reader.root_node)
        compact: JsonObject = {"type": "object", "properties": {}}
        compact.update(self._members(view, 0))
        return compact

    def _write(self, view: SchemaView, depth: int) -> JsonObject:
        kinds = _kinds(view)
        compact: JsonObject = {}
        if view.again:
            if kinds and "null" in kinds:
                compact["type"] = [*kinds]
            if self.description:
                compact["description"] = SAME_SHAPE
            return compact
        if kinds:
            compact["type"] = kinds[0] if len(kinds) == 1 else [*kinds]
        if self.description and (text := _description(view, self.description)):
            compact["description"] = text
        if view.values is not None and len(view.values) <= LISTED_VALUES:
            compact["enum"] = [*view.values]
        if view.format in _FORMATS:
            compact["format"] = view.format
        if view.minimum is not None:
            compact["minimum"] = view.minimum
        if view.maximum is not None:
            compact["maximum"] = view.maximum
        if view.defaults and _is_plain_default(view.defaults[0], kinds):
            compact["default"] = view.defaults[0]
        if depth < self.depth:
            if not kinds or "object" in kinds:
                compact.update(self._members(view, depth))
            if not kinds or "array" in kinds:
                compact.update(self._items(view, depth))
        return compact

    def _members(self, view: SchemaView, depth: int) -> JsonObject:
        required = [name for name in view.required if name in view.properties]
        properties: JsonObject = {}
        for name, member in self._chosen(view, required):
            properties[name] = self._write(member, depth + 1)
        kept: list[JsonValue] = [name for name in required if name in properties]
        members: JsonObject = {"properties": properties} if properties else {}
        return {**members, "required": kept} if kept else members

    def _chosen(self, view: SchemaView, required: list[str]) -> Iterator[tuple[str, SchemaView]]:
        """Required properties first, then optional ones until there are enough."""
        needed = set(required)
        count = 0
        for name, node in view.properties.items():
            if name in needed and not (member := self.reader.view(node)).never:
                count += 1
                yield name, member
        for name, node in view.properties.items():
            if count >= SHOWN_PROPERTIES:
                return
            if name not in needed:
                member = self.reader.view(node)
                if not member.never and not member.deprecated:
                    count += 1
                    yield name, member

    def _items(self, view: SchemaView, depth: int) -> JsonObject:
        node: Node = view.items
        if not node or (item := self.reader.view(node)).never:
            return {}
        written = self._write(item, depth + 1)
        return {"items": written} if written else {}


def _kinds(view: SchemaView) -> tuple[Kind, ...]:
    """The kinds of the view, else the one kind of all its values (and null)."""
    kinds: tuple[Kind, ...] | None = view.kinds
    if kinds is None and view.values is not None:
        found: list[Kind] = [kind_of(value) for value in view.values]
        # null last, as in the lists that pages write.
        unique = dict.fromkeys(sorted(found, key=lambda kind: kind == "null"))
        if len(unique) - ("null" in unique) <= 1:
            kinds = tuple(unique)
    if kinds is None:
        return ()
    if view.whole:
        return tuple(dict.fromkeys(_whole(kind) for kind in kinds))
    return kinds


def _whole(kind: Kind) -> Kind:
    return "integer" if kind == "number" else kind


def _is_plain_default(value: JsonValue, kinds: tuple[Kind, ...]) -> bool:
    """Whether the default says something: null does so only where null is allowed."""
    if value is None:
        return not kinds or "null" in kinds
    return not isinstance(value, list | dict) and (
        not isinstance(value, float) or math.isfinite(value)
    )


def _description(view: SchemaView, limit: int) -> str:
    """The page's own words and what became of values, examples and titles, at most `limit`.

    The page's words give way: what follows them says more about what may be sent."""
    own = [text for raw in (*view.descriptions, *view.titles) if (text := " ".join(raw.split()))]
    base = own[0] if own else ""
    sample = _sample(view)
    room = max(limit // 2, limit - len(base) - 2) - len(sample) - 2
    additions = [text for text in (sample, _value_titles(view, room)) if text]
    left = limit - sum(len(text) + 2 for text in additions)
    if len(base) > left:
        base = base[: left - 1].rstrip() + "…" if left > 1 else ""
    return "; ".join([base, *additions] if base else additions)


def _sample(view: SchemaView) -> str:
    if view.values is not None:
        if len(view.values) <= LISTED_VALUES:
            return ""
        count = f"one of {len(view.values)} values"
        texts = (_sample_text(value) for value in view.values)
        first = next((text for text in texts if text), "")
        return f"{count}, e.g. {first}" if first else count
    text = _sample_text(view.examples[0]) if view.examples else ""
    return f"e.g. {text}" if text else ""


def _sample_text(value: JsonValue) -> str:
    """The value as it can follow `e.g. ` and be read back, else an empty text."""
    if value is None or isinstance(value, list | dict):
        return ""
    text = value if isinstance(value, str) else json.dumps(value)
    if len(text) > EXAMPLE_LENGTH or text != " ".join(text.split()):
        return ""
    return "" if "; " in text or "e.g. " in text else text


def _value_titles(view: SchemaView, room: int) -> str:
    """`std = Standard, exp = Express`, as many as fit."""
    values = None if view.values is None else {identity(value) for value in view.values}
    pairs: list[str] = []
    for value, title in view.value_titles:
        plain = value if isinstance(value, str) else json.dumps(value)
        title = " ".join(title.split())
        if title and title != plain and (values is None or identity(value) in values):
            pairs.append(f"{plain} = {title}")
    pairs = pairs[:SHOWN_TITLES]
    while pairs and len(", ".join(pairs)) > room:
        pairs.pop()
    return ", ".join(pairs)


def example_args(parameters: JsonObject) -> JsonObject:
    """Example arguments for a compact schema: its required properties, else its first one.

    They pass `validate_args` for each schema whose own defaults and values are allowed by it and
    which uses only keywords that a compact schema keeps."""
    properties, names = parameters.get("properties"), _required(parameters)
    if not isinstance(properties, dict):
        return {}
    names = names or list(properties)[:1]
    return {name: _example(name, properties[name]) for name in names if name in properties}


def _required(schema: JsonObject) -> list[str]:
    names = schema.get("required")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _example(name: str, schema: JsonValue) -> JsonValue:
    if not isinstance(schema, dict):
        return _in_words(name)
    if "default" in schema:
        return schema["default"]
    values = schema.get("enum")
    if isinstance(values, list) and values:
        return values[0]
    kind = _first_kind(schema)
    if (named := _named_example(schema, kind)) is not None:
        return named
    match kind:
        case "integer" | "number":
            return _number_example(schema, kind)
        case "boolean":
            return True
        case "null":
            return None
        case "array":
            return [_example(name, schema.get("items", {}))]
        case "object":
            properties = schema.get("properties")
            members = properties if isinstance(properties, dict) else {}
            return {
                member: _example(member, members[member])
                for member in _required(schema)
                if member in members
            }
        case "string":
            return _SAMPLES.get(str(schema.get("format")), _in_words(name))


def _first_kind(schema: JsonObject) -> Kind:
    kinds = schema.get("type")
    listed = kinds if isinstance(kinds, list) else [kinds]
    known: list[Kind] = [kind for kind in listed if is_kind(kind)]
    for kind in known:
        if kind != "null":
            return kind
    if known:
        return "null"
    return "object" if "properties" in schema else "array" if "items" in schema else "string"


def _named_example(schema: JsonObject, kind: Kind) -> JsonValue:
    """What the description gives after its last `e.g. `, when the schema allows it."""
    description = schema.get("description")
    if not isinstance(description, str) or "e.g. " not in description:
        return None
    text = description.rpartition("e.g. ")[2].partition("; ")[0]
    if not 0 < len(text) <= EXAMPLE_LENGTH:
        return None
    if kind == "string":
        return text
    try:
        value: JsonValue = json.loads(text, parse_constant=_refuse_constant)
    except ValueError:
        return None
    plain = not isinstance(value, list | dict | str)
    return value if plain and fits_kinds(value, [kind]) and _within(value, schema) else None


def _within(value: JsonValue, schema: JsonObject) -> bool:
    low, high = _number(schema.get("minimum")), _number(schema.get("maximum"))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return True
    return (low is None or value >= low) and (high is None or value <= high)


def _number_example(schema: JsonObject, kind: Kind) -> int | float:
    low, high = _number(schema.get("minimum")), _number(schema.get("maximum"))
    if low is not None:
        return math.ceil(low) if kind == "integer" else low
    if high is not None and high < 1:
        return math.floor(high) if kind == "integer" else high
    return 1


def _number(value: JsonValue) -> int | float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _in_words(name: str) -> str:
    """`first-name` and `firstName` as `first name`; the name itself when nothing is left."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[_.\-\s]+", " ", name)
    return spaced.strip().lower() or name
