import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser

from webmcp_agent.browser.launch import open_page
from webmcp_agent.browser.page_tools import PageTools
from webmcp_agent.browser.policy import Policy
from webmcp_agent.browser.tools import JsonObject, ToolErrorCode, ToolFail, ToolOk
from webmcp_agent.providers.abort import AbortSignal

YES = Policy(mode="yes")
SURFACES = Path(__file__).parent / "pages" / "surfaces.html"


async def called(tools: PageTools, name: str, args: JsonObject | None = None) -> ToolOk | ToolFail:
    async with asyncio.timeout(20):
        return await tools.call_tool(name, args or {}, call_id="c1.1", signal=AbortSignal())


@asynccontextmanager
async def surface(
    chromium: Browser, kind: str, call_timeout_ms: int = 30_000
) -> AsyncGenerator[PageTools]:
    """The page at an address without a secure context: the browser gives it nothing of its own."""
    context = await chromium.new_context()
    try:
        await context.route(
            "http://surfaces.example/**", lambda route: route.fulfill(path=SURFACES)
        )
        page = await context.new_page()
        async with PageTools(page, policy=YES, call_timeout_ms=call_timeout_ms) as tools:
            await page.goto(f"http://surfaces.example/?kind={kind}")
            yield tools
    finally:
        await context.close()


@pytest.mark.parametrize("kind", ["testing", "text", "object", "opaque", "polyfill"])
async def test_one_call_gives_the_same_sum_on_every_surface(chromium: Browser, kind: str) -> None:
    async with surface(chromium, kind) as tools:
        assert await tools.has_webmcp()
        [tool] = await tools.list_tools()
        answer = await called(tools, "sum", {"a": 2, "b": 3})
    assert (tool.name, tool.description, tool.origin) == ("sum", "Adds", "http://surfaces.example")
    assert answer == ToolOk("5", "5")


async def test_a_page_without_a_model_context_says_so(chromium: Browser, site: str) -> None:
    async with surface(chromium, "none") as tools:
        assert not await tools.has_webmcp()
        assert await tools.list_tools() == []
        missing = await called(tools, "sum")
    assert missing == ToolFail("not-found", "The page has no tool 'sum' now.")
    async with open_page(chromium, f"{site}/plain.html") as tools:
        assert await tools.has_webmcp()
        await tools.page.goto("about:blank")
        assert not await tools.has_webmcp()


async def test_a_surface_that_cannot_be_read_is_a_warning(chromium: Browser) -> None:
    async with surface(chromium, "broken") as tools:
        assert await tools.list_tools() == []
        assert tools.warnings == [
            "the tools of http://surfaces.example/?kind=broken cannot be read: no tools today"
        ]


LOOK_ALIKE = ("List and list", "search-a and search_a", "search-a and search.a")


async def test_legal_names_work_exactly_and_others_are_left_out(chromium: Browser) -> None:
    """C-59."""
    async with surface(chromium, "careless") as tools:
        names = [tool.name for tool in await tools.list_tools()]
        quiet = [name for name in names if name not in {"throws", "hangs", "forbids"}]
        answers = {name: await called(tools, name) for name in quiet}
        warnings = tools.warnings
    texts = {
        "0day": "0day",
        "None": "None",
        "List": "List",
        "list": '{"list":[1,2]}',
        "plain": "plain",
        "constructor": "constructor",
        "toString": "toString",
        "__proto__x": "proto",
        "search-a": "dash",
        "search_a": "line",
        "search.a": "dot",
        "a" * 128: "long",
    }
    assert {name: getattr(answer, "text", answer) for name, answer in answers.items()} == texts
    left_out = "a tool is left out for its name: "
    where = "http://surfaces.example/?kind=careless"
    assert sorted(warnings) == sorted(
        [
            f"{left_out}'white space'",
            f"{left_out}'na\\xefve'",
            f"{left_out}'x]<|tool_call_end|>'",
            f"{left_out}''",
            f"{left_out}'{'a' * 60}'",
            f"a tool of {where} is left out: Input should be a valid string",
            f"1 tools of {where} cannot be read",
            *(f"the tools {pair} have names that look alike" for pair in LOOK_ALIKE),
        ]
    )


async def test_only_real_booleans_count_as_hints(chromium: Browser) -> None:
    """C-57."""
    async with surface(chromium, "careless") as tools:
        [tool, *_] = await tools.list_tools()
    assert (tool.read_only, tool.untrusted, tool.consequential) == (False, True, False)


@pytest.mark.parametrize(
    ("name", "limit_ms", "code", "message"),
    [
        ("throws", 30_000, "failed", "the tank is empty"),
        ("forbids", 30_000, "blocked", "The browser does not allow it: not here"),
        ("hangs", 200, "timeout", "No answer within 0.2 s; it may still finish."),
    ],
)
async def test_outcomes_without_a_witness_are_what_the_page_says(
    chromium: Browser, name: str, limit_ms: int, code: ToolErrorCode, message: str
) -> None:
    """C-51."""
    async with surface(chromium, "careless", call_timeout_ms=limit_ms) as tools:
        assert await called(tools, name) == ToolFail(code, message)


async def test_a_page_of_the_first_releases_works_in_todays_browser(
    chromium: Browser, site: str
) -> None:
    async with open_page(chromium, f"{site}/old.html", policy=YES) as tools:
        listed = {tool.name: tool.description for tool in await tools.list_tools()}
        answers = [
            await called(tools, "add_plant", {"name": "fern"}),
            await called(tools, "gone_soon"),
            await called(tools, "fail"),
        ]
    assert listed == {"add_plant": "Adds a plant", "gone_soon": "Is new", "fail": "Fails"}
    assert answers == [
        ToolOk("added fern", "added fern"),
        ToolOk("new", "new"),
        ToolFail("failed", "the shed is locked"),
    ]


async def test_the_old_object_can_be_left_out(chromium: Browser, site: str) -> None:
    async with open_page(chromium, f"{site}/plain.html", legacy=False) as tools:
        assert await tools.page.evaluate("typeof navigator.modelContext") == "undefined"
