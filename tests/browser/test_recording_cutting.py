"""What a film shows for how long: waiting made short, pictures kept, changes found, captions."""

from hypothesis import given, strategies as st
from PIL import Image, ImageDraw

from webmcp_agent.browser.recording_changes import changed_boxes
from webmcp_agent.browser.recording_cutting import (
    Picture,
    Reel,
    Shown,
    motion,
    reading_ms,
    speed_text,
    spread,
    wait_ms,
    without_flashes,
)
from webmcp_agent.browser.recording_editor import Shot
from webmcp_agent.browser.recording_picture import clock_text
from webmcp_agent.browser.recording_subtitles import chapters_of, chapters_text, subtitles_text

FULL = b"x" * 1_000


def at(*times: float) -> list[Picture]:
    return [Picture(time, FULL) for time in times]


def test_a_long_wait_is_sped_up_or_cut_and_a_short_one_is_no_scene() -> None:
    waits = (90_000, 700, 100)
    assert [wait_ms(each, "fast") for each in waits] == [1_000, 700, 0]
    assert [wait_ms(each, "cut") for each in waits] == [0, 0, 0]
    assert [wait_ms(each, "real") for each in waits] == [90_000, 700, 100]
    assert [speed_text(90_000, 1_000), speed_text(700, 700), speed_text(700, 0)] == ["×90", "", ""]


def test_a_longer_text_stays_longer_within_bounds() -> None:
    assert [reading_ms("x" * n, 1_000, 3_000) for n in (0, 50, 500)] == [1_000, 1_700, 3_000]


@given(st.lists(st.floats(0, 500), max_size=400))
def test_a_reel_keeps_few_pictures_and_always_the_newest(gaps: list[float]) -> None:
    reel, now = Reel(most=20), 0.0
    for gap in gaps:
        now += gap
        reel.add(Picture(now, FULL))
    times = [picture.at_ms for picture in reel.pictures]
    assert len(times) <= 20
    assert times == sorted(times)
    assert times[-1:] == ([now] if gaps else [])


@given(st.lists(st.floats(1_000, 9_000), min_size=1, max_size=30), st.integers(1, 5_000))
def test_a_stretch_fills_its_film_time_exactly(times: list[float], film_ms: int) -> None:
    shown = spread(at(*sorted(times)), 1_000, 9_000, film_ms)
    before_first_ms = (min(times) - 1_000) * film_ms / 8_000
    assert abs(before_first_ms + sum(each.ms for each in shown) - film_ms) < 0.01


def test_what_moved_is_shown_as_it_was_and_faster_when_it_took_long() -> None:
    assert motion([]) == []
    assert motion(at(500)) == [Shown(at(500)[0], 1)]
    assert [round(each.ms) for each in motion(at(500, 600, 900))] == [100, 299, 1]
    assert round(sum(each.ms for each in motion(at(0, 10_000, 36_000)))) == 1_800


def test_a_document_that_was_not_painted_yet_is_left_out() -> None:
    blank, painted = Picture(100, b"x"), Picture(150, FULL)
    assert without_flashes([*at(0), blank, painted]) == [*at(0), painted]
    # A page that stays so, or that comes last, is what there was to see.
    assert without_flashes([blank, Picture(900, FULL)]) == [blank, Picture(900, FULL)]
    assert without_flashes([*at(0), blank]) == [*at(0), blank]


def page(*marks: tuple[int, int, int, int], noise: int = 0) -> Image.Image:
    shades = Image.linear_gradient("L").resize((640, 360)).point([n // 2 for n in range(256)])
    image = shades.point([min(255, n + noise) for n in range(256)]).convert("RGB")
    draw = ImageDraw.Draw(image)
    for mark in marks:
        draw.rectangle(mark, (250, 190, 250))
    return image


def test_changes_are_found_as_boxes_around_them_and_near_ones_as_one() -> None:
    counter, toast, near = (600, 8, 611, 19), (200, 300, 420, 330), (200, 336, 420, 350)
    found = changed_boxes(page(), page(counter, toast, near))
    assert found == [(200, 296, 424, 352), (600, 8, 616, 24)]


def test_another_page_and_the_noise_of_a_lossy_picture_are_no_change() -> None:
    assert changed_boxes(page(), page((0, 0, 639, 300))) == []
    assert changed_boxes(page(), page(noise=12)) == []


def shots() -> list[Shot]:
    return [
        Shot("title", "Find <b>mugs</b> & more\n--> now", "Request", 0, 2_200, 0),
        Shot("wait", "Thinking", "1 Search", 2_200, 3_000, 900),
        Shot("call", "Search: “mug”", None, 3_000, 4_000, 900),
        Shot("page", "Search: “mug”", None, 4_000, 4_500, 950),
        Shot("end", "", "Done", 4_500, 3_723_004, 950),
    ]


def test_subtitles_say_what_the_captions_say_and_nothing_in_them_is_markup() -> None:
    assert subtitles_text(shots()) == (
        "WEBVTT\n\n"
        "1\n00:00:00.000 --> 00:00:02.200\nFind &lt;b&gt;mugs&lt;/b&gt; &amp; more --&gt; now\n\n"
        "2\n00:00:02.200 --> 00:00:03.000\nThinking\n\n"
        "3\n00:00:03.000 --> 00:00:04.500\nSearch: “mug”\n"
    )


def test_chapters_follow_each_other_to_the_end() -> None:
    found = [(each.from_ms, each.to_ms, each.title) for each in chapters_of(shots())]
    assert found == [
        (0, 2_200, "Request"),
        (2_200, 4_500, "1 Search"),
        (4_500, 3_723_004, "Done"),
    ]
    assert chapters_text(shots()).endswith("3\n00:00:04.500 --> 01:02:03.004\nDone\n")
    assert chapters_text([]) == "WEBVTT\n"


def test_the_clock_shows_minutes_seconds_and_tenths() -> None:
    assert [clock_text(ms) for ms in (-5, 0, 4_260, 61_000, 725_990)] == [
        "0:00.0",
        "0:00.0",
        "0:04.2",
        "1:01.0",
        "12:05.9",
    ]
