"""Films on disk: what a player reads back, also of one that was never finished."""

import shutil
from pathlib import Path

import pytest
from films import seen
from PIL import Image

from webmcp_agent.browser.recording_encoder import (
    CODECS,
    H264,
    Chapter,
    Codec,
    FilmFile,
    find_codec,
    seal,
)
from webmcp_agent.browser.recording_gif import write_gif

SIZE = (320, 200)
EACH = pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name)


def color(number: int) -> Image.Image:
    return Image.new("RGB", SIZE, (number * 25 % 256, 120, 255 - number * 25 % 256))


def filmed(path: Path, codec: Codec, *, seconds: int) -> FilmFile:
    film = FilmFile(path, SIZE, codec)
    for number in range(seconds):
        film.write(color(number), 20)
        film.hold(10)
    return film


@EACH
def test_a_film_has_its_size_rate_length_title_and_chapters(codec: Codec, tmp_path: Path) -> None:
    path = tmp_path / f"film{codec.suffix}"
    filmed(path, codec, seconds=6).close()
    seal(path, codec, "Zwei Schuhe ✓", [Chapter(0, 2_000, "Anfang"), Chapter(2_000, 6_000, "Ende")])
    film = seen(path)
    assert (film.size, film.rate, film.frames) == (SIZE, 30, 180)
    assert abs(film.duration_ms - 6_000) <= 34
    assert (film.title, film.chapters) == ("Zwei Schuhe ✓", [(0, "Anfang"), (2_000, "Ende")])
    # A player may begin before it has all: the index stands before the pictures.
    data = path.read_bytes()
    assert codec is not H264 or 0 < data.find(b"moov") < data.find(b"mdat")
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


@EACH
def test_what_is_on_disk_of_an_unfinished_film_can_be_played(codec: Codec, tmp_path: Path) -> None:
    film = filmed(tmp_path / f"film{codec.suffix}", codec, seconds=6)
    # What is there now is what a killed program leaves.
    left = tmp_path / f"left{codec.suffix}"
    shutil.copy(film.path, left)
    film.close()
    assert 6 * 30 - 20 <= seen(left).frames <= 6 * 30


def test_a_full_disk_is_an_error_and_not_the_end_of_the_program(tmp_path: Path) -> None:
    for codec in CODECS:
        path = tmp_path / f"film{codec.suffix}"
        path.symlink_to("/dev/full")
        film = FilmFile(path, SIZE, codec)
        with pytest.raises(OSError, match="No space left on device"):
            film.write(color(1), 300)
        with pytest.raises(OSError, match="No space left on device"):
            film.close()


def test_where_there_is_no_h264_the_film_is_a_vp9_webm() -> None:
    nothing = Codec("no-such-encoder", ".mp4", {}, {})
    assert find_codec() == H264
    assert find_codec([nothing, *CODECS[1:]]).suffix == ".webm"
    with pytest.raises(ValueError, match="no-such-encoder"):
        find_codec([nothing])


def test_a_film_that_cannot_be_sealed_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "film.mp4"
    path.write_bytes(b"no film")
    with pytest.raises(ValueError, match="Invalid data"):
        seal(path, H264, "x", [])
    assert path.read_bytes() == b"no film"
    assert list(tmp_path.iterdir()) == [path]


def test_a_gif_keeps_the_length_and_stays_below_its_limit(tmp_path: Path) -> None:
    path, target = tmp_path / "film.mp4", tmp_path / "film.gif"
    filmed(path, H264, seconds=4).close()
    write_gif(path, target)
    with Image.open(target) as gif:
        lengths = list[int]()
        for number in range(getattr(gif, "n_frames", 1)):
            gif.seek(number)
            lengths.append(gif.info["duration"])
        assert (gif.size, len(lengths)) == ((800, 500), 4)
    assert abs(sum(lengths) - 4_000) <= 100
    small = tmp_path / "small.gif"
    write_gif(path, small, limit_bytes=1)
    with Image.open(small) as gif:
        assert gif.size == (480, 300)
