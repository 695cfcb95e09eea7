"""A film in pictures: a poster, one picture with a step each, and a page that plays the film."""

import base64
import html
import io
import json
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from webmcp_agent.browser.recording_editor import Shot
from webmcp_agent.browser.recording_subtitles import subtitles_text

_COLUMNS = 2
_WIDTH = 960
"""Pixels of a picture in the storyboard."""
_GAP = 24
_MOST = 24
"""Pictures of a storyboard; of a longer film, those at the beginning and the end."""

_STYLE = """
:root{color-scheme:light dark;font:16px/1.45 system-ui,"Segoe UI","Liberation Sans",sans-serif}
body{max-width:1080px;margin:2rem auto;padding:0 1rem}
video,img{width:100%;height:auto;border-radius:10px;display:block}
ol{list-style:none;padding:0;display:grid;gap:1.5rem;grid-template-columns:repeat(auto-fit,minmax(26rem,1fr))}
figure{margin:0}figcaption{margin-top:.4rem;overflow-wrap:anywhere}small{opacity:.75}
"""


def chosen(shots: Sequence[Shot], stills: Sequence[bytes]) -> list[tuple[Shot, bytes]]:
    """The shots that a storyboard shows, each with its picture."""
    found = [(shot, still) for shot, still in zip(shots, stills, strict=True) if still]
    if len(found) > _MOST:
        found = [*found[: _MOST // 2], *found[-_MOST // 2 :]]
    return found


def poster(shots: Sequence[Shot], stills: Sequence[bytes]) -> bytes | None:
    """The picture that tells most: the last answer for which something on the page changed, else
    the last answer, else the first picture there is."""
    found = chosen(shots, stills)
    answers = [(shot, still) for shot, still in found if shot.kind == "answer"]
    changed = [(shot, still) for shot, still in answers if shot.boxes]
    for few in (changed, answers, found[:1]):
        if few:
            return few[-1][1]
    return None


def sheet(shots: Sequence[Shot], stills: Sequence[bytes]) -> Image.Image | None:
    """All of them side by side; None when there are none."""
    found = [Image.open(io.BytesIO(still)) for _, still in chosen(shots, stills)]
    if not found:
        return None
    height = round(found[0].height * _WIDTH / found[0].width)
    columns = min(_COLUMNS, len(found))
    rows = -(-len(found) // columns)
    size = (columns * (_WIDTH + _GAP) + _GAP, rows * (height + _GAP) + _GAP)
    whole = Image.new("RGB", size, (255, 255, 255))
    for number, picture in enumerate(found):
        row, column = divmod(number, columns)
        at = (_GAP + column * (_WIDTH + _GAP), _GAP + row * (height + _GAP))
        whole.paste(picture.resize((_WIDTH, height), Image.Resampling.LANCZOS), at)
    return whole


def shots_json(shots: Sequence[Shot]) -> str:
    """When the film shows what, as a JSON list."""
    return json.dumps(
        [
            {
                "kind": shot.kind,
                "caption": shot.caption,
                "chapter": shot.chapter,
                "from_ms": shot.from_ms,
                "to_ms": shot.to_ms,
                "run_ms": round(shot.run_ms),
                "changed": [list(box) for box in shot.boxes],
            }
            for shot in shots
        ],
        ensure_ascii=False,
        indent=1,
    )


def page(title: str, film: str, shots: Sequence[Shot], stills: Sequence[bytes]) -> str:
    """An HTML page that plays the film beside it and shows the storyboard; no scripts."""
    track = base64.b64encode(subtitles_text(shots).encode()).decode()
    figures = "".join(
        f'<li id="t{shot.from_ms}"><figure><img alt="" src="data:image/jpeg;base64,'
        f'{base64.b64encode(still).decode()}"><figcaption>{html.escape(shot.caption)} '
        f"<small>{_seconds(shot.from_ms)} in the film, {_seconds(shot.run_ms)} in the run</small>"
        "</figcaption></figure></li>"
        for shot, still in chosen(shots, stills)
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "img-src data:; media-src 'self' file: data:; style-src 'unsafe-inline'\">"
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style>"
        f"<h1>{html.escape(title)}</h1>"
        f'<video controls preload="metadata" src="{html.escape(film)}">'
        '<track kind="captions" label="Captions" srclang="en" '
        f'src="data:text/vtt;base64,{track}"></video>'
        f"<h2>Storyboard</h2><ol>{figures}</ol></html>\n"
    )


def _seconds(ms: float) -> str:
    return f"{ms / 1000:.1f} s"


def write_poster(data: bytes, path: Path) -> None:
    """The poster as a PNG file."""
    Image.open(io.BytesIO(data)).save(path, "PNG")
