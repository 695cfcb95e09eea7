import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.async_api import Browser
from processes import HAS_PROC, is_running, kill, started_chromium

from webmcp_agent.browser.cdp import CdpSession
from webmcp_agent.browser.errors import NoBrowser, PageUnreachable
from webmcp_agent.browser.launch import find_chromium, open_chromium, open_page
from webmcp_agent.browser.policy import Policy
from webmcp_agent.browser.tools import ToolOk
from webmcp_agent.providers.abort import AbortSignal


def make_executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\nexit 7\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_the_newest_chromium_of_playwright_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "own"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert find_chromium() is None
    chrome = make_executable(tmp_path / "bin" / "google-chrome")
    assert find_chromium() == chrome
    system = make_executable(tmp_path / "bin" / "chromium")
    assert find_chromium() == system
    make_executable(tmp_path / "own" / "chromium-999" / "chrome-linux" / "chrome")
    newest = make_executable(tmp_path / "own" / "chromium-1200" / "chrome-linux64" / "chrome")
    assert find_chromium() == newest
    assert find_chromium("chrome") == chrome


def test_a_browser_can_be_a_path_a_command_or_a_channel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    mine = make_executable(tmp_path / "bin" / "my-chromium")
    assert find_chromium(str(mine)) == mine
    assert find_chromium("my-chromium") == mine
    assert find_chromium("msedge") is None
    assert find_chromium(str(tmp_path)) is None


async def test_no_browser_says_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    with pytest.raises(NoBrowser, match=r"no browser 'nonesuch'\. .*playwright install chromium"):
        async with open_chromium(browser="nonesuch"):
            raise NotImplementedError


async def test_a_browser_that_does_not_start_is_named(tmp_path: Path) -> None:
    broken = make_executable(tmp_path / "broken")
    with pytest.raises(NoBrowser, match="broken did not start: "):
        async with open_chromium(browser=str(broken)):
            raise NotImplementedError


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands in for the browser")
async def test_no_feature_that_playwright_switches_is_switched_back(tmp_path: Path) -> None:
    told = tmp_path / "arguments"
    noting = make_executable(tmp_path / "noting")
    noting.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >{told}\nexit 7\n', encoding="utf-8")
    with pytest.raises(NoBrowser):
        async with open_chromium(browser=str(noting)):
            raise NotImplementedError
    lines = told.read_text(encoding="utf-8").splitlines()
    for switch in ("--enable-features=", "--disable-features="):
        theirs, ours = (
            set(line.removeprefix(switch).split(",")) for line in lines if line.startswith(switch)
        )
        assert theirs - ours == set()


async def test_a_page_comes_without_pages_of_the_browsers_own(chromium: Browser, site: str) -> None:
    async with open_page(chromium, f"{site}/plain.html") as tools:
        cdp = await CdpSession.of(tools.page)
        every = await cdp.send("Target.getTargets", {"filter": [{}]})
        addresses = [target["url"] for target in every["targetInfos"]]
        assert tools.url in addresses
        assert [address for address in addresses if address.startswith("chrome:")] == []


async def test_nobody_at_a_debugging_address_is_said(site: str) -> None:
    with pytest.raises(NoBrowser, match=f"No browser answers at {site}: "):
        async with open_chromium(cdp=site):
            raise NotImplementedError


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/nowhere.html", "the server answered 404 Not Found"),
        ("/empty", "it is no page (a download, or no content)"),
        ("/file/prices.csv", "it is no page (a download, or no content)"),
    ],
)
async def test_an_address_without_a_page_is_unreachable(
    chromium: Browser, site: str, path: str, reason: str
) -> None:
    with pytest.raises(PageUnreachable) as caught:
        async with open_page(chromium, site + path):
            raise NotImplementedError
    assert (caught.value.url, caught.value.reason) == (site + path, reason)


async def test_an_address_that_nobody_answers_is_unreachable(chromium: Browser) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/"
        with pytest.raises(PageUnreachable) as caught:
            async with open_page(chromium, url):
                raise NotImplementedError
    assert str(caught.value) == f"{url} could not be opened: nothing answers there"


@pytest.mark.parametrize(
    "url", ["about:blank", "chrome://settings", "view-source:http://x/", "ftp://x/", "javascript:1"]
)
async def test_other_schemes_are_not_opened(chromium: Browser, url: str) -> None:
    with pytest.raises(PageUnreachable, match="only http, https and file addresses"):
        async with open_page(chromium, url):
            raise NotImplementedError


async def test_a_page_that_does_not_come_is_given_up(
    chromium: Browser, site: str, release: object
) -> None:
    with pytest.raises(PageUnreachable, match="it did not come within 0.2 s"):
        async with open_page(chromium, f"{site}/held/plain.html", load_timeout_ms=200):
            raise NotImplementedError


async def test_each_page_has_a_context_of_its_own_and_leaves_none(
    chromium: Browser, site: str
) -> None:
    before = len(chromium.contexts)
    async with open_page(chromium, f"{site}/plain.html") as first:
        await first.page.evaluate("localStorage.left = 'here'")
        async with open_page(chromium, f"{site}/plain.html") as second:
            assert await second.page.evaluate("localStorage.left") is None
    assert len(chromium.contexts) == before


async def test_a_redirected_start_page_is_the_start_page(
    chromium: Browser, site: str, other_site: str
) -> None:
    url = f"{site}/redirect?to={other_site}/arrived.html"
    async with open_page(chromium, url, policy=Policy(mode="yes")) as tools:
        answer = await tools.call_tool("show_order", {}, call_id="c1.1", signal=AbortSignal())
    assert answer == ToolOk("orders: 0", "orders: 0")


async def test_an_attached_browser_keeps_its_pages_and_goes_on(site: str, tmp_path: Path) -> None:
    async with started_chromium(tmp_path, f"{site}/plain.html") as port:
        async with open_chromium(cdp=f"http://127.0.0.1:{port}") as browser:
            [context] = browser.contexts
            async with open_page(
                browser, f"{site}/arrived.html", policy=Policy(mode="yes")
            ) as tools:
                assert tools.page.context == context
                assert [tool.name for tool in await tools.list_tools()] == ["show_order"]
            assert [page.url for page in context.pages] == [f"{site}/plain.html"]
        async with open_chromium(cdp=f"http://127.0.0.1:{port}") as browser:
            assert [page.url for page in browser.contexts[0].pages] == [f"{site}/plain.html"]


async def test_a_tab_that_is_open_already_is_driven_as_it_is(site: str, tmp_path: Path) -> None:
    async with started_chromium(tmp_path, f"{site}/changing.html") as port:
        async with open_chromium(cdp=f"http://127.0.0.1:{port}") as browser:
            [tab] = browser.contexts[0].pages
            await tab.evaluate("window.here = 'as the person left it'")
            url = f"{site}/changing.html#below"
            async with open_page(browser, url, policy=Policy(mode="yes")) as tools:
                assert tools.page == tab
                assert [tool.name for tool in await tools.list_tools()] == ["pay", "start_once"]
                paid = await tools.call_tool("pay", {}, call_id="c1.1", signal=AbortSignal())
            assert await tab.evaluate("[window.here, sent]") == ["as the person left it", [{}]]
    assert paid == ToolOk("paid", "paid")


def tables_in(folder: Path) -> list[Path]:
    return list(folder.rglob("*.csv"))


async def test_files_of_an_attached_browser_land_in_the_given_folder_only(
    site: str, tmp_path: Path
) -> None:
    kept = tmp_path / "files"
    async with (
        started_chromium(tmp_path / "profile") as port,
        open_chromium(cdp=f"http://127.0.0.1:{port}") as browser,
    ):
        for downloads in (kept, None):
            async with open_page(
                browser, f"{site}/asking.html", policy=Policy(mode="yes"), downloads=downloads
            ) as tools:
                async with tools.page.expect_download() as offered:
                    await tools.call_tool("export_list", {}, call_id="c1", signal=AbortSignal())
                await (await offered.value).failure()
                await tools.call_tool("warn", {}, call_id="c2", signal=AbortSignal())
    assert tables_in(tmp_path) == [kept / "evil name_.csv"]


HOLDS_A_BROWSER = """
import asyncio
from webmcp_agent.browser.launch import open_chromium, open_page

async def main():
    async with open_chromium() as browser:
        cdp = await browser.new_browser_cdp_session()
        async with open_page(browser, {url!r}):
            running = await cdp.send("SystemInfo.getProcessInfo")
            print(*(each["id"] for each in running["processInfo"]), flush=True)
            await asyncio.Event().wait()

asyncio.run(main())
"""


def interrupt_group(pid: int) -> None:
    """As a terminal does on Ctrl-C."""
    os.killpg(pid, signal.SIGINT)


@pytest.mark.skipif(not HAS_PROC, reason="reads processes from /proc")
@pytest.mark.parametrize(
    "end", [pytest.param(interrupt_group, id="Ctrl-C"), pytest.param(kill, id="killed")]
)
async def test_no_process_outlives_its_owner(site: str, end: Callable[[int], None]) -> None:
    owner = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOLDS_A_BROWSER.format(url=f"{site}/plain.html"),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert owner.stdout is not None
    async with asyncio.timeout(60):
        started = [int(pid) for pid in (await owner.stdout.readline()).split()]
        assert started
        assert all(is_running(pid) for pid in started)
        end(owner.pid)
        # Every one of them holds the pipe of errors: it ends with the last one.
        assert owner.stderr is not None
        await owner.stderr.read()
        await owner.wait()
    assert [pid for pid in started if is_running(pid)] == []
