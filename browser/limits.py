"""What the arguments of a call may be: numbers, choices, patterns; a part of the user's policy.

A limit that cannot be judged counts as broken: a text where a number is limited is no way around
it. An argument that a call leaves out breaks nothing.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

import regex
from pydantic import JsonValue

from webmcp_agent.browser.tools import JsonObject

_NUMBER = re.compile(r"[-+]?[0-9]{1,30}(\.[0-9]{1,30})?")
_MATCH_LIMIT_S = 0.2
"""How long a pattern may take; what takes longer does not match."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """What one argument may be."""

    argument: str
    """A name, wherever it stands in the arguments and whatever the case of its letters; or with
    dots a path from their top, such as `payment.total`. Lists on the way count item by item."""
    tool: str = "*"
    """Glob of the tools that it is for."""
    at_most: float | None = None
    at_least: float | None = None
    one_of: tuple[JsonValue, ...] | None = None
    matches: str | None = None
    """A pattern that a text matches from beginning to end."""

    def broken_by(self, args: JsonObject) -> str | None:
        """What is wrong with the arguments, in words; None when they keep to it."""
        for value in self._values(args):
            if (wanted := self._broken(value)) is not None:
                shown = json.dumps(value, ensure_ascii=False)
                shown = shown if len(shown) <= 60 else shown[:59] + "…"
                return f"The policy allows {wanted} in {self.argument}, not {shown}."
        return None

    def _broken(self, value: JsonValue) -> str | None:
        number = _number(value)
        if self.at_most is not None and not (number is not None and number <= self.at_most):
            return f"at most {self.at_most:g}"
        if self.at_least is not None and not (number is not None and number >= self.at_least):
            return f"at least {self.at_least:g}"
        if self.one_of is not None and not any(_same(value, each) for each in self.one_of):
            return "only " + ", ".join(json.dumps(each, ensure_ascii=False) for each in self.one_of)
        if self.matches is not None and not _matches(self.matches, value):
            return f"only what matches {self.matches}"
        return None

    def _values(self, args: JsonObject) -> Iterator[JsonValue]:
        if "." in self.argument:
            yield from _items(_at_path(args, self.argument.split(".")))
        else:
            yield from _items(_named(args, self.argument.casefold()))


def _items(found: Iterator[JsonValue]) -> Iterator[JsonValue]:
    """The values, lists item by item."""
    for value in found:
        if isinstance(value, list):
            yield from _items(iter(value))
        else:
            yield value


def _named(value: JsonValue, name: str) -> Iterator[JsonValue]:
    """What stands under a name, at any depth."""
    if isinstance(value, list):
        for item in value:
            yield from _named(item, name)
    elif isinstance(value, dict):
        for key, member in value.items():
            if key.casefold() == name:
                yield member
            yield from _named(member, name)


def _at_path(value: JsonValue, steps: list[str]) -> Iterator[JsonValue]:
    if not steps:
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _at_path(item, steps)
    elif isinstance(value, dict) and steps[0] in value:
        yield from _at_path(value[steps[0]], steps[1:])


def _number(value: JsonValue) -> float | None:
    """A number, also when it is written as a text."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        return float(value)
    return None


def _matches(pattern: str, value: JsonValue) -> bool:
    try:
        return isinstance(value, str) and (
            regex.fullmatch(pattern, value, timeout=_MATCH_LIMIT_S) is not None
        )
    except TimeoutError:
        return False


def _same(value: JsonValue, other: JsonValue) -> bool:
    """Equal as JSON values: `true` is not 1."""
    return value == other and isinstance(value, bool) == isinstance(other, bool)
