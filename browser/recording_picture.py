"""One picture of a film: the page in its window, what changed in it, captions, cards, the clock."""

import io
from collections.abc import Sequence
from dataclasses import dataclass

from PIL import Image, ImageDraw

from webmcp_agent.browser.recording_cards import (
    CLOCK_RIGHT,
    CLOCK_TOP,
    DIGIT_SIZE,
    DIGITS,
    SIZE,
    WINDOW,
    WINDOW_RADIUS,
)
from webmcp_agent.browser.recording_cutting import Box, Picture
from webmcp_agent.browser.recording_layers import Layer

_AROUND = 7
"""CSS pixels between a change and the line around it."""
_LINE = 4
_SMOOTH = 3
"""Lines are drawn this much larger and made smaller."""
_BLACK = (16, 18, 22)


@dataclass(frozen=True, slots=True)
class View:
    """What a picture consists of; without a page it is the layers alone."""

    page: Image.Image | None = None
    """Of the window's size, RGB."""
    layers: tuple[Layer, ...] = ()
    boxes: tuple[Box, ...] = ()
    """Places on the page that stand out."""
    dim: float = 0.0
    """How far the page steps back, 0 to 1; with boxes only what lies outside them."""


class Composer:
    """Puts pictures together. `ground` and `digits` are the cards of these names."""

    def __init__(self, ground: Layer, digits: Layer, *, color: str, scale: int) -> None:
        self._scale = scale
        self._color = color
        self.size = (SIZE[0] * scale, SIZE[1] * scale)
        self._ground = Image.new("RGB", self.size)
        self._ground.paste(ground.image.convert("RGB"), ground.at)
        left, top, right, bottom = WINDOW
        self._window = (left * scale, top * scale, right * scale, bottom * scale)
        width, height = self.window_size
        mask = Image.new("L", (width * _SMOOTH, height * _SMOOTH))
        ImageDraw.Draw(mask).rounded_rectangle(
            (0, 0, width * _SMOOTH - 1, height * _SMOOTH - 1), WINDOW_RADIUS * scale * _SMOOTH, 255
        )
        self._mask = mask.resize((width, height), Image.Resampling.BOX)
        cell, high = DIGIT_SIZE[0] * scale, DIGIT_SIZE[1] * scale
        sheet = Image.new("RGBA", (cell * len(DIGITS), high))
        sheet.paste(digits.image, digits.at)
        self._digits = {
            each: sheet.crop((cell * at, 0, cell * (at + 1), high))
            for at, each in enumerate(DIGITS)
        }

    @property
    def window_size(self) -> tuple[int, int]:
        """Of the page in the film, in pixels."""
        left, top, right, bottom = self._window
        return right - left, bottom - top

    def fitted(self, picture: Picture) -> Image.Image:
        """A picture of the page in the window's size, with what must not be seen painted over."""
        image = Image.open(io.BytesIO(picture.data)).convert("RGB")
        if picture.blackout:
            draw = ImageDraw.Draw(image)
            for box in picture.blackout:
                draw.rectangle(box, _BLACK)
        size = self.window_size
        if image.size == size:
            return image
        ratio = min(size[0] / image.width, size[1] / image.height)
        small = image.resize(
            (max(1, round(image.width * ratio)), max(1, round(image.height * ratio))),
            Image.Resampling.LANCZOS,
        )
        if small.size == size:
            return small
        whole = Image.new("RGB", size, (222, 226, 232))
        whole.paste(small, ((size[0] - small.width) // 2, (size[1] - small.height) // 2))
        return whole

    def compose(self, view: View) -> Image.Image:
        """The whole picture but the clock, RGB."""
        image = self._ground.copy()
        if view.page is not None:
            page = self._dimmed(view.page, view.dim, view.boxes)
            for box in view.boxes:
                self._outline(page, box)
            image.paste(page, self._window[:2], self._mask)
        for layer in view.layers:
            image.paste(layer.image, layer.at, layer.image)
        return image

    def with_clock(self, image: Image.Image, run_ms: float, speed: str = "") -> Image.Image:
        """`image` with the run time on it, in tenths of a second, and below it how fast it runs."""
        clocked = image.copy()
        cell, high = DIGIT_SIZE[0] * self._scale, DIGIT_SIZE[1] * self._scale
        for line, text in enumerate((clock_text(run_ms), speed)):
            left = CLOCK_RIGHT * self._scale - cell * len(text)
            top = CLOCK_TOP * self._scale + line * high
            for at, each in enumerate(text):
                clocked.paste(self._digits[each], (left + cell * at, top), self._digits[each])
        return clocked

    def corners(self, card: Layer) -> list[Layer]:
        """A card that lies at the right of the window's bottom in each corner, that one first."""
        left, top, right, bottom = self._window
        solid = card.image.getchannel("A").point([0] * 250 + [255] * 6).getbbox()
        if solid is None:
            return [card]
        x, y = card.at
        # The shadow around the card reaches further than the card.
        to_left = left + (right - x - solid[2]) - solid[0]
        to_top = top + (bottom - y - solid[3]) - solid[1]
        return [Layer(card.image, (to_x, to_y)) for to_y in (y, to_top) for to_x in (x, to_left)]

    def hidden(self, box: Box, layer: Layer) -> int:
        """How many pixels of a place on the page lie below `layer`."""
        left, top = box[0] + self._window[0], box[1] + self._window[1]
        right, bottom = box[2] + self._window[0], box[3] + self._window[1]
        wide = min(right, layer.at[0] + layer.image.width) - max(left, layer.at[0])
        high = min(bottom, layer.at[1] + layer.image.height) - max(top, layer.at[1])
        return max(0, wide) * max(0, high)

    def _dimmed(self, page: Image.Image, dim: float, boxes: Sequence[Box]) -> Image.Image:
        if dim <= 0:
            return page.copy()
        mask = Image.new("L", page.size, round(255 * dim))
        draw = ImageDraw.Draw(mask)
        for box in boxes:
            draw.rounded_rectangle(self._around(box), 10 * self._scale, 0)
        dimmed = page.copy()
        dimmed.paste(_BLACK, mask=mask)
        return dimmed

    def _around(self, box: Box) -> Box:
        room = _AROUND * self._scale
        width, height = self.window_size
        edge = _LINE * self._scale // 2
        return (
            max(edge, box[0] - room),
            max(edge, box[1] - room),
            min(width - edge, box[2] + room),
            min(height - edge, box[3] + room),
        )

    def _outline(self, page: Image.Image, box: Box) -> None:
        left, top, right, bottom = self._around(box)
        line = _LINE * self._scale
        at = (max(0, left - line), max(0, top - line))
        size = (right + line - at[0], bottom + line - at[1])
        mask = Image.new("L", (size[0] * _SMOOTH, size[1] * _SMOOTH))
        ImageDraw.Draw(mask).rounded_rectangle(
            (
                (left - at[0]) * _SMOOTH,
                (top - at[1]) * _SMOOTH,
                (right - at[0]) * _SMOOTH,
                (bottom - at[1]) * _SMOOTH,
            ),
            10 * self._scale * _SMOOTH,
            outline=255,
            width=line * _SMOOTH,
        )
        page.paste(
            self._color,
            (*at, at[0] + size[0], at[1] + size[1]),
            mask.resize(size, Image.Resampling.BOX),
        )


def clock_text(run_ms: float) -> str:
    """`0:04.2`, `12:00.0`."""
    tenths = max(0, int(run_ms / 100))
    return f"{tenths // 600}:{tenths // 10 % 60:02}.{tenths % 10}"
