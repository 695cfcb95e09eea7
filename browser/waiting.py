"""Waiting in the background: `Pulse` wakes whoever waits, `HeldTasks` owns what nobody awaits."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

logger = logging.getLogger("webmcp_agent.browser")


class Pulse:
    """Something happened: whoever waits looks again."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def fire(self) -> None:
        """Wake all who wait now."""
        self._event.set()
        self._event = asyncio.Event()

    async def wait(self) -> None:
        """Return at the next `fire`."""
        await self._event.wait()

    async def within(self, limit_s: float) -> None:
        """Return at the next `fire`, or after the limit."""
        try:
            async with asyncio.timeout(limit_s):
                await self.wait()
        except TimeoutError:
            return

    async def until(self, condition: Callable[[], bool], limit_ms: float) -> bool:
        """Wait until `condition` holds, at most `limit_ms`; whether it holds."""
        if condition():
            return True  # nearly always, and a timer costs more than the question
        try:
            async with asyncio.timeout(max(0.0, limit_ms) / 1000):
                while not condition():
                    await self.wait()
        except TimeoutError:
            pass
        return condition()


class HeldTasks:
    """Tasks that are started and not awaited; they end at the latest with `close`."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run `work` in the background. Its failure is logged, and raised where it is awaited."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            # Nearly always a page that went away under a command.
            logger.debug("background work failed: %r", error)

    async def close(self) -> None:
        """Cancel what still runs and wait until it has ended."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
