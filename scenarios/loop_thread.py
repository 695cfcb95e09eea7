"""An event loop on a thread of its own, so that plain functions can use what is async.

An interrupt of the function that waits cancels the work and lets it end in order: a browser that
was open is closed on the way.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any, Generic, TypeVar

LOOK_MS = 50
"""Between two calls of `meanwhile`, and two chances for an interrupt where waits hold it back."""

END_LIMIT_MS = 15_000
"""How long cancelled work is given to close what it opened."""

T = TypeVar("T")


class LoopThread:
    """A running event loop; `close` ends it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="webmcp-agent", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def run(
        self, work: Coroutine[Any, Any, T], *, meanwhile: Callable[[], object] | None = None
    ) -> T:
        """Wait for what `work` gives or raises; `meanwhile` is called again and again until then.

        Whatever interrupts the wait cancels the work, and goes on once that has ended."""
        started = _Work(self._loop, work)
        started.attend(started.done, meanwhile)
        return started.done.result()

    @contextmanager
    def entered(self, manager: AbstractAsyncContextManager[T]) -> Generator[T]:
        """What `manager` gives, entered and left by one and the same task."""
        opened: Future[T] = Future()
        leave = asyncio.Event()

        async def hold() -> None:
            async with manager as value:
                opened.set_result(value)
                await leave.wait()

        holding = _Work(self._loop, hold())
        holding.attend(opened)
        if not opened.done():
            holding.done.result()
        try:
            yield opened.result()
        finally:
            self._loop.call_soon_threadsafe(leave.set)
            holding.attend(holding.done)
            holding.done.result()

    def close(self) -> None:
        """Cancel what still runs, and end the thread."""
        self.run(_cancel_others())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(END_LIMIT_MS / 1000)
        if not self._thread.is_alive():
            self._loop.close()


class _Work(Generic[T]):
    """A task of the loop, as the other thread sees it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> None:
        self.done: Future[T] = Future()
        self._loop = loop
        self._task: asyncio.Task[T] | None = None
        loop.call_soon_threadsafe(self._begin, work)

    def _begin(self, work: Coroutine[Any, Any, T]) -> None:
        self._task = self._loop.create_task(work)
        self._task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[T]) -> None:
        if task.cancelled():
            self.done.cancel()
        elif (error := task.exception()) is not None:
            self.done.set_exception(error)
        else:
            self.done.set_result(task.result())

    def attend(self, until: Future[Any], meanwhile: Callable[[], object] | None = None) -> None:
        """Wait until that or the task itself is done."""
        waited_for = {until, self.done}
        try:
            while not wait(waited_for, LOOK_MS / 1000, FIRST_COMPLETED).done:
                if meanwhile is not None:
                    meanwhile()
        except BaseException:
            self._loop.call_soon_threadsafe(self._cancel)
            wait({self.done}, END_LIMIT_MS / 1000)
            raise

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others, timeout=END_LIMIT_MS / 1000)
    await asyncio.get_running_loop().shutdown_asyncgens()
