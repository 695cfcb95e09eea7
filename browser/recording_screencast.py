"""The pictures of a live page as it changes, from the browser itself; the page cannot tell.

Chromium sends a picture when something was painted, and the next one only when that was
acknowledged: so whoever acknowledges late pays for few pictures.
"""

import asyncio
import base64
import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

from playwright.async_api import Error, Page

from webmcp_agent.browser.cdp import CdpSession
from webmcp_agent.browser.recording_blackout import boxes_of
from webmcp_agent.browser.recording_cutting import Picture, Reel
from webmcp_agent.browser.waiting import HeldTasks

logger = logging.getLogger("webmcp_agent.browser")

QUALITY = 92
"""Of JPEG: text stays sharp, and a picture has about 100 kB."""
_LARGEST = 4096
_QUIET_MS = 60
"""Nothing painted for so long: the page stands still, and a picture of it is worth taking."""
_COMMAND_LIMIT_MS = 2_000
_TRIES = 3
_BLANK_SHARE = 0.2


class Screencast:
    """The pictures of what `page()` gives, also when that becomes another page.

    `scale`: how many pixels for each CSS pixel, once the page stands still. With `secrets` there
    are only pictures of a page that stands still, and each knows where a secret can be read."""

    def __init__(
        self, page: Callable[[], Page], *, scale: int = 1, secrets: Sequence[str] = ()
    ) -> None:
        self._page_now = page
        self._scale = scale
        self._secrets = tuple(secret for secret in secrets if secret)
        self._tasks = HeldTasks()
        self._page: Page | None = None
        self._cdp: CdpSession | None = None
        self._reel = Reel()
        self._painted = asyncio.Event()
        self._begun = asyncio.Event()
        self._began = time.perf_counter()
        self._acknowledged = 0.0
        self._fullest = 0
        self._taking = False
        self.gap_ms = 33
        """At least so much between two pictures."""
        self.taken = 0
        """How many pictures there were."""
        self.last: Picture | None = None
        """What the page looks like now."""

    def now_ms(self) -> float:
        """Milliseconds since the screencast was made: the clock of its pictures."""
        return (time.perf_counter() - self._began) * 1000

    async def start(self) -> None:
        """Begin. A page that cannot be filmed now is tried again with `follow`."""
        page = self._page_now()
        self._page = page
        try:
            async with asyncio.timeout(_COMMAND_LIMIT_MS / 1000):
                cdp = await CdpSession.of(page)
                cdp.on("Page.screencastFrame", lambda event: self._on_frame(cdp, event))
                self._cdp = cdp
                await cdp.send("Page.startScreencast", self._wanted())
        except (Error, TimeoutError) as exc:
            logger.debug("this page cannot be filmed now: %r", exc)
            self._cdp = None
            return
        if self._stills:
            self._tasks.start(self._take_stills(cdp))

    async def first(self) -> None:
        """Wait a moment for the first picture: what a call changes is told from the one before."""
        try:
            async with asyncio.timeout(_COMMAND_LIMIT_MS / 1000):
                await self._begun.wait()
        except TimeoutError:
            logger.debug("the page shows nothing yet")

    async def stop(self) -> None:
        """End; what was taken stays."""
        await self._tasks.close()
        cdp, self._cdp = self._cdp, None
        if cdp is not None:
            try:
                async with asyncio.timeout(_COMMAND_LIMIT_MS / 1000):
                    await cdp.send("Page.stopScreencast")
                    await cdp.detach()
            except (Error, TimeoutError) as exc:
                logger.debug("the screencast ended by itself: %r", exc)

    def follow(self) -> None:
        """Go on with another page, when `page()` gives another one."""
        if self._page_now() is not self._page:
            self._page = self._page_now()
            self._tasks.start(self.start())

    def take(self) -> list[Picture]:
        """The pictures since they were taken last, oldest first."""
        reel, self._reel = self._reel, Reel()
        return reel.pictures

    @property
    def is_behind(self) -> bool:
        """Whether a picture is being taken, or the last one is of a document not painted yet: one
        of little detail beside what the page had before."""
        blank = self.last is not None and len(self.last.data) < _BLANK_SHARE * self._fullest
        return blank or self._taking

    @property
    def _stills(self) -> bool:
        return self._scale > 1 or bool(self._secrets)

    def _wanted(self) -> dict[str, Any]:
        # With secrets the pictures only tell that something was painted.
        size, quality = (64, 1) if self._secrets else (_LARGEST, QUALITY)
        return {"format": "jpeg", "quality": quality, "maxWidth": size, "maxHeight": size}

    def _on_frame(self, cdp: CdpSession, event: dict[str, Any]) -> None:
        if cdp is not self._cdp:
            return
        if not self._secrets:
            self._add(Picture(self.now_ms(), base64.b64decode(event["data"])))
        self._painted.set()
        due_ms = max(0.0, self._acknowledged + self.gap_ms - self.now_ms())
        self._acknowledged = self.now_ms() + due_ms
        self._tasks.start(self._acknowledge(cdp, event["sessionId"], due_ms))

    async def _acknowledge(self, cdp: CdpSession, number: int, due_ms: float) -> None:
        if due_ms:
            await asyncio.sleep(due_ms / 1000)
        await cdp.send("Page.screencastFrameAck", {"sessionId": number})

    def _add(self, picture: Picture) -> None:
        self.last = picture
        self.taken += 1
        self._begun.set()
        self._fullest = max(self._fullest, len(picture.data))
        self._reel.add(picture)

    async def _take_stills(self, cdp: CdpSession) -> None:
        """A picture each time that the page stands still, and now and then while it does not."""
        while cdp is self._cdp:
            self._taking = False
            await self._painted.wait()
            self._taking = True
            for _ in range(4):
                self._painted.clear()
                await asyncio.sleep(_QUIET_MS / 1000)
                if not self._painted.is_set():
                    break
            self._painted.clear()
            try:
                async with asyncio.timeout(_COMMAND_LIMIT_MS / 1000):
                    still = await self._still(cdp)
            except (Error, TimeoutError) as exc:
                logger.debug("no picture of the page: %r", exc)
                continue
            if still is not None:
                self._add(still)
            await asyncio.sleep(self.gap_ms / 1000)

    async def _still(self, cdp: CdpSession) -> Picture | None:
        """A picture; None while the places of secrets move."""
        before = await boxes_of(cdp, self._secrets, self._scale)
        for _ in range(_TRIES):
            size = (await cdp.send("Page.getLayoutMetrics"))["cssVisualViewport"]
            clip = {
                "x": size["pageX"],
                "y": size["pageY"],
                "width": size["clientWidth"],
                "height": size["clientHeight"],
                "scale": self._scale,
            }
            shot = await cdp.send(
                "Page.captureScreenshot", {"format": "jpeg", "quality": QUALITY, "clip": clip}
            )
            at_ms = self.now_ms()
            after = await boxes_of(cdp, self._secrets, self._scale)
            if after == before:
                return Picture(at_ms, base64.b64decode(shot["data"]), after)
            before = after
        return None
