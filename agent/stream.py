"""The parts of a run as they are emitted, to JSON and back, and the report built from them.

Grammar of a run: `step* end`, where a step is `message-start text-delta? (tool-call (tool-result |
tool-error))*` and the end is exactly one `finish` or `error`.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Annotated, Literal, assert_never

from pydantic import Field, JsonValue, TypeAdapter

from webmcp_agent.browser.tools import JsonObject, ToolErrorCode

FinishReason = Literal["stop", "aborted", "max-steps", "loop", "repair-failed"]
RunErrorCode = Literal[
    "prompt-too-long", "timeout", "provider-failed", "not-ready", "needs-download", "unavailable"
]


@dataclass(frozen=True, slots=True)
class MessageStart:
    """A new assistant message begins; all parts up to the next one belong to it."""

    id: str
    type: Literal["message-start"] = "message-start"

    def to_json(self) -> JsonObject:
        """The part as a JSON object."""
        return {"type": self.type, "id": self.id}


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Prose, whole: at most one per message."""

    delta: str
    type: Literal["text-delta"] = "text-delta"

    def to_json(self) -> JsonObject:
        """The part as a JSON object."""
        return {"type": self.type, "delta": self.delta}


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call is about to run, with the arguments that are really sent."""

    id: str
    name: str
    args: JsonObject
    type: Literal["tool-call"] = "tool-call"

    def to_json(self) -> JsonObject:
        """The part as a JSON object."""
        return {"type": self.type, "id": self.id, "name": self.name, "args": self.args}


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The call answered."""

    id: str
    name: str
    result: JsonValue
    text: str
    """What the model reads, before it is cut."""
    type: Literal["tool-result"] = "tool-result"

    def to_json(self) -> JsonObject:
        """The part as a JSON object."""
        return {
            "type": self.type,
            "id": self.id,
            "name": self.name,
            "result": self.result,
            "text": self.text,
        }


@dataclass(frozen=True, slots=True)
class ToolError:
    """The call failed; the model reads `Error [code]: error`. A value, never raised."""

    id: str
    name: str
    code: ToolErrorCode
    error: str
    may_have_happened: bool
    type: Literal["tool-error"] = "tool-error"

    def to_json(self) -> JsonObject:
        """The part as a JSON object."""
        return {
            "type": self.type,
            "id": self.id,
            "name": self.name,
            "code": self.code,
            "error": self.error,
            "may_have_happened": self.may_have_happened,
        }


@dataclass(frozen=True, slots=True)
class Finish:
    """The run is over."""

    reason: FinishReason
    type: Literal["finish"] = "finish"

    def to_json(self) -> JsonObject:
        """The part as a JSON object."""
        return {"type": self.type, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class RunError:
    """The run could not go on. A value, never raised."""

    code: RunErrorCode
    message: str
    type: Literal["error"] = "error"

    def to_json(self) -> JsonObject:
        """The part as a JSON object."""
        return {"type": self.type, "code": self.code, "message": self.message}


AgentStreamPart = MessageStart | TextDelta | ToolCall | ToolResult | ToolError | Finish | RunError

_PARTS: TypeAdapter[AgentStreamPart] = TypeAdapter(
    Annotated[AgentStreamPart, Field(discriminator="type")]
)


def part_from_json(text: str | bytes) -> AgentStreamPart:
    """Read one line of a run back; `ValueError` when it is no stream part."""
    return _PARTS.validate_json(text)


@dataclass(frozen=True, slots=True)
class CallReport:
    """A call that really ran."""

    name: str
    args: JsonObject
    outcome: str
    """`ok`, or the error code."""
    may_have_happened: bool
    text: str
    """The answer, or what went wrong."""
    calls: tuple["CallReport", ...] = ()
    """The calls of a sub-agent, when this call was the hand-over to one."""

    def to_json(self) -> JsonObject:
        """The call as a JSON object, without its answer."""
        plain: JsonObject = {"name": self.name, "args": self.args, "outcome": self.outcome}
        if self.calls:
            plain["calls"] = [call.to_json() for call in self.calls]
        return plain


@dataclass(frozen=True, slots=True)
class RunReport:
    """What happened in a run, from its parts alone: what the model says is a claim, this is not."""

    steps: int
    answer: str
    """The last prose."""
    finish: str
    """The finish reason, or the error code."""
    calls: tuple[CallReport, ...] = field(default_factory=tuple)
    error: str | None = None
    """The message of an `error` part."""

    @property
    def succeeded(self) -> bool:
        """Whether the run finished by itself and its last call, if any, worked."""
        return self.finish == "stop" and (not self.calls or self.calls[-1].outcome == "ok")


def report_of(parts: Iterable[AgentStreamPart]) -> RunReport:
    """The report of a run's parts, in their order."""
    steps, answer, finish, error = 0, "", "", None
    calls: list[CallReport] = []
    running: dict[str, ToolCall] = {}
    acted = False
    for part in parts:
        match part:
            case MessageStart():
                steps += 1
                acted = False
            case TextDelta():
                answer = part.delta
                acted = True
            case ToolCall():
                running[part.id] = part
                acted = True
            case ToolResult():
                call = running.pop(part.id)
                nested = _nested(part.result) if _hands_over(call) else ()
                calls.append(CallReport(call.name, call.args, "ok", True, part.text, nested))
            case ToolError():
                call = running.pop(part.id)
                calls.append(
                    CallReport(call.name, call.args, part.code, part.may_have_happened, part.error)
                )
            case Finish():
                finish = part.reason
                # Loop and max-steps close with a message of their own, which is no step.
                if part.reason in {"loop", "max-steps"} or (part.reason == "aborted" and not acted):
                    steps = max(0, steps - 1)
            case RunError():
                finish, error = part.code, part.message
            case _:
                assert_never(part)
    return RunReport(steps, answer, finish, tuple(calls), error)


def _hands_over(call: ToolCall) -> bool:
    """Whether a call has the form that `delegation.py` gives a hand-over: no other result is read
    as a report."""
    return call.name.startswith("ask_") and set(call.args) == {"task"}


def _nested(value: JsonValue) -> tuple[CallReport, ...]:
    """The calls that a sub-agent reported in its result."""
    if not isinstance(value, dict) or set(value) != {"answer", "calls"}:
        return ()
    found: list[CallReport] = []
    nested = value["calls"]
    for call in nested if isinstance(nested, list) else []:
        if isinstance(call, dict) and isinstance(call.get("name"), str):
            args, text = call.get("args"), call.get("text")
            found.append(
                CallReport(
                    name=str(call["name"]),
                    args=args if isinstance(args, dict) else {},
                    outcome=str(call.get("outcome")),
                    may_have_happened=call.get("may_have_happened") is True,
                    text=text if isinstance(text, str) else "",
                )
            )
    return tuple(found)


def nested_value(report: RunReport) -> JsonValue:
    """A sub-agent's report as the value of the call that handed the work over."""
    return {
        "answer": report.answer,
        "calls": [
            {key: value for key, value in asdict(call).items() if key != "calls"}
            for call in report.calls
        ],
    }
