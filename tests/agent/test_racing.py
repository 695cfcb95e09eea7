"""Limits in time, and the one wait on foreign code that all of them go through."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import pytest
from page_double import PageDouble, check_grammar, request
from shop_run import FIND_MUG, opened, search, searched, start, text
from stubborn import Stubborn, stubborn_request
from virtual_time import run_in_virtual_time

from webmcp_agent.agent.loop import run_local_agent
from webmcp_agent.agent.options import LocalLoopOptions
from webmcp_agent.agent.racing import StopPressed, TooLate, WorkCancelled, race
from webmcp_agent.agent.request import AgentRunRequest
from webmcp_agent.agent.stream import (
    AgentStreamPart,
    Finish,
    RunError,
)
from webmcp_agent.providers.abort import AbortController, AbortSignal
from webmcp_agent.providers.base import (
    GenerateRequest,
    LocalProvider,
)
from webmcp_agent.providers.scripted import ScriptedProvider

TOO_SLOW = RunError(
    "timeout", "The on-device model took too long. Try again, or ask for something simpler."
)


async def in_time(
    provider: LocalProvider, req: AgentRunRequest, options: LocalLoopOptions | None = None
) -> list[AgentStreamPart]:
    """All parts of a run; under a virtual clock, which `collect` would cut short."""
    parts: list[AgentStreamPart] = []
    async with aclosing(run_local_agent(provider, req, options)) as stream:
        async for part in stream:
            parts.append(part)
    check_grammar(parts)
    return parts


def test_a_generation_may_take_a_minute_by_default() -> None:
    """A-019, A-021, A-055, A-056, B-030, B-046."""

    async def run() -> tuple[list[AgentStreamPart], list[bool]]:
        stubborn = Stubborn("generate")
        parts = await in_time(stubborn, stubborn_request(stubborn))
        stubborn.hang.released.set()
        await stubborn.hang.ended.wait()
        return parts, [signal.aborted for signal in stubborn.signals]

    (parts, aborted), waited = run_in_virtual_time(run())
    assert (parts, aborted, waited) == ([start(1), TOO_SLOW], [True], 60_000)


def test_the_limit_is_for_each_generation_not_for_the_step() -> None:
    """A-020, A-053: a step with a repair may take two."""

    def after(ms: int, reply: str) -> Callable[[GenerateRequest], Awaitable[str]]:
        async def generate(req: GenerateRequest) -> str:
            await asyncio.sleep(ms / 1000)
            return reply

        return generate

    provider = ScriptedProvider(
        [after(800, "<tool_call>???</tool_call>"), after(800, search()), after(999, "One mug.")]
    )
    parts, waited = run_in_virtual_time(
        in_time(provider, request(PageDouble(), FIND_MUG), LocalLoopOptions(step_timeout_ms=1000))
    )
    assert parts == [start(1), *searched("c1.1"), start(2), text("One mug."), Finish("stop")]
    assert waited == 2599


@pytest.mark.parametrize(
    ("hangs", "waited", "end"),
    [
        (
            "tools",
            10_000,
            RunError("unavailable", "The page's tools could not be read: no answer"),
        ),
        (
            "fits",
            10_000,
            RunError(
                "provider-failed",
                "The on-device model failed: measuring the prompt took too long",
            ),
        ),
    ],
)
def test_other_waits_have_limits_of_their_own(hangs: str, waited: int, end: RunError) -> None:
    """C-01: each wait has one owner and one limit."""

    async def run() -> list[AgentStreamPart]:
        stubborn = Stubborn(hangs)
        parts = await in_time(stubborn, stubborn_request(stubborn))
        stubborn.hang.released.set()
        await stubborn.hang.ended.wait()
        return parts

    assert run_in_virtual_time(run()) == ([start(1), end], waited)


def test_a_page_that_does_not_say_what_is_open_costs_two_seconds() -> None:
    """A-090: the page line is left out, and the run goes on."""

    async def run() -> list[AgentStreamPart]:
        stubborn = Stubborn("page")
        parts = await in_time(stubborn, stubborn_request(stubborn), LocalLoopOptions(max_steps=1))
        stubborn.hang.released.set()
        await stubborn.hang.ended.wait()
        return parts

    parts, waited = run_in_virtual_time(run())
    assert (parts[1:3], waited) == (opened("c1.1"), 2_000)


async def test_a_result_that_is_there_when_stop_comes_counts() -> None:
    stop = AbortController()

    async def work() -> str:
        stop.abort()
        return "done"

    assert await race(work(), stop.signal) == "done"


async def test_work_that_has_not_begun_when_stop_comes_never_begins() -> None:
    stop, begun = AbortController(), asyncio.Event()
    stop.abort()

    async def work() -> None:
        begun.set()

    task = asyncio.create_task(work())
    for waited in (work(), task):
        with pytest.raises(StopPressed):
            await race(waited, stop.signal)
    await asyncio.wait([task])
    assert (begun.is_set(), task.cancelled()) == (False, True)


async def test_work_that_cancels_itself_is_no_cancelled_run() -> None:
    async def work() -> None:
        raise asyncio.CancelledError

    with pytest.raises(WorkCancelled, match="^it was cancelled$"):
        await race(work(), AbortSignal())


def test_work_that_is_too_late_is_told_and_forgotten() -> None:
    ended: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")
            raise RuntimeError("nobody reads this")

    async def run() -> None:
        with pytest.raises(TooLate):
            await race(work(), AbortSignal(), 250)
        await asyncio.sleep(0)

    assert run_in_virtual_time(run())[1] == 250
    assert ended == ["cancelled"]
