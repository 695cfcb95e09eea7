"""A film as anybody's player sees it: decoded with av, and the pictures in it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from PIL import Image, ImageChops

Box = tuple[int, int, int, int]


@dataclass(frozen=True)
class Seen:
    """What a player tells of a film."""

    size: tuple[int, int]
    rate: float
    frames: int
    duration_ms: int
    title: str
    chapters: list[tuple[int, str]]
    """Beginning in ms, and name."""


def seen(path: Path) -> Seen:
    """Decode a film to its end."""
    av: Any = import_module("av")
    with av.open(str(path)) as film:
        stream = film.streams.video[0]
        frames = sum(1 for _ in film.decode(stream))
        return Seen(
            size=(stream.width, stream.height),
            rate=float(stream.average_rate),
            frames=frames,
            duration_ms=round((film.duration or 0) / 1000),
            title=film.metadata.get("title", ""),
            chapters=[
                (round(each["start"] * each["time_base"] * 1000), each["metadata"]["title"])
                for each in film.chapters()
            ],
        )


def pictures(path: Path) -> Iterator[tuple[int, Image.Image]]:
    """Each frame, and when it is shown in ms."""
    av: Any = import_module("av")
    with av.open(str(path)) as film:
        for number, frame in enumerate(film.decode(film.streams.video[0])):
            yield round(number * 1000 / 30), frame.to_image()


def picture_at(path: Path, ms: float) -> Image.Image:
    """What the film shows then."""
    return next(image for at, image in pictures(path) if at + 33 > ms)


def share_of(image: Image.Image, box: Box, fits: Callable[[int, int, int], bool]) -> float:
    """How much of a place has a colour that fits."""
    part = image.crop(box).convert("RGB").reduce(2)
    data = part.tobytes()
    count = sum(fits(*data[at : at + 3]) for at in range(0, len(data), 3))
    return count / (part.width * part.height)


def brightness(image: Image.Image, box: Box) -> float:
    """The mean of a place, 0 to 255."""
    return image.convert("L").crop(box).resize((1, 1), Image.Resampling.BOX).tobytes()[0]


def differs(one: Image.Image, other: Image.Image) -> bool:
    """Whether a person would see a difference."""
    difference = ImageChops.difference(one, other).convert("L")
    return difference.point([0] * 12 + [255] * 244).getbbox() is not None
