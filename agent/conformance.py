"""Arguments held against a sound schema by `jsonschema`, within bounds of our own.

Nothing is fetched: the registry is empty. Patterns run within a time limit, a check takes a limited
number of steps, and what is odd but allowed (a date that is none) is noted instead of refused.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from fractions import Fraction
from functools import lru_cache
from importlib import import_module
from typing import Any

from jsonschema import (
    Draft4Validator,
    Draft6Validator,
    Draft7Validator,
    Draft201909Validator,
    Draft202012Validator,
    FormatChecker,
    ValidationError,
)
from pydantic import JsonValue
from referencing import Registry

from webmcp_agent.agent.kinds import shown
from webmcp_agent.agent.patterns import occurs
from webmcp_agent.agent.schema import JsonObject
from webmcp_agent.agent.soundness import Draft

STEPS = 5_000
"""Keywords that a check may look at; arguments of a page need a few dozen."""

_VALIDATORS: dict[Draft, Any] = {
    "4": Draft4Validator,
    "6": Draft6Validator,
    "7": Draft7Validator,
    "2019-09": Draft201909Validator,
    "2020-12": Draft202012Validator,
}
_TIME = r"([01]\d|2[0-3]):[0-5]\d(:([0-5]\d|60)(\.\d+)?)?\s?([zZ]|[+-]\d\d:?\d\d)?"
_TIMES = re.compile(_TIME)
_DATE_TIMES = re.compile(r"(\d{4}-\d\d-\d\d)[tT ]" + _TIME)
_EMAILS = re.compile(r"[^\s@]+@[^\s@]+")


class CheckTooLong(Exception):
    """The check needs more steps than it may take."""


class Conformance:
    """A sound schema, ready to be held against arguments."""

    def __init__(self, schema: JsonObject, draft: Draft) -> None:
        registry: Registry[Any] = Registry()
        self._validator: Any = _validator_class(draft)(schema, registry=registry)

    def errors(self, args: JsonObject) -> tuple[list[ValidationError], list[str]]:
        """What does not conform, and what looks odd; in the schema's order.

        The message of an error about a name (missing, unknown) is that name.

        Raises:
            CheckTooLong: the schema needs too many steps for these arguments.
            PatternTooSlow: a pattern ran out of time.
        """
        bounds = _Bounds()
        # The format checker is what the library hands down to every part of a check.
        validator = self._validator.evolve(format_checker=bounds)
        return list(validator.iter_errors(args)), bounds.oddities


class _Bounds(FormatChecker):
    """The state of one check: steps that are left, and formats that did not fit."""

    def __init__(self) -> None:
        super().__init__(formats=())
        self.left = STEPS
        self.oddities: list[str] = []

    def step(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise CheckTooLong(f"the check takes more than {STEPS} steps")

    def check(self, instance: object, format: str) -> None:
        if isinstance(instance, str) and not _fits_format(instance, format):
            note = f"{shown(instance)} does not look like format {format}"
            if note not in self.oddities:
                self.oddities.append(note)


def _fits_format(text: str, format: str) -> bool:
    match format:
        case "date":
            return _is_date(text)
        case "time":
            return _TIMES.fullmatch(text) is not None
        case "date-time":
            found = _DATE_TIMES.fullmatch(text)
            return found is not None and _is_date(found[1])
        case "email":
            return _EMAILS.fullmatch(text) is not None
        case _:
            return True


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return len(text) == len("2030-01-31")


Keyword = Callable[[Any, Any, Any, Any], Iterable[ValidationError] | None]
"""A keyword of the library: validator, the keyword's value, the instance, the schema around it."""


@lru_cache(maxsize=5)
def _validator_class(draft: Draft) -> Any:
    base = _VALIDATORS[draft]
    validators: Any = import_module("jsonschema.validators")  # `extend` has no types
    keywords: dict[str, Keyword] = {**base.VALIDATORS, **_own_keywords(base)}
    return validators.extend(base, {name: _counted(keyword) for name, keyword in keywords.items()})


def _own_keywords(base: Any) -> dict[str, Keyword]:
    own: dict[str, Keyword] = {
        "required": _required,
        "additionalProperties": _additional_properties,
        "propertyNames": _property_names,
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "multipleOf": _multiple_of,
    }
    return {name: keyword for name, keyword in own.items() if name in base.VALIDATORS}


def _counted(keyword: Keyword) -> Keyword:
    def checked(
        validator: Any, value: Any, instance: Any, schema: Any
    ) -> Iterable[ValidationError] | None:
        validator.format_checker.step()
        return keyword(validator, value, instance, schema)

    return checked


def _required(
    validator: Any, names: list[str], instance: JsonValue, schema: JsonObject
) -> Iterator[ValidationError]:
    given = instance if isinstance(instance, dict) else dict.fromkeys(names)
    for name in names:
        if name not in given:
            yield ValidationError(name)


def _additional_properties(
    validator: Any, additional: JsonValue, instance: JsonValue, schema: JsonObject
) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    named, patterned = schema.get("properties"), schema.get("patternProperties")
    known = named if isinstance(named, dict) else {}
    patterns = list(patterned) if isinstance(patterned, dict) else []
    for name, member in instance.items():
        if name in known or any(occurs(pattern, name) for pattern in patterns):
            continue
        if additional is False:
            yield ValidationError(name)
        else:
            yield from validator.descend(member, additional, path=name)


def _property_names(
    validator: Any, names: JsonValue, instance: JsonValue, schema: JsonObject
) -> Iterator[ValidationError]:
    for name in instance if isinstance(instance, dict) else ():
        if next(iter(validator.descend(name, names)), None) is not None:
            yield ValidationError(name)


def _pattern(
    validator: Any, pattern: str, instance: JsonValue, schema: JsonObject
) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not occurs(pattern, instance):
        yield ValidationError(pattern)


def _pattern_properties(
    validator: Any, patterned: JsonObject, instance: JsonValue, schema: JsonObject
) -> Iterator[ValidationError]:
    members = instance if isinstance(instance, dict) else {}
    for pattern, each in patterned.items():
        for name, member in members.items():
            if occurs(pattern, name):
                yield from validator.descend(member, each, path=name, schema_path=pattern)


def _multiple_of(
    validator: Any, step: float, instance: JsonValue, schema: JsonObject
) -> Iterator[ValidationError]:
    # In decimals, as people write them: in doubles, 19.99 is no multiple of 0.01.
    if isinstance(instance, bool) or not isinstance(instance, int | float):
        return
    if isinstance(instance, float) and not math.isfinite(instance):
        return
    if Fraction(str(instance)) % Fraction(str(step)):
        yield ValidationError(str(step))
