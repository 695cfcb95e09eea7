"""What happened in a run, step by step, read back from the files that it left in its folder.

The stream (`parts.jsonl`) says what was called and answered, the trace (`trace.jsonl`) what the
model was given and wrote, and how long things took. Either may be missing, and the last line of
each may be cut off: then there is less to tell. What stands in the files is taken as it is; masking
happened before it was written.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

from pydantic import JsonValue, TypeAdapter

from webmcp_agent.agent.stream import (
    AgentStreamPart,
    Finish,
    MessageStart,
    RunError,
    TextDelta,
    ToolCall,
    ToolError,
    ToolResult,
    part_from_json,
)
from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.report import PARTS_FILE, TRACE_FILE

_EVENT: TypeAdapter[JsonObject] = TypeAdapter(JsonObject)


def read_timeline(folder: Path) -> list[JsonObject]:
    """The requests of a conversation, each `{"ask", "steps", "end"}`.

    A step is `{"step", "entries"}`; an entry has a `kind`: `page`, `prompt`, `reply`, `note`,
    `call` or `said`, with `at` (ms since the run began, at its end), `ms` and `agent` (the
    sub-agent's id) where they are known. Calls of the run itself are numbered with `number`."""
    streams = [_stream(parts) for parts in _runs(_parts(folder / PARTS_FILE))]
    traces = _traced_runs(_events(folder / TRACE_FILE))
    requests: list[JsonObject] = []
    calls = 0
    for stream, events in zip_longest(streams, traces):
        request, calls = _request(stream or _Stream(), events or [], calls)
        requests.append(request)
    return requests


# --- the files ---------------------------------------------------------------------------------


def _lines(path: Path) -> Iterator[str]:
    if path.is_file():
        yield from path.read_text(encoding="utf-8", errors="replace").split("\n")


def _parts(path: Path) -> Iterator[AgentStreamPart]:
    for line in _lines(path):
        try:
            yield part_from_json(line)
        except ValueError:  # cut off, or not ours
            continue


def _events(path: Path) -> Iterator[JsonObject]:
    for line in _lines(path):
        try:
            yield _EVENT.validate_json(line)
        except ValueError:
            continue


def _runs(parts: Iterable[AgentStreamPart]) -> list[list[AgentStreamPart]]:
    """One list for each request: each ends with exactly one `finish` or `error`."""
    runs: list[list[AgentStreamPart]] = []
    over = True
    for part in parts:
        if over:
            runs.append([])
        runs[-1].append(part)
        over = isinstance(part, Finish | RunError)
    return runs


def _traced_runs(events: Iterable[JsonObject]) -> list[list[JsonObject]]:
    """One list for each request: each begins by reading the page in its first step.

    Warnings of that reading come before it."""
    runs: list[list[JsonObject]] = []
    warnings: list[JsonObject] = []
    for event in events:
        if event.get("agent") is None and event.get("type") == "warning":
            warnings.append(event)
            continue
        begins = event.get("agent") is None and (event.get("type"), event.get("step")) == (
            "page",
            1,
        )
        if begins or not runs:
            runs.append([])
        runs[-1] += [*warnings, event]
        warnings = []
    if warnings:
        runs = runs or [[]]
        runs[-1] += warnings
    return runs


# --- the stream --------------------------------------------------------------------------------


@dataclass(slots=True)
class _Message:
    text: str = ""
    calls: list[JsonObject] = field(default_factory=list[JsonObject])


@dataclass(slots=True)
class _Stream:
    messages: list[_Message] = field(default_factory=list[_Message])
    end: JsonObject | None = None


def _stream(parts: Sequence[AgentStreamPart]) -> _Stream:
    stream = _Stream()
    running: dict[str, JsonObject] = {}
    for part in parts:
        message = stream.messages[-1] if stream.messages else _Message()
        match part:
            case MessageStart():
                stream.messages.append(_Message())
            case TextDelta():
                message.text = part.delta
            case ToolCall():
                # A call that is never answered was sent all the same.
                running[part.id] = {
                    "name": part.name,
                    "args": _json(part.args),
                    "outcome": "no-answer",
                    "may_have_happened": True,
                }
                message.calls.append(running[part.id])
            case ToolResult() if part.id in running:
                running[part.id] |= {"outcome": "ok", "text": part.text}
            case ToolError() if part.id in running:
                running[part.id] |= {
                    "outcome": part.code,
                    "text": part.error,
                    "may_have_happened": part.may_have_happened,
                }
            case ToolResult() | ToolError():
                pass
            case Finish():
                stream.end = {"finish": part.reason}
            case RunError():
                stream.end = {"finish": part.code, "message": part.message}
    return stream


def _json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# --- both together -----------------------------------------------------------------------------


def _request(stream: _Stream, events: Sequence[JsonObject], calls: int) -> tuple[JsonObject, int]:
    """One request, and how many calls there were up to its end."""
    by_step: dict[int, list[JsonObject]] = {}
    for event in events:
        step = event.get("step")
        by_step.setdefault(max(step if isinstance(step, int) else 1, 1), []).append(event)
    steps: list[JsonValue] = []
    for number in range(1, max([len(stream.messages), *by_step]) + 1):
        there = number <= len(stream.messages)
        message = stream.messages[number - 1] if there else _Message()
        entries, calls = _entries(message, by_step.get(number, []), calls)
        if entries:
            steps.append({"step": number, "entries": [*entries]})
    return {"ask": _asked(events), "steps": steps, "end": stream.end}, calls


def _asked(events: Sequence[JsonObject]) -> str | None:
    """What the person said: the last turn of theirs in the first prompt."""
    for event in events:
        turns = event.get("turns")
        if event.get("type") == "request" and isinstance(turns, list):
            for turn in reversed(turns):
                if isinstance(turn, dict) and turn.get("role") == "user":
                    return str(turn.get("content"))
    return None


def _entries(
    message: _Message, events: Sequence[JsonObject], calls: int
) -> tuple[list[JsonObject], int]:
    entries: list[JsonObject] = []
    answered = 0
    for event in events:
        entry = _entry(event)
        if event.get("type") == "call" and event.get("agent") is None:
            calls += 1
            entry |= {"number": calls}
            if answered < len(message.calls):
                entry |= message.calls[answered]
            answered += 1
        if entry:
            at = {key: event[key] for key in ("at_ms", "ms", "agent") if key in event}
            entries.append(entry | {"at" if key == "at_ms" else key: at[key] for key in at})
    for call in message.calls[answered:]:
        calls += 1
        entries.append({"kind": "call", "number": calls, **call})
    written = [entry.get("text") for entry in entries if entry["kind"] == "reply"]
    if message.text and not any(isinstance(t, str) and t.strip() == message.text for t in written):
        entries.append({"kind": "said", "text": message.text})
    return entries, calls


def _entry(event: JsonObject) -> JsonObject:
    """What a trace event tells; empty when it tells nothing that another one does not."""
    match event.get("type"):
        case "page":
            return {"kind": "page", "tools": event.get("tools")}
        case "request":
            names = ("system", "turns", "tools", "not_shown")
            return {"kind": "prompt", **{name: event.get(name) for name in names}}
        case "reply":
            names = ("text", "finish_reason", "usage")
            return {"kind": "reply", **{name: event.get(name) for name in names}}
        case "call":
            return {
                "kind": "call",
                "name": event.get("name"),
                "args": _json(event.get("args")),
                "outcome": event.get("outcome"),
            }
        case "fit":
            tries = event.get("tries")
            many = isinstance(tries, list) and len(tries) > 1
            return _note("fitted", f"tries as (tools, turns): {_json(tries)}") if many else {}
        case "parsed":
            repairs = event.get("repairs")
            return _note("read", _joined(repairs)) if repairs else {}
        case "args":
            changes, warnings = _joined(event.get("changes")), _joined(event.get("warnings"))
            told = "; ".join(text for text in (changes, warnings) if text)
            return _note("arguments", f"{event.get('tool')}: {told}")
        case "repair":
            ended = "a second time, so the run ends: " if event.get("used") is True else ""
            return _note("repair", f"{event.get('kind')}: {ended}{event.get('text')}")
        case "correction":
            return _note("correction", str(event.get("text")))
        case "repeat":
            times = "the third time" if event.get("count") == 2 else "again"
            return _note("repeat", f"{event.get('name')}: same arguments, same answer, {times}")
        case "warning":
            return _note("warning", str(event.get("text")))
        case _:
            return {}


def _note(what: str, text: str) -> JsonObject:
    return {"kind": "note", "what": what, "text": text}


def _joined(value: JsonValue) -> str:
    return "; ".join(str(item) for item in value) if isinstance(value, list) else ""
