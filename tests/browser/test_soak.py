"""Many calls over navigations: nothing stays behind. `SOAK_CALLS=2000` makes it long."""

import gc
import os

from playwright.async_api import Browser, JSHandle

from webmcp_agent.browser.cdp import CdpSession
from webmcp_agent.browser.launch import open_page
from webmcp_agent.browser.page_tools import PageTools
from webmcp_agent.browser.policy import Policy
from webmcp_agent.browser.tools import ToolOk
from webmcp_agent.providers.abort import AbortSignal

CALLS = int(os.environ.get("SOAK_CALLS", "40"))
_MB = 1_000_000


async def go_round(tools: PageTools, calls: int) -> list[str]:
    """Call tools of two pages in turn, each leading to the other; what was not ok."""
    trouble: list[str] = []
    for number in range(calls):
        names = {tool.name for tool in await tools.list_tools()}
        name = "to_the_other_side" if number % 2 else "say_hello"
        assert name in names
        answer = await tools.call_tool(name, {}, call_id=f"c{number}.1", signal=AbortSignal())
        expected = "going\nThe page is now /soak.html." if number % 2 else "hello"
        if not isinstance(answer, ToolOk) or answer.text != expected:
            trouble.append(f"{number}: {answer}")
    return trouble


async def left_behind(tools: PageTools, browser: Browser) -> tuple[dict[str, int], int]:
    """What is held here and in the browser, and the bytes of the page's heap."""
    session = CdpSession(await browser.new_browser_cdp_session())
    targets = (await session.send("Target.getTargets"))["targetInfos"]
    await session.detach()
    page = await CdpSession.of(tools.page)
    await page.send("Performance.enable")
    await page.send("HeapProfiler.collectGarbage")
    metrics = {
        each["name"]: int(each["value"])
        for each in (await page.send("Performance.getMetrics"))["metrics"]
    }
    await page.detach()
    gc.collect()
    counts = {
        "handles": sum(isinstance(each, JSHandle) for each in gc.get_objects()),
        "targets": len(targets),
        "documents": metrics["Documents"],
        "frames": metrics["Frames"],
    }
    return counts, metrics["JSHeapUsedSize"]


async def test_many_calls_over_navigations_leave_nothing_behind(
    chromium: Browser, site: str
) -> None:
    async with open_page(chromium, f"{site}/soak.html", policy=Policy(mode="yes")) as tools:
        assert await go_round(tools, 20) == []
        before, heap_before = await left_behind(tools, chromium)
        assert await go_round(tools, CALLS) == []
        after, heap_after = await left_behind(tools, chromium)
    assert after == before
    assert heap_after < heap_before + _MB
