"""Stop, readable from any thread: `AbortController` presses it, `AbortSignal` tells.

A generation runs in a thread, which asyncio cannot cancel, so Stop is a flag that both worlds see.
"""

import asyncio
import threading
from collections.abc import Callable, Iterable

from webmcp_agent.providers.errors import Aborted


class AbortSignal:
    """A flag that goes from unset to set once, with a reason."""

    def __init__(self) -> None:
        self._flag = threading.Event()
        self._lock = threading.Lock()
        self._listeners: dict[int, Callable[[], None]] = {}
        self._next = 0
        self._reason: str | None = None

    @property
    def aborted(self) -> bool:
        """Whether the flag is set; safe to read from any thread."""
        return self._flag.is_set()

    @property
    def reason(self) -> str | None:
        """Why it was set; None while it is not."""
        return self._reason

    def throw_if_aborted(self) -> None:
        """Raise `Aborted` with the reason when the flag is set."""
        if self.aborted:
            raise Aborted(self._reason or "stopped")

    def add_listener(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` once when the flag is set (at once if it is); returns its removal.

        It runs in the thread that aborts, so it has to be quick."""
        with self._lock:
            if not self.aborted:
                key = self._next
                self._next += 1
                self._listeners[key] = listener
                return lambda: self._remove(key)
        listener()
        return lambda: None

    def _remove(self, key: int) -> None:
        with self._lock:
            self._listeners.pop(key, None)

    async def wait(self) -> str:
        """Return the reason once the flag is set."""
        loop = asyncio.get_running_loop()
        done = asyncio.Event()

        def wake() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(done.set)

        remove = self.add_listener(wake)
        try:
            await done.wait()
        finally:
            remove()
        return self._reason or ""

    def _set(self, reason: str) -> None:
        with self._lock:
            if self.aborted:
                return
            self._reason = reason
            self._flag.set()
            listeners = list(self._listeners.values())
            self._listeners.clear()
        for listener in listeners:
            listener()

    @staticmethod
    def any(signals: Iterable["AbortSignal"]) -> "AbortSignal":
        """A signal that is set as soon as one of `signals` is, with that one's reason."""
        joined = AbortSignal()
        removals: list[Callable[[], None]] = []

        def join(signal: "AbortSignal") -> None:
            joined._set(signal.reason or "")
            for remove in removals:
                remove()

        for signal in signals:
            removals.append(signal.add_listener(lambda signal=signal: join(signal)))
        return joined


class AbortController:
    """Owns one `AbortSignal` and is the only one that can set it."""

    def __init__(self) -> None:
        self.signal = AbortSignal()

    def abort(self, reason: str = "stopped") -> None:
        """Set the signal; the first reason counts. Safe from any thread and from a handler."""
        self.signal._set(reason)  # pyright: ignore[reportPrivateUsage]  # its only setter
