"""Attaching to a browser of which a tab does not answer: a limit, and who it was."""

import asyncio
from pathlib import Path

import pytest
from asked import Asked
from command_line import COMMAND
from playwright.async_api import Dialog, async_playwright
from processes import started_chromium

from webmcp_agent.browser.cdp import CdpSession
from webmcp_agent.browser.errors import NoBrowser, PageUnreachable
from webmcp_agent.browser.launch import open_chromium, open_page
from webmcp_agent.browser.silent_tabs import SilentTab, silent_tabs

STUCK = "/plain.html?stuck"


def keeps_out(port: int, url: str, title: str) -> str:
    return (
        f"A tab of the browser at http://127.0.0.1:{port} does not answer: {url} "
        f"({title}). A script may be busy there, a dialog open, or a debugger may have stopped it. "
        "Reload it or close it, and try again; without --cdp a browser of its own is started."
    )


async def test_a_busy_tab_keeps_nobody_waiting_and_is_named(
    site: str, asked_here: Asked, tmp_path: Path
) -> None:
    others = ("data:text/html,one", "data:text/html,two")
    async with started_chromium(tmp_path, f"{site}/stuck.html", *others) as port:
        await asked_here.has(STUCK)
        with pytest.raises(NoBrowser) as caught:
            async with open_chromium(cdp=f"http://127.0.0.1:{port}", attach_limit_ms=2_000):
                raise NotImplementedError
        found = await silent_tabs(f"http://127.0.0.1:{port}", limit_ms=1_000)
    assert str(caught.value) == keeps_out(port, f"{site}/stuck.html", "Stuck")
    assert found == [SilentTab(f"{site}/stuck.html", "Stuck")]


async def test_a_command_that_cannot_attach_ends_by_itself_and_leaves_nothing(
    site: str, asked_here: Asked, tmp_path: Path
) -> None:
    async with started_chromium(tmp_path, f"{site}/stuck.html") as port:
        await asked_here.has(STUCK)
        command = await asyncio.create_subprocess_exec(
            *COMMAND, "tools", f"{site}/stuck.html", "--cdp", f"http://127.0.0.1:{port}",
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, cwd=tmp_path,
        )  # fmt: skip
        async with asyncio.timeout(120):
            # What it starts holds the pipe of errors, which ends with the last one.
            out, errors = await command.communicate()
    assert (command.returncode, out) == (3, b"")
    told = keeps_out(port, f"{site}/stuck.html", "Stuck")
    assert " ".join(errors.decode().split()) == f"Error: {told}"


async def test_a_tab_that_a_debugger_stopped_is_left_alone_and_driven_later(
    site: str, tmp_path: Path
) -> None:
    url = f"{site}/changing.html"
    async with (
        started_chromium(tmp_path, url) as port,
        async_playwright() as playwright,
        open_chromium(cdp=f"http://127.0.0.1:{port}") as browser,
    ):
        watcher = await playwright.chromium.connect_over_cdp(f"http://127.0.0.1:{port}")
        [tab] = watcher.contexts[0].pages
        debugger, paused = await CdpSession.of(tab), asyncio.Event()
        debugger.on("Debugger.paused", lambda _: paused.set())
        await debugger.send("Debugger.enable")
        await tab.evaluate("setTimeout(() => { debugger })")
        await paused.wait()
        with pytest.raises(PageUnreachable) as caught:
            async with open_page(browser, url, tab_limit_ms=1_500):
                raise NotImplementedError
        await debugger.send("Debugger.resume")
        async with open_page(browser, url) as tools:
            names = [tool.name for tool in await tools.list_tools()]
    assert caught.value.reason == (
        "its tab does not answer. A script may be busy there, a dialog open, or a debugger may "
        "have stopped it. Reload it or close it, and try again"
    )
    assert names == ["pay", "start_once"]


async def test_a_tab_with_an_open_dialog_keeps_nobody_waiting(site: str, tmp_path: Path) -> None:
    url = f"{site}/changing.html"
    async with started_chromium(tmp_path, url) as port, async_playwright() as playwright:
        watcher = await playwright.chromium.connect_over_cdp(f"http://127.0.0.1:{port}")
        [tab] = watcher.contexts[0].pages
        dialogs = asyncio.Queue[Dialog]()
        tab.on("dialog", dialogs.put_nowait)
        await tab.evaluate("setTimeout(() => alert('Well?'))")
        dialog = await dialogs.get()
        with pytest.raises(NoBrowser) as caught:
            async with open_chromium(cdp=f"http://127.0.0.1:{port}", attach_limit_ms=2_000):
                raise NotImplementedError
        await dialog.accept()
        async with open_chromium(cdp=f"http://127.0.0.1:{port}") as browser:
            async with open_page(browser, url) as tools:
                names = [tool.name for tool in await tools.list_tools()]
    assert str(caught.value) == keeps_out(port, url, "Changing")
    assert names == ["pay", "start_once"]


async def test_only_tabs_that_do_not_answer_are_named_and_only_a_browser_can_tell(
    site: str, tmp_path: Path
) -> None:
    async with started_chromium(tmp_path, f"{site}/plain.html") as port:
        assert await silent_tabs(f"http://127.0.0.1:{port}") == []
    assert await silent_tabs(f"http://127.0.0.1:{port}") is None
