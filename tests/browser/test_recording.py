"""Films of a live page: what is in them, what the page notices, and what nobody may see."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from films import Box, brightness, picture_at, pictures, seen, share_of
from playwright.async_api import Browser
from processes import HAS_PROC, film_makers, started_chromium

from webmcp_agent.browser.launch import open_chromium, open_page
from webmcp_agent.browser.page_tools import PageTools
from webmcp_agent.browser.policy import Policy
from webmcp_agent.browser.recording import Recording, RecordingOptions, open_recording
from webmcp_agent.browser.recording_moments import Act, End, Reply, Row, Title
from webmcp_agent.browser.tools import JsonObject, ToolOk
from webmcp_agent.providers.abort import AbortSignal

PATIENCE_S = 90
WINDOW = (80, 30)
"""Where the page's own corner is in a film."""
QUICK = RecordingOptions(waiting="cut")


@asynccontextmanager
async def filmed(
    browser: Browser, address: str, folder: Path, options: RecordingOptions = QUICK
) -> AsyncGenerator[tuple[PageTools, Recording]]:
    async with (
        asyncio.timeout(PATIENCE_S),
        open_page(browser, address, policy=Policy(mode="yes")) as tools,
        open_recording(lambda: tools.page, folder, options, browser=browser) as recording,
    ):
        recording.title(Title("Request", "Try it"))
        yield tools, recording


async def called(
    tools: PageTools, recording: Recording, name: str, args: JsonObject | None = None
) -> str:
    """A call that the film is told of; returns when the page was painted after it."""
    args = args or {}
    rows = tuple(Row(key, str(value)) for key, value in args.items())
    recording.acts(Act("1", f"{name} now", f"1 {name}", name, rows))
    await tools.list_tools()
    answer = await tools.call_tool(name, args, call_id="c1.1", signal=AbortSignal())
    assert isinstance(answer, ToolOk)
    recording.answers(Reply(True, "answered", "1 ms", answer.text))
    await recording.rested.wait()
    return answer.text


def told(folder: Path) -> list[JsonObject]:
    return json.loads((folder / "video.json").read_text("utf-8"))


def middle(shots: list[JsonObject], kind: str, number: int = 0) -> float:
    """When a shot of a kind has come to rest."""
    shot = [each for each in shots if each["kind"] == kind][number]
    from_ms, to_ms = shot["from_ms"], shot["to_ms"]
    assert isinstance(from_ms, int)
    assert isinstance(to_ms, int)
    return from_ms + 0.8 * (to_ms - from_ms)


def on_page(left: int, top: int, right: int, bottom: int) -> Box:
    return (left + WINDOW[0], top + WINDOW[1], right + WINDOW[0], bottom + WINDOW[1])


COUNT = on_page(1105, 45, 1130, 65)


def is_blue(red: int, green: int, blue: int) -> bool:
    return blue > 100 and red < 70 and green < 100


async def test_a_film_shows_what_changed_and_leaves_all_that_belongs_to_it(
    chromium: Browser, site: str, tmp_path: Path
) -> None:
    options = RecordingOptions(waiting="cut", color="#ff00c8", gif=True, trace=True)
    async with filmed(chromium, f"{site}/filmed.html", tmp_path, options) as (tools, recording):
        await called(tools, recording, "count")
        recording.ends(End("Done", "Counted once"))
    assert recording.trouble is None
    assert sorted(os.listdir(tmp_path)) == [
        "storyboard.html", "storyboard.png", "trace.zip", "video.chapters.vtt", "video.gif",
        "video.json", "video.mp4", "video.png", "video.vtt",
    ]  # fmt: skip
    shots = told(tmp_path)
    film = seen(tmp_path / "video.mp4")
    assert (film.size, film.rate, film.title) == ((1440, 900), 30, "Try it")
    assert film.chapters == [
        (shots[number]["from_ms"], title)
        for number, title in ((0, "Request"), (1, "1 count"), (-1, "Done"))
    ]
    assert [shot["kind"] for shot in shots] == ["title", "call", "page", "answer", "end"]
    (answer,) = [shot for shot in shots if shot["kind"] == "answer"]
    changed = answer["changed"]
    assert isinstance(changed, list)
    assert changed == [[1096, 40, 1160, 72]]
    before, after = (
        share_of(picture_at(tmp_path / "video.mp4", middle(shots, kind)), COUNT, is_blue)
        for kind in ("call", "answer")
    )
    assert (before, after > 0.7) == (0.0, True)
    # The brand's colour is on the cards, and around what changed.
    for kind in ("title", "call", "answer", "end"):
        picture = picture_at(tmp_path / "video.mp4", middle(shots, kind))
        assert share_of(picture, (0, 0, *film.size), is_pink) > 0.0005, kind


def is_pink(red: int, green: int, blue: int) -> bool:
    return red > 200 and green < 90 and 130 < blue < 240


async def test_a_page_notices_nothing_of_being_filmed(
    chromium: Browser, site: str, tmp_path: Path
) -> None:
    """Sharp stills and places of secrets are the ways of looking that do most."""
    looked: list[str] = []
    async with open_page(chromium, f"{site}/filmed.html", policy=Policy(mode="yes")) as tools:
        for name in ("count", "noticed"):
            await tools.list_tools()
            answer = await tools.call_tool(name, {}, call_id="c1.1", signal=AbortSignal())
            assert isinstance(answer, ToolOk)
        looked.append(answer.text)
        tabs = len(tools.page.context.pages)
    options = RecordingOptions(waiting="cut", scale=2, secrets=("nowhere",))
    async with filmed(chromium, f"{site}/filmed.html", tmp_path, options) as (tools, recording):
        await called(tools, recording, "count")
        looked.append(await called(tools, recording, "noticed"))
        assert len(tools.page.context.pages) == tabs
    assert looked[0] == looked[1]
    assert seen(tmp_path / "video.mp4").size == (2880, 1800)


async def test_secrets_are_painted_over_and_masked_wherever_they_are(
    chromium: Browser, site: str, tmp_path: Path
) -> None:
    secret = "tarn-4711"
    options = RecordingOptions(
        waiting="cut", secrets=(secret,), mask=lambda text: text.replace(secret, "{KEY}")
    )
    async with filmed(chromium, f"{site}/filmed.html", tmp_path, options) as (tools, recording):
        await called(tools, recording, "fill", {"text": secret})
        recording.ends(End("Done", f"I filled in {secret}."))
    shots = told(tmp_path)
    picture = picture_at(tmp_path / "video.mp4", middle(shots, "page"))
    for top in (200, 300, 400):
        place = on_page(106, top + 6, 180, top + 24)
        assert brightness(picture, place) < 40, top
    # Nothing between the shots shows it either: a field is as it was, or black.
    for at, each in pictures(tmp_path / "video.mp4"):
        place = on_page(104, 206, 190, 232)
        share = share_of(each, place, lambda red, green, blue: 40 < max(red, green, blue) < 110)
        assert share < 0.6 or _fades(shots, at), at
    for name in ("video.vtt", "video.json", "storyboard.html", "video.chapters.vtt"):
        text = (tmp_path / name).read_text("utf-8")
        assert secret not in text, name
    assert "{KEY}" in (tmp_path / "video.vtt").read_text("utf-8")


def _fades(shots: list[JsonObject], at: int) -> bool:
    starts = [shot["from_ms"] for shot in shots]
    return any(isinstance(start, int) and start - 40 <= at <= start + 340 for start in starts)


async def test_a_film_goes_on_over_navigations_other_sites_and_popups(
    chromium: Browser, site: str, neighbour: str, tmp_path: Path
) -> None:
    policy = Policy(mode="yes", origins=(neighbour,))
    async with (
        asyncio.timeout(PATIENCE_S),
        open_page(chromium, f"{site}/plain.html", policy=policy) as tools,
        open_recording(lambda: tools.page, tmp_path, QUICK, browser=chromium) as recording,
    ):
        recording.title(Title("Request", "Try it"))
        await tools.page.goto(f"{neighbour}/filmed.html")
        await called(tools, recording, "open_tab", {"url": f"{neighbour}/plain.html"})
        await called(tools, recording, "count")
        recording.ends(End("Done", "Counted"))
    assert recording.trouble is None
    shots = told(tmp_path)
    after = picture_at(tmp_path / "video.mp4", middle(shots, "answer", 1))
    assert share_of(after, COUNT, is_blue) > 0.7


async def test_an_attached_browser_is_filmed_without_a_tab_or_window_more(
    site: str, tmp_path: Path
) -> None:
    folder = tmp_path / "film"
    folder.mkdir()
    async with (
        asyncio.timeout(PATIENCE_S),
        started_chromium(tmp_path / "profile", f"{site}/filmed.html") as port,
        open_chromium(cdp=f"http://127.0.0.1:{port}") as browser,
        open_page(browser, f"{site}/filmed.html", policy=Policy(mode="yes")) as tools,
        open_recording(lambda: tools.page, folder, QUICK) as recording,
    ):
        recording.title(Title("Request", "Try it"))
        # Its window is as small as it likes: only what changes at the left is seen to change.
        await called(tools, recording, "fill", {"text": "seen"})
        assert (len(browser.contexts), len(tools.page.context.pages)) == (1, 1)
    assert [shot["kind"] for shot in told(folder)] == ["title", "call", "page", "answer"]


async def test_a_film_of_a_browser_that_goes_away_keeps_what_it_had_and_still_ends(
    site: str, tmp_path: Path
) -> None:
    async with asyncio.timeout(PATIENCE_S), open_chromium() as browser:
        async with open_page(browser, f"{site}/filmed.html", policy=Policy(mode="yes")) as tools:
            async with open_recording(
                lambda: tools.page, tmp_path, QUICK, browser=browser
            ) as recording:
                recording.title(Title("Request", "Try it"))
                await called(tools, recording, "count")
                await browser.close()
                recording.ends(End("Unavailable", "The browser is gone."))
    assert recording.trouble is None
    assert [shot["kind"] for shot in told(tmp_path)][-2:] == ["answer", "end"]


async def test_a_full_disk_ends_the_film_and_nothing_else(
    chromium: Browser, site: str, tmp_path: Path
) -> None:
    async with filmed(chromium, f"{site}/filmed.html", tmp_path) as (tools, recording):
        # Nothing is drawn in the first seconds: the film is not there yet.
        (tmp_path / "video.mp4").symlink_to("/dev/full")
        assert await called(tools, recording, "count") == "counted"
        assert await called(tools, recording, "count") == "counted"
        recording.ends(End("Done", "Counted twice"))
    assert recording.trouble is not None
    assert "No space left on device" in recording.trouble


@pytest.mark.skipif(not HAS_PROC, reason="needs /proc")
async def test_a_film_whose_process_is_gone_ends_and_nothing_else(
    chromium: Browser, site: str, tmp_path: Path
) -> None:
    async with filmed(chromium, f"{site}/filmed.html", tmp_path) as (tools, recording):
        assert await called(tools, recording, "count") == "counted"
        (maker,) = film_makers(os.getpid())
        os.kill(maker, signal.SIGKILL)
        assert await called(tools, recording, "count") == "counted"
        recording.ends(End("Done", "Counted twice"))
    assert recording.trouble == "the process that makes the film ended"


async def test_a_film_of_a_task_that_is_cancelled_ends_where_it_is_or_never_was(
    chromium: Browser, site: str, tmp_path: Path
) -> None:
    begun = asyncio.Event()

    async def work() -> None:
        async with filmed(chromium, f"{site}/filmed.html", tmp_path) as (tools, recording):
            await called(tools, recording, "count")
            begun.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    async with asyncio.timeout(PATIENCE_S):
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    left = [name for name in os.listdir(tmp_path) if name.endswith(".mp4")]
    assert left in ([], ["video.mp4"])
    assert all(seen(tmp_path / name).frames >= 1 for name in left)
