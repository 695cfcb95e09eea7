"""A page's schema made safe to check with: what cannot be used is left out, each time with a note.

Left out are keywords of a wrong kind, unknown type names, references that lead outside, nowhere or
back to themselves, and patterns that cannot be run. What hangs on a part that was left out and
would refuse more without it (`not`, `oneOf`, `if`, `additionalProperties` …) is made milder too, so
that a broken schema never refuses what the whole one allows.
"""

import math
from collections.abc import Callable
from typing import Literal, TypeGuard

from pydantic import JsonValue

from webmcp_agent.agent.kinds import is_kind, shown
from webmcp_agent.agent.patterns import LONGEST_PATTERN, is_usable
from webmcp_agent.agent.references import (
    LARGEST,
    Pointer,
    SchemaTooLarge,
    circular_pointers,
    follow,
    local_pointer,
)
from webmcp_agent.agent.schema import JsonObject

Draft = Literal["4", "6", "7", "2019-09", "2020-12"]

LEVELS = 64
"""Schemas inside one another that are looked at."""

_SCHEMA = {
    *("additionalProperties", "additionalItems", "contains", "propertyNames"),
    *("not", "if", "then", "else", "unevaluatedItems", "unevaluatedProperties"),
}
_SCHEMAS = {"allOf", "anyOf", "oneOf", "prefixItems"}
_NAMED_SCHEMAS = {"properties", "patternProperties", "dependentSchemas"}
_CLOSING = {"additionalProperties", "additionalItems", "unevaluatedItems", "unevaluatedProperties"}
_NAMING = ("properties", "patternProperties")
"""What tells which properties are additional."""
_LIMITS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
_COUNTS = {
    *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
    *("minContains", "maxContains"),
}
_NOT_FOLLOWED = {"$dynamicRef", "$recursiveRef"}
_TEXTS = {"description", "title", "format"}


def sound_schema(
    schema: JsonObject, draft: Draft, slow_patterns: frozenset[str] = frozenset()
) -> tuple[JsonObject, list[str]]:
    """The schema with nothing in it that cannot be used, and what was left out.

    All references of the result lead to `#` or into its own `$defs`. The input is not changed.

    Raises:
        SchemaTooLarge: there are more than 20,000 parts.
    """
    cleaner = _Cleaner(schema, draft, slow_patterns)
    root = cleaner.cleaned_root()
    return root, cleaner.warnings


def draft_of(schema: JsonObject) -> Draft:
    """The draft that `$schema` names, else 2020-12."""
    named = schema.get("$schema")
    match str(named).rstrip("#/").rpartition("json-schema.org/")[2]:
        case "draft-04/schema":
            return "4"
        case "draft-06/schema":
            return "6"
        case "draft-07/schema":
            return "7"
        case "draft/2019-09/schema":
            return "2019-09"
        case _:
            return "2020-12"


class _Unusable(Exception):
    """Why a keyword is left out."""


class _Cleaner:
    def __init__(self, root: JsonObject, draft: Draft, slow_patterns: frozenset[str]) -> None:
        self.warnings: list[str] = []
        self._root = root
        self._draft: Draft = draft
        self._slow = slow_patterns
        self._circular = circular_pointers(root)
        self._names: dict[Pointer, str] = {}
        self._waiting: list[Pointer] = []
        self._dirty: set[int] = set()
        self._count = 0
        self._has_patterned_names = False

    def cleaned_root(self) -> JsonObject:
        root = self._clean(self._root, "", 0)
        assert isinstance(root, dict)
        definitions: JsonObject = {}
        while self._waiting:
            pointer = self._waiting.pop()
            place = "#/" + "/".join(pointer)
            definitions[self._names[pointer]] = self._clean(follow(self._root, pointer), place, 0)
        if definitions:
            root["$defs"] = definitions
        if self._dirty or self._has_patterned_names:
            _Softener(root, self._dirty, self._has_patterned_names).soften()
        return root

    def _clean(self, schema: JsonValue, place: str, level: int) -> JsonValue:
        if isinstance(schema, bool):
            return schema
        self._count += 1
        if self._count > LARGEST:
            raise SchemaTooLarge
        clean: JsonObject = {}
        if not isinstance(schema, dict) or level > LEVELS:
            reason = "nested too deep" if isinstance(schema, dict) else "no schema"
            self._note(clean, f"{place or 'input schema'} left out: {reason}")
            return clean
        for keyword, value in schema.items():
            try:
                self._keyword(clean, keyword, value, place, level)
            except _Unusable as unusable:
                self._note(clean, f"{_join(place, keyword)} left out: {unusable}")
        if any(_length(clean.get(k)) < _length(schema.get(k)) for k in _NAMING):
            clean.pop("additionalProperties", None)
        return clean

    def _note(self, clean: JsonObject, warning: str) -> None:
        self._dirty.add(id(clean))
        self.warnings.append(warning)

    def _keyword(
        self, clean: JsonObject, keyword: str, value: JsonValue, place: str, level: int
    ) -> None:
        """Puts what can be used of a keyword into `clean`."""
        here = _join(place, keyword)

        def sub(each: JsonValue, step: str | int | None = None) -> JsonValue:
            if each is False and keyword not in _CLOSING:
                # jsonschema forgets the place of an error about a plain `false` (as of 4.26).
                return {"not": {}}
            return self._clean(each, here if step is None else _join(here, step), level + 1)

        if keyword == "$ref":
            clean[keyword] = self._reference(value)
        elif keyword == "items" and isinstance(value, list) and self._draft != "2020-12":
            clean[keyword] = [sub(each, index) for index, each in enumerate(value)]
        elif keyword in _SCHEMA or keyword == "items":
            _expect(isinstance(value, dict | bool), "no schema")
            clean[keyword] = sub(value)
        elif keyword in _SCHEMAS:
            if not isinstance(value, list) or not value:
                raise _Unusable("no list of schemas")
            clean[keyword] = [sub(each, index) for index, each in enumerate(value)]
        elif keyword in _NAMED_SCHEMAS or keyword == "dependencies":
            if not isinstance(value, dict):
                raise _Unusable("no object")
            self._named(clean, keyword, value, here, sub)
        elif keyword == "default":
            clean[keyword] = value
        elif keyword in _TEXTS:
            if isinstance(value, str):
                clean[keyword] = value
        elif (reason := self._fault(keyword, value)) is not None:
            _expect(not reason, reason)
            clean[keyword] = value

    def _named(
        self,
        clean: JsonObject,
        keyword: str,
        value: JsonObject,
        here: str,
        sub: Callable[[JsonValue, str], JsonValue],
    ) -> None:
        members: JsonObject = {}
        clean[keyword] = members
        for name, each in value.items():
            if keyword == "patternProperties":
                self._has_patterned_names = True
                if fault := self._pattern_fault(name):
                    self._note(clean, f"{_join(here, name)} left out: {fault}")
                    continue
            if keyword == "dependencies" and _are_names(each):
                members[name] = each
            else:
                members[name] = sub(each, name)

    def _reference(self, value: JsonValue) -> JsonValue:
        pointer = local_pointer(value)
        if pointer is None:
            raise _Unusable(f"{shown(value)} leads outside the schema")
        if pointer in self._circular:
            raise _Unusable(f"{shown(value)} leads back to itself")
        if not isinstance(follow(self._root, pointer), dict | bool):
            raise _Unusable(f"{shown(value)} leads nowhere")
        if pointer == ():
            return "#"
        if pointer not in self._names:
            self._names[pointer] = str(len(self._names))
            self._waiting.append(pointer)
        return f"#/$defs/{self._names[pointer]}"

    def _fault(self, keyword: str, value: JsonValue) -> str | None:
        """Why the keyword cannot be used, an empty text if it can, None if it says nothing."""
        match keyword:
            case "type":
                names = value if isinstance(value, list) else [value]
                known = bool(names) and all(is_kind(name) for name in names)
                return "" if known else f"unknown type {shown(value)}"
            case "enum":
                return "" if isinstance(value, list) and value else "no list of values"
            case "const":
                return ""
            case "required":
                return "" if _are_names(value) else "no list of names"
            case "dependentRequired":
                named = isinstance(value, dict) and all(_are_names(v) for v in value.values())
                return "" if named else "no lists of names"
            case "uniqueItems":
                return "" if isinstance(value, bool) else "neither true nor false"
            case "multipleOf":
                return "" if _is_number(value) and value > 0 else "no number above 0"
            case "pattern":
                return self._pattern_fault(value) if isinstance(value, str) else "no text"
            case _ if keyword in _NOT_FOLLOWED:
                return "not followed"
            case _ if keyword in _LIMITS:
                flag = isinstance(value, bool) and self._draft == "4" and "exclusive" in keyword
                return "" if flag or _is_number(value) else "no number"
            case _ if keyword in _COUNTS:
                return "" if _is_count(value) else "no whole number from 0"
            case _:
                return None

    def _pattern_fault(self, pattern: str) -> str:
        if pattern in self._slow:
            return f"the pattern {shown(pattern)} takes too long"
        if len(pattern) > LONGEST_PATTERN:
            return f"the pattern is longer than {LONGEST_PATTERN}"
        return "" if is_usable(pattern) else f"the pattern {shown(pattern)} cannot be run"


class _Softener:
    """Makes milder what would refuse more because a part of it was left out."""

    def __init__(self, root: JsonObject, dirty: set[int], has_patterned_names: bool) -> None:
        self._root = root
        self._dirty = dirty
        self._has_patterned_names = has_patterned_names
        definitions = root.get("$defs")
        self._targets: JsonObject = {"#": {k: v for k, v in root.items() if k != "$defs"}}
        for name, target in (definitions if isinstance(definitions, dict) else {}).items():
            self._targets[f"#/$defs/{name}"] = target
        self._incomplete = self._incomplete_targets()

    def soften(self) -> None:
        waiting: list[JsonValue] = [self._root]
        while waiting:
            here = waiting.pop()
            if isinstance(here, dict):
                self._soften_one(here)
                waiting += _parts(here)

    def _soften_one(self, schema: JsonObject) -> None:
        if self._is_incomplete(schema.get("oneOf")):
            branches = schema.pop("oneOf")
            schema.setdefault("anyOf", branches)
        if self._is_incomplete(schema.get("not")):
            del schema["not"]
        if self._is_incomplete(schema.get("if")):
            for keyword in ("if", "then", "else"):
                schema.pop(keyword, None)
        if self._is_incomplete(schema.get("contains")):
            schema.pop("maxContains", None)
        for keyword in ("unevaluatedProperties", "unevaluatedItems"):
            # jsonschema runs patternProperties without a limit to find what was evaluated.
            if keyword in schema and (self._has_patterned_names or self._is_incomplete(schema)):
                del schema[keyword]

    def _is_incomplete(self, schema: JsonValue) -> bool:
        left_out, references = self._reading(schema)
        return left_out or bool(references & self._incomplete)

    def _reading(self, schema: JsonValue) -> tuple[bool, set[str]]:
        """Whether a part was left out inside, and the references inside."""
        left_out, references = False, set[str]()
        waiting = [*schema] if isinstance(schema, list) else [schema]
        while waiting:
            here = waiting.pop()
            if isinstance(here, dict):
                left_out = left_out or id(here) in self._dirty
                if isinstance(reference := here.get("$ref"), str):
                    references.add(reference)
                waiting += _parts(here)
        return left_out, references

    def _incomplete_targets(self) -> set[str]:
        readings = {name: self._reading(target) for name, target in self._targets.items()}
        incomplete = {name for name, (left_out, _) in readings.items() if left_out}
        if id(self._root) in self._dirty:
            incomplete.add("#")
        grown = True
        while grown:
            more = {name for name, (_, inside) in readings.items() if inside & incomplete}
            grown = not more <= incomplete
            incomplete |= more
        return incomplete


def _parts(schema: JsonObject) -> list[JsonValue]:
    """The schemas right below a sound one."""
    parts: list[JsonValue] = []
    for keyword, value in schema.items():
        if isinstance(value, dict) and keyword in _NAMED_SCHEMAS | {"dependencies", "$defs"}:
            parts += value.values()
        elif keyword in _SCHEMA or keyword in _SCHEMAS or keyword == "items":
            parts += value if isinstance(value, list) else [value]
    return parts


def _join(place: str, step: str | int) -> str:
    return f"{place}.{step}" if place else str(step)


def _expect(holds: bool, reason: str) -> None:
    if not holds:
        raise _Unusable(reason)


def _length(named: JsonValue) -> int:
    """How many names; something that is no object counts as one that was left out."""
    return len(named) if isinstance(named, dict) else int(named is not None)


def _are_names(value: JsonValue) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _is_number(value: JsonValue) -> TypeGuard[int | float]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, int) or math.isfinite(value)


def _is_count(value: JsonValue) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return value >= 0 and (isinstance(value, int) or value.is_integer())
