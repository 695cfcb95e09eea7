"""No way leads off the allowed origins: a listening socket there hears nothing."""

import asyncio

import pytest
from playwright.async_api import Browser

from webmcp_agent.browser.launch import open_page
from webmcp_agent.browser.page_tools import PageTools
from webmcp_agent.browser.policy import Policy
from webmcp_agent.browser.tools import JsonObject, ToolFail, ToolOk
from webmcp_agent.providers.abort import AbortSignal

YES = Policy(mode="yes")

MOVES = [
    "script", "replace", "redirect", "refresh", "form", "link", "frame_to_the_top", "user_info",
    "other_name",
]  # fmt: skip
TABS = [
    "tab", "blank_tab", "tab_without_opener", "tab_by_redirect", "tab_of_a_tab", "form_to_a_tab",
]  # fmt: skip
FRAMES = ["frame", "frame_of_a_neighbour", "frame_by_redirect"]
NOWHERE = ["data", "script_address", "back"]


async def called(tools: PageTools, name: str, args: JsonObject | None = None) -> ToolOk | ToolFail:
    async with asyncio.timeout(40):
        return await tools.call_tool(name, args or {}, call_id="c1.1", signal=AbortSignal())


@pytest.mark.parametrize("way", [*MOVES, *TABS, *FRAMES, *NOWHERE])
async def test_nothing_is_asked_of_another_origin(
    way: str, chromium: Browser, site: str, other_site: str, asked_there: list[str]
) -> None:
    """Whichever way the page takes; it stays where it is, and what it wanted is told."""
    address = f"{site}/leaving.html?there={other_site}"
    async with open_page(chromium, address, policy=YES) as tools:
        answer = await called(tools, way)
        # Before its first page a tab was empty: going back there is no leaving.
        assert tools.url == ("about:blank" if way == "back" else address)
        names = [tool.name for tool in await tools.list_tools()]
        stopped = tools.stopped
    assert asked_there == []
    assert (way in names) == (way != "back")
    text = answer.text if isinstance(answer, ToolOk) else answer.message
    if way in MOVES:
        assert "which is not allowed, and was kept here" in text
    elif way in TABS:
        assert "in a new tab; it was closed." in text
    elif way in FRAMES:
        assert "in a frame, which is not allowed." in text
    assert bool(stopped) == (way not in NOWHERE)


async def test_tools_of_a_foreign_document_are_neither_shown_nor_called(
    chromium: Browser, site: str, other_site: str
) -> None:
    """Even when the page got there without us."""
    async with open_page(chromium, f"{site}/changing.html", policy=YES) as tools:
        await tools.list_tools()
        tools._parts.navigation.gate = None  # pyright: ignore[reportPrivateUsage]  # a hole
        await tools.page.goto(f"{other_site}/changing.html")
        assert await tools.list_tools() == []
        answer = await called(tools, "pay")
        assert await tools.page.evaluate("sent") == []
    assert answer == ToolFail("blocked", f"{other_site}/changing.html is not an allowed address.")


async def test_an_allowed_origin_may_be_shown_in_a_tab_and_a_frame(
    chromium: Browser, site: str, other_site: str, asked_there: list[str]
) -> None:
    policy = Policy(mode="yes", origins=(other_site,))
    async with open_page(
        chromium, f"{site}/leaving.html?there={other_site}", policy=policy
    ) as tools:
        answers = [await called(tools, way) for way in ("tab", "frame")]
        assert tools.stopped == []
    assert sorted(asked_there) == ["/plain.html", "/plain.html"]
    assert all(isinstance(answer, ToolOk) for answer in answers)


@pytest.mark.parametrize(
    "address",
    ["file:///etc/passwd", "chrome://settings", "about:blank", "ftp://x/", "data:text/html,hi"],
)
async def test_no_address_of_the_browsers_own_is_on_the_list(
    address: str, chromium: Browser, site: str
) -> None:
    async with open_page(chromium, f"{site}/plain.html", policy=YES) as tools:
        assert not tools._allowed(address)  # pyright: ignore[reportPrivateUsage]  # the gate itself, without a page
