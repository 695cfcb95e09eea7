"""The process that makes a film, as the run sees it: it is told moments, and asks for cards.

A process of its own gives way to the run without ever holding the run's interpreter, and when the
run is killed it still finishes the film of what was told.
"""

import asyncio
import contextlib
import logging
import os
import pickle
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from webmcp_agent.browser.recording_canvas import Canvas
from webmcp_agent.browser.recording_cards import Card
from webmcp_agent.browser.recording_messages import (
    LENGTH,
    Begun,
    Drawn,
    Left,
    Order,
    Wanted,
    packed,
)

logger = logging.getLogger("webmcp_agent.browser")

_STUCK_S = 300
"""A process that has nothing to say for so long is not waited for any more."""
_CARD_LIMIT_S = 20
_END_LIMIT_S = 10


class Maker:
    """Makes the film of an order; inside its `async with` there is a process for it.

    `canvas` draws cards for it, as long as it can. Raises: `OSError` when there is no process."""

    def __init__(self, order: Order, canvas: Canvas | None) -> None:
        self._order = order
        self._canvas = canvas
        self._process: asyncio.subprocess.Process | None = None
        self._finishes = False

    async def __aenter__(self) -> Self:
        # A group of its own: what ends the run's group, such as Ctrl-C, leaves the film its end.
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "webmcp_agent.browser.recording_studio"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            process_group=0 if os.name == "posix" else None,
        )
        self.tell(self._order)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process is not None
        if kind is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
        try:
            async with asyncio.timeout(_END_LIMIT_S):
                # Reads what is left, so that the pipes are closed.
                await self._process.communicate()
        except TimeoutError:
            self._process.kill()
            await self._process.communicate()

    def tell(self, message: object, *, last: bool = False) -> None:
        """Say something to the process; who is gone does not hear it."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._finishes = self._finishes or last
        if not self._process.stdin.is_closing():
            self._process.stdin.write(packed(message))

    async def until_left(self, begun: Callable[[Begun], None]) -> Left:
        """Give it the cards that it wants until the film is finished.

        Raises: `RuntimeError` when the process ends before, or does nothing for minutes."""
        while True:
            match await self._heard():
                case Begun() as message:
                    begun(message)
                case Wanted(card):
                    self.tell(Drawn(await self._drawn(card)))
                case Left() as message:
                    return message
                case _:
                    continue

    async def _heard(self) -> Any:
        assert self._process is not None
        assert self._process.stdout is not None
        reading = self._process.stdout
        while True:
            try:
                async with asyncio.timeout(_STUCK_S):
                    (length,) = LENGTH.unpack(await reading.readexactly(LENGTH.size))
                    return pickle.loads(await reading.readexactly(length))
            except asyncio.IncompleteReadError as exc:
                raise RuntimeError("the process that makes the film ended") from exc
            except TimeoutError as exc:
                # While the run is on, nothing may happen for as long as it likes.
                if self._finishes:
                    raise RuntimeError("the film took too long to finish") from exc

    async def _drawn(self, card: Card) -> bytes | None:
        if self._canvas is None:
            return None
        try:
            async with asyncio.timeout(_CARD_LIMIT_S):
                return await self._canvas.draw(card)
        except Exception as exc:  # noqa: BLE001  # a browser that went away, in whatever words
            logger.debug("no card: %r", exc)
            self._canvas = None
            return None
