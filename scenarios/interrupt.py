"""Ctrl-C as Stop: the first press stops what is running in order, the next ones end the program."""

import asyncio
import contextlib
import signal
from collections.abc import Awaitable, Callable, Generator

from webmcp_agent.providers.abort import AbortController, AbortSignal

INTERRUPTED_EXIT = 130


class Interrupt:
    """What Ctrl-C does now: inside `stoppable` it presses Stop, elsewhere it cancels the work."""

    def __init__(self) -> None:
        self._controller = AbortController()
        self._task: asyncio.Task[int] | None = None
        self._stoppable = False
        self.setup = AbortController()
        """Set as well when the work is cancelled, for threads that asyncio cannot reach."""

    @contextlib.contextmanager
    def stoppable(self) -> Generator[AbortSignal]:
        """While inside, the first Ctrl-C sets the signal that this gives, and nothing else."""
        self._controller = AbortController()
        self._stoppable = True
        try:
            yield self._controller.signal
        finally:
            self._stoppable = False

    def press(self) -> None:
        """What a press does."""
        if self._stoppable and not self._controller.signal.aborted:
            self._controller.abort("stopped by the user")
            return
        self._controller.abort("stopped by the user")
        self.setup.abort("stopped by the user")
        if self._task is not None:
            self._task.cancel()

    async def _attended(self, work: Callable[["Interrupt"], Awaitable[int]]) -> int:
        loop = asyncio.get_running_loop()
        # Windows has no such handler: there Ctrl-C cancels the work through asyncio itself.
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(signal.SIGINT, self.press)
        self._task = asyncio.ensure_future(_called(work, self))
        try:
            return await self._task
        except asyncio.CancelledError:
            return INTERRUPTED_EXIT
        finally:
            self.setup.abort("the program ends")
            with contextlib.suppress(NotImplementedError):
                loop.remove_signal_handler(signal.SIGINT)


async def _called(work: Callable[[Interrupt], Awaitable[int]], interrupt: Interrupt) -> int:
    return await work(interrupt)


def run_interruptible(work: Callable[[Interrupt], Awaitable[int]]) -> int:
    """Run `work` to its exit code; 130 when it was interrupted."""
    interrupt = Interrupt()
    try:
        return asyncio.run(interrupt._attended(work))  # pyright: ignore[reportPrivateUsage]  # its only user
    except KeyboardInterrupt:
        return INTERRUPTED_EXIT
