"""Waiting for a model's worker thread: for one job, or together with others for the same one."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import TypeVar

from webmcp_agent.providers.abort import AbortController, AbortSignal
from webmcp_agent.providers.errors import Aborted

_T = TypeVar("_T")


class SharedJob:
    """A long job with progress, which several callers may wait for."""

    def __init__(self, threads: Executor, work: "Callable[[SharedJob], None]") -> None:
        """`work` runs at once, tells its progress, and looks at `stop`."""
        self.stop = AbortController()
        self.progress = 0.0
        """0 to 1."""
        self._listeners: list[Callable[[float], None]] = []
        self._job = threads.submit(work, self)

    @property
    def goes_on(self) -> bool:
        """Whether somebody may still join."""
        return not self._job.done() and not self.stop.signal.aborted

    @property
    def deserted(self) -> bool:
        """Whether nobody waits for it any more."""
        return not self._listeners

    def tell(self, progress: float) -> None:
        """Note the progress, in the worker thread."""
        self.progress = max(self.progress, min(progress, 1.0))
        for listener in list(self._listeners):
            listener(self.progress)

    async def join(self, on_progress: Callable[[float], None], signal: AbortSignal) -> None:
        """Wait for the end; whoever leaves last stops the work."""
        loop = asyncio.get_running_loop()
        told = [0.0]

        def tell(progress: float) -> None:
            if listener in self._listeners and not signal.aborted and progress >= told[0]:
                told[0] = progress
                on_progress(progress)

        def listener(progress: float) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(tell, progress)

        self._listeners.append(listener)
        try:
            tell(self.progress)
            await outcome(self._job, signal, shared=True)
            signal.throw_if_aborted()
        finally:
            self._listeners.remove(listener)
            if not self._listeners and not self._job.done():
                self.stop.abort(signal.reason or "stopped")
        on_progress(1.0)


async def outcome(job: "Future[_T]", signal: AbortSignal, *, shared: bool = False) -> _T:
    """What a job of the worker thread returns or raises, raced against Stop.

    A job that runs is waited for, since it looks at Stop itself, unless it is `shared`."""
    done = asyncio.wrap_future(job)
    # Nobody may come for the outcome any more; that is no reason to complain about it.
    done.add_done_callback(lambda future: future.cancelled() or future.exception())
    stopped = asyncio.ensure_future(signal.wait())
    try:
        await asyncio.wait({done, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if not done.done():
            if shared:
                signal.throw_if_aborted()
            elif job.cancel():
                raise Aborted("the model is still busy")
        return await asyncio.shield(done)
    finally:
        stopped.cancel()
