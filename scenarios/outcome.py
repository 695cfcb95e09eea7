"""What a conversation left behind, from the parts of its runs alone, and what is wrong with it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

from pydantic import JsonValue

from webmcp_agent.agent.stream import (
    AgentStreamPart,
    Finish,
    MessageStart,
    RunError,
    TextDelta,
    ToolCall,
    ToolError,
    ToolResult,
    report_of,
)
from webmcp_agent.browser.tools import JsonObject

FailureKind = Literal[
    "no-call",
    "wrong-tool",
    "missing-argument",
    "wrong-argument",
    "wrong-result",
    "missing-call",
    "extra-call",
    "forbidden-call",
    "wrong-answer",
    "wrong-page",
    "wrong-url",
    "wrong-finish",
    "too-many-steps",
    "timeout",
    "error",
    "tool-gone",
    "call-failed",
    "value-gone",
    "result-drift",
    "page-drift",
    "tool-drift",
]
"""The last six are of a replay: the page is not what it was."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One thing that is not as it should be."""

    check: str
    """The key of the check, such as `calls` or `page`; `error` when nothing could be judged."""
    kind: FailureKind
    message: str
    call: int | None = None
    """The call that it is about, from 1."""

    def to_json(self) -> JsonObject:
        """The failure as a JSON object."""
        plain: JsonObject = {"check": self.check, "kind": self.kind, "message": self.message}
        return plain if self.call is None else {**plain, "call": self.call}


@dataclass(frozen=True, slots=True)
class MadeCall:
    """A call that was sent to the page."""

    tool: str
    args: JsonObject
    outcome: str = "ok"
    """`ok`, or the error code."""
    text: str = ""
    """The answer, or what went wrong."""
    value: JsonValue = None

    def to_json(self) -> JsonObject:
        """The call as a JSON object, without its answer."""
        return {"name": self.tool, "args": self.args, "outcome": self.outcome}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a conversation did."""

    calls: tuple[MadeCall, ...] = ()
    answer: str = ""
    """The last prose of the last request."""
    finishes: tuple[str, ...] = ()
    """How each request ended: a finish reason, or an error code."""
    steps: int = 0
    """Of all requests."""
    url: str | None = None
    """What was open at the end; None without a page."""
    error: str | None = None
    """Why the last request could not go on."""


def outcome_of(runs: Sequence[Sequence[AgentStreamPart]], url: str | None = None) -> Outcome:
    """The outcome of a conversation, one list of parts a request; the last one may be cut off."""
    reports = [report_of(parts) for parts in runs]
    return Outcome(
        calls=tuple(call for parts in runs for call in _calls(parts)),
        answer=reports[-1].answer if reports else "",
        finishes=tuple(report.finish for report in reports if report.finish),
        steps=sum(report.steps for report in reports),
        url=url,
        error=reports[-1].error if reports else None,
    )


def _calls(parts: Sequence[AgentStreamPart]) -> list[MadeCall]:
    calls: list[MadeCall] = []
    running: dict[str, ToolCall] = {}
    for part in parts:
        match part:
            case ToolCall():
                running[part.id] = part
            case ToolResult():
                args = running.pop(part.id).args
                calls.append(MadeCall(part.name, args, "ok", part.text, part.result))
            case ToolError():
                args = running.pop(part.id).args
                calls.append(MadeCall(part.name, args, part.code, part.error))
            case MessageStart() | TextDelta() | Finish() | RunError():
                pass
            case _:
                assert_never(part)
    # A run that was cut off may leave a call without an answer: it was sent all the same.
    left = [MadeCall(call.name, call.args, "no-answer") for call in running.values()]
    return [*calls, *left]
