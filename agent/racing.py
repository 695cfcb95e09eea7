"""A wait on foreign code that Stop or a limit ends, whatever the foreign code does."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from webmcp_agent.providers.abort import AbortSignal

T = TypeVar("T")


class StopPressed(Exception):
    """Stop was pressed first."""


class TooLate(Exception):
    """The limit was over first."""


class WorkCancelled(Exception):
    """The foreign code ended as cancelled, though nobody here cancelled it."""


async def race(work: Awaitable[T], signal: AbortSignal, limit_ms: int | None = None) -> T:
    """The result of `work`, unless Stop (`StopPressed`) or the limit (`TooLate`) comes first.

    Work that lost the race is cancelled and never awaited again, so one that ignores being
    cancelled cannot hold the caller; what it raises later is dropped. A result that is there when
    Stop is pressed counts; work that has not begun by then never begins. Raises what `work` raises,
    `WorkCancelled` for a cancellation of its own."""
    task = asyncio.ensure_future(work)
    stop = asyncio.ensure_future(signal.wait())
    try:
        if signal.aborted:
            raise StopPressed
        limit = None if limit_ms is None else limit_ms / 1000
        done, _ = await asyncio.wait(
            {task, stop}, timeout=limit, return_when=asyncio.FIRST_COMPLETED
        )
        if task in done:
            if task.cancelled():
                raise WorkCancelled("it was cancelled")
            return task.result()
        if stop in done:
            raise StopPressed
        raise TooLate
    finally:
        stop.cancel()
        if not task.done():
            task.add_done_callback(_drop)
            task.cancel()


def _drop(task: asyncio.Future[T]) -> None:
    """Read an abandoned task's exception, so that nobody reports it as lost."""
    if not task.cancelled():
        task.exception()
