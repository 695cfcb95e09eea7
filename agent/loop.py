"""The agent loop: rank the tools, fit, generate, parse, check, call, feed back, repeat.

One long generator with numbered stages, so that the whole loop can be seen at once. It raises
nothing for what a model, a page or a provider does: a run ends in `finish` or `error`. Every wait
on foreign code is raced against Stop and a limit, and no part is yielded inside such a wait.
"""

import inspect
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from webmcp_agent.agent.corrections import (
    claims_success,
    echoes,
    ignores_failure,
    is_action,
    told_tool,
)
from webmcp_agent.agent.delegation import agent_tools, sub_request
from webmcp_agent.agent.fitting import fit, tool_plan
from webmcp_agent.agent.foreign_text import clean, cut_result, wrap_untrusted
from webmcp_agent.agent.history import read_history, result_text
from webmcp_agent.agent.prompt import system_prompt
from webmcp_agent.agent.racing import StopPressed, TooLate, race
from webmcp_agent.agent.ranking import rank_tools
from webmcp_agent.agent.repair import problem_text, unknown_tool
from webmcp_agent.agent.repetition import Repetition
from webmcp_agent.agent.request import AgentDefinition, AgentRunRequest
from webmcp_agent.agent.schema import read_schema
from webmcp_agent.agent.stream import (
    AgentStreamPart,
    Finish,
    MessageStart,
    RunError,
    RunErrorCode,
    TextDelta,
    ToolCall,
    ToolError,
    ToolResult,
    nested_value,
    report_of,
)
from webmcp_agent.agent.tool_calls import ParsedReply, parse_tool_calls, visible_text, write_call
from webmcp_agent.agent.trace import TraceCallback, TraceEvent, TraceType
from webmcp_agent.agent.validation import InvalidArgs, validate_args
from webmcp_agent.agent.wording import (
    APOLOGY,
    CIRCLES,
    EMPTY,
    FAILED,
    MAX_STEPS,
    MOVED,
    NO_CLAIM,
    NO_PAGE,
    NOT_CALLED,
    REPEATED,
    RESTATE,
    RESULT_LIMIT,
    STOPPED,
    TOO_LONG,
    TOO_SLOW,
    YOU_DO_IT,
    cut,
    error_line,
    gist,
    names_text,
    one_line,
    steps_text,
)
from webmcp_agent.browser.tools import JsonObject, PageContext, PageTool, ToolFail, ToolOk
from webmcp_agent.providers.abort import AbortController, AbortSignal
from webmcp_agent.providers.base import (
    ChatTurn,
    Fits,
    GenerateRequest,
    GenerateResult,
    LocalProvider,
    PromptParts,
    ToolConstraint,
    Usage,
    call_format_of,
)
from webmcp_agent.providers.errors import NotReady, PromptTooLong

TOOLS_LIMIT_MS = 10_000
PAGE_LIMIT_MS = 2_000
FITS_LIMIT_MS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalLoopOptions:
    """The loop's limits; a number below 1 is a `ValueError`."""

    max_steps: int = 6
    """Model steps per request: enough to find, open and add. `agent.max_steps` wins."""
    step_timeout_ms: int = 60_000
    """Limit of each generation. Running into it ends the run with an error."""
    max_tools: int = 8
    """Most tools shown per step; small models choose better from few."""
    tools_inline: bool = False
    """List the tools in the prompt text, with a JSON reply format."""
    instructions: str | None = None
    """What the site is and how its tools fit together. `agent.instructions` wins."""
    trace: TraceCallback | None = None
    """Gets what happens inside each step; what it raises is ignored."""

    def __post_init__(self) -> None:
        for name in ("max_steps", "step_timeout_ms", "max_tools"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run stands that another provider began."""

    steps: int = 0
    """Steps used up."""
    messages: int = 0
    """Messages begun, the open one included."""
    open_message: bool = False
    """The last message is open and still empty: its `message-start` is not repeated."""


def run_local_agent(
    provider: LocalProvider, req: AgentRunRequest, options: LocalLoopOptions | None = None
) -> AsyncGenerator[AgentStreamPart]:
    """Do a request with the page's tools; yields stream parts, `finish` or `error` last.

    The provider must be ready (`prepare` done). Iterate inside `contextlib.aclosing`, so that
    leaving early stops the generation and the call that is running."""
    return continue_run(provider, req, options, Progress())


async def continue_run(
    provider: LocalProvider,
    req: AgentRunRequest,
    options: LocalLoopOptions | None,
    progress: Progress,
) -> AsyncGenerator[AgentStreamPart]:
    """`run_local_agent` from where another provider stopped; `req` holds what that one did."""
    # 1 History: the conversation becomes turns; a finished call at its end is resumed.
    options = options or LocalLoopOptions()
    max_steps = _max_steps(options, req.agent)
    call_format = call_format_of(provider)
    history = read_history(req.messages, call_format)
    if history.ask is None:
        yield Finish("stop")
        return
    run = _Run(provider, req, options, history.ask, history.turns)
    for call in history.finished:
        run.remember(call.name, call.args, result_text(call), call.state == "error")
    message, open_message = progress.messages, progress.open_message

    for step in range(progress.steps + 1, max_steps + 1):
        run.step = step
        if req.signal.aborted:
            yield Finish("aborted")
            return
        if not open_message:
            message += 1
            yield MessageStart(f"m{message}")
        open_message = False

        # 2-8 Read the page, then generate until a reply can be used.
        outcome = await run.reply_for_step()
        if isinstance(outcome, Finish | RunError):
            yield outcome
            return
        if outcome.text:
            yield TextDelta(outcome.text)
        if outcome.finish is not None:
            yield outcome.finish
            return

        # 9 Run the calls, one at a time.
        ran: list[tuple[str, JsonObject, str]] = []
        notes: list[str] = []
        for index, (tool, args) in enumerate(outcome.calls):
            call_id = f"c{message}.{index + 1}"
            yield ToolCall(call_id, tool.name, args)
            answer = await run.call(tool, args, call_id)
            if isinstance(answer, ToolOk):
                said = run.readable(tool, answer.text)
                yield ToolResult(call_id, tool.name, answer.value, said)
            else:
                said = error_line(answer.code, answer.message)
                yield ToolError(
                    call_id, tool.name, answer.code, answer.message, bool(answer.may_have_happened)
                )
            if req.signal.aborted:
                yield Finish("aborted")
                return
            ran.append((tool.name, args, said))

            # 10 The same call with the same answer: told once, then the run stops.
            times = run.remember(tool.name, args, said, isinstance(answer, ToolFail))
            if times == "again":
                yield MessageStart(f"m{message + 1}")
                yield TextDelta(CIRCLES.format(gist=gist(said)).strip())
                yield Finish("loop")
                return
            if times == "first":
                notes.append(REPEATED.format(name=tool.name))
            left = [later.name for later, _ in outcome.calls[index + 1 :]]
            if left and _moved(answer):
                notes.append(MOVED.format(names=names_text(left)))
                break
        run.add_step_turns(outcome.prose, ran, notes)

    # 11 Out of steps.
    yield MessageStart(f"m{message + 1}")
    closing = MAX_STEPS.format(steps=steps_text(max_steps))
    result = gist(run.results[-1]) if run.results else ""
    yield TextDelta(f"{result}\n\n{closing}" if result else closing)
    yield Finish("max-steps")


def _max_steps(options: LocalLoopOptions, agent: AgentDefinition | None) -> int:
    if agent is None or agent.max_steps is None:
        return options.max_steps
    if agent.max_steps < 1:
        raise ValueError(f"max_steps must be at least 1, not {agent.max_steps}")
    return agent.max_steps


def _moved(answer: ToolOk | ToolFail) -> bool:
    if isinstance(answer, ToolOk):
        return answer.navigated
    return answer.code == "navigated"


@dataclass(frozen=True, slots=True)
class _Reply:
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


@dataclass(frozen=True, slots=True)
class _Offer:
    """What the page offers in this step, and the sub-agents with it."""

    tools: dict[str, PageTool]
    agents: dict[str, AgentDefinition]
    page: PageContext | None


@dataclass(slots=True)
class _Run:
    """The state of one run, and the work of one step that emits nothing."""

    provider: LocalProvider
    req: AgentRunRequest
    options: LocalLoopOptions
    ask: str
    turns: list[ChatTurn]
    step: int = 0
    repetition: Repetition = field(default_factory=Repetition)
    recent: list[str] = field(default_factory=list[str])
    """Names of called tools, newest first."""
    results: list[str] = field(default_factory=list[str])
    """Every answer, oldest first."""
    failure: tuple[str, str] | None = None
    """Name and error of the newest call, when it failed."""
    offer: _Offer = field(default_factory=lambda: _Offer({}, {}, None))
    warned: set[str] = field(default_factory=set[str])

    # --- a step up to its reply ------------------------------------------------------------

    async def reply_for_step(self) -> "_Reply | Finish | RunError":
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
            tools = await race(_awaited(self.req.tools), self.req.signal, TOOLS_LIMIT_MS)
        except StopPressed:
            raise
        except TooLate:
            raise _RunFailed("unavailable", NO_PAGE.format(reason="no answer")) from None
        except Exception as exc:  # noqa: BLE001  # a source is foreign code
            raise _RunFailed("unavailable", NO_PAGE.format(reason=one_line(str(exc)))) from exc
        try:
            page = await race(self.req.page(), self.req.signal, PAGE_LIMIT_MS)
        except StopPressed:
            raise
        except Exception:  # noqa: BLE001  # the page line is left out, the run goes on
            page = None
        agent = self.req.agent
        named: dict[str, PageTool] = {}
        for tool in tools:
            if tool.name in named:
                self._warn(f"double:{tool.name}", f"a second tool named {tool.name} was left out")
            elif agent is None or agent.tools is None or tool.name in agent.tools:
                named[tool.name] = tool
        handed = agent_tools(agent.agents if agent else (), list(named.values()))
        for tool in named.values():
            for warning in read_schema(tool.input_schema)[1]:
                self._warn(f"{tool.fingerprint}{tool.name}:{warning}", f"{tool.name}: {warning}")
        named |= {name: tool for name, (_, tool) in handed.items()}
        self.offer = _Offer(named, {name: sub for name, (sub, _) in handed.items()}, page)
        self.trace("page", ms=_ms(began), tools=len(named))

    async def _usable_reply(self) -> "_Reply | RunError":
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
                list(self.offer.tools.values()),
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
                    return _Reply(APOLOGY, "", [], Finish("repair-failed"))
                repaired = True
                said = cut(visible_text(result.text), RESULT_LIMIT) or "(empty)"
                scratch += [
                    ChatTurn("assistant", said),
                    ChatTurn("tool", checked.text, reply.asked or "error"),
                ]
                continue
            if checked:
                return _Reply(reply.text, reply.text, checked)
            # 7 Corrections, once per step.
            if not corrected and (wrong := self._correction(reply.text, prompt)):
                kind, text = wrong
                self.trace("correction", kind=kind, text=text)
                corrected = True
                scratch += [ChatTurn("assistant", reply.text), ChatTurn("user", text)]
                continue
            return _Reply(self._shown(reply.text, result), reply.text, [], Finish("stop"))

    async def _fitted(self, scratch: Sequence[ChatTurn]) -> PromptParts:
        options, offer, agent = self.options, self.offer, self.req.agent
        ranked = rank_tools(
            list(offer.tools.values()), self.ask, options.max_tools, recent=self.recent
        )

        def render(count: int, turns: Sequence[ChatTurn]) -> PromptParts:
            shown = tuple(ranked[:count])
            system = system_prompt(
                tools=shown,
                total=len(offer.tools),
                page=offer.page,
                instructions=(agent.instructions if agent else None) or options.instructions,
                agents=agent.agents if agent else (),
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
        except Exception as exc:  # noqa: BLE001  # a provider is foreign code
            raise _failed(exc) from exc
        self.trace("fit", tries=[list(one) for one in fitting.tries])
        if fitting.prompt is None:
            raise _RunFailed("prompt-too-long", TOO_LONG)
        return fitting.prompt

    async def _generate(self, prompt: PromptParts) -> GenerateResult:
        shown = [self.offer.tools[tool.name] for tool in prompt.tools]
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
                        constraints=tuple(_constraint(tool) for tool in shown),
                    )
                ),
                self.req.signal,
                self.options.step_timeout_ms,
            )
        except (StopPressed, PromptTooLong):
            raise
        except TooLate:
            raise _RunFailed("timeout", TOO_SLOW) from None
        except NotReady as exc:
            reason = one_line(str(exc)) or "it is not loaded"
            raise _RunFailed("not-ready", FAILED.format(reason=reason)) from exc
        except Exception as exc:  # noqa: BLE001  # a provider is foreign code
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
            valid = validate_args(tool, call.args)
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
        try:
            answer = await race(
                self._sent(tool, args, call_id, AbortSignal.any([self.req.signal, own.signal])),
                self.req.signal,
            )
        except StopPressed:
            answer = ToolFail("cancelled", STOPPED)
        except Exception as exc:  # noqa: BLE001  # a source is foreign code
            answer = ToolFail("no-answer", one_line(clean(str(exc)), 500) or type(exc).__name__)
        finally:
            own.abort("the call is over")
        if isinstance(answer, ToolFail):
            answer = replace(answer, message=one_line(clean(answer.message), 500))
        outcome = "ok" if isinstance(answer, ToolOk) else answer.code
        self.trace("call", name=tool.name, args=args, outcome=outcome, ms=_ms(began))
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
        async with aclosing(run_local_agent(self.provider, nested, options)) as stream:
            async for part in stream:
                parts.append(part)
        report = report_of(parts)
        if report.finish == "stop":
            return ToolOk(report.answer, nested_value(report))
        if report.finish == "aborted":
            return ToolFail("cancelled", STOPPED)
        return ToolFail("failed", report.error or report.answer or report.finish)

    def readable(self, tool: PageTool, text: str) -> str:
        """An answer as the model reads it, whole: harmless, and marked when it is not the site's."""
        said = clean(text)
        return wrap_untrusted(said) if tool.untrusted else said

    def remember(self, name: str, args: JsonObject, said: str, failed: bool) -> str:
        """Take a finished call into the run's memory: `new`, `first` repeat, or `again`."""
        self.recent.insert(0, name)
        self.results.append(said)
        self.failure = (name, said) if failed else None
        times = self.repetition.seen(name, args, said)
        if times != "new":
            self.trace("repeat", name=name, args=args, times=times)
        return times

    def add_step_turns(
        self, prose: str, ran: Sequence[tuple[str, JsonObject, str]], notes: Sequence[str]
    ) -> None:
        """What the next step sees of this one, and the request again."""
        written = [write_call(name, args, call_format_of(self.provider)) for name, args, _ in ran]
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
    reason = one_line(str(exc)) or type(exc).__name__
    return _RunFailed("provider-failed", FAILED.format(reason=reason))


async def _awaited(
    tools: Callable[[], Sequence[PageTool] | Awaitable[Sequence[PageTool]]],
) -> Sequence[PageTool]:
    found = tools()
    return await found if inspect.isawaitable(found) else found


def _constraint(tool: PageTool) -> ToolConstraint:
    return ToolConstraint(tool.name, read_schema(tool.input_schema)[0], tool.fingerprint)


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
