"""What a film shows around the page, drawn by Chromium: any script, any size, never in the page.

Cards live in a browser context of their own, without scripts and without a network.
"""

import asyncio
import base64
import html
import io
import re
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import TracebackType
from typing import Literal, Self

from PIL import Image
from playwright.async_api import Browser, Error, Page

from webmcp_agent.browser.cdp import CdpSession
from webmcp_agent.browser.launch import open_chromium
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
_REMEMBERED = 4
_LONG_CAPTION = 48
_LONG_HEADLINE, _LONGER_HEADLINE = 70, 170
_DIRECTIONS = re.compile("[\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class Layer:
    """A picture with transparency, and where it lies in the film."""

    image: Image.Image
    at: tuple[int, int]


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


@cache
def _style() -> str:
    return files("webmcp_agent.browser").joinpath("recording_cards.css").read_text("utf-8")


class Cards:
    """Draws cards; inside its `async with` there is a page for it.

    `browser` is one in which a further context can be seen by nobody; without it, and when it is
    gone, a Chromium of its own is started. Raises what Playwright and `open_chromium` raise."""

    def __init__(self, look: Look, browser: Browser | None) -> None:
        self._look = look
        self._browser = browser
        self._stack = AsyncExitStack()
        self._page: Page | None = None
        self._cdp: CdpSession | None = None
        self._drawn: dict[Card, Layer] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            await self._stack.aclose()
        except Error:
            return  # the browser was gone already

    async def draw(self, card: Card) -> Layer:
        """What a card looks like, cut to what can be seen of it; the last few are remembered."""
        layer = self._drawn.pop(card, None)
        if layer is None:
            data = await self._picture_of(card)
            at = card.clip[0] * self._look.scale, card.clip[1] * self._look.scale
            layer = await asyncio.to_thread(_layer, data, at)
        self._drawn[card] = layer
        if len(self._drawn) > _REMEMBERED:
            del self._drawn[next(iter(self._drawn))]
        return layer

    async def _picture_of(self, card: Card) -> bytes:
        try:
            return await self._picture(card)
        except Error:
            if self._browser is None:
                raise
            # It went away, at whatever moment: one of our own goes on.
            self._browser = self._page = None
            return await self._picture(card)

    async def _opened(self) -> Page:
        browser = self._browser
        if browser is None or not browser.is_connected():
            self._browser = None
            browser = await self._stack.enter_async_context(open_chromium())
        context = await browser.new_context(
            viewport={"width": SIZE[0], "height": SIZE[1]},
            device_scale_factor=self._look.scale,
            java_script_enabled=False,
            offline=True,
        )
        self._stack.push_async_callback(context.close)
        page = await context.new_page()
        self._cdp = await CdpSession.of(page)
        clear = {"color": {"r": 0, "g": 0, "b": 0, "a": 0}}
        await self._cdp.send("Emulation.setDefaultBackgroundColorOverride", clear)
        return page

    async def _picture(self, card: Card) -> bytes:
        page = self._page
        if page is None or page.is_closed():
            page = self._page = await self._opened()
        look = self._look
        color = f":root{{--accent:{look.color};--on-accent:{on_color(look.color)}}}"
        await page.set_content(
            f'<!doctype html><html class="{look.theme}"><meta charset="utf-8">'
            f"<style>{_style()}{color}</style><body>{card.body}</body></html>"
        )
        left, top, width, height = card.clip
        clip = {"x": left, "y": top, "width": width, "height": height, "scale": look.scale}
        assert self._cdp is not None
        # Playwright's own screenshot takes half as long again: it packs the PNG tightly.
        shot = await self._cdp.send(
            "Page.captureScreenshot", {"format": "png", "clip": clip, "optimizeForSpeed": True}
        )
        return base64.b64decode(shot["data"])


def _layer(data: bytes, at: tuple[int, int]) -> Layer:
    image = Image.open(io.BytesIO(data)).convert("RGBA")
    box = image.getchannel("A").getbbox() or (0, 0, 1, 1)
    return Layer(image.crop(box), (at[0] + box[0], at[1] + box[1]))
