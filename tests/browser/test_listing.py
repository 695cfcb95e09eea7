import asyncio

import pytest
from playwright.async_api import Browser, Error

from webmcp_agent.browser.errors import PageGone
from webmcp_agent.browser.launch import open_page
from webmcp_agent.browser.page_tools import PageTools
from webmcp_agent.browser.policy import Policy
from webmcp_agent.browser.tools import JsonObject, PageContext, PageTool, ToolFail, ToolOk
from webmcp_agent.providers.abort import AbortSignal

YES = Policy(mode="yes")


async def called(tools: PageTools, name: str, args: JsonObject | None = None) -> ToolOk | ToolFail:
    async with asyncio.timeout(20):
        return await tools.call_tool(name, args or {}, call_id="c1.1", signal=AbortSignal())


async def test_a_tool_is_listed_with_all_that_the_page_says(chromium: Browser, site: str) -> None:
    async with open_page(chromium, f"{site}/plain.html") as tools:
        await tools.page.evaluate(
            """() => document.modelContext.registerTool({
                name: 'read_reviews', title: 'Reviews', description: 'Reads reviews',
                inputSchema: {type: 'object', properties: {id: {type: 'integer'}}},
                annotations: {readOnlyHint: true, untrustedContentHint: true},
                execute: () => 1})"""
        )
        [tool] = await tools.list_tools()
    assert tool == PageTool(
        name="read_reviews",
        description="Reads reviews",
        input_schema={"type": "object", "properties": {"id": {"type": "integer"}}},
        title="Reviews",
        read_only=True,
        untrusted=True,
        origin=site,
        frame="main",
        fingerprint=tool.fingerprint,
    )


async def test_half_characters_of_a_page_are_replaced(chromium: Browser, site: str) -> None:
    async with open_page(chromium, f"{site}/plain.html") as tools:
        await tools.page.evaluate(
            """() => document.modelContext.registerTool({
                name: 'odd', title: 'T\\ud83d', description: '\\\\ud83d \u2764',
                inputSchema: {type: 'object', description: 'S\\udc00'}, execute: () => 1})"""
        )
        [tool] = await tools.list_tools()
    assert (tool.title, tool.description, tool.input_schema) == (
        "T\ufffd",
        "\\ud83d \u2764",
        {"type": "object", "description": "S\ufffd"},
    )


async def test_a_fingerprint_is_the_same_for_the_same_tool(chromium: Browser, site: str) -> None:
    prints: list[str] = []
    for _ in range(2):
        async with open_page(chromium, f"{site}/arrived.html") as tools:
            prints += [tool.fingerprint for tool in await tools.list_tools()]
    assert prints[0] == prints[1]
    assert len(prints[0]) == 16


async def test_tools_that_come_late_are_waited_for(chromium: Browser, site: str) -> None:
    async with open_page(chromium, f"{site}/late.html", policy=YES) as tools:
        assert [tool.name for tool in await tools.list_tools()] == ["list_ferries"]


async def test_a_wait_for_late_tools_has_an_end(chromium: Browser, site: str) -> None:
    async with open_page(chromium, f"{site}/late.html", settle_ms=100) as tools:
        assert await tools.list_tools() == []


async def test_a_page_without_tools_tells_the_error_of_its_script(
    chromium: Browser, site: str
) -> None:
    async with open_page(chromium, f"{site}/schema-as-text.html") as tools:
        listed = [tool.name for tool in await tools.list_tools()]
        told = '"[object Object]" is not valid JSON'
        # Browsers that still give schemas as text have the tool.
        assert (listed, tools.script_error) in [([], told), (["book_a_table"], None)]
        wanted = [] if listed else [f"the page has no tools, and a script of it failed: {told}"]
        assert tools.warnings == wanted
    async with open_page(chromium, f"{site}/plain.html") as tools:
        assert (await tools.list_tools(), tools.script_error) == ([], None)


async def test_tools_of_a_page_that_was_left_are_gone(chromium: Browser, site: str) -> None:
    """C-09."""
    async with open_page(chromium, f"{site}/moves.html", policy=YES) as tools:
        before = [tool.name for tool in await tools.list_tools()]
        await tools.page.goto("about:blank")
        blank, remembered = await tools.list_tools(), await called(tools, "stay_within")
        with pytest.raises(Error, match="ERR_EMPTY_RESPONSE"):
            await tools.page.goto(f"{site}/cut")
        await tools.page.wait_for_url("chrome-error://**")
        refused = await tools.list_tools()
        await tools.page.goto(f"{site}/moves.html")
        after = [tool.name for tool in await tools.list_tools()]
    assert (blank, refused) == ([], [])
    assert remembered == ToolFail("not-found", "The page has no tool 'stay_within' now.")
    assert before == after


async def test_an_unknown_name_is_not_found_and_nothing_near_it_runs(
    chromium: Browser, site: str
) -> None:
    """C-59."""
    async with open_page(chromium, f"{site}/moves.html", policy=YES) as tools:
        await tools.list_tools()
        answers = {name: await called(tools, name) for name in ("Stay_within", "__proto__")}
        assert tools.url == f"{site}/moves.html"
    assert answers == {
        name: ToolFail("not-found", f"The page has no tool '{name}' now.") for name in answers
    }


async def test_frames_of_the_page_are_listed_under_names_of_their_own(
    chromium: Browser, site: str
) -> None:
    """C-59."""
    async with open_page(chromium, f"{site}/frames.html", policy=YES) as tools:
        await tools.page.wait_for_load_state("load")
        listed = await tools.list_tools()
        answers = {tool.name: await called(tools, tool.name) for tool in listed[:2]}
        ours = await called(tools, "plan__frame3")
        failed = await called(tools, "fail_in_frame")
        left = await called(tools, "leave_frame")
        rest = [tool.name for tool in await tools.list_tools()]
    assert [(tool.name, tool.frame, tool.description) for tool in listed] == [
        ("plan", "main", "Main plan"),
        ("fail_in_frame", "side", "Frame fail_in_frame"),
        ("leave_frame", "side", "Frame leave_frame"),
        ("plan__frame3", "side", "Frame plan"),
        ("plan__frame2", "side", "Frame plan__frame2"),
    ]
    assert answers["plan"] == ToolOk("main", "main")
    assert ours == ToolOk("frame", "frame")
    assert failed == ToolFail("failed", "the frame is shut")
    assert left == ToolFail(
        "navigated", "The page changed before it answered. It is now /frames.html."
    )
    assert rest == ["plan"]


async def test_a_foreign_frame_is_not_used_without_leave(
    chromium: Browser, site: str, other_site: str
) -> None:
    page = f"{site}/frames.html?there={other_site}"
    async with open_page(chromium, page, policy=YES) as tools:
        await tools.page.wait_for_load_state("load")
        origins = {tool.origin for tool in await tools.list_tools()}
        answer = await called(tools, "shared_map")
    assert origins == {site}
    assert answer == ToolFail("not-found", "The page has no tool 'shared_map' now.")


async def test_a_foreign_frame_is_used_only_with_leave_and_only_as_far_as_it_exposes_itself(
    chromium: Browser, site: str, other_site: str
) -> None:
    page = f"{site}/frames.html?there={other_site}"
    leave = Policy(mode="yes", origins=(other_site,))
    async with open_page(chromium, page, policy=leave) as tools:
        await tools.page.wait_for_load_state("load")
        listed = {tool.name: tool for tool in await tools.list_tools()}
        answer = await called(tools, "shared_map")
    assert "advert_click" not in listed
    assert (listed["shared_map"].origin, listed["plan"].origin) == (other_site, site)
    assert answer == ToolOk("foreign shared_map", "foreign shared_map")


async def test_the_page_context_is_what_a_person_sees(chromium: Browser, site: str) -> None:
    """A-090, A-091."""
    async with open_page(chromium, f"{site}/heading.html?secret=1#also") as tools:
        first = await tools.page_context()
        await tools.page.goto(f"{site}/arrived.html")
        second = await tools.page_context()
    assert first == PageContext("/heading.html", "The garden shop", "Pots and bulbs")
    assert second == PageContext("/arrived.html", "Arrived", "Order 7")


async def test_a_heading_outside_main_counts_when_there_is_no_other(
    chromium: Browser, site: str
) -> None:
    """A-091."""
    async with open_page(chromium, f"{site}/heading.html") as tools:
        await tools.page.evaluate("document.querySelector('main').remove()")
        context = await tools.page_context()
        await tools.page.evaluate("document.querySelector('[role=heading]').remove()")
        without = await tools.page_context()
    assert context == PageContext("/heading.html", "The garden shop", "A second heading")
    assert without == PageContext("/heading.html", "The garden shop", None)


async def test_each_piece_of_the_context_is_cut(chromium: Browser, site: str) -> None:
    async with open_page(chromium, f"{site}/plain.html") as tools:
        await tools.page.evaluate("document.title = 'x'.repeat(200)")
        context = await tools.page_context()
    assert context == PageContext("/plain.html", "x" * 119 + "…", "Nothing to do here")


async def test_tools_and_context_come_together(chromium: Browser, site: str) -> None:
    async with open_page(chromium, f"{site}/arrived.html") as tools:
        listed, context = await tools.tools_and_context()
    assert [tool.name for tool in listed] == ["show_order"]
    assert context == PageContext("/arrived.html", "Arrived", "Order 7")


async def test_a_closed_page_cannot_be_listed_and_has_no_context(
    chromium: Browser, site: str
) -> None:
    async with open_page(chromium, f"{site}/arrived.html") as tools:
        await tools.page.close()
        with pytest.raises(PageGone, match="The page was closed."):
            await tools.list_tools()
        assert await tools.page_context() is None
