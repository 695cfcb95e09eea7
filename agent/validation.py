"""Arguments of a call, checked against the page's own schema before anything is sent.

Chromium parses the arguments of a call but does not hold them against the schema, so this is the
only check. First mild coercion, then what is missing is filled where the schema leaves no question,
then the whole schema. Nothing is removed or renamed.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from jsonschema import ValidationError
from pydantic import JsonValue

from webmcp_agent.agent.coercion import LARGEST_INTEGER, Coercion, path_text
from webmcp_agent.agent.conformance import Conformance
from webmcp_agent.agent.outline import Outline, Path
from webmcp_agent.agent.patterns import PatternTooSlow
from webmcp_agent.agent.problems import Problem, Wording, inexact_number, told
from webmcp_agent.agent.schema import read_schema
from webmcp_agent.agent.soundness import draft_of, sound_schema
from webmcp_agent.browser.tools import JsonObject, PageTool

TOLD_PROBLEMS = 3
SLOW_PATTERNS = 3
"""Patterns that may run out of time before the whole check is skipped: 150 ms in all."""


@dataclass(frozen=True, slots=True)
class ValidArgs:
    """Arguments that may be sent."""

    args: JsonObject
    """What to send: the given arguments, coerced and filled."""
    changes: list[str] = field(default_factory=list[str])
    """What differs from the given ones (`n: "2" sent as 2`), and unknown names that are sent."""
    warnings: list[str] = field(default_factory=list[str])
    """Parts of the schema that could not be checked, and values that look odd."""


@dataclass(frozen=True, slots=True)
class InvalidArgs:
    """Arguments that may not be sent."""

    message: str
    """`{tool}: {problem}; {problem}`, at most three problems. The one who tells the model puts
    `Error: ` before it and `. Try again.` after it."""
    changes: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])


def validate_args(tool: PageTool, args: JsonObject) -> ValidArgs | InvalidArgs:
    """The arguments as they are to be sent, or why they are not.

    Changes no input. A schema that is broken or needs too long never refuses a call: the page has
    the last word. Never raises, never reaches the network."""
    slow: frozenset[str] = frozenset()
    try:
        while True:
            try:
                return _checked(tool, args, _checker(_schema_text(tool.input_schema), slow), slow)
            except PatternTooSlow as exc:
                slow |= {exc.pattern}
    except Exception as exc:  # noqa: BLE001 - the schema is the page's
        problems, warnings = told(_inexact_numbers(args)), [_unchecked(exc)]
    if problems:
        return InvalidArgs(_message(tool, problems), [], warnings)
    return ValidArgs(args, [], warnings)


@dataclass(frozen=True, slots=True)
class _Checker:
    outline: Outline
    conformance: Conformance
    warnings: list[str]


def _schema_text(schema: JsonObject | str | None) -> str:
    return json.dumps(schema)


@lru_cache(maxsize=256)
def _checker(schema_text: str, slow_patterns: frozenset[str]) -> _Checker:
    schema, warnings = read_schema(json.loads(schema_text))
    draft = draft_of(schema)
    sound, left_out = sound_schema(schema, draft, slow_patterns)
    return _Checker(Outline(sound), Conformance(sound, draft), [*warnings, *left_out])


def _checked(
    tool: PageTool, args: JsonObject, checker: _Checker, slow_patterns: frozenset[str]
) -> ValidArgs | InvalidArgs:
    outline = checker.outline
    coercion = Coercion(outline)
    sent = coercion.coerced(args)
    errors, oddities = _errors(checker.conformance, sent, slow_patterns)
    wording = Wording(outline, sent)
    found = [*_inexact_numbers(sent), *wording.problems(errors)]
    refused = {problem.path for problem in found}
    if tool.declarative:
        # The browser itself refuses what a form has no field for.
        names = [path for path in coercion.unknown if len(path) == 1 and path not in refused]
        found += [problem for path in names if (problem := wording.unknown(path))]
    warnings = [*checker.warnings, *oddities]
    if found:
        return InvalidArgs(_message(tool, told(found)), coercion.changes, warnings)
    sent_anyway = [f"{path_text(path)}: unknown, sent unchanged" for path in coercion.unknown]
    return ValidArgs(sent, [*coercion.changes, *sent_anyway], warnings)


def _errors(
    conformance: Conformance, args: JsonObject, slow_patterns: frozenset[str]
) -> tuple[list[ValidationError], list[str]]:
    """What the schema refuses; nothing, with a warning, when the check cannot be ended."""
    if len(slow_patterns) >= SLOW_PATTERNS:
        return [], ["the arguments were not checked: too many slow patterns"]
    try:
        return conformance.errors(args)
    except PatternTooSlow:
        raise
    except Exception as exc:  # noqa: BLE001 - the check is a library's
        return [], [_unchecked(exc)]


def _unchecked(exc: Exception) -> str:
    reason = " ".join(str(exc).split())[:120] or type(exc).__name__
    return f"the arguments were not checked: {reason}"


def _message(tool: PageTool, problems: list[str]) -> str:
    return f"{tool.name}: {'; '.join(problems[:TOLD_PROBLEMS])}"


def _inexact_numbers(args: JsonObject) -> Iterator[Problem]:
    """Numbers that JSON or a page cannot hold, at any depth."""
    waiting: list[tuple[Path, JsonValue]] = [((), args)]
    while waiting:
        path, value = waiting.pop()
        match value:
            case dict():
                waiting += [((*path, name), each) for name, each in reversed(value.items())]
            case list():
                waiting += [((*path, i), each) for i, each in reversed(list(enumerate(value)))]
            case bool():
                pass
            case int() if abs(value) > LARGEST_INTEGER:
                yield inexact_number(path, value)
            case float() if not math.isfinite(value):
                yield inexact_number(path, value)
            case _:
                pass
