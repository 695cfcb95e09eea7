"""An event loop whose clock jumps to the next deadline: limits are tested without waiting."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import TypeVar

T = TypeVar("T")


class _Clock(selectors.SelectSelector):
    """Never waits for a time: time passes at once when nothing else is ready."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise AssertionError("everything waits, and nothing will wake it")
        if not ready and timeout is not None and timeout > 0:
            self.now += timeout
        return ready


class _VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._clock = _Clock()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now


def run_in_virtual_time(work: Coroutine[None, None, T]) -> tuple[T, int]:
    """The result of `work`, and how many milliseconds its clock went on."""

    async def timed() -> tuple[T, int]:
        loop = asyncio.get_running_loop()
        began = loop.time()
        result = await work
        return result, round((loop.time() - began) * 1000)

    with asyncio.Runner(loop_factory=_VirtualLoop) as runner:
        return runner.run(timed())
