"""The one place that evaluates in a page: `Bridge` keeps the object of `bridge.js` per document.

Playwright's errors become two conditions here: the document is gone, or the page is.
"""

import asyncio
import json
import re
from collections.abc import Coroutine
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

from playwright.async_api import Error, Frame, Page
from pydantic import JsonValue

from webmcp_agent.browser.cdp import CdpSession
from webmcp_agent.browser.page_side import ChildSide, MainSide, PageSide
from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.browser.waiting import HeldTasks

ANSWER_LIMIT_MS = 5_000
"""How long a page may take to be read; a page that is busy for longer does not answer."""
_MOVED = 20
"""How often a reading is begun again because the page moved on meanwhile."""


_GONE = re.compile(
    r"context was destroyed|detached|Cannot find context|Cannot find object|disposed|navigated"
    r"|Could not find object|was collected"
)
"""How Playwright and the protocol say that a document is not there any more."""

T = TypeVar("T")


class DocumentGone(Exception):
    """The document went away, or its frame did, before the evaluation ended."""


class PageLost(Exception):
    """The page closed, crashed, or its browser is gone. The message says which."""


@cache
def script(name: str) -> str:
    """The text of a `.js` file of this folder."""
    return files("webmcp_agent.browser").joinpath(name).read_text(encoding="utf-8")


class Bridge:
    """Evaluates in the documents of one page."""

    def __init__(self, page: Page, cdp: CdpSession, tasks: HeldTasks) -> None:
        self.crashed = False
        self.stuck = False
        """The page was busy beyond help and was closed for that."""
        self._page = page
        self._browser = page.context.browser
        self._cdp = cdp
        self._tasks = tasks
        self._sides: dict[Frame, PageSide] = {}
        self._retired: list[PageSide] = []
        self._under_way: set[asyncio.Timeout] = set()
        self._moves = 0
        self._world: int | None = None
        page.on("framenavigated", self.forget)
        page.on("framedetached", self.forget)
        page.on("crash", self._on_crash)
        cdp.on("Page.frameNavigated", self._on_commit)

    def forget(self, frame: Frame) -> None:
        """Drop what belongs to a document that may be gone."""
        if (side := self._sides.pop(frame, None)) is not None:
            self._retired.append(side)
        self._moves += 1

    def lost(self) -> str | None:
        """Why the page cannot be used any more; None while it can."""
        if self._browser is not None and not self._browser.is_connected():
            return "The browser is gone."
        if self.crashed:
            return "The page crashed."
        return "The page was closed." if self.stuck or self._page.is_closed() else None

    async def read(self, frame: Frame, function: str, argument: JsonValue, limit_ms: float) -> str:
        """The text that a function of the bridge gives; for functions without any effect.

        Begun again when the page moves on meanwhile.

        Raises:
            DocumentGone: the frame is gone, or never comes to rest.
            PageLost: so is the page, or it does not answer within the limit.
        """
        try:
            async with asyncio.timeout(limit_ms / 1000):
                for _ in range(_MOVED):
                    try:
                        return await self._ask(await self._side(frame), function, argument)
                    except DocumentGone:
                        self.forget(frame)
                        if frame.is_detached():
                            raise
                raise DocumentGone
        except TimeoutError as exc:
            raise PageLost("The page does not answer.") from exc

    async def prepare(self, frame: Frame) -> PageSide:
        """The bridge in the frame's document, so that a `send` is one evaluation.

        Raises: `DocumentGone` and `PageLost`, as `read`."""
        # Only now: a call of before may have needed its object to be aborted.
        retired, self._retired = self._retired, []
        for side in retired:
            self._tasks.start(side.release())
        if (ready := self._sides.get(frame)) is not None:
            return ready
        try:
            async with asyncio.timeout(ANSWER_LIMIT_MS / 1000):
                while True:
                    try:
                        return await self._side(frame)
                    except DocumentGone:
                        if frame.is_detached():
                            raise
        except TimeoutError as exc:
            raise PageLost("The page does not answer.") from exc

    async def send(self, side: PageSide, function: str, argument: JsonValue) -> str:
        """The text that a function of the bridge that acts gives. Never begun a second time.

        Raises: `DocumentGone` and `PageLost`, as `read`; there is no limit."""
        return await self._ask(side, function, argument)

    async def abort(self, side: PageSide, call_id: str) -> None:
        """Abort a running call through its signal; harmless when it has ended.

        Raises: as `send`."""
        await self._ask(side, "abort", {"id": call_id})

    async def context(self, frame_id: str) -> JsonObject:
        """Path, title and heading, read in a world that the page's scripts cannot reach.

        Raises: `DocumentGone` when they cannot be had."""
        for _ in range(2):
            try:
                if self._world is None:
                    made = await self._cdp.send(
                        "Page.createIsolatedWorld",
                        {"frameId": frame_id, "worldName": "webmcp-agent"},
                    )
                    self._world = made["executionContextId"]
                answer = await self._cdp.send(
                    "Runtime.evaluate",
                    {
                        "expression": script("page_context.js"),
                        "contextId": self._world,
                        "returnByValue": True,
                    },
                )
                value: JsonValue = answer["result"].get("value")
                return value if isinstance(value, dict) else {}
            except Error:
                self._world = None  # the document it belonged to is gone
        raise DocumentGone

    async def _side(self, frame: Frame) -> PageSide:
        side = self._sides.get(frame)
        if side is None:
            moves, source = self._moves, script("bridge.js")
            main = frame == self._page.main_frame
            made = MainSide.made(self._cdp, source) if main else ChildSide.made(frame, source)
            side = await self._translated(made)
            if moves != self._moves:
                raise DocumentGone  # it may belong to the document before
            self._sides[frame] = side
        return side

    async def _ask(self, side: PageSide, function: str, argument: JsonValue) -> str:
        # Texts both ways: Playwright walks through everything else piece by piece, at both ends.
        value = await self._translated(side.ask(function, json.dumps(argument)))
        return value if isinstance(value, str) else ""

    async def _translated(self, evaluation: Coroutine[Any, Any, T]) -> T:
        """The evaluation's value; its errors as `DocumentGone` and `PageLost`."""
        try:
            # Without a limit of its own: it ends when the page crashes, which the protocol's
            # commands do not notice.
            async with asyncio.timeout(None) as end:
                self._under_way.add(end)
                try:
                    return await evaluation
                finally:
                    self._under_way.discard(end)
        except TimeoutError as exc:
            raise PageLost(self.lost() or "The page crashed.") from exc
        except Error as exc:
            line = (exc.message.splitlines() or [""])[0]
            if "crashed" in line:
                self.crashed = True
            if (reason := self.lost()) or "has been closed" in line:
                raise PageLost(reason or "The page was closed.") from exc
            if _GONE.search(line):
                raise DocumentGone(line) from exc
            raise PageLost(f"The page cannot be used: {line}") from exc

    def _on_commit(self, event: dict[str, Any]) -> None:
        if not event["frame"].get("parentId"):
            self._world = None
            self.forget(self._page.main_frame)

    def _on_crash(self, _page: Page) -> None:
        self.crashed = True
        for end in self._under_way:
            end.reschedule(asyncio.get_running_loop().time())


def decoded(text: str) -> JsonValue:
    """JSON that came from a page; None when it is none, or nested beyond reading."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
