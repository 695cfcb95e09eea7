"""Stop, and closing a run: nothing more begins, and nothing is left running."""

import asyncio
from contextlib import aclosing

import pytest
from page_double import PageDouble, check_grammar, collect, request
from shop_run import ADD_MUG, FIND_MUG, MUGS, add, open_, search, searched, start, text
from stubborn import Stubborn, stubborn_request

from webmcp_agent.agent.loop import run_local_agent
from webmcp_agent.agent.stream import (
    AgentStreamPart,
    Finish,
    MessageStart,
    TextDelta,
    ToolCall,
    ToolError,
    ToolResult,
)
from webmcp_agent.browser.tools import (
    JsonObject,
)
from webmcp_agent.providers.abort import AbortController, AbortSignal
from webmcp_agent.providers.base import (
    GenerateRequest,
)
from webmcp_agent.providers.scripted import ScriptedProvider

STOPPED = ToolError(
    "c1.1", "open_product", "cancelled", "The person pressed Stop.", may_have_happened=True
)


WAITS = ["tools", "page", "fits", "generate", "call"]


async def test_stop_before_the_start_leaves_nothing_but_the_end() -> None:
    """A-088."""
    stop = AbortController()
    stop.abort()
    provider, page = ScriptedProvider([]), PageDouble()
    parts = await collect(provider, request(page, ADD_MUG, stop.signal))
    assert (parts, provider.requests, page.listings) == ([Finish("aborted")], [], 0)


@pytest.mark.parametrize("hangs", WAITS)
async def test_stop_ends_every_wait_on_code_that_ignores_it(hangs: str) -> None:
    """A-054, A-088, B-030, B-046, C-01."""
    stubborn, stop = Stubborn(hangs), AbortController()

    async def press() -> None:
        await stubborn.hang.began.wait()
        stop.abort()

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        group.create_task(press())
        parts = await collect(stubborn, stubborn_request(stubborn, stop.signal))
        in_call: list[AgentStreamPart] = [
            ToolCall("c1.1", "open_product", {"id": 7}),
            STOPPED,
        ]
        assert parts == [start(1), *(in_call if hangs == "call" else []), Finish("aborted")]
        assert all(signal.aborted for signal in stubborn.signals)
        assert not stubborn.hang.ended.is_set()
        stubborn.hang.released.set()
        await stubborn.hang.ended.wait()


@pytest.mark.parametrize(
    ("pressed_at", "parts", "calls"),
    [
        pytest.param(MessageStart, [start(1), Finish("aborted")], [], id="message-start"),
        pytest.param(
            TextDelta, [start(1), text("I look."), Finish("aborted")], [], id="text-delta"
        ),
        pytest.param(
            ToolCall,
            [
                start(1),
                text("I look."),
                ToolCall("c1.1", "search_products", {"query": "mug"}),
                ToolError(
                    "c1.1",
                    "search_products",
                    "cancelled",
                    "The person pressed Stop.",
                    may_have_happened=False,
                ),
                Finish("aborted"),
            ],
            [],
            id="tool-call",
        ),
        pytest.param(
            ToolResult,
            [start(1), text("I look."), *searched("c1.1"), Finish("aborted")],
            [("search_products", {"query": "mug"})],
            id="tool-result",
        ),
    ],
)
async def test_stop_between_two_parts_begins_nothing_more(
    pressed_at: type[AgentStreamPart],
    parts: list[AgentStreamPart],
    calls: list[tuple[str, JsonObject]],
) -> None:
    """A-088, C-01: what was not sent has not happened."""
    stop, page = AbortController(), PageDouble()
    provider = ScriptedProvider([f"I look.\n{search()}\n{add()}", "Found."])
    seen: list[AgentStreamPart] = []
    async with aclosing(run_local_agent(provider, request(page, FIND_MUG, stop.signal))) as stream:
        async for part in stream:
            seen.append(part)
            if isinstance(part, pressed_at):
                stop.abort()
    check_grammar(seen)
    assert (seen, page.calls) == (parts, calls)


async def test_stop_between_steps_ends_before_the_next_message() -> None:
    """A-088."""
    stop, page = AbortController(), PageDouble()

    def answer(args: JsonObject) -> str:
        stop.abort()
        return MUGS

    page.answers["search_products"] = answer
    provider = ScriptedProvider([search()])
    assert await collect(provider, request(page, FIND_MUG, stop.signal)) == [
        start(1),
        *searched("c1.1"),
        Finish("aborted"),
    ]


async def test_stop_cancels_the_call_in_the_page() -> None:
    """A-088, B-030: the page sees the signal of the call."""
    stop, page = AbortController(), PageDouble()
    cancelled = asyncio.Event()

    async def answer(args: JsonObject) -> str:
        stop.abort()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        raise NotImplementedError

    page.answers["open_product"] = answer
    parts = await collect(ScriptedProvider([open_()]), request(page, "Open product 7", stop.signal))
    assert parts == [
        start(1),
        ToolCall("c1.1", "open_product", {"id": 7}),
        STOPPED,
        Finish("aborted"),
    ]
    async with asyncio.timeout(5):
        await cancelled.wait()


def _others() -> set[asyncio.Task[object]]:
    return asyncio.all_tasks() - {task for task in [asyncio.current_task()] if task}


async def _settle(before: set[asyncio.Task[object]]) -> None:
    """Let cancelled tasks end; one that goes on keeps this waiting until the time is up."""
    if left := _others() - before:
        async with asyncio.timeout(5):
            await asyncio.wait(left)


@pytest.mark.parametrize("place", ["generate", "call"])
async def test_a_cancelled_run_leaves_no_work_behind(place: str) -> None:
    """C-10."""
    before, began = _others(), asyncio.Event()
    signals: list[AbortSignal] = []
    seen: list[AgentStreamPart] = []

    async def hang(req: object) -> str:
        if isinstance(req, GenerateRequest):
            signals.append(req.signal)
        began.set()
        await asyncio.Event().wait()
        raise NotImplementedError

    page = PageDouble()
    page.answers["open_product"] = hang
    provider = ScriptedProvider([hang if place == "generate" else open_()])

    async def consume() -> None:
        req = request(page, "Open product 7")
        async with aclosing(run_local_agent(provider, req)) as stream:
            async for part in stream:
                seen.append(part)

    task = asyncio.create_task(consume())
    async with asyncio.timeout(5):
        await began.wait()
    count = len(seen)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await _settle(before)
    assert len(seen) == count
    assert all(signal.aborted for signal in signals)


async def test_a_run_that_is_left_early_runs_nothing_more() -> None:
    """C-10."""
    before, page = _others(), PageDouble()
    provider = ScriptedProvider([f"{search()}\n{open_()}", "Found."])
    async with aclosing(run_local_agent(provider, request(page, FIND_MUG))) as stream:
        async for part in stream:
            if isinstance(part, ToolResult):
                break
    await _settle(before)
    assert page.calls == [("search_products", {"query": "mug"})]
    assert len(provider.requests) == 1


async def test_a_finished_generation_leaves_no_listener_on_the_persons_signal() -> None:
    """C-10: a chat keeps one signal for a long time."""
    before, stop = _others(), AbortController()
    await collect(
        ScriptedProvider([search(), open_(), "It is open."]),
        request(PageDouble(), FIND_MUG, stop.signal),
    )
    await _settle(before)
    assert vars(stop.signal)["_listeners"] == {}
