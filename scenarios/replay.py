"""A trajectory of calls made again without a model, on the page as it is now.

Gives the same parts as a run, one step a call, so that whoever reads runs can read replays. What
is not as it was is told besides: it fails the replay where the calls do not mean the same any more,
and is a note where they do.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from webmcp_agent.agent.stream import (
    AgentStreamPart,
    Finish,
    MessageStart,
    RunError,
    ToolCall,
    ToolError,
    ToolResult,
)
from webmcp_agent.browser.tools import JsonObject, PageTool, StopSignal, ToolFail, ToolOk
from webmcp_agent.scenarios.example_values import (
    NoExample,
    example,
    missing_required,
    read_schema,
)
from webmcp_agent.scenarios.expected_calls import ExpectedCall
from webmcp_agent.scenarios.json_shape import shape_changes
from webmcp_agent.scenarios.offered import OfferedTool, WatchedTools
from webmcp_agent.scenarios.outcome import Failure, FailureKind, MadeCall
from webmcp_agent.scenarios.replay_links import (
    Link,
    LinkBroken,
    answer_value,
    referred,
    with_links,
    without_listed,
)
from webmcp_agent.scenarios.unreachable import no_such_tool, unknown_argument

LATE_MS = 3_000
"""How long a tool that is not there yet is waited for."""
PAUSE_MS = 100
"""Between two looks for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What came of a call when it was recorded."""

    outcome: str = "ok"
    value: JsonValue = None
    tool: OfferedTool | None = None
    """As the page offered it; None when that was not kept."""
    path: str | None = None
    """What was open after it; None when that was not kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayCall:
    """A call to be made."""

    tool: str
    args: JsonObject
    """Values, or what they have to match where the call is only expected."""
    links: tuple[Link, ...] = ()
    expected: ExpectedCall | None = None
    recorded: Recorded | None = None


class _Stopped(Exception):
    """No further call can be made; the failure says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(slots=True)
class Replay:
    """Makes calls one after another, and remembers what was not as it was."""

    calls: Sequence[ReplayCall]
    source: WatchedTools
    signal: StopSignal
    failures: list[Failure] = field(default_factory=list[Failure])
    notes: list[Failure] = field(default_factory=list[Failure])
    """What is not as it was, and does no harm."""
    page_ms: float = 0.0
    _answers: list[JsonValue] = field(default_factory=list[JsonValue])

    async def parts(self) -> AsyncGenerator[AgentStreamPart]:
        """The parts of the replay; it ends early on Stop, and at a call that cannot be made."""
        for number, call in enumerate(self.calls, 1):
            yield MessageStart(f"m{number}")
            try:
                tool, args = await self._prepared(call, number)
            except _Stopped as exc:
                self.failures.append(exc.failure)
                yield RunError("unavailable", exc.failure.message)
                return
            if self.signal.aborted:
                yield Finish("aborted")
                return
            part_id = f"c{number}.1"
            yield ToolCall(part_id, tool.name, args)
            began = time.perf_counter()
            answer = await self.source.call_tool(
                tool.name, args, call_id=part_id, signal=self.signal
            )
            self.page_ms += (time.perf_counter() - began) * 1000
            yield _part(part_id, tool.name, answer)
            if self.signal.aborted:
                yield Finish("aborted")
                return
            failed = await self._judged(call, number, args, answer)
            if failed is not None and isinstance(answer, ToolFail):
                yield RunError("unavailable", failed)
                return
        yield Finish("stop")

    # --- before a call ---------------------------------------------------------------------------

    async def _prepared(self, call: ReplayCall, number: int) -> tuple[PageTool, JsonObject]:
        """The tool as it is now, and the arguments to be sent.

        Raises: `_Stopped`."""
        tool = await self._tool(call.tool, number)
        recorded = call.recorded
        if recorded is not None and recorded.tool is not None:
            self._compare_tool(recorded.tool, tool, number)
        if recorded is None:
            return tool, self._concrete(call, tool, number)
        try:
            return tool, with_links(call.args, call.links, self._answers)
        except LinkBroken as exc:
            text = f"call {number}: {call.tool}: {exc}"
            raise _Stopped(Failure("replay", "value-gone", text, number)) from exc

    async def _tool(self, name: str, number: int) -> PageTool:
        limit = time.monotonic() + LATE_MS / 1000
        late = False
        while True:
            tools = await self.source.list_tools()
            found = next((tool for tool in tools if tool.name == name), None)
            if found is not None:
                if late:
                    self._note("tool-drift", f"{name} was not there at once", number)
                return found
            if time.monotonic() >= limit or self.signal.aborted:
                break
            late = True
            await asyncio.sleep(PAUSE_MS / 1000)
        text = f"call {number}: {no_such_tool(name, [tool.name for tool in tools])}"
        raise _Stopped(Failure("replay", "tool-gone", text, number))

    def _compare_tool(self, before: OfferedTool, now: PageTool, number: int) -> None:
        if read_schema(before.input_schema) != read_schema(now.input_schema):
            self._note("tool-drift", f"{now.name} has another input schema", number)
        if before.description != now.description:
            self._note("tool-drift", f"{now.name} has another description", number)

    def _concrete(self, call: ReplayCall, tool: PageTool, number: int) -> JsonObject:
        """Values for arguments of which the file may say only what they have to match."""
        schema = read_schema(tool.input_schema)
        if call.expected is not None and (why := unknown_argument(call.expected, tool)):
            raise _Stopped(_unusable(number, f"{why} on this page"))
        properties = schema.get("properties") if isinstance(schema, dict) else None
        described = properties if isinstance(properties, dict) else {}
        args = self._linked(call, schema, number)
        try:
            values = {
                name: example(value, described.get(name), name, self._answered)
                for name, value in args.items()
            }
        except NoExample as exc:
            raise _Stopped(_unusable(number, f"{call.tool}: {exc}")) from exc
        if missing := missing_required(values, schema):
            raise _Stopped(
                _unusable(number, f"{call.tool} needs {missing[0]}, and the file does not say what")
            )
        return values

    def _linked(self, call: ReplayCall, schema: JsonValue, number: int) -> JsonObject:
        """The arguments with what the page answered in place of what the file says it would.

        A file can say so of another page: where the page's answer has nothing there, what the file
        says of the argument counts."""
        args = call.args
        for link in without_listed(call.links, schema):
            try:
                args = with_links(args, [link], self._answers)
            except LinkBroken as exc:
                self._note("result-drift", f"{call.tool}: {exc}", number)
        return args

    def _answered(self, name: str) -> Iterator[JsonValue]:
        return referred(name, self._answers)

    # --- after a call ----------------------------------------------------------------------------

    async def _judged(
        self, call: ReplayCall, number: int, args: JsonObject, answer: ToolOk | ToolFail
    ) -> str | None:
        """What is wrong with the answer, remembered as well; None when nothing is."""
        made = _made(call.tool, args, answer)
        value = answer_value(made.value, made.text)
        self._answers.append(value)
        failure = (
            self._wrong_expected(call, made, number)
            if call.recorded is None
            else self._drifted(call.recorded, made, value, number)
        )
        if failure is not None:
            self.failures.append(failure)
        if call.recorded is not None and isinstance(answer, ToolOk):
            await self._compare_page(call.recorded.path, number)
        return None if failure is None else failure.message

    def _wrong_expected(self, call: ReplayCall, made: MadeCall, number: int) -> Failure | None:
        expected = call.expected
        if expected is not None and "result" in expected.model_fields_set:
            # What was sent is what was expected: only the answer is in question.
            asked = expected.model_copy(update={"args": None})
            wrong = asked.wrong(made)
            if wrong is None:
                return None
            return Failure("replay", wrong[0], f"call {number}: {wrong[1]}", number)
        # A form that waits for the person has done all that a call can do.
        if made.outcome in ("ok", "needs-user"):
            return None
        return _call_failed(made, number)

    def _drifted(
        self, recorded: Recorded, made: MadeCall, value: JsonValue, number: int
    ) -> Failure | None:
        if recorded.outcome != made.outcome:
            if recorded.outcome == "ok":
                return _call_failed(made, number)
            self._note(
                "result-drift",
                f"{made.tool} ended with {made.outcome}, before with {recorded.outcome}",
                number,
            )
            return None
        if made.outcome != "ok":
            return None
        changes = shape_changes(recorded.value, value)
        for change in changes:
            if not change.breaks:
                place = f" {change.place}" if change.place else ""
                self._note(
                    "result-drift", f"the answer of {made.tool}:{place} {change.text}", number
                )
        broken = [change for change in changes if change.breaks]
        if not broken:
            return None
        first = broken[0]
        what = f"{first.place} {first.text}" if first.place else f"it {first.text}"
        more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
        text = f"call {number}: the answer of {made.tool} has another shape: {what}{more}"
        return Failure("replay", "result-drift", text, number)

    async def _compare_page(self, before: str | None, number: int) -> None:
        """Whether the page that is open is the one that was; what follows `?` may differ."""
        if before is None:
            return
        await self.source.list_tools()
        now = self.source.listings[-1].path
        if now is not None and now != before:
            text = f"call {number}: {now} is open, before it was {before}"
            self.failures.append(Failure("replay", "page-drift", text, number))

    def _note(self, kind: FailureKind, text: str, number: int) -> None:
        note = Failure("replay", kind, f"call {number}: {text}", number)
        if note not in self.notes:
            self.notes.append(note)


def _part(id: str, name: str, answer: ToolOk | ToolFail) -> ToolResult | ToolError:
    if isinstance(answer, ToolOk):
        return ToolResult(id, name, answer.value, answer.text)
    return ToolError(id, name, answer.code, answer.message, bool(answer.may_have_happened))


def _made(tool: str, args: JsonObject, answer: ToolOk | ToolFail) -> MadeCall:
    if isinstance(answer, ToolOk):
        return MadeCall(tool, args, "ok", answer.text, answer.value)
    return MadeCall(tool, args, answer.code, answer.message)


def _call_failed(made: MadeCall, number: int) -> Failure:
    text = f"call {number}: {made.tool} ended with {made.outcome}: {made.text}"
    return Failure("replay", "call-failed", text, number)


def _unusable(number: int, text: str) -> Failure:
    return Failure("replay", "error", f"call {number}: {text}", number)
