"""What is wrong with arguments, in words that a small model can act on.

A problem names the place, the fault and what would be right; the texts of the library, which print
whole values and schemas, are not used.
"""

import difflib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from jsonschema import ValidationError
from pydantic import JsonValue

from webmcp_agent.agent.coercion import path_text
from webmcp_agent.agent.kinds import Kind, fits_kinds, is_kind, kind_words, shown
from webmcp_agent.agent.outline import Outline, Path
from webmcp_agent.agent.schema import JsonObject

LISTED_VALUES = 10
NEAR_VALUES = 5
LISTED_NAMES = 12
COMPARED = 1000
"""Values and names that are compared when a near one is looked for."""

_MISSING, _VALUE, _UNKNOWN = 0, 1, 2
_LIMITS = {
    "minimum": "at least",
    "maximum": "at most",
    "exclusiveMinimum": "more than",
    "exclusiveMaximum": "less than",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with the arguments."""

    path: Path
    text: str
    rank: int
    """Missing names come first, unknown ones last."""
    weight: int = 2
    """Of several problems at one place, the lightest is told."""


def told(problems: Iterable[Problem]) -> list[str]:
    """The problems in the order in which they are told, one for each place."""
    chosen: dict[Path, Problem] = {}
    for problem in problems:
        known = chosen.get(problem.path)
        if known is None or problem.weight < known.weight:
            chosen[problem.path] = problem
    return [problem.text for problem in sorted(chosen.values(), key=lambda each: each.rank)]


def inexact_number(path: Path, value: float) -> Problem:
    """A number that would arrive as another one."""
    if isinstance(value, int):
        fault = "is too large a number to be passed exactly"
    else:
        fault = f"must be a finite number, not {shown(value)}"
    return Problem(path, f"{_name(path)} {fault}", _VALUE, weight=0)


@dataclass(frozen=True, slots=True)
class Wording:
    """Puts the errors about some arguments into words."""

    outline: Outline
    args: JsonObject

    def problems(self, errors: Iterable[ValidationError]) -> Iterator[Problem]:
        """The problems behind the errors, in their order."""
        for error in errors:
            yield from self._problems(error)

    def unknown(self, path: Path) -> Problem | None:
        """An unknown name; None when a missing one already speaks of it."""
        around, name = path[:-1], str(path[-1])
        schema, given = self.outline.at(around), self._given(around)
        known = self.outline.names(schema)
        missing = [each for each in self.outline.required(schema) if each not in given]
        if any(_folded(each) == _folded(name) for each in missing):
            return None
        near = next((each for each in known if _folded(each) == _folded(name)), None)
        near = near or next(iter(_nearest(name, known, 1)), None)
        if near is not None and near != name:
            return Problem(path, f"unknown {_name(path)} (did you mean {_quoted(near)}?)", _UNKNOWN)
        others = [_quoted(each) for each in known if each != name]
        listed = ", ".join(others[:LISTED_NAMES]) + (", …" if len(others) > LISTED_NAMES else "")
        return Problem(path, f"unknown {_name(path)}; it takes {listed or 'nothing'}", _UNKNOWN)

    def _problems(self, error: ValidationError) -> Iterator[Problem]:
        path: Path = tuple(error.absolute_path)
        value, expected = _plain(error.instance), _plain(error.validator_value)
        keyword = _plain(error.validator)
        match keyword:
            case "required":
                yield self._missing((*path, error.message))
            case "additionalProperties" | "propertyNames":
                yield from self._unknown((*path, error.message))
            case "not" if expected == {} and path and isinstance(path[-1], str):
                yield from self._unknown(path)  # the property is never allowed
            case "unevaluatedProperties":
                yield from self._unevaluated(error, path)
            case _ if value is None and (leave := self._leave_out(path)):
                yield leave
            case "type":
                names = expected if isinstance(expected, list) else [expected]
                yield self._wrong_kind(path, value, [name for name in names if is_kind(name)])
            case "enum":
                yield _wrong_value(path, value, expected if isinstance(expected, list) else [])
            case "const":
                yield _wrong_value(path, value, [expected])
            case "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum":
                yield _beyond(path, value, expected, error)
            case "pattern":
                yield self._wrong_form(path, value, str(expected))
            case "anyOf" | "oneOf":
                yield from self._no_branch(error, path, value)
            case _:
                yield self._other(path, str(keyword))

    def _missing(self, path: Path) -> Problem:
        name = str(path[-1])
        schema, given = self.outline.at(path[:-1]), self._given(path[:-1])
        known = self.outline.names(schema)
        kinds = self.outline.kinds(self.outline.at(path))
        about = self.outline.description(path) or (kind_words(kinds) if kinds else "")
        wrote = [each for each in given if each not in known and _folded(each) == _folded(name)]
        text = f"missing {_name(path)}"
        text += f" ({about})" if about else ""
        text += f", you wrote {_quoted(wrote[0])}" if wrote else ""
        return Problem(path, text, _MISSING)

    def _unknown(self, path: Path) -> Iterator[Problem]:
        problem = self.unknown(path)
        if problem is not None:
            yield problem

    def _unevaluated(self, error: ValidationError, path: Path) -> Iterator[Problem]:
        known = self.outline.names(_plain(error.schema))
        extra = [name for name in self._given(path) if name not in known]
        for name in extra:
            yield from self._unknown((*path, name))
        if not extra:
            yield self._other(path, "unevaluatedProperties")

    def _leave_out(self, path: Path) -> Problem | None:
        """Null for an optional property that allows none."""
        if not path or not isinstance(path[-1], str):
            return None
        kinds = self.outline.kinds(self.outline.at(path))
        required = self.outline.required(self.outline.at(path[:-1]))
        if kinds is None or "null" in kinds or path[-1] in required:
            return None
        text = f"leave {_name(path)} out, or give {kind_words(kinds)}"
        return Problem(path, text, _VALUE, weight=0)

    def _wrong_kind(self, path: Path, value: JsonValue, kinds: Sequence[Kind]) -> Problem:
        given = f"the text {shown(value)}" if isinstance(value, str) else shown(value)
        text = f"{_name(path)} must be {kind_words(kinds)}, not {given}"
        return Problem(path, text, _VALUE)

    def _wrong_form(self, path: Path, value: JsonValue, pattern: str) -> Problem:
        about = self.outline.description(path)
        if not about:
            about = f"it must match {pattern if len(pattern) <= 40 else pattern[:39] + '…'}"
        return Problem(path, f"{_name(path)} has the wrong form: {shown(value)} ({about})", _VALUE)

    def _no_branch(self, error: ValidationError, path: Path, value: JsonValue) -> Iterator[Problem]:
        branches: JsonObject = {str(error.validator): _plain(error.validator_value)}
        values = self.outline.values(branches)
        kinds = self.outline.kinds(branches)
        if not error.context:  # more than one branch of `oneOf` fits
            yield self._other(path, str(error.validator))
        elif values is not None:
            yield _wrong_value(path, value, values)
        elif kinds is not None and not fits_kinds(value, kinds):
            yield self._wrong_kind(path, value, kinds)
        else:
            yield from self._nearest_branch(error, path)

    def _nearest_branch(self, error: ValidationError, path: Path) -> Iterator[Problem]:
        """What is wrong with the branch that wants this kind of value and misses it least."""
        branches: dict[object, list[ValidationError]] = {}
        for each in error.context or ():
            branches.setdefault(each.schema_path[0], []).append(each)
        fitting = [
            errors
            for errors in branches.values()
            if not any(each.validator == "type" and not each.path for each in errors)
        ]
        if not fitting:
            yield self._other(path, str(error.validator))
            return
        yield from self.problems(min(fitting, key=len))

    def _other(self, path: Path, keyword: str) -> Problem:
        subject = f"{_name(path)} does" if path else "the arguments do"
        return Problem(path, f"{subject} not fit the tool ({keyword})", _VALUE, weight=3)

    def _given(self, path: Path) -> JsonObject:
        """The object in the arguments at a path."""
        here: JsonValue = self.args
        for step in path:
            match here, step:
                case dict(), str():
                    here = here[step]
                case list(), int():
                    here = here[step]
                case _:
                    return {}
        return here if isinstance(here, dict) else {}


def _wrong_value(path: Path, value: JsonValue, allowed: Sequence[JsonValue]) -> Problem:
    """One of few values is listed whole; of many, the nearest."""
    if len(allowed) == 1:
        expected = shown(allowed[0])
    elif len(allowed) <= LISTED_VALUES:
        expected = f"one of {', '.join(shown(each) for each in allowed)}"
    else:
        texts = [_text(each) for each in allowed[:COMPARED]]
        near = _nearest(_text(value), texts, NEAR_VALUES) or texts[:NEAR_VALUES]
        found = [shown(allowed[texts.index(text)]) for text in near]
        expected = f"one of {len(allowed)} values such as {', '.join(found)}"
    text = f"{_name(path)} must be {expected}, not {shown(value)}"
    return Problem(path, text, _VALUE, weight=1)


def _beyond(path: Path, value: JsonValue, limit: JsonValue, error: ValidationError) -> Problem:
    keyword = str(error.validator)
    schema = _plain(error.schema)
    exclusive = f"exclusive{keyword.capitalize()}"  # a flag beside the limit in draft 4
    if isinstance(schema, dict) and schema.get(exclusive) is True:
        keyword = exclusive
    text = f"{_name(path)} must be {_LIMITS[keyword]} {shown(limit)}, not {shown(value)}"
    return Problem(path, text, _VALUE)


def _plain(value: Any) -> JsonValue:
    """A value that the library handed back: a part of our own arguments or schema."""
    return value


def _name(path: Path) -> str:
    return _quoted(path_text(path)) if path else "the arguments"


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else shown(value)


def _folded(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


def _nearest(text: str, among: Sequence[str], count: int) -> list[str]:
    """The most similar texts, best first; only the first 60 characters of each are compared."""
    short = {each[:60]: each for each in reversed(among[:COMPARED])}
    return [short[each] for each in difflib.get_close_matches(text[:60], short, count)]
