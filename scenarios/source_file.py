"""A YAML or JSON file read strictly: its values, and the line on which each of them stands.

YAML is read by the core schema of YAML 1.2: `yes`, `on`, `12:30` and `2026-01-20` are texts, and
only `true`, `false`, `null` and numbers are anything else. A key that stands twice is refused, and
so are aliases and tags.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import JsonValue, TypeAdapter, ValidationError

from webmcp_agent.scenarios.errors import BadFile, Problem

T = TypeVar("T")

_UNKNOWN_KEY = "extra_forbidden"
_MESSAGES = {_UNKNOWN_KEY: "there is no such key", "missing": "is missing"}
"""Of pydantic's error types, those that are said in words of ours."""

_SCALARS = (
    ("tag:yaml.org,2002:null", r"^(~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("tag:yaml.org,2002:bool", r"^(true|True|TRUE|false|False|FALSE)$", list("tTfF")),
    ("tag:yaml.org,2002:int", r"^[-+]?[0-9]+$", list("-+0123456789")),
    (
        "tag:yaml.org,2002:float",
        r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$",
        list("-+.0123456789"),
    ),
)
"""What is more than a text; YAML 1.2, 10.3.2, without octal, hexadecimal, infinities and NaN."""


class _Loader(yaml.SafeLoader):
    """PyYAML with the scalars above instead of those of YAML 1.1."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark: Any = self.get_mark()
            raise yaml.MarkedYAMLError(problem="aliases are not supported", problem_mark=mark)
        return super().compose_node(parent, index)


for _tag, _pattern, _first in _SCALARS:
    _Loader.yaml_implicit_resolvers |= {
        first: [*_Loader.yaml_implicit_resolvers.get(first, []), (_tag, re.compile(_pattern))]
        for first in _first
    }


@dataclass(frozen=True, slots=True)
class SourceFile:
    """What a file holds."""

    path: Path
    value: JsonValue
    text: str

    def problem(self, where: Sequence[str | int], text: str) -> Problem:
        """A problem with what stands at `where`; steps that the file does not have are left out."""
        # JSON is YAML, but for some blanks: good enough to find a line in it.
        try:
            node = _composed(self.text)
        except (yaml.YAMLError, RecursionError):
            node = None
        line, steps = None if node is None else node.start_mark.line + 1, list[str]()
        value = self.value
        for step in where:
            if isinstance(value, dict) and step in value:
                value = value[str(step)]
                steps.append(str(step))
                node, line = _member(node, str(step), line)
            elif isinstance(value, list) and isinstance(step, int) and step < len(value):
                value = value[step]
                steps.append(str(step + 1))
                node, line = _item(node, step, line)
        return Problem(line, ".".join(steps), text)

    def as_type(self, adapter: TypeAdapter[T]) -> T:
        """The content as what the adapter reads.

        Raises: `BadFile` with each problem, its line and its key."""
        try:
            return adapter.validate_python(self.value)
        except ValidationError as exc:
            raise BadFile(self.path, [self._told(error) for error in exc.errors()]) from exc

    def _told(self, error: Any) -> Problem:
        kind, where = str(error["type"]), list[str | int](error["loc"])
        text = _MESSAGES.get(kind, str(error["msg"]).removeprefix("Value error, "))
        if kind == "missing":
            return self.problem(where, f"{where[-1]!r} {text}")
        return self.problem(where, text[:1].lower() + text[1:])


def read_yaml(path: Path) -> SourceFile:
    """A YAML file with one document.

    Raises: `BadFile`."""
    text = _text(path)
    try:
        root = _composed(text)
    except yaml.MarkedYAMLError as exc:
        line = exc.problem_mark.line + 1 if exc.problem_mark else None
        raise BadFile(path, [Problem(line, "", exc.problem or "this is no YAML")]) from exc
    except (yaml.YAMLError, RecursionError) as exc:
        raise BadFile(path, [Problem(None, "", "this cannot be read as YAML")]) from exc
    if root is None:
        raise BadFile(path, [Problem(None, "", "the file is empty")])
    return SourceFile(path, _value(path, root), text)


def read_json(path: Path) -> SourceFile:
    """A JSON file.

    Raises: `BadFile`."""
    text = _text(path)
    try:
        value: JsonValue = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except json.JSONDecodeError as exc:
        raise BadFile(path, [Problem(exc.lineno, "", f"this is no JSON: {exc.msg}")]) from exc
    except (ValueError, RecursionError) as exc:
        raise BadFile(path, [Problem(None, "", f"this is no JSON: {exc}")]) from exc
    return SourceFile(path, value, text)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as exc:
        reason = exc.strerror or type(exc).__name__
        raise BadFile(path, [Problem(None, "", f"it cannot be read: {reason}")]) from exc
    except UnicodeDecodeError as exc:
        raise BadFile(path, [Problem(None, "", "it is no UTF-8 text")]) from exc


def _composed(text: str) -> yaml.Node | None:
    loader = _Loader(text)
    try:
        return loader.get_single_node()
    finally:
        loader.dispose()


def _value(path: Path, node: yaml.Node) -> JsonValue:
    """The value of a node; also refuses what JSON has no word for."""
    line = node.start_mark.line + 1
    match node:
        case yaml.MappingNode():
            found: dict[str, JsonValue] = {}
            for key, value in node.value:
                name = key.value
                if not isinstance(key, yaml.ScalarNode):
                    raise BadFile(path, [Problem(line, "", "a key must be a text")])
                if name in found:
                    at = key.start_mark.line + 1
                    raise BadFile(path, [Problem(at, str(name), "this key stands here twice")])
                found[str(name)] = _value(path, value)
            return found
        case yaml.SequenceNode():
            return [_value(path, item) for item in node.value]
        case _:
            return _scalar(path, node, line)


def _scalar(path: Path, node: yaml.Node, line: int) -> JsonValue:
    text = str(node.value)
    match node.tag.rpartition(":")[2]:
        case "str":
            return text
        case "null":
            return None
        case "bool":
            return text.casefold() == "true"
        case "int":
            return int(text)
        case "float":
            return float(text)
        case other:
            raise BadFile(path, [Problem(line, "", f"the tag {other!r} is not supported")])


def _once(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} stands in one object twice")
    return found


def _no_number(text: str) -> JsonValue:
    raise ValueError(f"{text} is no number in JSON")


def _member(node: yaml.Node | None, name: str, line: int | None) -> tuple[yaml.Node | None, Any]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == name:
                return value, key.start_mark.line + 1
    return None, line


def _item(node: yaml.Node | None, index: int, line: int | None) -> tuple[yaml.Node | None, Any]:
    if isinstance(node, yaml.SequenceNode) and index < len(node.value):
        item = node.value[index]
        return item, item.start_mark.line + 1
    return None, line
