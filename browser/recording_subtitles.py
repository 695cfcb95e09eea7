"""Subtitles and chapters of a film as WebVTT."""

import re
from collections.abc import Sequence

from webmcp_agent.browser.recording_editor import Shot
from webmcp_agent.browser.recording_encoder import Chapter


def chapters_of(shots: Sequence[Shot]) -> list[Chapter]:
    """The chapters of a film, without a gap; a shot belongs to the one that began last."""
    starts = [(shot.from_ms, shot.chapter) for shot in shots if shot.chapter]
    if not starts:
        return []
    ends = [at for at, _ in starts[1:]] + [shots[-1].to_ms]
    return [Chapter(at, end, title) for (at, title), end in zip(starts, ends, strict=True)]


def chapters_text(shots: Sequence[Shot]) -> str:
    """The chapters as a WebVTT file."""
    return _file([(each.from_ms, each.to_ms, each.title) for each in chapters_of(shots)])


def subtitles_text(shots: Sequence[Shot]) -> str:
    """What the captions say as a WebVTT file; the same words twice are one cue."""
    cues: list[tuple[int, int, str]] = []
    for shot in shots:
        if cues and cues[-1][2] == shot.caption and cues[-1][1] == shot.from_ms:
            cues[-1] = (cues[-1][0], shot.to_ms, shot.caption)
        elif shot.caption:
            cues.append((shot.from_ms, shot.to_ms, shot.caption))
    return _file(cues)


def _file(cues: Sequence[tuple[int, int, str]]) -> str:
    blocks = [
        f"{number}\n{_time(from_ms)} --> {_time(to_ms)}\n{_escaped(text)}\n"
        for number, (from_ms, to_ms, text) in enumerate(cues, 1)
    ]
    return "\n".join(["WEBVTT\n", *blocks])


def _time(ms: int) -> str:
    return f"{ms // 3_600_000:02}:{ms // 60_000 % 60:02}:{ms // 1000 % 60:02}.{ms % 1000:03}"


def _escaped(text: str) -> str:
    """Text in which nothing is markup, an arrow, or the end of a cue."""
    line = re.sub(r"\s+", " ", text).strip()
    return line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
