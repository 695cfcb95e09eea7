"""Whether a JSON value is what was expected: plain values, objects as subsets, `$` operators.

The rules are those of webmcp-evals (GoogleChromeLabs/webmcp-tools, 2026-08), but strict: an unknown
operator, an operand of the wrong kind and an object that mixes operators with keys are refused when
they are read. Patterns are ECMAScript's.
"""

import json
import re
from functools import lru_cache
from typing import Annotated, Any, Protocol, cast

import regex
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    JsonValue,
)
from pydantic_core import CoreSchema

from webmcp_agent.agent.patterns import translated

SEARCH_LIMIT_MS = 1_000
SHOWN_LENGTH = 120
"""Characters of a value that a message shows."""

_COMPARISONS = {
    "$gt": "more than",
    "$gte": "at least",
    "$lt": "less than",
    "$lte": "at most",
}
_TYPES = ("string", "number", "boolean", "array", "object", "null")
OPERATORS = ("$pattern", "$contains", *_COMPARISONS, "$type", "$any")


class _Compiled(Protocol):
    def search(self, string: str, *, timeout: float) -> object: ...


def checked_matcher(expected: JsonValue) -> JsonValue:
    """The expected value itself, once everything in it can be used.

    Raises: `ValueError`, which says what cannot."""
    match expected:
        case list():
            for item in expected:
                checked_matcher(item)
        case dict():
            operators = [key for key in expected if key.startswith("$")]
            if operators and len(operators) < len(expected):
                raise ValueError(f"{operators[0]!r} stands beside a key that is no operator")
            for key, value in expected.items():
                if operators:
                    _check_operand(key, value)
                else:
                    checked_matcher(value)
        case _:
            pass
    return expected


def checked_pattern(pattern: str) -> str:
    """The pattern itself, when it can be run.

    Raises: `ValueError`."""
    _compiled(pattern, False)
    return pattern


Matcher = Annotated[JsonValue, AfterValidator(checked_matcher)]
"""An expected value in a model: refused when it holds what cannot be used."""

Matchers = Annotated[dict[str, JsonValue], AfterValidator(checked_matcher)]
"""Expected values by name."""

Pattern = Annotated[str, AfterValidator(checked_pattern)]
"""An ECMAScript pattern in a model; it may begin with `(?i)`."""


class OrText:
    """In a model: a bare text stands for what holds it, and the editors' schema says so."""

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        whole = handler(core)
        return {"anyOf": [whole.get("items", {"type": "string"}), whole]}


def listed(value: Any) -> Any:
    """One text stands for a list of one."""
    return [value] if isinstance(value, str) else value


Texts = Annotated[list[str], BeforeValidator(listed), Field(min_length=1), OrText()]
Patterns = Annotated[list[Pattern], BeforeValidator(listed), Field(min_length=1), OrText()]


def mismatch(expected: JsonValue, actual: JsonValue, place: str = "") -> str | None:
    """What is wrong with `actual`, in words that begin with its place; None when it matches."""
    label = f"{place} " if place else ""
    match expected:
        case dict() if any(key.startswith("$") for key in expected):
            for operator, operand in expected.items():
                if (wrong := _operator(operator, operand, actual)) is not None:
                    return f"{label}is {shown(actual)}, {wrong}"
            return None
        case dict():
            if not isinstance(actual, dict):
                return f"{label}is {shown(actual)}, not {shown(expected)}"
            for key, value in expected.items():
                inner = f"{place}.{key}" if place else key
                if key not in actual:
                    return f"{inner} is missing"
                if (wrong := mismatch(value, actual[key], inner)) is not None:
                    return wrong
            return None
        case list():
            if not isinstance(actual, list) or len(actual) != len(expected):
                return f"{label}is {shown(actual)}, not {shown(expected)}"
            for number, (one, other) in enumerate(zip(expected, actual, strict=True), 1):
                if (wrong := mismatch(one, other, f"{place}[{number}]")) is not None:
                    return wrong
            return None
        case _:
            same = same_value(expected, actual)
            return None if same else f"{label}is {shown(actual)}, not {shown(expected)}"


def same_value(one: JsonValue, other: JsonValue) -> bool:
    """Whether two JSON values are equal: 1 and 1.0 are, 1 and true are not."""
    match one, other:
        case bool(), _:
            return one is other
        case int() | float(), int() | float():
            return not isinstance(other, bool) and one == other
        case list(), list():
            return len(one) == len(other) and all(map(same_value, one, other))
        case dict(), dict():
            return one.keys() == other.keys() and all(same_value(one[k], other[k]) for k in one)
        case _:
            return type(one) is type(other) and one == other


def occurs(pattern: str, text: str, *, ignore_case: bool = False) -> bool:
    """Whether the pattern matches somewhere in the text; no, when that takes too long to tell."""
    try:
        found = _compiled(pattern, ignore_case).search(text, timeout=SEARCH_LIMIT_MS / 1000)
    except TimeoutError:
        return False
    return found is not None


def shown(value: JsonValue) -> str:
    """A value as JSON, cut when it is long."""
    text = json.dumps(value, ensure_ascii=False)
    if len(text) <= SHOWN_LENGTH:
        return text
    return f"{text[:SHOWN_LENGTH]}… ({len(text)} characters)"


def _check_operand(operator: str, operand: JsonValue) -> None:
    match operator:
        case "$pattern" if isinstance(operand, str):
            checked_pattern(operand)
        case "$contains" if isinstance(operand, str):
            pass
        case "$gt" | "$gte" | "$lt" | "$lte" if _is_number(operand):
            pass
        case "$type" if operand in _TYPES:
            pass
        case "$any" if operand is True:
            pass
        case _:
            if operator not in OPERATORS:
                raise ValueError(
                    f"there is no operator {operator!r}; there are {', '.join(OPERATORS)}"
                )
            raise ValueError(f"{operator} cannot be {shown(operand)}")


def _operator(operator: str, operand: JsonValue, actual: JsonValue) -> str | None:
    """Why the value does not do; None when it does."""
    match operator:
        case "$pattern":
            fits = isinstance(actual, str) and occurs(str(operand), actual)
            wanted = f"which does not match {shown(operand)}"
        case "$contains":
            fits = isinstance(actual, str) and str(operand) in actual
            wanted = f"which does not contain {shown(operand)}"
        case "$type":
            fits = operand == _type_of(actual)
            wanted = f"no {operand}"
        case "$any":
            return None
        case _:
            fits = _compares(operator, operand, actual)
            wanted = f"not {_COMPARISONS[operator]} {shown(operand)}"
    return None if fits else wanted


def _compares(operator: str, operand: JsonValue, actual: JsonValue) -> bool:
    if not isinstance(operand, int | float) or not isinstance(actual, int | float):
        return False
    if isinstance(actual, bool):
        return False
    match operator:
        case "$gt":
            return actual > operand
        case "$gte":
            return actual >= operand
        case "$lt":
            return actual < operand
        case _:
            return actual <= operand


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _type_of(value: JsonValue) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


@lru_cache(maxsize=512)
def _compiled(pattern: str, ignore_case: bool) -> _Compiled:
    prefix = re.match(r"\(\?([A-Za-z]+)\)", pattern)
    if prefix is not None and prefix[1] != "i":
        raise ValueError(f"the pattern {pattern!r} may begin with (?i), not with {prefix[0]}")
    flags = regex.VERSION0 | (regex.IGNORECASE if prefix or ignore_case else 0)
    try:
        plain = translated(pattern[prefix.end() :] if prefix else pattern)
        return cast("_Compiled", regex.compile(plain, flags))
    except (ValueError, regex.error, OverflowError, RecursionError) as exc:
        raise ValueError(f"the pattern {pattern!r} cannot be used: {exc}") from exc
