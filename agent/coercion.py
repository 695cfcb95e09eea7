"""Mild coercion: arguments that mean the same are sent as the kind that the schema wants.

Only what loses nothing: `"2"` for a whole number, never "no" for false. Each change is recorded.
"""

import json
import math
import re
from dataclasses import dataclass, field

from pydantic import JsonValue

from webmcp_agent.agent.kinds import Kind, fits_kinds, kind_of, shown
from webmcp_agent.agent.outline import Outline, Path, own_values
from webmcp_agent.agent.schema import JsonObject

LARGEST_INTEGER = 2**53 - 1
"""Beyond it, and below its negative, a page cannot tell neighbouring integers apart."""
LEVELS = 64
"""Deeper parts of the arguments stay as they are."""
LONGEST_NUMBER = 400
"""Characters of a number in a text, and bits of an integer: more than pages have a use for."""

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Coercion:
    """Arguments on their way to the page, and what was done to them."""

    outline: Outline
    changes: list[str] = field(default_factory=list[str])
    """`n: "2" sent as 2`, `size: missing, filled with "M"`."""
    unknown: list[Path] = field(default_factory=list[Path])
    """Names that no part of the schema describes."""

    def coerced(self, args: JsonObject) -> JsonObject:
        """The arguments to send; `args` itself is not changed."""
        return self._object(args, self.outline.root, ())

    def _value(self, value: JsonValue, schema: JsonValue, path: Path) -> JsonValue:
        kinds = self.outline.kinds(schema)
        sent = value if kinds is None else converted(value, kinds)
        if sent is not value:
            self.changes.append(f"{path_text(path)}: {shown(value)} sent as {shown(sent)}")
        if len(path) >= LEVELS:
            return sent
        if isinstance(sent, dict):
            return self._object(sent, schema, path)
        if isinstance(sent, list) and (items := self.outline.items(schema)) is not None:
            return [self._value(item, items, (*path, index)) for index, item in enumerate(sent)]
        return sent

    def _object(self, value: JsonObject, schema: JsonValue, path: Path) -> JsonObject:
        sent: JsonObject = {}
        known = self.outline.names(schema)
        open_ended = self.outline.takes_any_name(schema) or bool(path and not known)
        for name, member in {**value, **self._fillers(value, schema, path)}.items():
            described = self.outline.member(schema, name)
            if described is None and not open_ended:
                self.unknown.append((*path, name))
            sent[name] = self._value(member, described, (*path, name))
        return sent

    def _fillers(self, value: JsonObject, schema: JsonValue, path: Path) -> JsonObject:
        """Values for missing required properties for which the schema leaves no question."""
        fillers: JsonObject = {}
        for name in self.outline.required(schema):
            if name in value:
                continue
            for filler in self._filler(self.outline.member(schema, name)):
                fillers[name] = filler
                place = path_text((*path, name))
                self.changes.append(f"{place}: missing, filled with {shown(filler)}")
        return fillers

    def _filler(self, schema: JsonValue) -> list[JsonValue]:
        """The one value that fits, or none."""
        layers = self.outline.layers(schema)
        for layer in layers:
            if "const" in layer:
                return [layer["const"]]
        for layer in layers:
            if len(values := own_values(layer) or []) == 1:
                return values
        kinds = self.outline.kinds(schema)
        for layer in layers:
            if "default" in layer and (kinds is None or fits_kinds(layer["default"], kinds)):
                return [layer["default"]]
        return []


def path_text(path: Path) -> str:
    """`ids.1`."""
    return ".".join(str(step) for step in path)


def converted(value: JsonValue, kinds: tuple[Kind, ...]) -> JsonValue:
    """The value as one of the kinds when that loses nothing, else the very same object."""
    match value:
        case bool() | None:
            return value
        case str():
            return value if "string" in kinds else _from_text(value, kinds)
        case float() if "integer" in kinds and "number" not in kinds:
            whole = value.is_integer() and abs(value) <= LARGEST_INTEGER
            return int(value) if whole else value
        case int() if "string" in kinds and value.bit_length() <= LONGEST_NUMBER:
            numeric = "integer" in kinds or "number" in kinds
            return value if numeric and abs(value) <= LARGEST_INTEGER else str(value)
        case _:
            return value


def _from_text(text: str, kinds: tuple[Kind, ...]) -> JsonValue:
    """The text read as JSON, when the schema wants what it holds."""
    numeric = "integer" in kinds or "number" in kinds
    if numeric and len(text) <= LONGEST_NUMBER and _INTEGER.fullmatch(text):
        return int(text)
    if "number" in kinds and len(text) <= LONGEST_NUMBER and _NUMBER.fullmatch(text):
        number = float(text)
        return number if math.isfinite(number) else text
    if "boolean" in kinds and text.isascii() and text.lower() in {"true", "false"}:
        return text.lower() == "true"
    if "null" in kinds and text == "null":
        return None
    if ("array" in kinds or "object" in kinds) and text.lstrip()[:1] in {"[", "{"}:
        try:
            value: JsonValue = json.loads(
                text, parse_constant=_refuse, object_pairs_hook=_without_repeats
            )
        except (ValueError, RecursionError):
            return text
        return value if kind_of(value) in kinds else text
    return text


def _refuse(name: str) -> JsonValue:
    raise ValueError(f"{name} is no JSON")


def _without_repeats(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a name stands twice: one of the values would be lost")
    return members
