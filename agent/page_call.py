"""One checked call, done by the page or by a sub-agent: whatever happens becomes an answer."""

import time
from contextlib import aclosing
from dataclasses import replace

from webmcp_agent.agent.delegation import sub_request
from webmcp_agent.agent.foreign_text import clean
from webmcp_agent.agent.offer import reason_of
from webmcp_agent.agent.racing import StopPressed, race
from webmcp_agent.agent.request import AgentDefinition
from webmcp_agent.agent.run import Run
from webmcp_agent.agent.stream import (
    AgentStreamPart,
    nested_value,
    report_of,
)
from webmcp_agent.agent.trace import ms_since
from webmcp_agent.agent.wording import (
    RESULT_LIMIT,
    STOPPED,
    cut,
    one_line,
)
from webmcp_agent.browser.tools import JsonObject, PageTool, ToolFail, ToolOk
from webmcp_agent.providers.abort import AbortController, AbortSignal

TRACED_ANSWER = 100_000
"""Characters of an answer that the trace keeps."""


async def call(run: Run, tool: PageTool, args: JsonObject, call_id: str) -> ToolOk | ToolFail:
    """Run one checked call; whatever happens becomes an answer."""
    began = time.perf_counter()
    own = AbortController()
    begins = not run.req.signal.aborted
    try:
        answer = await race(
            _sent(run, tool, args, call_id, AbortSignal.any([run.req.signal, own.signal])),
            run.req.signal,
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
        run.values.append(answer.value)
    outcome = "ok" if isinstance(answer, ToolOk) else answer.code
    data: JsonObject = {"name": tool.name, "args": args, "outcome": outcome}
    if isinstance(answer, ToolOk) and len(answer.text) > RESULT_LIMIT:
        # The next request holds the answer only in short.
        data["answer"] = cut(answer.text, TRACED_ANSWER)
    run.trace("call", **data, ms=ms_since(began))
    return answer


async def _sent(
    run: Run, tool: PageTool, args: JsonObject, call_id: str, signal: AbortSignal
) -> ToolOk | ToolFail:
    if sub := run.offer.agents.get(tool.name):
        return await _delegated(run, sub, str(args.get("task", "")), call_id)
    return await run.req.call_tool(tool.name, args, call_id=call_id, signal=signal)


async def _delegated(run: Run, sub: AgentDefinition, task: str, call_id: str) -> ToolOk | ToolFail:
    """Hand a task to a sub-agent: the loop itself, on the same page, with its own tools."""
    nested = sub_request(run.req, sub, task, call_id)
    options = replace(run.options, instructions=None, trace=run.nested_trace(sub.id))
    parts: list[AgentStreamPart] = []
    async with aclosing(run.run_nested(run.provider, nested, options)) as stream:
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
