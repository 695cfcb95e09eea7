"""A step up to its reply, of which nothing is emitted: generate until a reply can be used.

A step reads the page, fits, generates, parses and checks, with at most one repair and one
correction. Every wait on foreign code is raced against Stop and a limit.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from webmcp_agent.agent.arguments import checked_args, constraint_of
from webmcp_agent.agent.corrections import (
    announced_tool,
    claims_success,
    echoes,
    ignores_failure,
    is_action,
    only_judges,
    told_tool,
)
from webmcp_agent.agent.fitting import fit, tool_plan
from webmcp_agent.agent.held_ids import held_to_known, may_tell
from webmcp_agent.agent.history import read_history
from webmcp_agent.agent.identifiers import known_ids
from webmcp_agent.agent.offer import PageUnread, read_offer, reason_of
from webmcp_agent.agent.prompt import system_prompt
from webmcp_agent.agent.racing import StopPressed, TooLate, race
from webmcp_agent.agent.ranking import in_settled_order, rank_tools
from webmcp_agent.agent.repair import problem_text, unknown_tool
from webmcp_agent.agent.run import Run
from webmcp_agent.agent.stream import (
    Finish,
    RunError,
    RunErrorCode,
)
from webmcp_agent.agent.tool_calls import ParsedReply, parse_tool_calls, visible_text
from webmcp_agent.agent.trace import ms_since
from webmcp_agent.agent.validation import InvalidArgs
from webmcp_agent.agent.wording import (
    APOLOGY,
    EMPTY,
    FAILED,
    NO_CLAIM,
    NO_PAGE,
    NOT_CALLED,
    ONLY_LOOKED,
    RESULT_LIMIT,
    SAY_IT,
    TOO_LONG,
    TOO_SLOW,
    YOU_DO_IT,
    cut,
    gist,
)
from webmcp_agent.agent.wrappers import flat_tool, wrapper_of
from webmcp_agent.browser.tools import JsonObject, PageTool
from webmcp_agent.providers.abort import AbortController, AbortSignal
from webmcp_agent.providers.base import (
    ChatTurn,
    Fits,
    GenerateRequest,
    GenerateResult,
    PromptParts,
    Usage,
    call_format_of,
)
from webmcp_agent.providers.errors import NotReady, PromptTooLong

FITS_LIMIT_MS = 10_000


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


async def reply_for_step(run: Run) -> "Reply | Finish | RunError":
    """Generate until a reply can be used: at most one repair and one correction."""
    try:
        await _read_page(run)
        return await _usable_reply(run)
    except StopPressed:
        return Finish("aborted")
    except _RunFailed as failed:
        return RunError(failed.code, failed.text)


async def _read_page(run: Run) -> None:
    """Read tools and page afresh."""
    began = time.perf_counter()
    try:
        run.offer = await read_offer(run.req, run.warn)
    except PageUnread as exc:
        raise _RunFailed("unavailable", NO_PAGE.format(reason=exc.reason)) from exc
    tools = run.offer.tools
    if not run.page_read and any(wrapper_of(tool.input_schema) for tool in tools.values()):
        # The history's calls as the model writes them, now that their tools are known.
        call_format = call_format_of(run.provider)
        run.turns = read_history(run.req.messages, call_format, tools).turns
    run.page_read = True
    run.trace("page", ms=ms_since(began), tools=len(tools))


async def _usable_reply(run: Run) -> "Reply | RunError":
    scratch: list[ChatTurn] = []
    corrected = repaired = refitted = False
    while True:
        # 3, 4 Rank and fit.
        prompt = await _fitted(run, scratch)
        # 5 Generate.
        try:
            result = await _generate(run, prompt)
        except PromptTooLong:
            if refitted:
                raise _RunFailed("prompt-too-long", TOO_LONG) from None
            refitted = True
            continue
        # 6 Read before showing.
        reply = parse_tool_calls(
            result.text,
            [flat_tool(tool) for tool in run.offer.tools.values()],
            tools_inline=run.options.tools_inline,
            finish_reason=result.finish_reason,
        )
        run.trace(
            "parsed",
            calls=[{"name": call.name, "args": call.args} for call in reply.calls],
            errors=list(reply.errors),
            repairs=list(reply.repairs),
        )
        checked = _check(run, reply, [tool.name for tool in prompt.tools])
        # 8 Repair, once per step.
        if isinstance(checked, _Problem):
            run.trace("repair", kind=checked.kind, text=checked.text, used=repaired)
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
        if not corrected and (wrong := _correction(run, reply.text, prompt)):
            kind, text = wrong
            run.trace("correction", kind=kind, text=text)
            corrected = True
            scratch += [ChatTurn("assistant", reply.text), ChatTurn("user", text)]
            continue
        return Reply(_shown(run, reply.text, result), reply.text, [], Finish("stop"))


async def _fitted(run: Run, scratch: Sequence[ChatTurn]) -> PromptParts:
    options, offer, agent = run.options, run.offer, run.req.agent
    ranked = rank_tools(list(offer.tools.values()), run.ask, options.max_tools, recent=run.recent)

    def render(count: int, turns: Sequence[ChatTurn]) -> PromptParts:
        shown = tuple(in_settled_order(ranked[:count], run.settled))
        system = system_prompt(
            tools=shown,
            total=len(offer.tools),
            page=offer.page,
            instructions=((agent and agent.instructions) or "").strip() or options.instructions,
            agents=list(offer.agents.values()),
            call_format=call_format_of(run.provider),
            tools_inline=options.tools_inline,
        )
        return PromptParts(system, tuple(turns), shown)

    async def fits(prompt: PromptParts) -> bool:
        if not isinstance(run.provider, Fits):
            return True
        return await race(run.provider.fits(prompt), run.req.signal, FITS_LIMIT_MS)

    try:
        fitting = await fit(
            render, fits, run.turns, scratch, tool_plan(len(ranked), options.max_tools)
        )
    except StopPressed:
        raise
    except TooLate:
        reason = "measuring the prompt took too long"
        raise _RunFailed("provider-failed", FAILED.format(reason=reason)) from None
    except Exception as exc:  # a provider is foreign code
        raise _failed(exc) from exc
    run.trace("fit", tries=[list(one) for one in fitting.tries])
    if fitting.prompt is None:
        raise _RunFailed("prompt-too-long", TOO_LONG)
    names = [tool.name for tool in fitting.prompt.tools]
    run.settled += [name for name in names if name not in run.settled]
    return fitting.prompt


async def _generate(run: Run, prompt: PromptParts) -> GenerateResult:
    shown = [run.offer.tools[tool.name] for tool in prompt.tools]
    page = run.offer.page
    run.trace(
        "request",
        system=prompt.system,
        turns=[
            {"role": t.role, "content": t.content, **({"name": t.name} if t.name else {})}
            for t in prompt.messages
        ],
        tools=[tool.name for tool in shown],
        not_shown=len(run.offer.tools) - len(shown),
    )
    began = time.perf_counter()
    own = AbortController()
    try:
        result = await race(
            run.provider.generate(
                GenerateRequest(
                    system=prompt.system,
                    messages=prompt.messages,
                    tools=prompt.tools,
                    signal=AbortSignal.any([run.req.signal, own.signal]),
                    constraints=held_to_known(
                        shown,
                        [constraint_of(tool, run.ask) for tool in shown],
                        known_ids(prompt.messages, page.path if page else ""),
                    ),
                )
            ),
            run.req.signal,
            run.options.step_timeout_ms,
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
    run.trace(
        "reply",
        text=result.text,
        finish_reason=result.finish_reason,
        usage=_usage(result.usage),
        ms=ms_since(began),
    )
    return result


def _check(
    run: Run, reply: ParsedReply, shown: Sequence[str]
) -> "list[tuple[PageTool, JsonObject]] | _Problem":
    """The calls with their checked arguments, or the first problem; none runs then."""
    if reply.errors:
        return _Problem("unreadable", problem_text(reply.errors[0]))
    if not reply.calls and not reply.text.strip():
        return _Problem("empty", EMPTY)
    for call in reply.calls:
        if call.name not in run.offer.tools:
            return _Problem("unknown-tool", unknown_tool(call.name, shown, list(run.offer.tools)))
    checked: list[tuple[PageTool, JsonObject]] = []
    for call in reply.calls:
        tool = run.offer.tools[call.name]
        valid = checked_args(tool, call.args, run.answers)
        if valid.changes or valid.warnings:
            run.trace(
                "args",
                tool=tool.name,
                changes=list(valid.changes),
                warnings=list(valid.warnings),
            )
        if isinstance(valid, InvalidArgs):
            return _Problem("invalid-args", problem_text(valid.message))
        checked.append((tool, valid.args))
    return checked


def _correction(run: Run, text: str, prompt: PromptParts) -> tuple[str, str] | None:
    """What is wrong with a plain reply, as (kind, text to send back)."""
    if run.failure is not None:
        name, error = run.failure
        if ignores_failure(text, error):
            closed = error if error.rstrip().endswith((".", "!", "?", "…")) else f"{error}."
            return "a", NO_CLAIM.format(name=name, error=closed)
    tools = list(run.offer.tools.values())
    shown = [run.offer.tools[tool.name] for tool in prompt.tools]
    if announced := announced_tool(text, shown):
        return "e", YOU_DO_IT.format(tool=announced)
    if run.results and only_judges(text):
        acted = any(not may_tell(tool) for tool in tools if tool.name in run.recent)
        return "f", SAY_IT if acted or not is_action(run.ask, tools) else ONLY_LOOKED
    if not is_action(run.ask, tools):
        return None
    if told := told_tool(text, shown):
        return "b", YOU_DO_IT.format(tool=told)
    if not run.results and claims_success(text):
        return "d", NOT_CALLED
    return None


def _shown(run: Run, text: str, result: GenerateResult) -> str:
    """A plain reply as the person sees it; an echo, or a mere judgement of the last
    result, is replaced by its gist."""
    unsaid = echoes(text, run.results) or (run.results and only_judges(text))
    if unsaid and (short := gist(run.results[-1])):
        return short
    return f"{text}…" if result.finish_reason == "length" else text


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
