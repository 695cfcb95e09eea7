"""Work in threads that give way to all else that runs, until they are told to hurry.

A low priority alone is not enough: two threads of one core slow each other down whatever their
priorities are, so whoever gives way also rests between two pieces of work.
"""

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import perf_counter
from typing import TypeVar

T = TypeVar("T")

_NICE = 19
"""The lowest priority there is for who computes: beside a busy thread it gets a hundredth."""
_REST = 3.0
"""Who gives way rests so many times as long as it worked."""


class Pace:
    """Whether work gives way; it changes between two steps of a work.

    A thread cannot get a priority back that it gave up, so there are threads of both kinds."""

    def __init__(self) -> None:
        self._slow = ThreadPoolExecutor(1, "film", initializer=_give_way)
        self._quick = ThreadPoolExecutor(2, "film")
        self._hurries = threading.Event()
        self._stopped = threading.Event()
        self._awake = threading.Event()
        """Set while nobody rests."""
        self._rested_at = 0.0

    @property
    def hurries(self) -> bool:
        """Whether it does not give way now."""
        return self._hurries.is_set()

    def hurry(self, yes: bool = True) -> None:
        """Work at the priority of all from now on, or give way again."""
        for event in (self._hurries, self._awake):
            (event.set if yes else event.clear)()

    def stop(self) -> None:
        """End what is done in steps where it is."""
        self._stopped.set()
        self._awake.set()

    async def run(self, work: Callable[[], T]) -> T:
        """What `work` returns or raises."""
        loop = asyncio.get_running_loop()
        if self._hurries.is_set():
            return await loop.run_in_executor(self._quick, work)
        return await loop.run_in_executor(self._slow, self._rested, work)

    async def steps(self, steps: Iterator[object]) -> None:
        """Go through all of `steps`. Raises: what they raise."""
        while not self._stopped.is_set():
            quick = self._hurries.is_set()
            if await self.run(partial(self._some, steps, quick)):
                return

    def _rested(self, work: Callable[[], T]) -> T:
        """What `work` returns or raises, begun when the rest from the last piece is over."""
        self._awake.wait(max(0.0, self._rested_at - perf_counter()))
        began = perf_counter()
        try:
            return work()
        finally:
            ended = perf_counter()
            self._rested_at = ended + _REST * (ended - began)

    def _some(self, steps: Iterator[object], quick: bool) -> bool:
        """One step, or all of them until the pace changes; whether that was the last."""
        for _ in steps:
            if self._stopped.is_set() or not quick or not self._hurries.is_set():
                return False
        return True


def _give_way() -> None:
    if sys.platform == "linux":  # elsewhere a priority is the whole process's
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
