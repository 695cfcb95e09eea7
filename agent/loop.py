"""The agent loop: rank the tools, fit, generate, parse, check, call, feed back, repeat.

One generator with numbered stages, so that the whole loop can be seen at once; what happens inside
a stage and emits nothing is in `step.py` and `page_call.py`. It raises nothing for what a model, a
page or a provider does: a run ends in `finish` or `error`. No part is yielded inside a wait on
foreign code.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from webmcp_agent.agent.foreign_text import clean
from webmcp_agent.agent.history import read_history, result_text
from webmcp_agent.agent.options import LocalLoopOptions
from webmcp_agent.agent.page_call import call
from webmcp_agent.agent.request import AgentDefinition, AgentRunRequest
from webmcp_agent.agent.run import Run
from webmcp_agent.agent.step import reply_for_step
from webmcp_agent.agent.stream import (
    AgentStreamPart,
    Finish,
    MessageStart,
    RunError,
    TextDelta,
    ToolCall,
    ToolError,
    ToolResult,
)
from webmcp_agent.agent.wording import (
    CIRCLES,
    MAX_STEPS,
    MOVED,
    REPEATED,
    error_line,
    gist,
    names_text,
    steps_text,
)
from webmcp_agent.browser.tools import JsonObject, ToolFail, ToolOk
from webmcp_agent.providers.base import LocalProvider, call_format_of


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
    run = Run(provider, req, options, history.ask, history.turns, run_local_agent)
    for part in history.finished:
        run.remember(part.name, part.args, clean(result_text(part)), part.state == "error")
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
        outcome = await reply_for_step(run)
        if isinstance(outcome, Finish | RunError):
            yield outcome
            return
        if outcome.text:
            yield TextDelta(outcome.text)
        if outcome.finish is not None:
            yield outcome.finish
            return
        if req.signal.aborted:
            yield Finish("aborted")
            return

        # 9 Run the calls, one at a time.
        ran: list[tuple[str, JsonObject, str]] = []
        notes: list[str] = []
        for index, (tool, args) in enumerate(outcome.calls):
            call_id = f"c{message}.{index + 1}"
            yield ToolCall(call_id, tool.name, args)
            answer = await call(run, tool, args, call_id)
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

            # The page has handed over: what there is to do is the person's, and so is the run.
            if isinstance(answer, ToolFail) and answer.hand_over:
                yield MessageStart(f"m{message + 1}")
                yield TextDelta(answer.message)
                yield Finish("stop")
                return

            # 10 The same call with the same answer: told once, then the run stops.
            times = run.remember(tool.name, args, said, isinstance(answer, ToolFail))
            if times == "again":
                yield MessageStart(f"m{message + 1}")
                yield TextDelta(CIRCLES.format(gist=gist(run.results[-1])).strip())
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
    for each in (agent, *agent.agents) if agent else ():
        if each.max_steps is not None and each.max_steps < 1:
            raise ValueError(f"max_steps must be at least 1, not {each.max_steps}")
    return options.max_steps if agent is None or agent.max_steps is None else agent.max_steps


def _moved(answer: ToolOk | ToolFail) -> bool:
    if isinstance(answer, ToolOk):
        return answer.navigated
    return answer.code == "navigated"
