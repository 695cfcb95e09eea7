"""How long a film shows what: reading times, waiting made short, and the pictures that stay.

Run time is what really passed; film time is what a viewer sees. Values and decisions only.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Waiting = Literal["fast", "cut", "real"]
"""What becomes of the time in which the model works: sped up, left out, or shown as it was."""

SceneKind = Literal["title", "wait", "call", "page", "answer", "end"]

Box = tuple[int, int, int, int]
"""Left, top, right and bottom in pixels; right and bottom lie outside."""

LONGEST_WAIT_MS = 1_000
"""Film time of a wait that is sped up."""
SHORTEST_WAIT_MS = 200
"""A wait below this is not worth a scene."""
LONGEST_MOTION_MS = 1_800
"""Film time of what moves on the page during and after a call."""
_FLASH_MS = 400
_FLASH_SHARE = 0.3
"""A picture of so little detail that was gone so soon is a document that was not painted yet."""


@dataclass(frozen=True, slots=True)
class Picture:
    """What the page looked like at a moment."""

    at_ms: float
    """Run time."""
    data: bytes
    """JPEG or PNG."""
    blackout: tuple[Box, ...] = ()
    """Places that are painted over before anybody sees them, in pixels of the picture."""


@dataclass(slots=True)
class Reel:
    """The pictures of a stretch of time; a long stretch keeps fewer of them in each second."""

    most: int = 48
    pictures: list[Picture] = field(default_factory=list[Picture])
    _gap_ms: float = 0.0

    def add(self, picture: Picture) -> None:
        """Take one in, newest last."""
        kept = self.pictures
        if len(kept) > 1 and kept[-1].at_ms - kept[-2].at_ms < self._gap_ms:
            kept.pop()
        kept.append(picture)
        if len(kept) > self.most:
            self._gap_ms = 2 * (kept[-1].at_ms - kept[0].at_ms) / self.most
            # The newest stays: it is what the page looks like now.
            self.pictures = [*kept[:-1:2], kept[-1]]


@dataclass(frozen=True, slots=True)
class Shown:
    """A picture, and how long the film shows it."""

    picture: Picture
    ms: float


def reading_ms(text: str, least: int, most: int) -> int:
    """How long a card with `text` stays: some time to look, then a pace that is easily read."""
    return int(min(most, max(least, 700 + 20 * len(text))))


def wait_ms(run_ms: float, waiting: Waiting) -> int:
    """Film time of a wait that really took `run_ms`; 0 for none."""
    match waiting:
        case "cut":
            return 0
        case "real":
            return int(run_ms)
        case "fast":
            return int(min(run_ms, LONGEST_WAIT_MS)) if run_ms >= SHORTEST_WAIT_MS else 0


def without_flashes(pictures: Sequence[Picture]) -> list[Picture]:
    """The pictures without documents that were replaced before they were painted."""
    kept: list[Picture] = []
    for number, picture in enumerate(pictures):
        following = pictures[number + 1] if number + 1 < len(pictures) else None
        flashes = (
            following is not None
            and following.at_ms - picture.at_ms < _FLASH_MS
            and len(picture.data) < _FLASH_SHARE * len(following.data)
        )
        if not flashes:
            kept.append(picture)
    return kept


def spread(pictures: Sequence[Picture], from_ms: float, to_ms: float, film_ms: int) -> list[Shown]:
    """The pictures of a stretch of run time in `film_ms`, each at its own share of it."""
    if not pictures or film_ms <= 0:
        return []
    factor = film_ms / max(1.0, to_ms - from_ms)
    starts = [max(0.0, (picture.at_ms - from_ms) * factor) for picture in pictures]
    ends = [*starts[1:], float(film_ms)]
    return [
        Shown(picture, max(0.0, end - start))
        for picture, start, end in zip(pictures, starts, ends, strict=True)
    ]


def motion(pictures: Sequence[Picture]) -> list[Shown]:
    """What moved, as fast as it did, faster when it took too long; nothing of what stood still."""
    seen = without_flashes(pictures)
    if not seen:
        return []
    run_ms = seen[-1].at_ms - seen[0].at_ms
    film_ms = min(run_ms, LONGEST_MOTION_MS)
    # A picture that came alone changed the page at once: the cut to it is the motion.
    return spread(seen, seen[0].at_ms, seen[-1].at_ms + 1, max(1, int(film_ms)))


def speed_text(run_ms: float, film_ms: float) -> str:
    """`×12` when the film runs that much faster than the run; empty when it does not."""
    factor = run_ms / film_ms if film_ms > 0 else 0
    return f"×{factor:.0f}" if factor >= 1.5 else ""
