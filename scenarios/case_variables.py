"""The variables of a scenario file: `{NAME}` in its texts, filled in before the file is read.

A text that is nothing but `{NAME}` becomes the value itself, so that a number stays one. In
requests, setup, instructions and start every name needs a value; in checks, where braces are
JavaScript's and patterns' own, only names under `vars` do.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace

from pydantic import JsonValue

from webmcp_agent.scenarios.errors import BadFile, Problem
from webmcp_agent.scenarios.source_file import SourceFile
from webmcp_agent.scenarios.variables import NAME, fill, names_in

_FULL = ("start", "model", "requests", "setup", "instructions")
"""Keys whose texts are for people, pages and models: each name in them needs a value."""

_Place = tuple[str | int, ...]


def filled_in(source: SourceFile, given: Mapping[str, str]) -> tuple[SourceFile, frozenset[str]]:
    """The file with its variables filled in, and the names that it has a place or a value for.

    Raises: `BadFile` for a name without a value, and for a value that is given and cannot be one of
    the kind that the file has."""
    top = source.value
    if not isinstance(top, dict):
        return source, frozenset()
    declared = top.get("vars")
    declared = declared if isinstance(declared, dict) else {}
    values = _values(source, declared, given)
    texts = [
        (place, text)
        for key, value in top.items()
        if key != "vars"
        for place, text in _texts(value, (key,))
    ]
    problems = [
        source.problem(place, f"{{{name}}} has no value; give it under vars or with --var {name}=…")
        for place, text in texts
        for name in names_in(text)
        if values.get(name) is None
        if name in values or (place[0] in _FULL and "checks" not in place)
    ]
    if problems:
        raise BadFile(source.path, problems)
    filled: dict[str, JsonValue] = {
        key: value if key == "vars" else _filled(value, values) for key, value in top.items()
    }
    names = {name for _, text in texts for name in names_in(text)}
    return replace(source, value=filled), frozenset(names | set(declared))


def _values(
    source: SourceFile, declared: Mapping[str, JsonValue], given: Mapping[str, str]
) -> dict[str, JsonValue]:
    """The value of each name; None where nobody gave one."""
    problems: list[Problem] = []
    values: dict[str, JsonValue] = dict(given)
    for name, value in declared.items():
        if NAME.fullmatch(name) is None:
            text = "a name has letters, digits and _, and begins with no digit"
            problems.append(source.problem(("vars", name), text))
        text = given.get(name)
        values[name] = value if text is None else _like(value, text)
        if text is None or values[name] is not None:
            continue
        kind = "true or false" if isinstance(value, bool) else "a number"
        problems.append(source.problem(("vars", name), f"it is {kind}, not {text!r}"))
    if problems:
        raise BadFile(source.path, problems)
    return values


def _like(declared: JsonValue, text: str) -> JsonValue:
    """A text from the command line as the kind of value that the file has; None if it is none."""
    if not isinstance(declared, bool | int | float):
        return text
    try:
        value: JsonValue = json.loads(text)
    except ValueError:
        return None
    same = isinstance(value, bool) == isinstance(declared, bool)
    return value if same and isinstance(value, bool | int | float) else None


def _texts(value: JsonValue, place: _Place) -> Iterator[tuple[_Place, str]]:
    match value:
        case str():
            yield place, value
        case list():
            for number, item in enumerate(value):
                yield from _texts(item, (*place, number))
        case dict():
            for key, item in value.items():
                yield from _texts(item, (*place, key))
        case _:
            return


def _filled(value: JsonValue, values: Mapping[str, JsonValue]) -> JsonValue:
    match value:
        case str():
            names = names_in(value)
            if len(names) == 1 and value == f"{{{names[0]}}}":
                whole = values.get(names[0])
                return value if whole is None else whole
            known = {name: found for name in names if (found := values.get(name)) is not None}
            return fill(value, {name: _text(found) for name, found in known.items()})
        case list():
            return [_filled(item, values) for item in value]
        case dict():
            return {key: _filled(item, values) for key, item in value.items()}
        case _:
            return value


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
