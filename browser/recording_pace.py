"""Work in threads that give way to all else that runs, until they are told to hurry."""

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

T = TypeVar("T")

_NICE = 19
"""The lowest priority there is for who computes: beside a busy thread it gets a hundredth."""


class Pace:
    """Whether work gives way; it changes between two steps of a work.

    A thread cannot get a priority back that it gave up, so there are threads of both kinds."""

    def __init__(self) -> None:
        self._slow = ThreadPoolExecutor(1, "film", initializer=_give_way)
        self._quick = ThreadPoolExecutor(2, "film")
        self._hurries = threading.Event()
        self._stopped = threading.Event()

    @property
    def hurries(self) -> bool:
        """Whether it does not give way now."""
        return self._hurries.is_set()

    def hurry(self, yes: bool = True) -> None:
        """Work at the priority of all from now on, or give way again."""
        (self._hurries.set if yes else self._hurries.clear)()

    def stop(self) -> None:
        """End what is done in steps where it is."""
        self._stopped.set()

    async def run(self, work: Callable[[], T]) -> T:
        """What `work` returns or raises."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def steps(self, steps: Iterator[object]) -> None:
        """Go through all of `steps`. Raises: what they raise."""
        while not self._stopped.is_set():
            quick = self._hurries.is_set()
            if await self.run(partial(self._some, steps, quick)):
                return

    @property
    def _threads(self) -> ThreadPoolExecutor:
        return self._quick if self._hurries.is_set() else self._slow

    def _some(self, steps: Iterator[object], quick: bool) -> bool:
        """Go on until the pace changes; whether that was all."""
        for _ in steps:
            if self._stopped.is_set() or self._hurries.is_set() != quick:
                return False
        return True


def _give_way() -> None:
    if sys.platform == "linux":  # elsewhere a priority is the whole process's
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
