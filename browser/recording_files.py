"""What a film leaves beside it: subtitles, chapters, poster, storyboard and GIF."""

import logging
import os
from collections.abc import Callable
from pathlib import Path

from webmcp_agent.browser.recording_editor import Editor
from webmcp_agent.browser.recording_encoder import seal
from webmcp_agent.browser.recording_gif import write_gif
from webmcp_agent.browser.recording_names import (
    CHAPTERS,
    GIF,
    PAGE,
    POSTER,
    SHEET,
    SHOTS,
    SUBTITLES,
    remove,
)
from webmcp_agent.browser.recording_storyboard import (
    page,
    poster,
    sheet,
    shots_json,
    write_poster,
)
from webmcp_agent.browser.recording_subtitles import chapters_of, chapters_text, subtitles_text

logger = logging.getLogger("webmcp_agent.browser")


def finish(editor: Editor, folder: Path, title: str, *, gif: bool) -> str | None:
    """Write all that belongs to a film that is closed; each file for itself, blocking.

    Returns what went wrong first; the film itself stays as it is then, and one of nothing goes."""
    shots, stills = editor.shots, editor.stills
    if not shots:
        remove(folder)
        return None
    texts = {
        SUBTITLES: lambda: subtitles_text(shots),
        CHAPTERS: lambda: chapters_text(shots),
        SHOTS: lambda: shots_json(shots) + "\n",
        PAGE: lambda: page(title, editor.path.name, shots, stills),
    }
    works: list[Callable[[], object]] = [
        lambda: seal(editor.path, editor.codec, title, chapters_of(shots)),
        *(
            lambda name=name, text=text: _write(folder / name, text())
            for name, text in texts.items()
        ),
        lambda: _pictures(editor, folder),
    ]
    if gif:
        works.append(lambda: write_gif(editor.path, folder / GIF))
    trouble: str | None = None
    for work in works:
        try:
            work()
        except Exception as exc:  # noqa: BLE001  # a full disk, an encoder: the run knows of neither
            logger.debug("beside the film: %r", exc)
            trouble = trouble or str(exc) or type(exc).__name__
    return trouble


def _pictures(editor: Editor, folder: Path) -> None:
    if (best := poster(editor.shots, editor.stills)) is not None:
        write_poster(best, _private(folder / POSTER))
    if (whole := sheet(editor.shots, editor.stills)) is not None:
        whole.save(_private(folder / SHEET), "PNG")


def _write(path: Path, text: str) -> None:
    _private(path).write_text(text, encoding="utf-8")


def _private(path: Path) -> Path:
    """A new file that only its owner can read."""
    path.unlink(missing_ok=True)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    return path
