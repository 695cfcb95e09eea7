"""A recorded run, read from its folder as calls to be made again.

Calls that never reached the page (refused, unknown, stopped) are left out. What a secret stood for
is filled in again from what the person gives by the same name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue, TypeAdapter, ValidationError

from webmcp_agent.agent.stream import (
    AgentStreamPart,
    ToolCall,
    ToolError,
    ToolResult,
    part_from_json,
)
from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.errors import BadFile, Problem
from webmcp_agent.scenarios.example_values import read_schema
from webmcp_agent.scenarios.offered import Offered, OfferedTool, Start
from webmcp_agent.scenarios.replay import Recorded, ReplayCall
from webmcp_agent.scenarios.replay_links import answer_value, links_of
from webmcp_agent.scenarios.report import PAGE_FILE, PARTS_FILE, SUMMARY_FILE, TRACE_FILE
from webmcp_agent.scenarios.scenario import Case
from webmcp_agent.scenarios.variables import fill

_NOT_SENT = {"denied", "blocked", "cancelled", "invalid-args", "not-found", "changed"}
"""Outcomes of calls that the page never heard of, or not as they were meant."""

_LINE: TypeAdapter[JsonObject] = TypeAdapter(JsonObject)


@dataclass(frozen=True, slots=True)
class Recording:
    """A recorded run."""

    case: Case
    """Where it began."""
    calls: tuple[ReplayCall, ...]


def is_recording(path: Path) -> bool:
    """Whether a folder is that of a run."""
    return (path / PARTS_FILE).is_file()


def recordings_in(path: Path) -> list[Path]:
    """The folders of runs in a folder: itself, or those just below it, in their order."""
    if is_recording(path):
        return [path]
    return sorted(folder for folder in path.iterdir() if folder.is_dir() and is_recording(folder))


def read_recording(folder: Path, values: Mapping[str, str]) -> Recording:
    """The recorded run in a folder; `values` are what the person gives by name.

    Raises: `BadFile`."""
    start, listings = _page_of(folder)
    case = Case(
        file=folder,
        name=_name_of(folder),
        group=str(folder.parent),
        turns=(),
        checks=None,
        start=None if start is None else start.start,
        setup=() if start is None else tuple(start.setup),
    )
    return Recording(case, tuple(_calls(_parts_of(folder), listings, _said_in(folder), values)))


def _calls(
    parts: Sequence[AgentStreamPart],
    listings: Sequence[Offered],
    said: str,
    values: Mapping[str, str],
) -> list[ReplayCall]:
    running: dict[str, ToolCall] = {}
    calls: list[ReplayCall] = []
    answers: list[JsonValue] = []
    made = 0
    for part in parts:
        if isinstance(part, ToolCall):
            running[part.id] = part
        if not isinstance(part, ToolResult | ToolError) or part.id not in running:
            continue
        call = running.pop(part.id)
        before, after = _listing(listings, made), _listing(listings, made + 1)
        made += 1
        if isinstance(part, ToolError) and part.code in _NOT_SENT:
            continue
        tool = _tool_in(before, call.name)
        schema = None if tool is None else read_schema(tool.input_schema)
        ok = isinstance(part, ToolResult)
        value = answer_value(part.result, part.text) if ok else None
        calls.append(
            ReplayCall(
                tool=call.name,
                args=_filled_object(call.args, values),
                links=tuple(links_of(call.args, answers, said, schema)),
                recorded=Recorded(
                    outcome="ok" if ok else part.code,
                    value=value,
                    tool=tool,
                    path=after.path if after is not None and after.after_call == made else None,
                ),
            )
        )
        answers.append(value)
    return calls


def _listing(listings: Sequence[Offered], calls: int) -> Offered | None:
    """What the page offered when so many calls had been made."""
    earlier = [each for each in listings if each.after_call <= calls]
    return earlier[-1] if earlier else None


def _tool_in(listing: Offered | None, name: str) -> OfferedTool | None:
    tools = () if listing is None else listing.tools
    return next((tool for tool in tools if tool.name == name), None)


def _filled_object(args: JsonObject, values: Mapping[str, str]) -> JsonObject:
    return {name: _filled(value, values) for name, value in args.items()}


def _filled(value: JsonValue, values: Mapping[str, str]) -> JsonValue:
    match value:
        case str():
            return fill(value, values)
        case list():
            return [_filled(item, values) for item in value]
        case dict():
            return _filled_object(value, values)
        case _:
            return value


# --- the files -----------------------------------------------------------------------------------


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as exc:
        raise BadFile(file, [Problem(None, "", "it cannot be read")]) from exc


def _parts_of(folder: Path) -> list[AgentStreamPart]:
    parts: list[AgentStreamPart] = []
    lines = _lines(folder / PARTS_FILE)
    for number, line in enumerate(lines, 1):
        try:
            parts.append(part_from_json(line))
        except ValueError as exc:
            # A run that was killed may have left half a line.
            if number == len(lines):
                break
            problem = Problem(number, "", "this is no part of a run")
            raise BadFile(folder / PARTS_FILE, [problem]) from exc
    return parts


def _page_of(folder: Path) -> tuple[Start | None, list[Offered]]:
    start: Start | None = None
    listings: list[Offered] = []
    for number, line in enumerate(_lines(folder / PAGE_FILE), 1):
        try:
            value = _LINE.validate_json(line)
            if value.get("type") == "start":
                start = start or Start.model_validate(value)
            else:
                listings.append(Offered.model_validate(value))
        except ValidationError as exc:
            problem = Problem(number, "", "this is neither a start nor a list of tools")
            raise BadFile(folder / PAGE_FILE, [problem]) from exc
    return start, listings


def _name_of(folder: Path) -> str:
    """The case's own name; the folder's, which has the words of the task, for a plain run."""
    try:
        summary = _LINE.validate_json((folder / SUMMARY_FILE).read_bytes())
    except (OSError, ValidationError):
        return folder.name
    name = summary.get("case")
    return name if isinstance(name, str) else folder.name


def _said_in(folder: Path) -> str:
    """All that the person said, from the prompts in the trace; empty where there is none."""
    said: dict[str, None] = {}
    for line in _lines(folder / TRACE_FILE):
        try:
            event = _LINE.validate_json(line)
        except ValidationError:
            continue
        turns = event.get("turns") if event.get("type") == "request" else None
        for turn in turns if isinstance(turns, list) else ():
            if isinstance(turn, dict) and turn.get("role") == "user":
                said[str(turn.get("content"))] = None
    return "\n".join(said)
