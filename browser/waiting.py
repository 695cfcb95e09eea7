"""Waiting in the background: `Pulse` wakes whoever waits, `HeldTasks` owns what nobody awaits."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

logger = logging.getLogger("webmcp_agent.browser")


class Pulse:
    """Something happened: whoever waits for it goes on."""

    def __init__(self) -> None:
        self._waiting: dict[asyncio.Future[None], Callable[[], bool]] = {}

    def fire(self) -> None:
        """Wake those whose condition holds now."""
        # Asked here and not by who waits: a wake-up takes ten times as long as most questions.
        for waiting, condition in self._waiting.items():
            if not waiting.done() and condition():
                waiting.set_result(None)

    async def until(self, condition: Callable[[], bool], limit_ms: float) -> bool:
        """Wait until a `fire` finds that `condition` holds, at most `limit_ms`; whether it holds.

        `condition` is asked at once and often, so it has to be quick, and must not raise."""
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + max(0.0, limit_ms) / 1000
        # Asked again after each wake-up: what held at the `fire` may have ended since.
        while not condition():
            if loop.time() >= ends_at:
                return False
            waiting: asyncio.Future[None] = loop.create_future()
            timer = loop.call_at(ends_at, _end, waiting)
            self._waiting[waiting] = condition
            try:
                await waiting
            finally:
                timer.cancel()
                del self._waiting[waiting]
        return True


def _end(waiting: "asyncio.Future[None]") -> None:
    if not waiting.done():
        waiting.set_result(None)


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
