"""The page of a case: a fresh browser context, the case's own policy, and its setup calls made."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from playwright.async_api import Browser

from webmcp_agent.browser.launch import open_chromium, open_page
from webmcp_agent.browser.page_tools import PageTools
from webmcp_agent.browser.policy import Mode, Policy
from webmcp_agent.browser.tools import StopSignal, ToolFail
from webmcp_agent.scenarios.errors import ScenarioError
from webmcp_agent.scenarios.runner import PageSettings
from webmcp_agent.scenarios.scenario import Case
from webmcp_agent.scenarios.serve import resolve_start

_MODES: tuple[Mode, ...] = ("ask", "yes", "all")


class CannotJudge(ScenarioError):
    """A case could not be held as it is meant; the message says why."""


class SharedChromium:
    """The Chromium of many cases: started for the first one, and again after a crash."""

    def __init__(self, settings: PageSettings, browser: Browser | None = None) -> None:
        """`browser` is somebody else's, who closes it."""
        self._settings = settings
        self._browser = browser
        self._opening = asyncio.Lock()
        self._stack = AsyncExitStack()

    async def browser(self) -> Browser:
        """The running browser.

        Raises: `NoBrowser`."""
        async with self._opening:
            if self._browser is None or not self._browser.is_connected():
                settings = self._settings
                self._browser = await self._stack.enter_async_context(
                    open_chromium(browser=settings.browser, headed=settings.headed)
                )
            return self._browser

    async def close(self) -> None:
        """Close what was started here."""
        await self._stack.aclose()


@asynccontextmanager
async def open_case_page(
    case: Case, start: str, browser: Browser, settings: PageSettings, signal: StopSignal
) -> AsyncGenerator[PageTools]:
    """The page at `start`, as the case wants to find it.

    Raises: `CannotJudge` for a page without WebMCP and for a setup call that fails, and what
    opening raises."""
    async with (
        resolve_start(start) as address,
        open_page(
            browser,
            address,
            policy=case_policy(case, settings),
            call_timeout_ms=case.call_timeout_ms,
            pause_ms=settings.pause_ms,
        ) as tools,
    ):
        if not await tools.has_webmcp():
            raise CannotJudge(f"{start} has no WebMCP here: the page offers no model context")
        for number, (name, args) in enumerate(case.setup, 1):
            await tools.list_tools()
            answer = await tools.call_tool(name, args, call_id=f"s{number}", signal=signal)
            if isinstance(answer, ToolFail):
                raise CannotJudge(f"setup call {number}, {name}: {answer.message}")
        yield tools


def case_policy(case: Case, settings: PageSettings) -> Policy:
    """What the file allows, and what the caller allows or denies besides."""
    policy = settings.policy()
    stricter = _MODES.index(case.approval) < _MODES.index(policy.mode)
    return replace(
        policy,
        mode=policy.mode if stricter else case.approval,
        allow=(*case.allow, *policy.allow),
        deny=(*case.deny, *policy.deny),
        origins=(*case.origins, *policy.origins),
    )
