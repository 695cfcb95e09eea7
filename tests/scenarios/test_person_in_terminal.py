"""A page leaves something to the person: told in the terminal, done in the browser."""

import asyncio
from io import StringIO
from pathlib import Path

import pytest
from command_line import script, terminal
from playwright.async_api import Browser, Page, async_playwright
from processes import started_chromium
from pydantic import JsonValue
from rich.console import Console

from webmcp_agent.agent.tool_calls import write_call
from webmcp_agent.scenarios.approval import silent_person, terminal_person
from webmcp_agent.scenarios.console import Progress

PEN: JsonValue = {"line_items": [{"item": {"id": "brass-pen"}, "quantity": 1}]}
PICKUP: JsonValue = {
    "buyer": {"first_name": "Ada", "last_name": "Vos", "email": "ada@example.org"},
    "fulfillment": {"methods": [{"type": "pickup"}]},
}


def call(name: str, **args: JsonValue) -> str:
    return write_call(name, dict(args), "tags")


BUY = [
    call("update_cart", cart=PEN),
    call("proceed_to_checkout"),
    call("update_checkout", checkout=PICKUP),
    call("complete_checkout"),
    call("get_checkout"),
    "Your order TH-1001 is placed, 34 euros.",
]


async def answered(line: str | None) -> tuple[bool, str, list[str]]:
    """What a person's line comes to, what was shown to them, and whether Stop was pressed."""
    console = Console(width=200, record=True, file=StringIO())
    pressed: list[str] = []

    async def read(_: str) -> str | None:
        return line

    person = terminal_person(console, Progress(console), read, lambda: pressed.append("stop"))
    done = await person("Pay 34.00 EUR\x1b[2J")
    return done, console.export_text(), pressed


@pytest.mark.parametrize("line", ["", "done"])
async def test_a_person_who_is_done_lets_the_run_go_on(line: str) -> None:
    done, shown, pressed = await answered(line)
    assert (done, pressed) == (True, [])
    assert "your turn, in the browser's window" in shown
    assert "Pay 34.00 EUR\\x1b[2J" in shown, "what a page wrote repaints nothing"


@pytest.mark.parametrize("line", ["s", "Stop", None])
async def test_stop_and_an_end_of_input_press_stop(line: str | None) -> None:
    done, _, pressed = await answered(line)
    assert (done, pressed) == (False, ["stop"])


async def test_without_a_terminal_only_the_page_tells_that_it_is_done() -> None:
    console = Console(width=200, record=True, file=StringIO())
    waiting = asyncio.ensure_future(silent_person(console, Progress(console))("Pay."))
    await asyncio.sleep(0)
    assert not waiting.done()
    waiting.cancel()
    await asyncio.wait({waiting})
    assert console.export_text() == "your turn, in the browser's window: Pay.\n"


async def _shop_page(browser: Browser) -> Page:
    (page,) = [
        page
        for context in browser.contexts
        for page in context.pages
        if "/ucp/checkout.html" in page.url
    ]
    return page


async def test_a_run_in_a_browser_that_somebody_sees_waits_for_them(tmp_path: Path) -> None:
    model = script(tmp_path, *BUY)
    async with started_chromium(tmp_path / "profile") as port, async_playwright() as playwright:
        there = f"http://127.0.0.1:{port}"
        arguments = ("run", "shop:ucp", "Buy a brass pen.", "--yes=all", "--model", model)
        with terminal(*arguments, "--cdp", there, "--max-steps", "8", cwd=tmp_path) as run:
            await asyncio.to_thread(run.wait_for, "your turn, in the browser's window")
            await asyncio.to_thread(run.wait_for, "To pay: 34.00 EUR")
            await asyncio.to_thread(run.wait_for, "press Enter when you are done")
            browser = await playwright.chromium.connect_over_cdp(there)
            page = await _shop_page(browser)
            await page.get_by_role("button", name="Confirm and pay").click()
            await asyncio.to_thread(run.wait_for, "The person took over and is done.")
            await asyncio.to_thread(run.wait_for, "Your order TH-1001 is placed, 34 euros.")
            assert await asyncio.to_thread(run.end) == 0
            await browser.close()
