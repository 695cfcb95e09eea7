"""Faults at each point of a call: before it, before its effect, after its effect."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import pytest
from asked import Asked
from command_line import COMMAND
from playwright.async_api import Browser
from processes import (
    HAS_PROC,
    browser_process,
    descendants,
    freeze,
    is_chromium,
    is_running,
    kill,
    processes_of,
    relayed,
    renderer_of,
    started_chromium,
    wait_until_gone,
)

from webmcp_agent.browser.cdp import CdpSession
from webmcp_agent.browser.launch import open_chromium, open_page
from webmcp_agent.browser.page_tools import PageTools
from webmcp_agent.browser.policy import Policy
from webmcp_agent.browser.tools import JsonObject, ToolErrorCode, ToolFail, ToolOk
from webmcp_agent.providers.abort import AbortSignal

pytestmark = pytest.mark.skipif(not HAS_PROC, reason="reads processes from /proc")

YES = Policy(mode="yes")
ORDERED = "/plain.html?ordered"
BEGUN = "/held/plain.html?begun"


@dataclass(frozen=True, slots=True)
class Scene:
    """A page that something is about to happen to."""

    browser: Browser
    tools: PageTools
    strike: Callable[[], Awaitable[None]]
    """Makes the fault happen, and returns once it can be noticed."""
    doomed: list[int]
    """Processes that do not outlive the scene."""


async def called(tools: PageTools, name: str, args: JsonObject | None = None) -> ToolOk | ToolFail:
    async with asyncio.timeout(100):
        return await tools.call_tool(name, args or {}, call_id="c1.1", signal=AbortSignal())


@asynccontextmanager
async def killed_browser(url: str, folder: Path) -> AsyncGenerator[Scene]:
    async with open_chromium() as browser, open_page(browser, url, policy=YES) as tools:
        pid, all_of_them = await browser_process(browser), list(await processes_of(browser))

        async def strike() -> None:
            gone = asyncio.Event()
            browser.on("disconnected", lambda _: gone.set())
            kill(pid)
            await gone.wait()

        yield Scene(browser, tools, strike, all_of_them)


@asynccontextmanager
async def crashed_page(url: str, folder: Path) -> AsyncGenerator[Scene]:
    async with open_chromium() as browser, open_page(browser, url, policy=YES) as tools:
        pid = await renderer_of(browser, tools.page)

        async def strike() -> None:
            cdp = await CdpSession.of(tools.page)
            async with tools.page.expect_event("crash"):
                crash = asyncio.ensure_future(cdp.send("Page.crash"))
            crash.cancel()

        yield Scene(browser, tools, strike, [pid])


@asynccontextmanager
async def dropped_connection(url: str, folder: Path) -> AsyncGenerator[Scene]:
    async with AsyncExitStack() as stack:
        port = await stack.enter_async_context(started_chromium(folder))
        relay, cut = await stack.enter_async_context(relayed(port))
        browser = await stack.enter_async_context(open_chromium(cdp=f"http://127.0.0.1:{relay}"))
        tools = await stack.enter_async_context(open_page(browser, url, policy=YES))

        async def strike() -> None:
            gone = asyncio.Event()
            browser.on("disconnected", lambda _: gone.set())
            await cut()
            await gone.wait()

        yield Scene(browser, tools, strike, [])


@asynccontextmanager
async def frozen_page(url: str, folder: Path) -> AsyncGenerator[Scene]:
    async with (
        open_chromium() as browser,
        open_page(browser, url, policy=YES, call_timeout_ms=1_000) as tools,
    ):
        pid = await renderer_of(browser, tools.page)

        async def strike() -> None:
            freeze(pid)

        yield Scene(browser, tools, strike, [pid])


Stage = Callable[[str, Path], AbstractAsyncContextManager[Scene]]
SCENES = [
    pytest.param(killed_browser, ("unavailable", "no-answer"), id="killed browser"),
    pytest.param(crashed_page, ("unavailable", "no-answer"), id="crashed page"),
    pytest.param(dropped_connection, ("unavailable", "no-answer"), id="dropped connection"),
    pytest.param(frozen_page, ("timeout", "timeout"), id="frozen page"),
]


@pytest.mark.parametrize("point", ["before", "during", "after"])
@pytest.mark.parametrize(("scene", "codes"), SCENES)
async def test_a_fault_ends_a_call_with_one_true_outcome_and_no_effect_twice(
    scene: Stage,
    codes: tuple[ToolErrorCode, ToolErrorCode],
    point: str,
    site: str,
    asked_here: Asked,
    release: Event,
    tmp_path: Path,
) -> None:
    """C-51."""
    async with scene(f"{site}/effects.html", tmp_path) as at:
        await at.tools.list_tools()
        if point == "before":
            await at.strike()
            answer = await called(at.tools, "order_at_once")
        else:
            during = point == "during"
            name = "order_after_a_wait" if during else "order_at_once"
            call = asyncio.ensure_future(called(at.tools, name))
            await asked_here.has(BEGUN if during else ORDERED)
            await at.strike()
            answer = await call
        release.set()
    async with asyncio.timeout(60):
        await wait_until_gone(at.doomed)
    assert [pid for pid in at.doomed if is_running(pid)] == []
    assert isinstance(answer, ToolFail)
    assert answer.code == codes[point != "before"]
    assert asked_here.count(ORDERED) in ({1} if point == "after" else {0, 1})
    if codes[0] == "unavailable" and point == "before":
        assert asked_here.count(ORDERED) == 0


async def test_a_page_that_freezes_is_replaced_and_goes_on(site: str, tmp_path: Path) -> None:
    """C-51."""
    async with frozen_page(f"{site}/effects.html", tmp_path) as at:
        before = at.tools.page
        await at.tools.list_tools()
        await at.strike()
        late = await called(at.tools, "order_at_once")
        listed = [tool.name for tool in await at.tools.list_tools()]
        again = await called(at.tools, "say_hello")
        assert at.tools.page != before
        assert at.tools.page.url == f"{site}/effects.html"
    assert late == ToolFail(
        "timeout",
        "No answer within 1 s, and the page stayed busy, so it was closed; it may still finish. "
        "It was opened again at /effects.html.",
    )
    assert listed == ["order_after_a_wait", "order_at_once", "say_hello"]
    assert again == ToolOk("hello", "hello")


async def test_a_run_whose_browser_dies_ends_with_its_trace_whole(
    site: str, asked_here: Asked, release: Event, tmp_path: Path
) -> None:
    replies = tmp_path / "replies.json"
    call = '<tool_call>\n{"name": "order_after_a_wait", "arguments": {}}\n</tool_call>'
    replies.write_text(json.dumps([call, "It is ordered."]), encoding="utf-8")
    out = tmp_path / "run"
    command = await asyncio.create_subprocess_exec(
        *COMMAND, "run", f"{site}/effects.html", "Order it", "--model", f"scripted:{replies}",
        "--yes", "--json", "--out", str(out),
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE, cwd=tmp_path,
    )  # fmt: skip
    async with asyncio.timeout(200):
        await asked_here.has(BEGUN)
        started = descendants(command.pid)
        [browser] = [pid for pid in started if is_chromium(pid)]
        kill(browser)
        _, errors = await command.communicate()
        await wait_until_gone(started)
    trace = [
        json.loads(line) for line in (out / "trace.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    calls = [(each["name"], each["outcome"]) for each in trace if each["type"] == "call"]
    assert command.returncode == 3
    assert errors.decode().splitlines()[-1] == "Error: The browser is gone."
    assert calls == [("order_after_a_wait", "no-answer")]
    assert asked_here.count(ORDERED) == 0
