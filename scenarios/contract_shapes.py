"""What a place in the arguments may hold, read off the schemas that apply to it at once.

A shape takes at least what its schemas take: keywords that are not understood here are left out.
For schemas that `soundness.py` has cleaned, in the spelling of draft 2020-12.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal, TypeGuard

from pydantic import JsonValue

from webmcp_agent.agent.kinds import identity
from webmcp_agent.agent.patterns import occurs
from webmcp_agent.browser.tools import JsonObject

ShapeKind = Literal["null", "boolean", "string", "array", "object", "integer", "fraction"]
"""JSON Schema's kinds, with `number` as its two halves: a 2.0 is an integer."""

ALL_KINDS: frozenset[ShapeKind] = frozenset(
    {"null", "boolean", "string", "array", "object", "integer", "fraction"}
)
NUMBERS: frozenset[ShapeKind] = frozenset({"integer", "fraction"})
INTEGERS: frozenset[ShapeKind] = frozenset({"integer"})
NOTHING: frozenset[ShapeKind] = frozenset({"null"})
ANNOTATIONS = frozenset(
    {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"}
    | {"$comment", "$schema", "$id", "$anchor", "$defs", "definitions", "contentMediaType"}
)
"""Keywords that refuse nothing."""

Node = tuple[JsonValue, ...]
"""Schemas that all apply to one place; none where anything goes."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The schemas of one place, without a choice left in them."""

    flats: tuple[JsonObject, ...]
    kinds: frozenset[ShapeKind] = ALL_KINDS
    values: tuple[JsonValue, ...] | None = None
    """The only values, None when they are not listed."""
    names: frozenset[str] = field(default_factory=frozenset[str])
    """Properties that a caller may know of."""
    is_free: bool = False
    """An object that describes no properties: a caller may send any."""

    @property
    def describes_none(self) -> bool:
        """Whether no schema says which properties an object may have."""
        keywords = ("properties", "patternProperties", "additionalProperties")
        return not any(keyword in flat for flat in self.flats for keyword in keywords)

    @property
    def required(self) -> frozenset[str]:
        """Properties that an object must have."""
        return frozenset(str(n) for flat in self.flats for n in listed(flat, "required"))

    @property
    def is_closed(self) -> bool:
        """Whether properties that are not described are refused."""
        return any(flat.get("additionalProperties") is False for flat in self.flats)

    @property
    def is_impossible(self) -> bool:
        """Whether nothing fits."""
        never = any(flat.get("not") in ({}, True) for flat in self.flats)
        return never or not self.kinds or self.values == ()

    @property
    def prefix(self) -> int:
        """How many first items are described one by one."""
        return max((len(listed(flat, "prefixItems")) for flat in self.flats), default=0)

    def member(self, name: str) -> Node:
        """The schemas of a property."""
        found: list[JsonValue] = []
        for flat in self.flats:
            own = _named(flat, "properties")
            matching = [s for p, s in _named(flat, "patternProperties").items() if occurs(p, name)]
            if name in own:
                found.append(own[name])
            elif not matching and "additionalProperties" in flat:
                found.append(flat["additionalProperties"])
            found += matching
        return tuple(found)

    def unnamed(self) -> list[Node]:
        """What properties without a name of their own may hold, where that is described."""
        found: list[Node] = [()] if self.is_free else []
        for flat in self.flats:
            found += [(each,) for each in _named(flat, "patternProperties").values()]
            if _is_telling(flat.get("additionalProperties")):
                found.append((flat["additionalProperties"],))
        return found

    def may_have(self, name: str) -> bool:
        """Whether a caller who knows the schemas may send this property."""
        return (
            self.is_free
            or name in self.names
            or any(
                _is_telling(flat.get("additionalProperties"))
                or any(occurs(pattern, name) for pattern in _named(flat, "patternProperties"))
                for flat in self.flats
            )
        )

    def item(self, at: int) -> Node:
        """The schemas of an item, counted from 0."""
        found: list[JsonValue] = []
        for flat in self.flats:
            first = listed(flat, "prefixItems")
            if at < len(first):
                found.append(first[at])
            elif "items" in flat:
                found.append(flat["items"])
        return tuple(found)

    def pieces(self) -> list["Shape"]:
        """Smaller shapes that make up this one; empty when it cannot be split."""
        if self.values is not None:
            if len(self.values) < 2:
                return []
            return [
                replace(self, values=(value,), kinds=_kinds_in([value])) for value in self.values
            ]
        return (
            [] if len(self.kinds) < 2 else [replace(self, kinds=frozenset({k})) for k in self.kinds]
        )

    def least(self, keyword: str) -> int | float:
        """The strictest `minLength` and the like; 0 when there is none."""
        return max((number(flat, keyword) or 0 for flat in self.flats), default=0)

    def most(self, keyword: str) -> int | float | None:
        """The strictest `maxLength` and the like."""
        found = [n for flat in self.flats if (n := number(flat, keyword)) is not None]
        return min(found, default=None)

    def all_of(self, keyword: str) -> list[JsonValue]:
        """The keyword's values in all schemas that have it."""
        return [flat[keyword] for flat in self.flats if keyword in flat]

    def bound(self, sign: int) -> tuple[int | float, bool] | None:
        """The lowest number for a sign of 1, the highest for -1, and whether it is left out."""
        end = "imum"
        inclusive, exclusive = ("min", "exclusiveMin") if sign > 0 else ("max", "exclusiveMax")
        found = [(v, False) for f in self.flats if (v := number(f, inclusive + end)) is not None]
        found += [(v, True) for f in self.flats if (v := number(f, exclusive + end)) is not None]
        if not found:
            return None
        value, is_out = max(found, key=lambda each: (sign * each[0], each[1]))
        if self.kinds & NUMBERS == INTEGERS:
            whole = math.ceil(value) if sign > 0 else math.floor(value)
            return (whole + sign if is_out and whole == value else whole), False
        return value, is_out

    def within(self, keyword: str, value: JsonValue) -> bool | None:
        """Whether a keyword that looks at the value itself takes all of the shape.

        None for keywords that look at its parts, or that are not known here."""
        match keyword:
            case "type":
                return self.kinds <= kinds_named(value)
            case "enum" | "const":
                own = value if keyword == "enum" and isinstance(value, list) else [value]
                allowed = {identity(each) for each in own}
                return self.values is not None and all(identity(v) in allowed for v in self.values)
            case "required":
                return "object" not in self.kinds or set(_texts(value)) <= self.required
            case "format":
                return "string" not in self.kinds or value in self.all_of("format")
            case "pattern":
                return "string" not in self.kinds or self._matches(str(value))
            case "uniqueItems":
                few = (self.most("maxItems") or 2) < 2 or self.most("maxItems") == 0
                alone = few or True in self.all_of("uniqueItems")
                return value is not True or "array" not in self.kinds or alone
            case _ if isinstance(value, int | float) and not isinstance(value, bool):
                return self._within_number(keyword, value)
            case _:
                return None

    def _within_number(self, keyword: str, limit: int | float) -> bool | None:
        match keyword:
            case "minimum" | "exclusiveMinimum":
                return self._within_bound(1, limit, keyword != "minimum")
            case "maximum" | "exclusiveMaximum":
                return self._within_bound(-1, limit, keyword != "maximum")
            case "multipleOf":
                return self._is_multiple(Fraction(str(limit)))
            case "minLength" | "maxLength" if "string" not in self.kinds:
                return True
            case "minItems" | "maxItems" if "array" not in self.kinds:
                return True
            case "minProperties" | "maxProperties" if "object" not in self.kinds:
                return True
            case "minLength" | "maxLength" if self.values is not None:
                sizes = [len(value) for value in self.values if isinstance(value, str)]
                return all(n >= limit if keyword == "minLength" else n <= limit for n in sizes)
            case "minLength" | "minItems":
                return self.least(keyword) >= limit
            case "minProperties":
                return max(self.least(keyword), len(self.required)) >= limit
            case "maxProperties" if not self.unnamed() and len(self.names) <= limit:
                return True
            case "maxLength" | "maxItems" | "maxProperties":
                most = self.most(keyword)
                return most is not None and most <= limit
            case _:
                return None

    def _within_bound(self, sign: int, limit: int | float, is_out: bool) -> bool:
        if not self.kinds & NUMBERS:
            return True
        if self.values is not None:
            numbers = [v for v in self.values if _is_number(v)]
            return all(sign * v > sign * limit or (v == limit and not is_out) for v in numbers)
        if (own := self.bound(sign)) is None:
            return False
        return sign * own[0] > sign * limit or (own[0] == limit and (own[1] or not is_out))

    def _is_multiple(self, of: Fraction) -> bool:
        if not (mine := self.kinds & NUMBERS):
            return True
        if self.values is not None:
            return all(Fraction(str(v)) % of == 0 for v in self.values if _is_number(v))
        known = [Fraction(str(n)) for f in self.flats if (n := number(f, "multipleOf"))]
        if mine == INTEGERS:
            known.append(Fraction(1))
        return any(each % of == 0 for each in known)

    def _matches(self, pattern: str) -> bool:
        if self.values is not None:
            return all(occurs(pattern, v) for v in self.values if isinstance(v, str))
        return pattern in self.all_of("pattern")


def shape_of(flats: Sequence[JsonObject]) -> Shape:
    """The shape of schemas that all apply."""
    kinds = ALL_KINDS
    values: list[JsonValue] | None = None
    names: set[str] = set()
    for flat in flats:
        names |= _named(flat, "properties").keys() | set(_texts(flat.get("required")))
        if "type" in flat:
            kinds &= kinds_named(flat["type"])
        for own in ([flat["const"]] if "const" in flat else None, flat.get("enum")):
            if isinstance(own, list):
                allowed = {identity(value) for value in own}
                kept = own if values is None else values
                values = [value for value in kept if identity(value) in allowed]
    if values is None and kinds <= {"null", "boolean"}:
        values = [value for value in (None, False, True) if kind_of_value(value) in kinds]
    if values is not None:
        values = [value for value in values if kind_of_value(value) in kinds]
        kinds = _kinds_in(values)
    listed_values = None if values is None else tuple(values)
    return Shape(tuple(flats), kinds, listed_values, frozenset(names))


def shape_of_value(value: JsonValue) -> Shape:
    """The shape of a list or an object whose every part is known."""
    if isinstance(value, dict):
        members: JsonObject = {name: {"const": each} for name, each in value.items()}
        closed: JsonObject = {"type": "object", "properties": members, "required": [*value]}
        return shape_of([closed | {"additionalProperties": False}])
    assert isinstance(value, list)
    items: list[JsonValue] = [{"const": each} for each in value]
    count = len(value)
    return shape_of([{"type": "array", "prefixItems": items, "minItems": count, "maxItems": count}])


def ordered_names(shapes: Iterable[Shape], *, required: bool = True) -> list[str]:
    """The properties that are described, in order; with `required` those that are only required."""
    names: dict[str, None] = {}
    for shape in shapes:
        for flat in shape.flats:
            names |= dict.fromkeys(_named(flat, "properties"))
            names |= dict.fromkeys(_texts(flat.get("required")) if required else ())
    return [*names]


def first_of(shapes: Iterable[Shape], keyword: str) -> list[JsonValue]:
    """The keyword's value in the first schema that has it, in a list; empty when none has."""
    flats = (flat for shape in shapes for flat in shape.flats)
    return [flat[keyword] for flat in flats if keyword in flat][:1]


def kind_of_value(value: JsonValue) -> ShapeKind:
    """The kind of a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "fraction"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"


def kinds_named(value: JsonValue) -> frozenset[ShapeKind]:
    """The kinds that `type` names."""
    names = {str(name) for name in (value if isinstance(value, list) else [value])}
    kinds: frozenset[ShapeKind] = frozenset(kind for kind in ALL_KINDS if names >= {str(kind)})
    return kinds | NUMBERS if "number" in names else kinds


def listed(schema: JsonObject, keyword: str) -> list[JsonValue]:
    """The list that a keyword holds; empty when it is not there."""
    value = schema.get(keyword)
    return value if isinstance(value, list) else []


def number(schema: JsonObject, keyword: str) -> int | float | None:
    """The number that a keyword holds."""
    value = schema.get(keyword)
    return value if _is_number(value) else None


def refusing(schema: JsonObject) -> JsonObject:
    """The keywords that can refuse something."""
    return {
        keyword: value
        for keyword, value in schema.items()
        if keyword not in ANNOTATIONS and not (keyword in {"required", "properties"} and not value)
    }


def _is_telling(additional: JsonValue) -> bool:
    return isinstance(additional, dict) and bool(refusing(additional))


def _is_number(value: JsonValue) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _kinds_in(values: Iterable[JsonValue]) -> frozenset[ShapeKind]:
    return frozenset(kind_of_value(value) for value in values)


def _named(schema: JsonObject, keyword: str) -> JsonObject:
    value = schema.get(keyword)
    return value if isinstance(value, dict) else {}


def _texts(value: JsonValue) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
