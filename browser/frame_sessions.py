"""Protocol sessions with frames in a process of their own, which the page's session cannot see.

Only frames of foreign origins that may be used get one; a frame that shares the page's process is
seen by the page's own session.
"""

import asyncio
import contextlib

from playwright.async_api import Error, Frame, Page

from webmcp_agent.browser.cdp import CdpSession
from webmcp_agent.browser.policy import origin_of
from webmcp_agent.browser.waiting import HeldTasks
from webmcp_agent.browser.witness import Witness

_READY_LIMIT_MS = 500
_ALIVE_LIMIT_MS = 500


class FrameSessions:
    """The sessions of one page's foreign frames, renewed as the frames navigate."""

    def __init__(
        self, page: Page, witness: Witness, tasks: HeldTasks, origins: tuple[str, ...]
    ) -> None:
        self._page = page
        self._witness = witness
        self._tasks = tasks
        self._origins = origins
        self._sessions: dict[Frame, CdpSession] = {}
        self._opening: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Look after the frames that are there, and those that come."""
        if not self._origins:
            return
        self._page.on("framenavigated", self._on_navigated)
        self._page.on("framedetached", self._drop)
        for frame in self._page.frames:
            self._on_navigated(frame)

    async def ready(self) -> None:
        """Wait a moment for sessions that are being opened."""
        if self._opening:
            await asyncio.wait(self._opening, timeout=_READY_LIMIT_MS / 1000)

    async def free(self) -> None:
        """End the script of each frame that is too busy to answer."""
        await asyncio.gather(*(_free(session) for session in self._sessions.values()))

    def _on_navigated(self, frame: Frame) -> None:
        if frame == self._page.main_frame:
            return
        # The session before may belong to a process that the frame has left.
        self._drop(frame)
        if origin_of(frame.url) in self._origins:
            task = self._tasks.start(self._open(frame))
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)

    def _drop(self, frame: Frame) -> None:
        if (session := self._sessions.pop(frame, None)) is not None:
            self._witness.forget(session)
            self._tasks.start(_end(session))

    async def _open(self, frame: Frame) -> None:
        try:
            session = await CdpSession.of_frame(frame)
        except Error:
            return  # it shares the page's process, or it is gone
        self._drop(frame)
        self._sessions[frame] = session
        await self._witness.listen(session)


async def _end(session: CdpSession) -> None:
    with contextlib.suppress(Error):
        await session.detach()


async def _free(session: CdpSession) -> None:
    try:
        async with asyncio.timeout(_ALIVE_LIMIT_MS / 1000):
            await session.send("Runtime.evaluate", {"expression": "0"})
    except TimeoutError:
        with contextlib.suppress(Error, TimeoutError):
            async with asyncio.timeout(_ALIVE_LIMIT_MS / 1000):
                await session.send("Runtime.terminateExecution")
    except Error:
        return
