"""`PageTools`: the WebMCP tools of one live page, listed and called; a `ToolSource`.

Lists the main frame and the frames of its origin, and of foreign frames what they expose to the
page, if the user allows their origin. Checks the policy and the tool's identity before each call.
"""

import asyncio
import contextlib
import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from playwright.async_api import Error, Page
from pydantic import JsonValue

from webmcp_agent.browser.answers import clean, message
from webmcp_agent.browser.bridge import Bridge, DocumentGone
from webmcp_agent.browser.calls import Call
from webmcp_agent.browser.cdp import CdpSession
from webmcp_agent.browser.errors import PageGone
from webmcp_agent.browser.frame_sessions import FrameSessions
from webmcp_agent.browser.hand_over import PersonActs, handed_over
from webmcp_agent.browser.incidents import Incidents
from webmcp_agent.browser.listing import Listed, Listing
from webmcp_agent.browser.navigation import Navigation
from webmcp_agent.browser.page_parts import PageParts
from webmcp_agent.browser.permission import NOT_SENT, Permission
from webmcp_agent.browser.policy import PendingCall, Policy, origin_of
from webmcp_agent.browser.tab_gate import TabGate
from webmcp_agent.browser.tools import (
    JsonObject,
    PageContext,
    PageTool,
    StopSignal,
    ToolFail,
    ToolOk,
)
from webmcp_agent.browser.waiting import HeldTasks, Pulse
from webmcp_agent.browser.witness import Witness

logger = logging.getLogger("webmcp_agent.browser")

CONTEXT_LIMIT_MS = 2_000
CONTEXT_LENGTH = 120
"""Characters of each piece of the page context."""
PERSON_LIMIT_MS = 600_000
"""How long a person may take for what a page leaves to them."""

Opener = Callable[[], Awaitable[Page]]
"""Makes a fresh page in the place of one that had to be closed. Raises: Playwright's `Error`."""

_ARRIVAL_LIMIT_MS = 3_000
_REOPEN_LIMIT_MS = 10_000
_DETACH_LIMIT_MS = 500


class PageTools:
    """The tools of one page; usable inside its `async with`, before the page's first `goto`.

    Does not own the page: whoever made it closes it. A page that stays busy beyond help is closed,
    and with `opener` opened again at its last address; `page` is then another one. `pause_ms`: how
    long to wait after each call, so that people can follow."""

    def __init__(
        self,
        page: Page,
        *,
        policy: Policy | None = None,
        call_timeout_ms: int = 30_000,
        settle_ms: int = 3_000,
        downloads: Path | None = None,
        file_name: Callable[[str], str] = str,
        opener: Opener | None = None,
        pause_ms: float = 0,
    ) -> None:
        self.page = page
        self.policy = policy or Policy()
        self._permission = Permission()
        self.person: PersonActs | None = None
        """Lets the person act where a page leaves something to them; None when nobody is there."""
        self._call_timeout_ms = call_timeout_ms
        self._settle_ms = settle_ms
        self._downloads = downloads
        self._file_name = file_name
        self._opener = opener
        self._pause_ms = pause_ms
        self._earlier: list[str] = []
        self._ending: asyncio.Task[str] | None = None
        self._home: frozenset[str] | None = None
        self._opened: tuple[PageParts, Listing] | None = None
        self._listed: dict[str, Listed] = {}
        self._calls = 0

    async def __aenter__(self) -> Self:
        try:
            await self._watch([])
        except BaseException as exc:
            # A tab may never answer, and whoever waits for it give up.
            if self._opened is not None:
                await self.__aexit__(type(exc), exc, exc.__traceback__)
            raise
        return self

    async def _watch(self, warnings: list[str]) -> None:
        """Take up the page that `page` is now."""
        pulse, tasks = Pulse(), HeldTasks()
        cdp = await CdpSession.of(self.page)
        origins = tuple(sorted(self.policy.allowed_origins()))
        witness = Witness(pulse, tasks)
        navigation = Navigation(cdp, pulse, tasks, self.page.url)
        incidents = Incidents(
            self.page,
            cdp,
            pulse,
            tasks,
            downloads=self._downloads,
            file_name=self._file_name,
            allowed=self._allowed,
        )
        parts = PageParts(
            page=self.page,
            cdp=cdp,
            bridge=Bridge(self.page, cdp, tasks),
            navigation=navigation,
            witness=witness,
            sessions=FrameSessions(self.page, witness, tasks, origins),
            incidents=incidents,
            tabs=TabGate(
                tasks,
                main=lambda: navigation.frame,
                allowed=self._allowed,
                stopped=incidents.tab_stopped,
            ),
            pulse=pulse,
            tasks=tasks,
            origins=origins,
        )
        self._opened = (parts, Listing(parts, self._settle_ms, warnings))
        await parts.navigation.start()
        await witness.listen(cdp)
        parts.sessions.start()
        browser = self.page.context.browser
        if browser is not None:
            await parts.tabs.start(browser)
        if self._home is not None:
            parts.navigation.gate = self._allowed

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._close(self._parts)
        try:
            # While the page waits for a document the session does not end: whoever closes the page
            # ends both.
            async with asyncio.timeout(_DETACH_LIMIT_MS / 1000):
                await self._parts.incidents.close()
                if self._parts.bridge.lost() is None:
                    await self._parts.cdp.detach()
        except (Error, TimeoutError):
            return

    @staticmethod
    async def _close(parts: PageParts) -> None:
        """End what works in the background; requests that are held go on their way."""
        await parts.tasks.close()
        with contextlib.suppress(Error, TimeoutError):
            async with asyncio.timeout(_DETACH_LIMIT_MS / 1000):
                await parts.tabs.close()

    @property
    def _parts(self) -> PageParts:
        assert self._opened is not None, "PageTools is used inside its `async with`"
        return self._opened[0]

    @property
    def _listing(self) -> Listing:
        assert self._opened is not None, "PageTools is used inside its `async with`"
        return self._opened[1]

    @property
    def url(self) -> str:
        """The address of what is open now."""
        return self._parts.navigation.url

    @property
    def has_browser(self) -> bool:
        """Whether the page's browser is there; a connection that broke counts as none."""
        browser = self.page.context.browser
        return browser is None or browser.is_connected()

    @property
    def gone(self) -> str | None:
        """Why what was open cannot be used any more: closed, crashed, no browser; None while it
        can."""
        return self._parts.bridge.lost()

    @property
    def warnings(self) -> list[str]:
        """What was left out of the listings and why, each once."""
        return self._listing.warnings

    @property
    def script_error(self) -> str | None:
        """What a script of the page failed with, when the page had no tools at some listing."""
        return self._listing.script_error

    @property
    def withheld(self) -> list[PendingCall]:
        """Calls that a dry run answered in place of the page, oldest first."""
        return self._permission.withheld

    @property
    def stopped(self) -> list[str]:
        """Origins that the page wanted to show and was kept from, each once, oldest first."""
        navigation = self._parts.navigation
        addresses = [*navigation.blocked, *self._parts.tabs.stopped, *navigation.blocked_frames]
        origins = (origin_of(each) or message(each.partition(":")[0]) for each in addresses)
        return list(dict.fromkeys(origins))

    @property
    def incidents(self) -> list[str]:
        """Dialogs, popups and downloads so far, one sentence each, oldest first."""
        return [*self._earlier, *(incident.text for incident in self._parts.incidents.all)]

    def stay_here(self, *addresses: str) -> None:
        """From now on the main frame stays on the origins of what is open, of `addresses`, and of
        the policy; a move elsewhere is stopped before its request leaves."""
        known = (origin_of(address) for address in (self.url, *addresses))
        self._home = self.policy.allowed_origins() | {origin for origin in known if origin}
        self._parts.navigation.gate = self._allowed

    def _allowed(self, address: str) -> bool:
        return self._home is None or origin_of(address) in self._home

    async def has_webmcp(self) -> bool:
        """Whether what is open has a model context, the browser's own or a polyfill.

        Raises: `PageGone`."""
        return await self._listing.has_surface()

    async def list_tools(self) -> list[PageTool]:
        """The tools that can be called now, in the page's order, each name once.

        A young document gets a moment to add its tools.

        Raises: `PageGone` when the page was closed, crashed, or does not answer."""
        self._listed = await self._list()
        return [listed.tool for listed in self._listed.values()]

    async def page_context(self) -> PageContext | None:
        """Path, title and main heading of what is open; None when they cannot be told."""
        try:
            async with asyncio.timeout(CONTEXT_LIMIT_MS / 1000):
                found = await self._parts.bridge.context(self._parts.navigation.frame)
        except (TimeoutError, DocumentGone):
            return None
        path, title, h1 = (_piece(found.get(key)) for key in ("path", "title", "h1"))
        return PageContext(path or "", title or "", h1) if path or title or h1 else None

    async def tools_and_context(self) -> tuple[list[PageTool], PageContext | None]:
        """`list_tools` and `page_context` at once, in the time of the slower one."""
        tools, context = await asyncio.gather(self.list_tools(), self.page_context())
        return tools, context

    async def _list(self) -> dict[str, Listed]:
        if self._ending is not None:
            await asyncio.wait({self._ending})
            self._ending = None
        await self._reopen()
        # A page that is about to leave offers nothing to anybody.
        await self._parts.navigation.settle(_ARRIVAL_LIMIT_MS)
        return await self._listing.read() if self._allowed(self.url) else {}

    async def call_tool(
        self, name: str, args: JsonObject, *, call_id: str, signal: StopSignal
    ) -> ToolOk | ToolFail:
        """Call a tool of the last listing once, if the policy allows it.

        What is sent are exactly the arguments that were approved, to exactly the tool that was
        listed. `call_id` only names the call in the log."""
        if signal.aborted:
            return NOT_SENT
        if (reason := self._parts.bridge.lost()) is not None:
            return ToolFail("unavailable", reason)
        try:
            text = json.dumps(args, allow_nan=False)
        except (ValueError, RecursionError):
            return ToolFail("invalid-args", "The arguments cannot be written as JSON.")
        if not self._allowed(self.url) and origin_of(self.url) is not None:
            return ToolFail("blocked", f"{message(self.url)} is not an allowed address.")
        listed = self._listed.get(name)
        if listed is None:
            try:
                listed = (await self._list()).get(name)
            except PageGone as exc:
                return ToolFail("unavailable", str(exc))
            if listed is None:
                return ToolFail("not-found", message(f"The page has no tool {name!r} now."))
        if (
            instead := await self._permission.ask(self.policy, listed.tool, text, signal)
        ) is not None:
            return instead
        self._calls += 1
        logger.debug("call %s: %s", call_id, name)
        call = Call(self._parts, listed, text, str(self._calls), limit_ms=self._call_timeout_ms)
        try:
            outcome = handed_over(await call.run(signal), listed.tool)
        finally:
            self._ending = call.ending
        if self._pause_ms > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._pause_ms / 1000):
                    await signal.wait()
        if isinstance(outcome, ToolFail) and outcome.code == "needs-user":
            return await self._person_acts(outcome, signal)
        if isinstance(outcome, ToolOk):
            if outcome.unwitnessed:
                self._listing.warn(f"{name} was answered by the page's script, not by the tool")
            return outcome
        if await self._reopen():
            again = f"{outcome.message} It was opened again at {self._parts.navigation.path}."
            return replace(outcome, message=message(again))
        return outcome

    async def _person_acts(self, waiting: ToolFail, signal: StopSignal) -> ToolOk | ToolFail:
        """Wait until the person has done what the page left to them, when there is one to wait for.

        Where they go meanwhile is theirs to say; what counts is that the page comes back to where
        it may be used, as another document, or that they say that they are done."""
        if self.person is None:
            return waiting
        navigation = self._parts.navigation
        start = navigation.now()
        gate, navigation.gate = navigation.gate, None
        moved = asyncio.ensure_future(
            self._parts.pulse.until(
                lambda: navigation.left(start) and self._allowed(navigation.url), PERSON_LIMIT_MS
            )
        )
        done = asyncio.ensure_future(self.person(waiting.message))
        stop = asyncio.ensure_future(signal.wait())
        try:
            await asyncio.wait({moved, done, stop}, return_when=asyncio.FIRST_COMPLETED)
            arrived = moved.done() and moved.result()
            if signal.aborted or not (arrived or (done.done() and done.result())):
                return waiting
        except Exception as exc:  # noqa: BLE001  # whoever asks the person is foreign code
            return replace(
                waiting, message=message(f"{waiting.message} It could not be asked: {exc}")
            )
        finally:
            navigation.gate = gate
            for each in (moved, done, stop):
                each.cancel()
        await navigation.settle(_ARRIVAL_LIMIT_MS)
        context = await self.page_context()
        title = f', "{context.title}"' if context is not None and context.title else ""
        return ToolOk(
            f"The person took over and is done. The page is now {navigation.path}{title}.",
            navigated=navigation.left(start),
        )

    async def _reopen(self) -> bool:
        """Put a fresh page in the place of one that was closed for being busy, at its address, with
        the storage it had but without what was only in its memory; whether it came."""
        old = self._parts
        if not old.bridge.stuck or self._opener is None:
            return False
        address = old.navigation.url
        try:
            fresh = await self._opener()
            self._earlier = self.incidents
            await self._close(old)
            self.page = fresh
            self._listed = {}
            await self._watch(self.warnings)
            await fresh.goto(address, wait_until="domcontentloaded", timeout=_REOPEN_LIMIT_MS)
        except Error as exc:
            logger.debug("the page could not be opened again: %r", exc)
            return False
        return True


def _piece(value: JsonValue) -> str | None:
    """A piece of the page context: text, one line, cut."""
    if not isinstance(value, str):
        return None
    line = " ".join(clean(value).split())
    return line if len(line) <= CONTEXT_LENGTH else line[: CONTEXT_LENGTH - 1] + "…"
