"""Cards as layers of a film: pictures with transparency that know where they lie."""

import io
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from PIL import Image

from webmcp_agent.browser.recording_cards import Card
from webmcp_agent.browser.recording_pace import Pace

_REMEMBERED = 4


@dataclass(frozen=True, slots=True)
class Layer:
    """A picture with transparency, and where it lies in the film."""

    image: Image.Image
    at: tuple[int, int]


class Layers:
    """The layer of each card; `paint` gives its PNG at `scale` pixels for each CSS pixel."""

    def __init__(self, paint: Callable[[Card], Awaitable[bytes]], pace: Pace, scale: int) -> None:
        self._paint = paint
        self._pace = pace
        self._scale = scale
        self._drawn: dict[Card, Layer] = {}

    async def draw(self, card: Card) -> Layer:
        """What a card looks like, cut to what can be seen of it; the last few are remembered."""
        layer = self._drawn.pop(card, None)
        if layer is None:
            data = await self._paint(card)
            at = card.clip[0] * self._scale, card.clip[1] * self._scale
            layer = await self._pace.run(lambda: _layer(data, at))
        self._drawn[card] = layer
        if len(self._drawn) > _REMEMBERED:
            del self._drawn[next(iter(self._drawn))]
        return layer


def _layer(data: bytes, at: tuple[int, int]) -> Layer:
    image = Image.open(io.BytesIO(data)).convert("RGBA")
    box = image.getchannel("A").getbbox() or (0, 0, 1, 1)
    return Layer(image.crop(box), (at[0] + box[0], at[1] + box[1]))
