"""The names of a film and of what lies beside it."""

from collections.abc import Sequence
from pathlib import Path

STEM = "video"
"""As the files of pytest-playwright are called."""
SUBTITLES = "video.vtt"
CHAPTERS = "video.chapters.vtt"
POSTER = "video.png"
SHOTS = "video.json"
GIF = "video.gif"
SHEET = "storyboard.png"
PAGE = "storyboard.html"
TRACE = "trace.zip"
FILMS = (f"{STEM}.mp4", f"{STEM}.webm")
BESIDE = (SUBTITLES, CHAPTERS, POSTER, SHOTS, GIF, SHEET, PAGE, TRACE)


def remove(folder: Path, names: Sequence[str] = (*FILMS, *BESIDE)) -> None:
    """Remove a film and what belongs to it."""
    for name in names:
        (folder / name).unlink(missing_ok=True)
