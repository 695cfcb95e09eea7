"""The state of a run and the work of its steps that emits nothing.

A step reads the page, fits, generates, parses and checks until a reply can be used, with at most
one repair and one correction; then its calls run through here. Every wait on foreign code is raced
against Stop and a limit.
"""

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from webmcp_agent.agent.arguments import checked_args, constraint_of
from webmcp_agent.agent.corrections import (
    claims_success,
    echoes,
    ignores_failure,
    is_action,
    told_tool,
)
from webmcp_agent.agent.delegation import sub_request
from webmcp_agent.agent.digest import cut_result
from webmcp_agent.agent.fitting import fit, tool_plan
from webmcp_agent.agent.foreign_text import clean, unwrapped, wrap_untrusted
from webmcp_agent.agent.history import read_history
from webmcp_agent.agent.identifiers import held_to_known, known_ids
from webmcp_agent.agent.offer import Offer, PageUnread, read_offer, reason_of
from webmcp_agent.agent.options import LocalLoopOptions
from webmcp_agent.agent.prompt import system_prompt
from webmcp_agent.agent.racing import StopPressed, TooLate, race
from webmcp_agent.agent.ranking import in_settled_order, rank_tools
from webmcp_agent.agent.repair import problem_text, unknown_tool
from webmcp_agent.agent.repetition import Repetition
from webmcp_agent.agent.request import AgentDefinition, AgentRunRequest, CallPart
from webmcp_agent.agent.stream import (
    AgentStreamPart,
    Finish,
    RunError,
    RunErrorCode,
    nested_value,
    report_of,
)
from webmcp_agent.agent.tool_calls import ParsedReply, parse_tool_calls, visible_text, write_call
from webmcp_agent.agent.trace import TraceCallback, TraceEvent, TraceType
from webmcp_agent.agent.validation import InvalidArgs
from webmcp_agent.agent.wording import (
    APOLOGY,
    EMPTY,
    FAILED,
    NO_CLAIM,
    NO_PAGE,
    NOT_CALLED,
    RESTATE,
    RESULT_LIMIT,
    STOPPED,
    TOO_LONG,
    TOO_SLOW,
    YOU_DO_IT,
    cut,
    gist,
    one_line,
)
from webmcp_agent.agent.wrappers import flat_tool, wrapper_of, written_args
from webmcp_agent.browser.tools import JsonObject, PageTool, ToolFail, ToolOk
from webmcp_agent.providers.abort import AbortController, AbortSignal
from webmcp_agent.providers.base import (
    ChatTurn,
    Fits,
    GenerateRequest,
    GenerateResult,
    LocalProvider,
    PromptParts,
    Usage,
    call_format_of,
)
from webmcp_agent.providers.errors import NotReady, PromptTooLong

FITS_LIMIT_MS = 10_000
CHOICES_FROM = 5
"""Newest answers from which the options of products are taken."""
TRACED_ANSWER = 100_000
"""Characters of an answer that the trace keeps."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply that can be used: calls to run, or prose that ends the run."""

    text: str
    """What is shown to the person; empty for nothing."""
    prose: str
    calls: list[tuple[PageTool, JsonObject]]
    finish: Finish | None = None


@dataclass(frozen=True, slots=True)
class _Problem:
    """Why a reply cannot be used, and the text that goes back to the model."""

    kind: str
    text: str


RunNested = Callable[
    [LocalProvider, AgentRunRequest, LocalLoopOptions], AsyncGenerator[AgentStreamPart]
]


@dataclass(slots=True)
class Run:
    """The state of one run, and the work of one step that emits nothing."""

    provider: LocalProvider
    req: AgentRunRequest
    options: LocalLoopOptions
    ask: str
    turns: list[ChatTurn]
    run_nested: RunNested
    """The loop itself, for sub-agents."""
    step: int = 0
    repetition: Repetition = field(default_factory=Repetition)
    recent: list[str] = field(default_factory=list[str])
    """Names of called tools, newest first."""
    settled: list[str] = field(default_factory=list[str])
    """Names of the tools shown so far, in the order in which they are shown."""
    results: list[str] = field(default_factory=list[str])
    """Every answer, oldest first."""
    values: list[JsonValue] = field(default_factory=list[JsonValue])
    """Every answer of this run as a value, oldest first."""
    failure: tuple[str, str] | None = None
    """Name and error of the newest call, when it failed."""
    offer: Offer = field(default_factory=lambda: Offer({}, {}, None))
    page_read: bool = False
    """Whether the page was read before; the turns are the history's until then."""
    warned: set[str] = field(default_factory=set[str])

    # --- a step up to its reply ------------------------------------------------------------

    async def reply_for_step(self) -> "Reply | Finish | RunError":
        """Generate until a reply can be used: at most one repair and one correction."""
        try:
            await self._read_page()
            return await self._usable_reply()
        except StopPressed:
            return Finish("aborted")
        except _RunFailed as failed:
            return RunError(failed.code, failed.text)

    async def _read_page(self) -> None:
        """Read tools and page afresh."""
        began = time.perf_counter()
        try:
            self.offer = await read_offer(self.req, self._warn)
        except PageUnread as exc:
            raise _RunFailed("unavailable", NO_PAGE.format(reason=exc.reason)) from exc
        tools = self.offer.tools
        if not self.page_read and any(wrapper_of(tool.input_schema) for tool in tools.values()):
            # The history's calls as the model writes them, now that their tools are known.
            call_format = call_format_of(self.provider)
            self.turns = read_history(self.req.messages, call_format, tools).turns
        self.page_read = True
        self.trace("page", ms=_ms(began), tools=len(tools))

    async def _usable_reply(self) -> "Reply | RunError":
        scratch: list[ChatTurn] = []
        corrected = repaired = refitted = False
        while True:
            # 3, 4 Rank and fit.
            prompt = await self._fitted(scratch)
            # 5 Generate.
            try:
                result = await self._generate(prompt)
            except PromptTooLong:
                if refitted:
                    raise _RunFailed("prompt-too-long", TOO_LONG) from None
                refitted = True
                continue
            # 6 Read before showing.
            reply = parse_tool_calls(
                result.text,
                [flat_tool(tool) for tool in self.offer.tools.values()],
                tools_inline=self.options.tools_inline,
                finish_reason=result.finish_reason,
            )
            self.trace(
                "parsed",
                calls=[{"name": call.name, "args": call.args} for call in reply.calls],
                errors=list(reply.errors),
                repairs=list(reply.repairs),
            )
            checked = self._check(reply, [tool.name for tool in prompt.tools])
            # 8 Repair, once per step.
            if isinstance(checked, _Problem):
                self.trace("repair", kind=checked.kind, text=checked.text, used=repaired)
                if repaired:
                    return Reply(APOLOGY, "", [], Finish("repair-failed"))
                repaired = True
                said = cut(visible_text(result.text), RESULT_LIMIT) or "(empty)"
                scratch += [
                    ChatTurn("assistant", said),
                    ChatTurn("tool", checked.text, reply.asked or "error"),
                ]
                continue
            if checked:
                return Reply(reply.text, reply.text, checked)
            # 7 Corrections, once per step.
            if not corrected and (wrong := self._correction(reply.text, prompt)):
                kind, text = wrong
                self.trace("correction", kind=kind, text=text)
                corrected = True
                scratch += [ChatTurn("assistant", reply.text), ChatTurn("user", text)]
                continue
            return Reply(self._shown(reply.text, result), reply.text, [], Finish("stop"))

    async def _fitted(self, scratch: Sequence[ChatTurn]) -> PromptParts:
        options, offer, agent = self.options, self.offer, self.req.agent
        ranked = rank_tools(
            list(offer.tools.values()), self.ask, options.max_tools, recent=self.recent
        )

        def render(count: int, turns: Sequence[ChatTurn]) -> PromptParts:
            shown = tuple(in_settled_order(ranked[:count], self.settled))
            system = system_prompt(
                tools=shown,
                total=len(offer.tools),
                page=offer.page,
                instructions=((agent and agent.instructions) or "").strip() or options.instructions,
                agents=list(offer.agents.values()),
                call_format=call_format_of(self.provider),
                tools_inline=options.tools_inline,
            )
            return PromptParts(system, tuple(turns), shown)

        async def fits(prompt: PromptParts) -> bool:
            if not isinstance(self.provider, Fits):
                return True
            return await race(self.provider.fits(prompt), self.req.signal, FITS_LIMIT_MS)

        try:
            fitting = await fit(
                render, fits, self.turns, scratch, tool_plan(len(ranked), options.max_tools)
            )
        except StopPressed:
            raise
        except TooLate:
            reason = "measuring the prompt took too long"
            raise _RunFailed("provider-failed", FAILED.format(reason=reason)) from None
        except Exception as exc:  # a provider is foreign code
            raise _failed(exc) from exc
        self.trace("fit", tries=[list(one) for one in fitting.tries])
        if fitting.prompt is None:
            raise _RunFailed("prompt-too-long", TOO_LONG)
        names = [tool.name for tool in fitting.prompt.tools]
        self.settled += [name for name in names if name not in self.settled]
        return fitting.prompt

    async def _generate(self, prompt: PromptParts) -> GenerateResult:
        shown = [self.offer.tools[tool.name] for tool in prompt.tools]
        page = self.offer.page
        self.trace(
            "request",
            system=prompt.system,
            turns=[
                {"role": t.role, "content": t.content, **({"name": t.name} if t.name else {})}
                for t in prompt.messages
            ],
            tools=[tool.name for tool in shown],
            not_shown=len(self.offer.tools) - len(shown),
        )
        began = time.perf_counter()
        own = AbortController()
        try:
            result = await race(
                self.provider.generate(
                    GenerateRequest(
                        system=prompt.system,
                        messages=prompt.messages,
                        tools=prompt.tools,
                        signal=AbortSignal.any([self.req.signal, own.signal]),
                        constraints=held_to_known(
                            shown,
                            [constraint_of(tool, self.ask) for tool in shown],
                            known_ids(prompt.messages, page.path if page else ""),
                        ),
                    )
                ),
                self.req.signal,
                self.options.step_timeout_ms,
            )
        except (StopPressed, PromptTooLong):
            raise
        except TooLate:
            raise _RunFailed("timeout", TOO_SLOW) from None
        except Exception as exc:  # a provider is foreign code
            raise _failed(exc) from exc
        finally:
            # Also when the run itself is cancelled or closed: the generation must not go on.
            own.abort("the step is over")
        self.trace(
            "reply",
            text=result.text,
            finish_reason=result.finish_reason,
            usage=_usage(result.usage),
            ms=_ms(began),
        )
        return result

    def _check(
        self, reply: ParsedReply, shown: Sequence[str]
    ) -> "list[tuple[PageTool, JsonObject]] | _Problem":
        """The calls with their checked arguments, or the first problem; none runs then."""
        if reply.errors:
            return _Problem("unreadable", problem_text(reply.errors[0]))
        if not reply.calls and not reply.text.strip():
            return _Problem("empty", EMPTY)
        for call in reply.calls:
            if call.name not in self.offer.tools:
                return _Problem(
                    "unknown-tool", unknown_tool(call.name, shown, list(self.offer.tools))
                )
        checked: list[tuple[PageTool, JsonObject]] = []
        for call in reply.calls:
            tool = self.offer.tools[call.name]
            valid = checked_args(tool, call.args, self._answers)
            if valid.changes or valid.warnings:
                self.trace(
                    "args",
                    tool=tool.name,
                    changes=list(valid.changes),
                    warnings=list(valid.warnings),
                )
            if isinstance(valid, InvalidArgs):
                return _Problem("invalid-args", problem_text(valid.message))
            checked.append((tool, valid.args))
        return checked

    def _answers(self) -> list[JsonValue]:
        """What the page answered last, in this run or before it."""
        earlier = [
            part.value
            for message in self.req.messages
            for part in message.parts
            if isinstance(part, CallPart)
        ]
        return [*earlier, *self.values][-CHOICES_FROM:]

    def _correction(self, text: str, prompt: PromptParts) -> tuple[str, str] | None:
        """What is wrong with a plain reply, as (kind, text to send back)."""
        if self.failure is not None:
            name, error = self.failure
            if ignores_failure(text, error):
                closed = error if error.rstrip().endswith((".", "!", "?", "…")) else f"{error}."
                return "a", NO_CLAIM.format(name=name, error=closed)
        tools = list(self.offer.tools.values())
        if not is_action(self.ask, tools):
            return None
        shown = [self.offer.tools[tool.name] for tool in prompt.tools]
        if told := told_tool(text, shown):
            return "b", YOU_DO_IT.format(tool=told)
        if not self.results and claims_success(text):
            return "d", NOT_CALLED
        return None

    def _shown(self, text: str, result: GenerateResult) -> str:
        """A plain reply as the person sees it; an echo is replaced by the last result's gist."""
        if echoes(text, self.results) and (short := gist(self.results[-1])):
            return short
        return f"{text}…" if result.finish_reason == "length" else text

    # --- calls ------------------------------------------------------------------------------

    async def call(self, tool: PageTool, args: JsonObject, call_id: str) -> ToolOk | ToolFail:
        """Run one checked call; whatever happens becomes an answer."""
        began = time.perf_counter()
        own = AbortController()
        begins = not self.req.signal.aborted
        try:
            answer = await race(
                self._sent(tool, args, call_id, AbortSignal.any([self.req.signal, own.signal])),
                self.req.signal,
            )
        except StopPressed:
            answer = ToolFail("cancelled", STOPPED, may_have_happened=begins)
        except Exception as exc:  # noqa: BLE001  # a source is foreign code
            answer = ToolFail("no-answer", reason_of(exc, 500))
        finally:
            own.abort("the call is over")
        if isinstance(answer, ToolFail):
            answer = replace(answer, message=one_line(clean(answer.message), 500))
        else:
            self.values.append(answer.value)
        outcome = "ok" if isinstance(answer, ToolOk) else answer.code
        data: JsonObject = {"name": tool.name, "args": args, "outcome": outcome}
        if isinstance(answer, ToolOk) and len(answer.text) > RESULT_LIMIT:
            # The next request holds the answer only in short.
            data["answer"] = cut(answer.text, TRACED_ANSWER)
        self.trace("call", **data, ms=_ms(began))
        return answer

    async def _sent(
        self, tool: PageTool, args: JsonObject, call_id: str, signal: AbortSignal
    ) -> ToolOk | ToolFail:
        if sub := self.offer.agents.get(tool.name):
            return await self._delegated(sub, str(args.get("task", "")), call_id)
        return await self.req.call_tool(tool.name, args, call_id=call_id, signal=signal)

    async def _delegated(self, sub: AgentDefinition, task: str, call_id: str) -> ToolOk | ToolFail:
        """Hand a task to a sub-agent: the loop itself, on the same page, with its own tools."""
        nested = sub_request(self.req, sub, task, call_id)
        options = replace(self.options, instructions=None, trace=self._nested_trace(sub.id))
        parts: list[AgentStreamPart] = []
        async with aclosing(self.run_nested(self.provider, nested, options)) as stream:
            async for part in stream:
                parts.append(part)
        report = report_of(parts)
        if report.finish == "stop":
            return ToolOk(report.answer, nested_value(report))
        if report.finish == "aborted":
            return ToolFail("cancelled", STOPPED)
        return ToolFail(
            "failed",
            report.error or report.answer or report.finish,
            may_have_happened=any(call.may_have_happened for call in report.calls),
        )

    def readable(self, tool: PageTool, text: str) -> str:
        """An answer as the model reads it, whole: harmless, and marked when others wrote it."""
        said = clean(text)
        return wrap_untrusted(said) if tool.untrusted else said

    def remember(self, name: str, args: JsonObject, said: str, failed: bool) -> str:
        """Take a finished call into the run's memory: `new`, `first` repeat, or `again`."""
        self.recent.insert(0, name)
        self.results.append(unwrapped(said))
        self.failure = (name, said) if failed else None
        times = self.repetition.seen(name, args, said)
        if times != "new":
            self.trace("repeat", name=name, args=args, count=1 if times == "first" else 2)
        return times

    def add_step_turns(
        self, prose: str, ran: Sequence[tuple[str, JsonObject, str]], notes: Sequence[str]
    ) -> None:
        """What the next step sees of this one, and the request again."""
        tools = self.offer.tools
        written = [
            write_call(name, written_args(tools.get(name), args), call_format_of(self.provider))
            for name, args, _ in ran
        ]
        self.turns.append(
            ChatTurn("assistant", "\n".join(piece for piece in (prose, *written) if piece))
        )
        self.turns += [
            ChatTurn("tool", cut_result(said, RESULT_LIMIT), name) for name, _, said in ran
        ]
        self.turns.append(ChatTurn("user", "\n".join([*notes, RESTATE.format(request=self.ask)])))

    # --- trace ------------------------------------------------------------------------------

    def trace(self, type: TraceType, **data: JsonValue) -> None:
        """Tell the trace callback, if there is one; what it raises changes nothing."""
        if self.options.trace is None:
            return
        try:
            self.options.trace(TraceEvent(type, self.step, data))
        except Exception:  # noqa: BLE001  # watching must not change a run
            return

    def _nested_trace(self, agent: str) -> TraceCallback | None:
        outer = self.options.trace
        if outer is None:
            return None
        return lambda event: outer(replace(event, agent=event.agent or agent))

    def _warn(self, key: str, text: str) -> None:
        if key not in self.warned:
            self.warned.add(key)
            self.trace("warning", text=text)


class _RunFailed(Exception):
    """The run ends with an `error` part; never leaves this module."""

    def __init__(self, code: RunErrorCode, text: str) -> None:
        super().__init__(text)
        self.code: RunErrorCode = code
        self.text = text


def _failed(exc: BaseException) -> _RunFailed:
    code = "not-ready" if isinstance(exc, NotReady) else "provider-failed"
    return _RunFailed(code, FAILED.format(reason=reason_of(exc)))


def _usage(usage: Usage | None) -> JsonValue:
    if usage is None:
        return None
    return {
        "prompt_tokens": usage.prompt_tokens,
        "cached_tokens": usage.cached_tokens,
        "completion_tokens": usage.completion_tokens,
    }


def _ms(began: float) -> float:
    return round((time.perf_counter() - began) * 1000, 3)
