"""What a film shows around the page as HTML that Chromium draws: any script, any size."""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from webmcp_agent.browser.recording_moments import Ran, Reply, Row

SIZE = (1440, 900)
"""Of a film in CSS pixels; times the scale in pixels."""
WINDOW = (80, 30, 1360, 750)
"""Where the page is shown: 1280 × 720, the size that our pages have."""
WINDOW_RADIUS = 14
CLOCK_RIGHT, CLOCK_TOP = 1360, 772
DIGITS = "0123456789:.×"
DIGIT_SIZE = (19, 44)

Theme = Literal["light", "dark"]

Clip = tuple[int, int, int, int]
"""Left, top, width and height in CSS pixels."""
WHOLE: Clip = (0, 0, *SIZE)
_BAND: Clip = (0, 756, 1440, 144)
_CARD: Clip = (620, 0, 820, 800)

_MOST_ROWS = 5
_MOST_CALLS = 6
_LONG_CAPTION = 48
_LONG_HEADLINE, _LONGER_HEADLINE = 70, 170
_DIRECTIONS = re.compile("[\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class Card:
    """Something to be drawn."""

    body: str
    """HTML."""
    clip: Clip = WHOLE
    """Outside there is nothing: a smaller place is drawn in less time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How a film looks."""

    theme: Theme = "light"
    color: str = "#3556d8"
    """The brand's colour, `#rrggbb`."""
    logo: str | None = None
    """A picture as a `data:` address."""
    name: str = "webmcp-agent"
    """Stands where the logo would be."""
    scale: int = 1
    """Pixels of the film for each CSS pixel: 2 for screens of high resolution."""


def on_color(color: str) -> str:
    """Black or white, whichever can be read better on `#rrggbb`."""
    channels = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#ffffff" if luminance < 0.18 else "#0b0f14"


def ground() -> Card:
    """The background, with the window that the page will lie in."""
    return Card('<div class="ground"></div><div class="window"></div>')


def digits() -> Card:
    """The characters of the clock, side by side in cells of one width."""
    cells = "".join(f"<span>{each}</span>" for each in DIGITS)
    return Card(f'<div class="digits">{cells}</div>')


def band(chip: str, caption: str, address: str, note: str) -> Card:
    """The caption below the page; the clock is drawn above the note."""
    long = " long" if len(caption) > _LONG_CAPTION else ""
    chips = f'<div class="chip">{_text(chip)}</div>' if chip else ""
    return Card(
        f'<div class="band">{chips}<div class="said"><div class="caption{long}">{_text(caption)}'
        f'</div><div class="address">{_text(address)}</div></div>'
        f'<div class="note">{_text(note)}</div></div>',
        _BAND,
    )


def call_card(tool: str, rows: Sequence[Row], reply: Reply | None) -> Card:
    """A call: tool and arguments, and its answer once there is one."""
    pairs = "".join(
        f"<dt>{_text(row.name)}</dt><dd>{_text(row.value)}</dd>" for row in rows[:_MOST_ROWS]
    )
    listed = f'<dl class="rows">{pairs}</dl>' if pairs else ""
    hidden = len(rows) - _MOST_ROWS
    more = f'<div class="more">and {hidden} more</div>' if hidden > 0 else ""
    answer = ""
    if reply is not None:
        bad = "" if reply.ok else " bad"
        answer = (
            f'<div class="reply"><div class="outcome{bad}"><b>{"✓" if reply.ok else "✗"} '
            f"{_text(reply.outcome)}</b><span>{_text(reply.took)}</span></div>"
            f'<div class="text">{_text(reply.text)}</div></div>'
        )
    head = f'<div class="tool">{_text(tool)}</div>'
    return Card(f'<div class="card">{head}{listed}{more}{answer}</div>', _CARD)


def title_page(look: Look, kicker: str, headline: str, facts: Sequence[str]) -> Card:
    """A whole picture with a headline."""
    return _page(look, _headline(kicker, headline), facts)


def end_page(
    look: Look, kicker: str, headline: str, calls: Sequence[Ran], facts: Sequence[str]
) -> Card:
    """A whole picture with the answer and the calls that ran."""
    items = "".join(
        f'<li class="{"good" if call.ok else "bad"}"><span class="mark">{"✓" if call.ok else "✗"}'
        f'</span><span class="what">{_text(call.what)}</span>'
        f'<span class="how">{_text(call.how)}</span></li>'
        for call in calls[:_MOST_CALLS]
    )
    hidden = len(calls) - _MOST_CALLS
    more = f'<li><span class="mark"></span>and {hidden} more</li>' if hidden > 0 else ""
    listed = f'<ul class="calls">{items}{more}</ul>' if items else ""
    # The list takes the room: the headline beside it is smaller.
    size = "longer" if len(headline) > _LONG_HEADLINE else "long"
    return _page(look, _headline(kicker, headline, size) + listed, facts)


def _headline(kicker: str, headline: str, size: str | None = None) -> str:
    if size is None:
        size = "longer" if len(headline) > _LONGER_HEADLINE else ""
        size = size or ("long" if len(headline) > _LONG_HEADLINE else "")
    return (
        f'<div class="kicker">{_text(kicker)}</div>'
        f'<div class="headline {size}">{_text(headline)}</div>'
    )


def _page(look: Look, middle: str, facts: Sequence[str]) -> Card:
    mark = (
        f'<img class="logo" src="{html.escape(look.logo)}" alt="">'
        if look.logo
        else f'<div class="brand">{_text(look.name)}</div>'
    )
    told = "".join(f"<span>{_text(fact)}</span>" for fact in facts)
    return Card(
        f'<div class="ground"></div><div class="page">{mark}<div class="middle">{middle}</div>'
        f'<div class="facts">{told}</div></div>'
    )


def _text(text: str) -> str:
    # `bdi` keeps the order of what stands beside; these marks would reach out of it.
    return f"<bdi>{html.escape(_DIRECTIONS.sub('', text))}</bdi>"
