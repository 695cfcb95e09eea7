"""The prompt-api provider: a real Chromium without the model, and a page that behaves as if."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from page_double import PageDouble, collect, request as ask
from playwright.async_api import Browser, Page, async_playwright

from webmcp_agent.agent.loop import LocalLoopOptions
from webmcp_agent.agent.stream import report_of
from webmcp_agent.browser.launch import find_chromium, open_chromium
from webmcp_agent.providers.abort import AbortController
from webmcp_agent.providers.base import (
    Available,
    ChatTurn,
    Downloading,
    GenerateRequest,
    GenerateResult,
    NeedsDownload,
    PromptParts,
    ProviderAvailability,
    Unavailable,
)
from webmcp_agent.providers.errors import (
    Aborted,
    ModelFailed,
    ModelUnavailable,
    NotReady,
    PromptTooLong,
)
from webmcp_agent.providers.prompt_api import PromptApiProvider

STAND_IN = (Path(__file__).parent / "built_in_model.js").read_text(encoding="utf-8")
TURNS = (
    ChatTurn("user", "Find a mug"),
    ChatTurn("assistant", "I search."),
    ChatTurn("tool", "3 mugs", "search"),
    ChatTurn("user", "Next step"),
)
REQUEST = GenerateRequest("Be kind.", TURNS, ())
PROMPT = PromptParts("Be kind.", TURNS, ())


@pytest.fixture(scope="module")
async def chromium() -> AsyncIterator[Browser]:
    async with open_chromium() as browser:
        yield browser


@pytest.fixture
async def tab(chromium: Browser) -> AsyncIterator[Page]:
    """A blank page whose built-in model is the stand-in."""
    context = await chromium.new_context()
    page = await context.new_page()
    await page.evaluate(STAND_IN)
    yield page
    await context.close()


async def test_a_real_browser_without_the_model_says_so(chromium: Browser) -> None:
    """B-042: in a secure context too, where the interface would be."""
    context = await chromium.new_context()
    page = await context.new_page()
    provider = PromptApiProvider(page)
    missing = Unavailable("this browser has no built-in model")
    unable = Unavailable("the browser cannot run its built-in model on this machine")

    assert await provider.availability() in (missing, unable)
    with pytest.raises(ModelUnavailable):
        await provider.prepare(lambda _: None)
    with pytest.raises(NotReady):
        await provider.generate(REQUEST)
    await context.close()


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("available", Available()),
        ("downloadable", NeedsDownload(note="The browser's built-in model")),
        ("downloading", Downloading(0.0)),
        (
            "unavailable",
            Unavailable("the browser cannot run its built-in model on this machine"),
        ),
    ],
)
async def test_each_state_of_the_browser_is_one_of_ours(
    state: str, expected: ProviderAvailability, tab: Page
) -> None:
    """B-012, B-013, B-038 to B-042: asking begins no download."""
    await tab.evaluate("state => { builtIn.state = state; }", state)

    assert await PromptApiProvider(tab).availability() == expected
    assert await tab.evaluate("builtIn.created") == []


async def test_the_download_has_progress_and_ends_available(tab: Page) -> None:
    """B-014, B-015: from 0 to 1, never falling; a quick browser may be ahead of what is told."""
    await tab.evaluate("() => { builtIn.state = 'downloadable'; builtIn.steps = [0.25, 0.75, 1]; }")
    provider = PromptApiProvider(tab)
    progress: list[float] = []

    with pytest.raises(NotReady, match="the model is downloadable; call prepare first"):
        await provider.generate(REQUEST)
    await provider.prepare(progress.append)

    assert progress == sorted(set(progress))
    assert (progress[0], progress[-1]) == (0.0, 1.0)
    assert set(progress) <= {0.0, 0.25, 0.75, 1.0}
    assert await provider.availability() == Available()


async def test_stop_ends_a_download_and_the_state_is_what_it_was(tab: Page) -> None:
    """A-009, B-016."""
    await tab.evaluate("() => { builtIn.state = 'downloadable'; builtIn.holds = true; }")
    provider = PromptApiProvider(tab)
    stop = AbortController()

    async with asyncio.timeout(20):
        with pytest.raises(Aborted, match="enough"):
            await provider.prepare(lambda _: stop.abort("enough"), stop.signal)

    assert await tab.evaluate("builtIn.aborted") == 1
    assert await provider.availability() == NeedsDownload(note="The browser's built-in model")


async def test_who_leaves_last_ends_a_download(tab: Page) -> None:
    """B-016, B-041: the first one leaves, and it goes on for the other."""
    await tab.evaluate("() => { builtIn.state = 'downloadable'; builtIn.holds = true; }")
    provider = PromptApiProvider(tab)
    stops = [AbortController(), AbortController()]

    async with asyncio.timeout(20):
        tasks: list[asyncio.Task[None]] = []
        for stop in stops:
            begun = asyncio.Event()
            tasks.append(
                asyncio.create_task(
                    provider.prepare(lambda _, begun=begun: begun.set(), stop.signal)
                )
            )
            await begun.wait()
        for stop, task, aborted in zip(stops, tasks, (0, 1), strict=True):
            stop.abort()
            with pytest.raises(Aborted):
                await task
            assert await tab.evaluate("builtIn.aborted") == aborted


async def test_a_failed_download_is_told(tab: Page) -> None:
    await tab.evaluate("() => { builtIn.state = 'downloadable'; builtIn.fails = 'NetworkError'; }")
    with pytest.raises(ModelFailed, match="the built-in model failed: NetworkError: no way"):
        await PromptApiProvider(tab).prepare(lambda _: None)


async def test_a_prompt_is_system_prompt_and_turns_in_two_roles(tab: Page) -> None:
    """B-027, B-028, B-031: one session hears the system prompt, copies of it the prompts."""
    await tab.evaluate("() => { builtIn.replies = ['Hi', 'Hi again', 'New']; }")
    provider = PromptApiProvider(tab)
    heard: list[str] = []

    first = await provider.generate(GenerateRequest("Be kind.", TURNS, (), on_token=heard.append))
    await provider.generate(REQUEST)
    await provider.generate(GenerateRequest("Be brief.", TURNS[:1], ()))

    assert first == GenerateResult("Hi")
    assert heard == ["Hi"]
    assert await tab.evaluate("builtIn.created") == [
        [{"role": "system", "content": "Be kind."}],
        [{"role": "system", "content": "Be brief."}],
    ]
    prompts = await tab.evaluate("builtIn.prompts")
    assert prompts[0] == [
        {"role": "user", "content": "Find a mug"},
        {"role": "assistant", "content": "I search."},
        {
            "role": "user",
            "content": "<tool_response>\n3 mugs\n</tool_response>\n\nNext step",
        },
    ]
    assert len(prompts) == 3
    assert await tab.evaluate("builtIn.open") == 1
    provider.dispose()
    provider.dispose()
    await tab.wait_for_function("builtIn.open === 0")


async def test_a_run_goes_through_the_built_in_model(tab: Page) -> None:
    """B-003, B-008: its tools stand in the prompt text."""
    replies = [json.dumps({"tool": "open_product", "args": {"id": 7}}), "It is open."]
    await tab.evaluate("replies => { builtIn.replies = replies; }", replies)
    shop = PageDouble()
    provider = PromptApiProvider(tab)
    assert provider.tools_inline

    parts = await collect(
        provider, ask(shop, "Open product 7"), LocalLoopOptions(tools_inline=True)
    )

    assert report_of(parts).answer == "It is open."
    assert shop.calls == [("open_product", {"id": 7})]


async def test_stop_and_a_cancel_reach_the_model(tab: Page) -> None:
    """B-045, C-10."""
    await tab.evaluate("() => { builtIn.holds = true; }")
    provider = PromptApiProvider(tab)
    stop = AbortController()
    async with asyncio.timeout(20):
        task = asyncio.create_task(
            provider.generate(GenerateRequest("", TURNS[:1], (), signal=stop.signal))
        )
        await tab.wait_for_function("builtIn.prompts.length === 1")
        stop.abort("enough")
        with pytest.raises(Aborted, match="enough"):
            await task
        assert await tab.evaluate("builtIn.aborted") == 1

        task = asyncio.create_task(provider.generate(REQUEST))
        await tab.wait_for_function("builtIn.prompts.length === 2")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await tab.evaluate("builtIn.aborted") == 2


@pytest.mark.parametrize("names", ["now", "before"])
async def test_a_prompt_fits_by_the_browsers_own_measure(names: str, tab: Page) -> None:
    """B-019, B-020: a token a character there, and room for a reply of 512."""
    await tab.evaluate("names => { builtIn.names = names; builtIn.window = 600; }", names)
    provider = PromptApiProvider(tab)

    def of(chars: int) -> PromptParts:
        return PromptParts("12345678", (ChatTurn("user", "x" * chars),), ())

    assert await provider.fits(of(80))
    assert not await provider.fits(of(81))
    await tab.evaluate("() => { builtIn.window = Infinity; }")
    assert await provider.fits(of(5_000))


async def test_a_prompt_that_the_browser_refuses_does_not_fit(tab: Page) -> None:
    """B-021, C-49: from then on, whatever the measure says."""
    await tab.evaluate("() => { builtIn.quota = 20; }")
    provider = PromptApiProvider(tab)
    assert await provider.fits(PROMPT)

    with pytest.raises(PromptTooLong, match="too long for the built-in model"):
        await provider.generate(REQUEST)

    assert not await provider.fits(PROMPT)
    assert await provider.fits(PromptParts("", TURNS[:1], ()))


async def test_a_failure_of_the_model_is_told_and_the_next_prompt_works(tab: Page) -> None:
    """B-048, C-69."""
    await tab.evaluate("() => { builtIn.fails = 'UnknownError'; builtIn.replies = ['Hi']; }")
    provider = PromptApiProvider(tab)
    with pytest.raises(ModelFailed, match="the built-in model failed: UnknownError: no way"):
        await provider.generate(REQUEST)
    await tab.evaluate("() => { builtIn.fails = null; }")
    assert await provider.generate(REQUEST) == GenerateResult("Hi")


async def test_a_page_that_moves_on_is_entered_again_and_a_closed_one_is_the_end(
    tab: Page,
) -> None:
    """B-011."""
    await tab.evaluate("() => { builtIn.replies = ['Hi']; }")
    provider = PromptApiProvider(tab)
    await provider.generate(REQUEST)
    await tab.goto("about:blank#again")
    await tab.reload()
    with pytest.raises(ModelFailed, match="went away"):
        await provider.generate(REQUEST)
    await tab.evaluate(STAND_IN)
    await tab.evaluate("() => { builtIn.replies = ['Here']; }")
    assert await provider.generate(REQUEST) == GenerateResult("Here")

    await tab.close()
    with pytest.raises(ModelUnavailable, match="was closed"):
        await provider.generate(REQUEST)
    assert provider.broken == "the page through which the built-in model is used was closed"


async def test_a_running_browser_gets_a_tab_and_loses_it_again(chromium: Browser) -> None:
    """C-60: attached to by its address."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    executable = find_chromium()
    async with async_playwright() as playwright:
        running = await playwright.chromium.launch(
            executable_path=executable, args=[f"--remote-debugging-port={port}"]
        )
        provider = PromptApiProvider(f"http://127.0.0.1:{port}")

        assert isinstance(await provider.availability(), Unavailable)
        watcher = await playwright.chromium.connect_over_cdp(f"http://127.0.0.1:{port}")
        (tab,) = [page for context in watcher.contexts for page in context.pages]
        assert await tab.evaluate("isSecureContext")
        await tab.evaluate(STAND_IN)
        await tab.evaluate("() => { builtIn.replies = ['Hi']; }")
        assert await provider.generate(REQUEST) == GenerateResult("Hi")

        async with asyncio.timeout(20), tab.expect_event("close"):
            provider.dispose()
        await running.close()


async def test_an_address_without_a_browser_is_told() -> None:
    """B-042."""
    state = await PromptApiProvider("http://127.0.0.1:9").availability()
    assert isinstance(state, Unavailable)
    assert state.reason.startswith("no browser can be used at http://127.0.0.1:9: ")
    assert "\n" not in state.reason
