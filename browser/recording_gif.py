"""A film as a GIF: few colours, and only the pictures that differ from the one before.

Pillow picks the palette: FFmpeg's own encoder takes a fixed one and gives files many times as
large.
"""

from collections.abc import Generator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from PIL import Image

from webmcp_agent.browser.recording_changes import difference_of
from webmcp_agent.browser.recording_encoder import FRAME_RATE

LIMIT_BYTES = 3_000_000
"""What a page that shows a repository takes without complaint."""
_EVERY = 3
"""One of so many frames of the film: ten a second, fewer of a long film."""
_MOST = 240
"""Pictures that are looked at; all of them are in memory at once."""
_WIDTHS = (800, 640, 480)
_COLORS = 255
_SAMPLES = 12
"""Pictures that the palette is made for."""
_NOISE = 14
"""Steps of a channel that a lossy film differs in by itself."""


@dataclass(frozen=True, slots=True)
class _Frame:
    image: Image.Image
    ms: int


def write_gif(film: Path, target: Path, limit_bytes: int = LIMIT_BYTES) -> None:
    """Write `film` as a GIF of at most `limit_bytes`, as wide as that allows; 480 at the least."""
    target.touch(mode=0o600)
    for width in _WIDTHS:
        _write(film, target, width)
        if target.stat().st_size <= limit_bytes:
            return


def _write(film: Path, target: Path, width: int) -> None:
    palette = _palette(film, width)
    frames = [_Frame(frame.image.quantize(palette=palette, dither=Image.Dither.NONE), frame.ms)
              for frame in _frames(film, width)]  # fmt: skip
    first, *rest = frames
    first.image.save(
        target,
        "GIF",
        save_all=True,
        append_images=[frame.image for frame in rest],
        duration=[frame.ms for frame in frames],
        loop=0,
        optimize=False,
        disposal=1,
    )


def _palette(film: Path, width: int) -> Image.Image:
    """Colours that all pictures share: else each change of palette would repaint everything."""
    av: Any = import_module("av")
    with av.open(str(film)) as container:
        stream = container.streams.video[0]
        # The key frames are a fair sample, and decoding them takes little of the time.
        stream.codec_context.skip_frame = "NONKEY"
        found = [_scaled(frame, width) for frame in container.decode(stream)]
    chosen = found[:: -(-len(found) // _SAMPLES)]
    sheet = Image.new("RGB", (width, sum(picture.height for picture in chosen)))
    top = 0
    for picture in chosen:
        sheet.paste(picture, (0, top))
        top += picture.height
    # Looked at beside the other methods: this one keeps small places of strong colour, which are
    # what a brand's colour and a picture of a product are in a film that is mostly pale.
    return sheet.quantize(_COLORS, method=Image.Quantize.FASTOCTREE)


def _scaled(frame: Any, width: int) -> Image.Image:
    height = round(frame.height * width / frame.width)
    return frame.to_image(width=width, height=height, interpolation="LANCZOS")


def _frames(film: Path, width: int) -> Generator[_Frame]:
    """The pictures that differ, and how long each is shown."""
    av: Any = import_module("av")
    shown: Image.Image | None = None
    frames = 0
    with av.open(str(film)) as container:
        stream = container.streams.video[0]
        every = max(_EVERY, round(float(container.duration or 0) / 1e6 * FRAME_RATE / _MOST))
        for number, frame in enumerate(container.decode(stream)):
            frames += 1
            if number % every:
                continue
            picture = _scaled(frame, width)
            if shown is None:
                shown, frames = picture, 0
                continue
            mask = difference_of(shown, picture).point([0] * _NOISE + [255] * (256 - _NOISE))
            if (box := mask.getbbox()) is None:
                continue
            yield _Frame(shown, _ms(frames))
            shown, frames = shown.copy(), 0
            shown.paste(picture.crop(box), box[:2])
    if shown is not None:
        yield _Frame(shown, _ms(frames + 1))


def _ms(frames: int) -> int:
    # GIF counts in hundredths of a second.
    return max(20, round(frames * 100 / FRAME_RATE) * 10)
