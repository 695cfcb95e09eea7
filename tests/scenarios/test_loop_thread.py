"""Async work for plain functions: what it gives, what it raises, and how an interrupt ends it."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager

import pytest

from webmcp_agent.scenarios.loop_thread import LoopThread


@pytest.fixture
def thread() -> Generator[LoopThread]:
    running = LoopThread()
    yield running
    running.close()


def test_work_gives_its_value_or_raises_its_error(thread: LoopThread) -> None:
    async def give() -> str:
        return threading.current_thread().name

    async def fail() -> None:
        raise TimeoutError("its own")

    assert thread.run(give()) == "webmcp-agent"
    with pytest.raises(TimeoutError, match="its own"):
        thread.run(fail())


def test_the_waiting_thread_is_asked_again_and_again(thread: LoopThread) -> None:
    asked = threading.Event()

    async def wait() -> bool:
        return await asyncio.to_thread(asked.wait, 60)

    assert thread.run(wait(), meanwhile=asked.set) is True


def test_an_interrupt_cancels_the_work_and_lets_it_end_in_order(thread: LoopThread) -> None:
    happened: list[str] = []

    async def work() -> None:
        try:
            happened.append("began")
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            happened.append("ended")

    def interrupt() -> None:
        if happened:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        thread.run(work(), meanwhile=interrupt)
    assert happened == ["began", "ended"]


def test_a_context_is_entered_and_left_by_one_task(thread: LoopThread) -> None:
    tasks: list[asyncio.Task[object] | None] = []

    @asynccontextmanager
    async def opened() -> AsyncGenerator[str]:
        # A timeout may only be left by the task that entered it.
        async with asyncio.timeout(60):
            tasks.append(asyncio.current_task())
            yield "open"
            tasks.append(asyncio.current_task())

    with thread.entered(opened()) as value:
        assert value == "open"
        assert len(tasks) == 1
    assert tasks[0] is tasks[1]


def test_a_context_that_cannot_be_entered_or_left_says_why(thread: LoopThread) -> None:
    @asynccontextmanager
    async def opened(*, fails_first: bool) -> AsyncGenerator[None]:
        if fails_first:
            raise ValueError("not entered")
        yield
        raise ValueError("not left")

    with pytest.raises(ValueError, match="not entered"), thread.entered(opened(fails_first=True)):
        raise NotImplementedError
    with pytest.raises(ValueError, match="not left"), thread.entered(opened(fails_first=False)):
        pass


def test_closing_ends_what_still_runs() -> None:
    ended = threading.Event()

    async def hold() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def start() -> "asyncio.Task[None]":
        task = asyncio.create_task(hold())
        await asyncio.sleep(0)
        return task

    thread = LoopThread()
    task = thread.run(start())
    thread.close()
    assert ended.is_set()
    assert task.cancelled()
    assert "webmcp-agent" not in {each.name for each in threading.enumerate()}
