"""Closing a browser of ours within a limit.

A process of it that is stopped outlives it, and Playwright waits 30 s for that one before it ends
it. Nothing of such a browser is kept, so there is no reason to wait that long.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys

from playwright.async_api import Browser, Error

from webmcp_agent.browser.cdp import CdpSession

CLOSE_LIMIT_MS = 5_000


async def process_of(browser: Browser) -> int | None:
    """The id of the browser's main process; None when it does not tell, or leads no group."""
    try:
        cdp = CdpSession(await browser.new_browser_cdp_session())
        told = await cdp.send("SystemInfo.getProcessInfo")
        await cdp.detach()
        found = next(each["id"] for each in told["processInfo"] if each["type"] == "browser")
        if sys.platform != "win32" and os.getpgid(found) != found:
            return None  # a group that is not its own is not ours to end
    except (Error, OSError, StopIteration):
        return None
    return found


async def close(browser: Browser, process: int | None) -> None:
    """Close it; all its processes are ended when that takes longer than the limit."""
    closing = asyncio.ensure_future(browser.close())
    await asyncio.wait({closing}, timeout=CLOSE_LIMIT_MS / 1000)
    if not closing.done() and process is not None:
        _end(process)
    await closing


def _end(process: int) -> None:
    """End a browser and all that it started."""
    if sys.platform == "win32":
        subprocess.run(["taskkill", "/pid", str(process), "/T", "/F"], capture_output=True)
        return
    # Playwright gives each browser a process group, which outlives the main process.
    with contextlib.suppress(OSError):
        os.killpg(process, signal.SIGKILL)
