"""Films that `run` and `test` leave: decoded, and held against what the run itself wrote."""

import json
import os
import shutil
import signal
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from command_line import COMMAND, Ended, command, script
from films import brightness, differs, pictures, seen
from PIL import Image
from playwright.async_api import Browser
from processes import HAS_PROC, film_makers, wait_until_gone
from pydantic import JsonValue

from webmcp_agent.agent.stream import ToolCall, ToolError, ToolResult, part_from_json
from webmcp_agent.agent.tool_calls import write_call
from webmcp_agent.agent.wording import gist
from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.errors import WrongUsage
from webmcp_agent.scenarios.film import answer_text, caption_of, read_film, words_of

TASK = "Find a “blue” mug & open it"
SEARCH = write_call("search_products", {"query": "mug", "max_price": 100}, "tags")
OPEN = write_call("open_product", {"id": "no-such-thing"}, "tags")
SAID = "There are mugs, but not this one."
CARDS = {"title", "call", "answer", "end"}


def filmed(folder: Path, *options: str, replies: tuple[str, ...] = (OPEN, SEARCH, SAID)) -> Ended:
    return command(
        "run", "shop:", TASK, "--yes", "--json", "--out", "out", "--record", "on",
        "--model", script(folder, *replies), *options, cwd=folder, patience_s=300,
    )  # fmt: skip


def shots_of(folder: Path) -> list[JsonObject]:
    return json.loads((folder / "video.json").read_text("utf-8"))


def number(value: JsonValue) -> int:
    assert isinstance(value, int)
    return value


def cues_of(path: Path) -> list[tuple[str, str]]:
    """Times and text of each cue of a WebVTT file."""
    header, *blocks = path.read_text("utf-8").strip().split("\n\n")
    assert header == "WEBVTT"
    cues = [block.split("\n") for block in blocks]
    assert [cue[0] for cue in cues] == [str(n) for n in range(1, len(cues) + 1)]
    return [(cue[1], cue[2]) for cue in cues]


def time_text(ms: int) -> str:
    return f"00:{ms // 60_000:02}:{ms // 1000 % 60:02}.{ms % 1000:03}"


@pytest.fixture(scope="module")
def film_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a filmed run of the demo shop leaves."""
    folder = tmp_path_factory.mktemp("film")
    ended = filmed(folder, "--film", "gif=on")
    assert (ended.code, "film" in ended.out) == (0, False), ended.err
    return folder / "out"


def test_the_film_has_the_size_rate_and_length_that_its_storyboard_says(film_folder: Path) -> None:
    film, shots = seen(film_folder / "video.mp4"), shots_of(film_folder)
    assert (film.size, film.rate, film.title) == ((1440, 900), 30, TASK)
    planned_ms = number(shots[-1]["to_ms"])
    assert abs(film.duration_ms - planned_ms) <= 0.05 * planned_ms
    assert abs(film.frames * 1000 / 30 - film.duration_ms) <= 34
    # The shots follow each other without a gap.
    assert [shot["to_ms"] for shot in shots[:-1]] == [shot["from_ms"] for shot in shots[1:]]
    assert shots[0]["from_ms"] == 0


def test_cards_chapters_and_subtitles_say_what_the_stream_says(film_folder: Path) -> None:
    lines = (film_folder / "parts.jsonl").read_text("utf-8").splitlines()
    parts = [part_from_json(line) for line in lines]
    calls = [part for part in parts if isinstance(part, ToolCall)]
    answers = [
        f"✓ {answer_text(part.text)}" if isinstance(part, ToolResult) else f"✗ {part.error}"
        for part in parts
        if isinstance(part, ToolResult | ToolError)
    ]
    assert len(calls) == len(answers) == 2
    shots = shots_of(film_folder)
    assert [shot["caption"] for shot in shots if shot["kind"] == "title"] == [TASK]
    assert [shot["caption"] for shot in shots if shot["kind"] == "call"] == [
        caption_of(call.name, call.args) for call in calls
    ]
    assert [shot["caption"] for shot in shots if shot["kind"] == "answer"] == answers
    assert [shot["caption"] for shot in shots if shot["kind"] == "end"] == [SAID]

    chapters = seen(film_folder / "video.mp4").chapters
    assert [title for _, title in chapters] == [
        "Request", "1 Open product", "2 Search products", "Done",
    ]  # fmt: skip
    assert chapters == [
        (number(shot["from_ms"]), shot["chapter"]) for shot in shots if shot["chapter"]
    ]
    ends = [*(at for at, _ in chapters[1:]), number(shots[-1]["to_ms"])]
    assert cues_of(film_folder / "video.chapters.vtt") == [
        (f"{time_text(at)} --> {time_text(end)}", title)
        for (at, title), end in zip(chapters, ends, strict=True)
    ]

    said = [text for _, text in cues_of(film_folder / "video.vtt")]
    assert said[0] == TASK.replace("&", "&amp;")
    assert [text for text in said if text in answers] == answers
    assert said[-1] == SAID


def test_nothing_is_black_and_only_cards_stand_still_for_long(film_folder: Path) -> None:
    shots = shots_of(film_folder)
    films = list(pictures(film_folder / "video.mp4"))
    still_ms = 0
    for (_, before), (at, now) in pairwise(films):
        assert brightness(now, (0, 0, *now.size)) > 60, at
        kind = next(shot["kind"] for shot in shots if at < number(shot["to_ms"]) + 34)
        still_ms = 0 if kind in CARDS or differs(before, now) else still_ms + 33
        assert still_ms <= 2_000, at


def test_a_card_lies_over_the_page_while_a_call_is_told_of(film_folder: Path) -> None:
    shots = shots_of(film_folder)
    call = next(shot for shot in shots if shot["kind"] == "call")
    films = dict(pictures(film_folder / "video.mp4"))
    rested = min(films, key=lambda at: abs(at - number(call["to_ms"]) + 100))
    picture = films[rested]
    # White where the card is, grey where the page steps back behind it.
    assert brightness(picture, (740, 690, 1330, 715)) > 250
    assert brightness(picture, (300, 110, 380, 130)) < 190


def test_poster_storyboard_and_gif_lie_beside_the_film(film_folder: Path) -> None:
    for name, size in (("video.png", (1440, 900)), ("video.gif", (800, 500))):
        with Image.open(film_folder / name) as image:
            assert image.size == size, name
    with Image.open(film_folder / "storyboard.png") as image:
        # A title, two answers and the end, two beside each other.
        assert image.size == (2 * 960 + 3 * 24, 2 * 600 + 3 * 24)
    assert (film_folder / "video.gif").stat().st_size < 3_000_000
    with Image.open(film_folder / "video.gif") as gif:
        length_ms = 0
        for frame in range(getattr(gif, "n_frames", 1)):
            gif.seek(frame)
            length_ms += gif.info["duration"]
    assert abs(length_ms - seen(film_folder / "video.mp4").duration_ms) <= 500
    for name in os.listdir(film_folder):
        assert (film_folder / name).stat().st_mode & 0o777 == 0o600, name


async def test_the_page_of_a_storyboard_plays_the_film_with_its_captions(
    film_folder: Path, chromium: Browser
) -> None:
    page = await chromium.new_page()
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    await page.goto((film_folder / "storyboard.html").as_uri())
    cues = await page.evaluate("""async () => {
        const [video, track] = ['video', 'track'].map((name) => document.querySelector(name));
        video.textTracks[0].mode = 'hidden';
        const loaded = new Promise((done, failed) => {
            track.addEventListener('load', done); track.addEventListener('error', failed); });
        if (track.readyState < 2) await loaded;
        return [...video.textTracks[0].cues].map((cue) => cue.text);
    }""")
    images = await page.locator("figure img").evaluate_all(
        "images => images.map((image) => image.complete && image.naturalWidth)"
    )
    await page.close()
    assert cues == [text for _, text in cues_of(film_folder / "video.vtt")]
    assert images == [1440] * 4
    assert refused == []


def test_only_what_did_not_succeed_is_retained_on_failure(tmp_path: Path) -> None:
    options = ("--film", "waiting=cut", "--record", "retain-on-failure")
    assert filmed(tmp_path, *options, replies=("Hello.",)).code == 0
    assert not [name for name in os.listdir(tmp_path / "out") if name.startswith(("video", "st"))]
    failed = filmed(tmp_path, *options, replies=(OPEN, "I could not."))
    assert failed.code == 1
    assert seen(tmp_path / "out" / "video.mp4").chapters[-1][1] == "Done"


def waiting(folder: Path) -> "subprocess.Popen[str]":
    """A filmed run whose second call never ends."""
    page = folder / "page.html"
    page.write_text(
        """<!doctype html><title>Slow</title><h1>Slow</h1><script>
        const add = (name, execute) => document.modelContext.registerTool(
          { name, description: name, execute });
        add('greet', () => 'hello');
        add('wait', () => new Promise(() => {}));</script>""",
        encoding="utf-8",
    )
    replies = script(folder, write_call("greet", {}, "tags"), write_call("wait", {}, "tags"))
    return subprocess.Popen(
        [*COMMAND, "run", str(page), "Wait", "--yes", "--json", "--out", "out",
         "--record", "on", "--model", replies],
        cwd=folder, stdout=subprocess.PIPE, start_new_session=True, encoding="utf-8",
    )  # fmt: skip


def test_a_run_that_is_killed_with_all_it_started_leaves_a_film_that_can_be_played(
    tmp_path: Path,
) -> None:
    film, copy = tmp_path / "out" / "video.mp4", tmp_path / "copy.mp4"
    with waiting(tmp_path) as running:
        assert running.stdout is not None
        # Only the second call is still under way when this line comes.
        next(line for line in running.stdout if '"wait"' in line)
        grown(film)
        for pid in (running.pid, *film_makers(running.pid)):
            os.kill(pid, signal.SIGKILL)
    shutil.copy(film, copy)
    assert seen(copy).frames >= 30


@pytest.mark.skipif(not HAS_PROC, reason="needs /proc")
async def test_a_film_is_finished_when_the_run_is_killed(tmp_path: Path) -> None:
    """All that was told by then is in it, though nothing of it may have been drawn."""
    with waiting(tmp_path) as running:
        assert running.stdout is not None
        next(line for line in running.stdout if '"wait"' in line)
        alone = film_makers(running.pid)
        os.killpg(running.pid, signal.SIGKILL)
        await wait_until_gone(alone)
    assert len(alone) == 1
    shots = shots_of(tmp_path / "out")
    assert [shot["caption"] for shot in shots if shot["kind"] in {"title", "call"}] == [
        "Wait", "Greet", "Wait",
    ]  # fmt: skip
    assert [title for _, title in seen(tmp_path / "out" / "video.mp4").chapters] == [
        "Request", "1 Greet", "2 Wait",
    ]  # fmt: skip


def grown(film: Path) -> None:
    """Return when there is more than the first second of a film: it is read as it grows."""
    with subprocess.Popen(
        ["tail", "-n", "+1", "-F", "--retry", str(film)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as tail:
        assert tail.stdout is not None
        fragments = 0
        held = b""
        while fragments < 4 and (data := tail.stdout.read(2_000)):
            held = held[-3:] + data
            fragments += held.count(b"moof")
        tail.kill()


def test_without_the_extra_a_film_is_refused_before_anything_begins(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['av'] = None\n", "utf-8")
    without = {"PYTHONPATH": str(tmp_path)}
    arguments = ("run", "shop:", TASK, "--model", script(tmp_path, SAID), "--out", "out")
    ended = command(*arguments, "--record", "on", cwd=tmp_path, env=without)
    assert (ended.code, ended.out) == (3, "")
    assert ended.err == 'Error: A film needs av: pip install "webmcp-agent[record]"\n'
    assert not (tmp_path / "out").exists()
    assert command(*arguments, cwd=tmp_path, env=without).code == 0


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("speed=2", "it is one of waiting=fast|cut|real"),
        ("theme", "it is one of waiting=fast|cut|real"),
        ("theme=blue", "write theme=light|dark"),
        ("color=red", "write color=#rrggbb"),
        ("logo=/no/such.png", "No such file"),
        ("logo=/etc/hostname", "is no picture"),
    ],
)
def test_an_option_of_a_film_that_is_none_says_what_there_is(option: str, says: str) -> None:
    with pytest.raises(WrongUsage) as refused:
        read_film("on", [option])
    assert says in str(refused.value)
    assert str(refused.value).startswith(f"--film {option}: ")


def test_a_trace_is_refused_where_there_are_secrets(tmp_path: Path) -> None:
    ended = command(
        "run", "shop:", "{KEY}", "--secret", "KEY", "--record", "on", "--film", "trace=on",
        cwd=tmp_path, env={"KEY": "tarn-4711"},
    )  # fmt: skip
    assert (ended.code, "trace" in ended.err) == (2, True)


def test_captions_say_in_words_what_a_call_does() -> None:
    named = ["search_products", "searchProducts", "get-URL", "cart.add item", "x", "__"]
    assert [words_of(name) for name in named] == [
        "Search products", "Search products", "Get URL", "Cart add item", "X", "__",
    ]  # fmt: skip
    assert caption_of("search_products", {"query": "blue\nmug", "max_price": 20, "sale": True}) == (
        "Search products: “blue mug”, max price 20, sale yes"
    )
    assert caption_of("set", {"tags": ["a"], "note": "", "n": 1}) == "Set: n 1"
    assert caption_of("list_categories", {}) == "List categories"


def test_answers_are_told_in_short() -> None:
    assert [answer_text(text) for text in (
        '{"title": "Blue mug", "in_cart": 2, "total": 19.5}',
        '{"message": "Added.", "in_cart": 2}',
        '{"results": [{"title": "Blue mug"}, {"title": "Red mug"}], "total": 2}',
        "Opening Blue mug.", "{}", "[[[",
    )] == [
        "title: Blue mug, in cart: 2, total: 19.5",
        "Added.",
        "2 results: Blue mug, Red mug",
        "Opening Blue mug.", gist("{}"), "[[[",
    ]  # fmt: skip


def test_each_case_of_a_test_has_a_film_of_its_own_and_only_failed_ones_are_retained(
    tmp_path: Path,
) -> None:
    """Two requests of a conversation are two titles of one film."""
    cases = tmp_path / "cases"
    cases.mkdir()
    for name, answer in (("right", "mugs"), ("wrong", "lamps")):
        (cases / f"{name}.scenario.yaml").write_text(
            f"""
start: "shop:"
requests: [Find a mug, And now]
checks:
  answer: {{contains: {answer}}}
""",
            encoding="utf-8",
        )
    replies = script(tmp_path, *[SEARCH, "Found.", "There are mugs."] * 2)
    ended = command(
        "test", "cases", "--yes", "--json", "--model", replies, "--record", "retain-on-failure",
        "--film", "waiting=cut", cwd=tmp_path, patience_s=300,
    )  # fmt: skip
    assert ended.code == 1, ended.err
    folders = {
        str(line["case"]): Path(str(line["out"]))
        for line in ended.json_lines()
        if isinstance(line, dict) and "case" in line
    }
    films = {name: (tmp_path / folder / "video.mp4") for name, folder in folders.items()}
    assert {name: film.exists() for name, film in films.items()} == {"right": False, "wrong": True}
    assert [title for _, title in seen(films["wrong"]).chapters] == [
        "Request", "1 Search products", "Done", "Request 2", "Done",
    ]  # fmt: skip
