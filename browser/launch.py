"""A Chromium with WebMCP on, started or attached to, and a page in it: nothing is left behind.

Playwright leaves signals to us (`handle_sigint=False`): an interrupt ends the task that holds the
browser, and the browser is closed in order on the way out.
"""

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urldefrag, urlsplit
from weakref import WeakSet

from playwright.async_api import (
    Browser,
    BrowserContext,
    Error,
    Page,
    Playwright,
    TimeoutError as PlaywrightTimeout,
    ViewportSize,
    async_playwright,
)

from webmcp_agent.browser.attach import ATTACH_LIMIT_MS, WHY_SILENT, attach
from webmcp_agent.browser.bridge import script
from webmcp_agent.browser.closing import close, process_of
from webmcp_agent.browser.errors import NoBrowser, PageUnreachable
from webmcp_agent.browser.page_tools import PageTools
from webmcp_agent.browser.policy import Policy
from webmcp_agent.browser.reasons import first_line, reason, start_trouble

FEATURES = "WebMCP,WebMCPTesting,DevToolsWebMCPSupport"
"""Today's flag, and the two that older builds want."""

SPARED = (
    # The suggestions below the address bar: two documents, in a renderer of each window's own.
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxFullPopup",
    "WebUIOmniboxPopup",
    # A renderer that each context keeps ready for another site.
    "SpareRendererForSitePerProcess",
)
"""Parts of the browser that no page sees. Measured with Chromium 156: without them, opening a page
of the demo shop in a fresh context takes half the processor time."""

PLAYWRIGHT_ENABLES = ("CDPScreenshotNewSurface", "SkipListAccountsWithoutGaiaCookies")
PLAYWRIGHT_DISABLES = (
    "AimEnabled",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "TcpPortRandomizationWin",
    "ThirdPartyStoragePartitioning",
    "msEdgeUpdateLaunchServicesPreferredVersion",
    "msForceBrowserSignIn",
)
"""What Playwright 1.65 switches on and off itself. Of a switch that is given twice Chromium takes
the last, so ours repeat these."""

_ARGS = (
    f"--enable-features={','.join((FEATURES, *PLAYWRIGHT_ENABLES))}",
    f"--disable-features={','.join((*PLAYWRIGHT_DISABLES, *SPARED))}",
    # Requests that nobody asked for: updates, sync, reports.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-sync",
    "--metrics-recording-only",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-pings",
)

HOW_TO_GET_ONE = (
    "Install one with `playwright install chromium`, or with your system's packages "
    "(Debian and Ubuntu: `apt-get install chromium`), or name one with --browser."
)

_NAMES = {
    "chromium": ("chromium", "chromium-browser"),
    "chrome": ("google-chrome", "google-chrome-stable", "chrome"),
    "chrome-beta": ("google-chrome-beta",),
    "chrome-dev": ("google-chrome-unstable",),
    "chrome-canary": ("google-chrome-canary",),
    "msedge": ("microsoft-edge", "microsoft-edge-stable", "msedge"),
    "msedge-beta": ("microsoft-edge-beta",),
    "msedge-dev": ("microsoft-edge-dev",),
}
"""Commands by Playwright's channel names."""

_APPLICATIONS = {
    "chromium": ("Chromium",),
    "chrome": ("Google Chrome",),
    "chrome-beta": ("Google Chrome Beta",),
    "chrome-dev": ("Google Chrome Dev",),
    "chrome-canary": ("Google Chrome Canary",),
    "msedge": ("Microsoft Edge",),
    "msedge-beta": ("Microsoft Edge Beta",),
    "msedge-dev": ("Microsoft Edge Dev",),
}
"""Application names on macOS."""

_WINDOWS = {
    "chromium": "Chromium/Application/chrome.exe",
    "chrome": "Google/Chrome/Application/chrome.exe",
    "chrome-beta": "Google/Chrome Beta/Application/chrome.exe",
    "chrome-dev": "Google/Chrome Dev/Application/chrome.exe",
    "chrome-canary": "Google/Chrome SxS/Application/chrome.exe",
    "msedge": "Microsoft/Edge/Application/msedge.exe",
    "msedge-beta": "Microsoft/Edge Beta/Application/msedge.exe",
    "msedge-dev": "Microsoft/Edge Dev/Application/msedge.exe",
}

_attached: WeakSet[Browser] = WeakSet()
"""Browsers that belong to somebody else: their pages share the person's own profile."""


def find_chromium(browser: str | None = None) -> Path | None:
    """The executable to start; None when there is none.

    `browser` is a path, or a channel such as `chrome`. Without it: what Playwright has installed,
    else an installed Chromium, else Chrome, else Edge."""
    if browser is None:
        found = playwright_chromium()
        return found or next(
            (path for name in ("chromium", "chrome", "msedge") if (path := _installed(name))), None
        )
    if browser == "chromium":
        return playwright_chromium() or _installed(browser)
    if browser in _NAMES:
        return _installed(browser)
    path = Path(browser).expanduser()
    if path.is_file() and os.access(path, os.X_OK):
        return path
    command = shutil.which(browser)
    return Path(command) if command else None


def playwright_chromium() -> Path | None:
    """The newest Chromium that `playwright install` has put on this machine."""
    given = os.environ.get("PLAYWRIGHT_BROWSERS_PATH", "")
    if given and given != "0":
        folder = Path(given)
    elif sys.platform == "darwin":
        folder = Path.home() / "Library/Caches/ms-playwright"
    elif sys.platform == "win32":
        folder = Path(os.environ.get("LOCALAPPDATA", "")) / "ms-playwright"
    else:
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = Path(cache) / "ms-playwright"
    found = [
        path
        for pattern in (
            "chromium-*/chrome-linux*/chrome",
            "chromium-*/chrome-mac*/*.app/Contents/MacOS/*",
            "chromium-*/chrome-win*/chrome.exe",
        )
        for path in folder.glob(pattern)
        if os.access(path, os.X_OK)
    ]
    return max(found, key=lambda path: _revision(path.relative_to(folder).parts[0]), default=None)


def _revision(folder: str) -> int:
    number = folder.rpartition("-")[2]
    return int(number) if number.isdigit() else 0


def _installed(channel: str) -> Path | None:
    for name in _NAMES[channel]:
        if command := shutil.which(name):
            return Path(command)
    places: list[Path] = []
    if sys.platform == "darwin":
        places = [
            root / f"Applications/{name}.app/Contents/MacOS/{name}"
            for root in (Path("/"), Path.home())
            for name in _APPLICATIONS[channel]
        ]
    elif sys.platform == "win32":
        places = [
            Path(root) / _WINDOWS[channel]
            for key in ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA")
            if (root := os.environ.get(key))
        ]
    return next((path for path in places if path.is_file()), None)


@asynccontextmanager
async def open_chromium(
    *,
    browser: str | None = None,
    headed: bool = False,
    cdp: str | None = None,
    slow_mo_ms: float = 0,
    attach_limit_ms: int = ATTACH_LIMIT_MS,
) -> AsyncGenerator[Browser]:
    """A Chromium with WebMCP on, closed at the end; with `cdp` one that runs already, left running.

    `browser` is a path or a channel, as for `find_chromium`; `cdp` the address of its debugging
    port, such as `http://127.0.0.1:9222`. An attached browser has the flags it was started with.
    `slow_mo_ms`: a pause after each thing that Playwright does, so that people can follow.
    `attach_limit_ms`: how long all tabs of a running browser together may take to answer.

    Raises: `NoBrowser`, with what to do about it."""
    async with async_playwright() as playwright:
        if cdp is not None:
            running = await attach(
                playwright, cdp, FEATURES, slow_mo_ms=slow_mo_ms, limit_ms=attach_limit_ms
            )
            _attached.add(running)
        else:
            running = await _launch(playwright, browser, headed, slow_mo_ms)
        process = None if cdp else await process_of(running)
        try:
            yield running
        finally:
            # For an attached browser this ends the connection only.
            await close(running, process)


async def _launch(
    playwright: Playwright, browser: str | None, headed: bool, slow_mo_ms: float
) -> Browser:
    path = find_chromium(browser)
    if path is None:
        wanted = (
            "No Chromium was found." if browser is None else f"There is no browser {browser!r}."
        )
        raise NoBrowser(f"{wanted} {HOW_TO_GET_ONE}")
    # Chromium's sandbox cannot work for root, nor where the system forbids user namespaces.
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    for sandbox in (False,) if root else (True, False):
        try:
            return await playwright.chromium.launch(
                executable_path=path,
                args=list(_ARGS),
                headless=not headed,
                slow_mo=slow_mo_ms,
                chromium_sandbox=sandbox,
                handle_sigint=False,
                handle_sigterm=False,
                handle_sighup=False,
            )
        except Error as exc:
            if sandbox and "sandbox" in exc.message:
                continue
            raise NoBrowser(f"{path} did not start: {start_trouble(exc, headed)}") from exc
    raise AssertionError("the last attempt returns or raises")


@asynccontextmanager
async def open_page(
    browser: Browser,
    url: str,
    *,
    policy: Policy | None = None,
    call_timeout_ms: int = 30_000,
    settle_ms: int = 3_000,
    load_timeout_ms: int = 30_000,
    tab_limit_ms: int = 10_000,
    legacy: bool = True,
    downloads: Path | None = None,
    file_name: Callable[[str], str] = str,
    viewport: ViewportSize | None = None,
    pause_ms: float = 0,
) -> AsyncGenerator[PageTools]:
    """`url` in a page of its own, with its tools; the page is closed at the end.

    In a browser of ours the page has a fresh context: no cookies, no storage. In an attached one it
    is a new tab beside the person's own. `settle_ms`: how long a document without tools is given to
    add some. `legacy`: pages that know only `navigator.modelContext` get one. `downloads`: where
    files that the page offers are kept; without it they are refused. `file_name`: what becomes of
    the name that the page gives one. `pause_ms`: a wait after each call, for people who watch. The
    main frame stays on the origin of the page that comes, and on those of the policy.

    A tab of an attached browser that shows `url` already is driven as it is: not loaded again, and
    not closed at the end. Where several do, it is the newest. `tab_limit_ms`: how long it may take
    to answer.

    Raises: `PageUnreachable`; `NoBrowser` when the browser is gone."""
    if urlsplit(url).scheme not in {"http", "https", "file"}:
        raise PageUnreachable(url, "only http, https and file addresses can be opened")
    async with AsyncExitStack() as stack:
        tab = _tab_of(browser, url)
        context = tab.context if tab else await _context(stack, browser, viewport, downloads)

        async def opened() -> Page:
            page = await context.new_page()
            if tab is None:
                stack.push_async_callback(_close, page)
            if viewport is not None and browser in _attached:
                await page.set_viewport_size(viewport)
            if legacy:
                await page.add_init_script(script("legacy.js"))
            return page

        try:
            page = tab or await opened()
        except Error as exc:
            raise NoBrowser(f"The browser is gone: {first_line(exc)}.") from exc
        watching = PageTools(
            page,
            policy=policy,
            call_timeout_ms=call_timeout_ms,
            settle_ms=settle_ms,
            downloads=downloads,
            file_name=file_name,
            opener=opened,
            pause_ms=pause_ms,
        )
        try:
            async with asyncio.timeout(tab_limit_ms / 1000):
                tools = await stack.enter_async_context(watching)
                if tab is not None:
                    # A promise: a tab that a debugger stopped answers everything else.
                    await page.evaluate("Promise.resolve(0)")
        except TimeoutError as exc:
            raise PageUnreachable(
                url, f"its tab does not answer. {WHY_SILENT} Reload it or close it, and try again"
            ) from exc
        if tab is None:
            await _goto(page, url, load_timeout_ms)
        tools.stay_here(url)
        yield tools


def _tab_of(browser: Browser, url: str) -> Page | None:
    """The newest tab of an attached browser that shows `url`, whatever part of it is in view."""
    if browser not in _attached:
        return None
    wanted = urldefrag(url).url
    tabs = [page for context in browser.contexts for page in context.pages]
    return next((page for page in reversed(tabs) if urldefrag(page.url).url == wanted), None)


async def _context(
    stack: AsyncExitStack, browser: Browser, viewport: ViewportSize | None, downloads: Path | None
) -> BrowserContext:
    """The person's own context in an attached browser, else a fresh one."""
    if browser in _attached and browser.contexts:
        return browser.contexts[0]
    try:
        context = await browser.new_context(
            accept_downloads=downloads is not None,
            viewport=viewport or {"width": 1280, "height": 720},
        )
    except Error as exc:
        raise NoBrowser(f"The browser is gone: {first_line(exc)}.") from exc
    stack.push_async_callback(context.close)
    return context


async def _close(page: Page) -> None:
    if not page.is_closed():
        await page.close()


async def _goto(page: Page, url: str, limit_ms: int) -> None:
    try:
        response = await page.goto(url, timeout=limit_ms, wait_until="domcontentloaded")
    except PlaywrightTimeout as exc:
        raise PageUnreachable(url, f"it did not come within {limit_ms / 1000:g} s") from exc
    except Error as exc:
        raise PageUnreachable(url, reason(exc)) from exc
    if response is not None and response.status >= HTTPStatus.BAD_REQUEST:
        raise PageUnreachable(
            url, f"the server answered {response.status} {response.status_text}".rstrip()
        )
