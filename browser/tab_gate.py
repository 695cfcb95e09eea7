"""The gate of new tabs: what one asks for is held until it is known whether it may be visited.

A tab's first request leaves before anybody can attach to the tab (Chromium 156), so documents are
held at the browser's own session, and only those of tabs that the page opened are judged.
"""

from collections.abc import Callable
from typing import Any

from playwright.async_api import Browser, Error

from webmcp_agent.browser.cdp import CdpSession
from webmcp_agent.browser.waiting import HeldTasks

_GENERATIONS = 8
"""How many tabs that opened each other are followed back to the page."""


class TabGate:
    """Stops the tabs of one page before they ask for an address that is not allowed."""

    def __init__(
        self,
        tasks: HeldTasks,
        *,
        main: Callable[[], str],
        allowed: Callable[[str], bool],
        stopped: Callable[[str], None],
    ) -> None:
        """`main` is the protocol's id of the page's main frame; `stopped` hears each address."""
        self._tasks = tasks
        self._main = main
        self._allowed = allowed
        self._told = stopped
        self.stopped: list[str] = []
        """Addresses that tabs were kept from, oldest first."""
        self._cdp: CdpSession | None = None
        self._context: str | None = None
        self._tabs: set[str] = set()

    async def start(self, browser: Browser) -> None:
        """Listen. Raises: Playwright's `Error`."""
        cdp = CdpSession(await browser.new_browser_cdp_session())
        self._cdp = cdp

        def paused(event: dict[str, Any]) -> None:
            self._tasks.start(self._judge(cdp, event))

        cdp.on("Fetch.requestPaused", paused)
        info = await self._info(cdp, self._main())
        contexts = await cdp.send("Target.getBrowserContexts")
        # In a context of its own all other tabs are the page's; a person's own context has more.
        if info.get("browserContextId") in contexts["browserContextIds"]:
            self._context = info["browserContextId"]
        await cdp.send(
            "Fetch.enable", {"patterns": [{"urlPattern": "*", "resourceType": "Document"}]}
        )

    async def close(self) -> None:
        """Let everything pass again. Raises: Playwright's `Error`."""
        if self._cdp is not None:
            await self._cdp.detach()

    async def _judge(self, cdp: CdpSession, event: dict[str, Any]) -> None:
        frame, url = event["frameId"], event["request"]["url"]
        request = {"requestId": event["requestId"]}
        if self._allowed(url) or not await self._is_ours(cdp, frame):
            await cdp.send("Fetch.continueRequest", request)
            return
        self.stopped.append(url)
        self._told(url)
        await cdp.send("Fetch.failRequest", {**request, "errorReason": "Aborted"})
        await cdp.send("Target.closeTarget", {"targetId": frame})

    async def _is_ours(self, cdp: CdpSession, frame: str) -> bool:
        """Whether a main frame is that of a tab which the page opened, or a tab of such a tab."""
        chain = list[str]()
        while frame not in self._tabs and len(chain) < _GENERATIONS:
            if frame == self._main():
                break
            info = await self._info(cdp, frame)
            if not info:  # a child frame, or gone
                return False
            chain.append(frame)
            if self._context is not None and info.get("browserContextId") == self._context:
                break
            if not (frame := info.get("openerId", "")):
                return False
        # The main frame itself is judged by the page's own session.
        self._tabs |= set(chain)
        return bool(chain) or frame in self._tabs

    @staticmethod
    async def _info(cdp: CdpSession, target: str) -> dict[str, Any]:
        try:
            return (await cdp.send("Target.getTargetInfo", {"targetId": target}))["targetInfo"]
        except Error:
            return {}
