import asyncio
from pathlib import Path

import pytest
from playwright.async_api import Browser

from webmcp_agent.browser.incidents import clean_name
from webmcp_agent.browser.launch import open_page
from webmcp_agent.browser.page_tools import PageTools
from webmcp_agent.browser.policy import Policy
from webmcp_agent.browser.tools import JsonObject, ToolFail, ToolOk
from webmcp_agent.providers.abort import AbortSignal

YES = Policy(mode="yes")


async def called(tools: PageTools, name: str, args: JsonObject | None = None) -> ToolOk | ToolFail:
    async with asyncio.timeout(20):
        return await tools.call_tool(name, args or {}, call_id="c1.1", signal=AbortSignal())


async def test_dialogs_are_answered_and_told(chromium: Browser, site: str) -> None:
    async with open_page(chromium, f"{site}/asking.html", policy=YES) as tools:
        answers = [await called(tools, name) for name in ("delete_all", "rename", "warn", "leave")]
        incidents = tools.incidents
    asked = 'The page asked "Really delete all of it?"; the answer was no.'
    named = 'The page asked "Which name?"; no answer was given.'
    said = 'The page said "Low water".'
    stay = "The page asked whether to leave it; the answer was yes."
    assert answers == [
        ToolOk(f"kept\n{asked}", "kept"),
        ToolOk(f"named null\n{named}", "named null"),
        ToolOk(f"warned\n{said}", "warned"),
        ToolOk(f"leaving\n{stay}\nThe page is now /arrived.html.", "leaving", navigated=True),
    ]
    assert incidents == [asked, named, said, stay]


async def test_a_new_tab_is_told_and_not_followed(chromium: Browser, site: str) -> None:
    async with open_page(chromium, f"{site}/asking.html", policy=YES) as tools:
        answer = await called(tools, "open_tab", {"url": f"{site}/plain.html"})
        assert tools.url == f"{site}/asking.html"
        assert len(tools.page.context.pages) == 2
    assert answer == ToolOk(
        f"opened\nThe page opened {site}/plain.html in a new tab; it was not followed.", "opened"
    )


async def test_a_tab_of_another_site_is_closed(
    chromium: Browser, site: str, other_site: str
) -> None:
    async with open_page(chromium, f"{site}/asking.html", policy=YES) as tools:
        answer = await called(tools, "open_tab", {"url": f"{other_site}/plain.html"})
        for tab in tools.page.context.pages[1:]:
            if not tab.is_closed():
                await tab.wait_for_event("close")
    assert answer == ToolOk(
        f"opened\nThe page opened {other_site}/plain.html in a new tab; it was closed.", "opened"
    )


async def test_a_file_is_refused_without_a_folder(chromium: Browser, site: str) -> None:
    async with open_page(chromium, f"{site}/asking.html", policy=YES) as tools:
        answer = await called(tools, "fetch_file")
    assert answer == ToolOk(
        "fetching\n"
        "The page asked whether to leave it; the answer was yes.\n"
        'The page offered the file "prices.csv"; it was not saved.',
        "fetching",
    )


async def test_a_file_is_kept_under_the_given_folder_by_a_clean_name(
    chromium: Browser, site: str, tmp_path: Path
) -> None:
    kept = tmp_path / "files"
    async with open_page(chromium, f"{site}/asking.html", policy=YES, downloads=kept) as tools:
        # A file that a script makes is announced after the call has answered: it is told then,
        # or with the next call.
        texts: list[str] = []
        for _ in range(2):
            async with tools.page.expect_download():
                answer = await called(tools, "export_list")
            assert isinstance(answer, ToolOk)
            texts += answer.text.splitlines()
        answer = await called(tools, "warn")
        assert isinstance(answer, ToolOk)
        texts += answer.text.splitlines()
    assert sorted(path.name for path in kept.iterdir()) == ["evil name_-2.csv", "evil name_.csv"]
    assert (kept / "evil name_.csv").read_text(encoding="utf-8") == "id\n1\n"
    assert [text for text in texts if text.startswith("The page's file")] == [
        'The page\'s file was saved as "evil name_.csv".',
        'The page\'s file was saved as "evil name_-2.csv".',
    ]


async def test_a_file_that_grows_too_large_is_given_up_while_it_comes_in(
    chromium: Browser, site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webmcp_agent.browser.incidents.DOWNLOAD_LIMIT_BYTES", 1_000_000)
    kept = tmp_path / "files"
    async with open_page(chromium, f"{site}/asking.html", policy=YES, downloads=kept) as tools:
        async with tools.page.expect_download() as offered:
            answer = await called(tools, "fetch_endless_file")
        failure = await (await offered.value).failure()
        await called(tools, "warn")
        told = tools.incidents
    assert isinstance(answer, ToolOk)
    assert failure == "canceled"
    assert 'The file "endless.csv" is too large; it was not saved.' in told
    assert not kept.exists()


@pytest.mark.parametrize(
    ("name", "clean"),
    [
        ("prices 2030 (1).csv", "prices 2030 (1).csv"),
        ("../../etc/passwd", "etc_passwd"),
        ("..", "download"),
        ("", "download"),
        (".bashrc", "bashrc"),
        ("a\x00b\nc", "a_b c"),
        ("Größe 漢字.txt", "Größe 漢字.txt"),
        ("C:\\x\\y.txt", "C__x_y.txt"),
        ("x" * 200 + ".csv", "x" * 96 + ".csv"),
    ],
)
def test_a_file_name_leads_nowhere(name: str, clean: str) -> None:
    assert clean_name(name) == clean


async def test_a_move_off_the_site_is_stopped_before_it_asks(
    chromium: Browser, site: str, other_site: str, asked_there: list[str]
) -> None:
    moves = [
        f"{other_site}/plain.html",
        f"/redirect?to={other_site}/plain.html",
        f"{site}@{other_site.removeprefix('http://')}/plain.html",
    ]
    async with open_page(chromium, f"{site}/moves.html", policy=YES) as tools:
        answers = [await called(tools, "go_to", {"url": url}) for url in moves]
        assert tools.url == f"{site}/moves.html"
        assert await called(tools, "stay_within") == ToolOk("tab 2", "tab 2")
    blocked = ToolFail(
        "blocked",
        f"The page wanted to go to {other_site}, which is not allowed, and was kept here; "
        "the tool did not answer.",
        may_have_happened=True,
    )
    assert answers == [blocked] * 3
    assert asked_there == []


async def test_a_tool_that_answered_before_its_move_was_stopped_is_ok(
    chromium: Browser, site: str, other_site: str, asked_there: list[str]
) -> None:
    async with open_page(chromium, f"{site}/moves.html", policy=YES) as tools:
        answer = await called(tools, "answer_and_go_to", {"url": f"{other_site}/plain.html"})
    assert answer == ToolOk(
        f"going\nThe page wanted to go to {other_site}, which is not allowed, and was kept here.",
        "going",
    )
    assert asked_there == []


async def test_an_allowed_origin_may_be_visited_and_used(
    chromium: Browser, site: str, other_site: str
) -> None:
    leave = Policy(mode="yes", origins=(other_site,))
    async with open_page(chromium, f"{site}/moves.html", policy=leave) as tools:
        answer = await called(tools, "answer_and_go_to", {"url": f"{other_site}/arrived.html"})
        listed = await tools.list_tools()
    assert answer == ToolOk("going\nThe page is now /arrived.html.", "going", navigated=True)
    assert [(tool.name, tool.origin) for tool in listed] == [("show_order", other_site)]
