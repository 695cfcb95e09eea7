import asyncio

from playwright.async_api import Browser

from webmcp_agent.browser.launch import open_page
from webmcp_agent.browser.page_tools import PageTools
from webmcp_agent.browser.policy import Policy
from webmcp_agent.browser.tools import JsonObject, ToolFail, ToolOk
from webmcp_agent.providers.abort import AbortSignal


async def called(tools: PageTools, name: str, args: JsonObject | None = None) -> ToolOk | ToolFail:
    async with asyncio.timeout(100):
        return await tools.call_tool(name, args or {}, call_id="c1.1", signal=AbortSignal())


async def test_a_frame_in_a_process_of_its_own_says_why_it_failed(
    chromium: Browser, site: str, neighbour: str
) -> None:
    """C-51, C-54."""
    leave = Policy(mode="yes", origins=(neighbour,))
    url = f"{site}/neighbour.html?there={neighbour}"
    async with open_page(chromium, url, policy=leave) as tools:
        await tools.page.wait_for_load_state("load")
        listed = {tool.name: tool.origin for tool in await tools.list_tools()}
        answers = [await called(tools, name) for name in ("frame_fails", "frame_answers")]
        frame = tools.page.frames[1]
        await frame.goto(f"{neighbour}/neighbour-frame.html?for={site}&again")
        await tools.list_tools()
        again = await called(tools, "frame_fails")
    assert listed == {
        "frame_answers": neighbour,
        "frame_fails": neighbour,
        "frame_spins": neighbour,
        "say_hello": site,
    }
    assert answers == [
        ToolFail("failed", "the gate next door is shut"),
        ToolOk("from next door", "from next door"),
    ]
    assert again == ToolFail("failed", "the gate next door is shut")


async def test_a_frame_that_is_busy_in_its_own_process_is_freed(
    chromium: Browser, site: str, neighbour: str
) -> None:
    """C-51."""
    leave = Policy(mode="yes", origins=(neighbour,))
    url = f"{site}/neighbour.html?there={neighbour}"
    async with open_page(chromium, url, policy=leave, call_timeout_ms=2_000) as tools:
        await tools.page.wait_for_load_state("load")
        await tools.list_tools()
        spun = await called(tools, "frame_spins")
        answer = await called(tools, "frame_answers")
    assert spun == ToolFail("timeout", "No answer within 2 s; it may still finish.")
    assert answer == ToolOk("from next door", "from next door")


async def test_an_answer_that_the_browser_saw_no_call_for_is_marked(
    chromium: Browser, site: str
) -> None:
    async with open_page(chromium, f"{site}/posing.html", policy=Policy(mode="yes")) as tools:
        names = [tool.name for tool in await tools.list_tools()]
        answers = [await called(tools, name) for name in names]
        warnings = tools.warnings
    assert names == ["honest", "replaced", "made_up"]
    assert answers == [
        ToolOk("really honest", "really honest"),
        ToolOk("posing as replaced", "posing as replaced", unwitnessed=True),
        ToolOk("posing as made_up", "posing as made_up", unwitnessed=True),
    ]
    assert warnings == [
        "replaced was answered by the page's script, not by the tool",
        "made_up was answered by the page's script, not by the tool",
    ]
