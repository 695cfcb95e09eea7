"""Scenes into frames, one by one: cross-fades, the running clock, and what was cut."""

import io
from collections.abc import Generator
from dataclasses import dataclass, replace
from pathlib import Path

from PIL import Image, ImageChops

from webmcp_agent.browser.recording_changes import changed_boxes
from webmcp_agent.browser.recording_cutting import Box, SceneKind, Shown
from webmcp_agent.browser.recording_encoder import FRAME_RATE, Codec, FilmFile
from webmcp_agent.browser.recording_layers import Layer
from webmcp_agent.browser.recording_picture import Composer, View

FADE_FRAMES = 6
_CLOCK_FRAMES = 3
"""The clock shows tenths: it changes at most once in so many frames."""
_STILL_QUALITY = 90
_STORYBOARD: frozenset[SceneKind] = frozenset({"title", "answer", "end"})
"""Scenes of which a storyboard shows a picture."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A stretch of film as it was planned."""

    kind: SceneKind
    caption: str
    """In words, for subtitles."""
    run_from_ms: float
    run_to_ms: float
    film_ms: int = 0
    """How long it stays; what moves comes before that."""
    shown: tuple[Shown, ...] = ()
    """Pictures of the page; empty for the one that was there."""
    layers: tuple[Layer, ...] = ()
    movable: bool = False
    """Whether the last layer may go to another corner, where it hides less of what stands out."""
    speed: str = ""
    """How much faster than the run the film is, such as `×12`."""
    page: bool = True
    """Whether the page is to be seen."""
    dim: float = 0.0
    changes: bool = False
    """Whether what changed since the last call began stands out."""
    chapter: str | None = None
    """Begins a chapter of this name."""


@dataclass(frozen=True, slots=True)
class Shot:
    """A stretch of film as it was written."""

    kind: SceneKind
    caption: str
    chapter: str | None
    from_ms: int
    """Film time."""
    to_ms: int
    run_ms: float
    """Run time at its end."""
    boxes: tuple[Box, ...] = ()
    """What stood out, in pixels of the page's window."""


@dataclass(slots=True)
class _State:
    """What the film shows now."""

    picture: Image.Image | None = None
    """The whole picture."""
    page: Image.Image | None = None
    before: Image.Image | None = None
    """The page when the last call began."""


class Editor:
    """Draws and encodes the scenes that it is given, in their order; for one thread at a time."""

    def __init__(self, path: Path, composer: Composer, codec: Codec) -> None:
        self.path = path
        self.codec = codec
        self.shots: list[Shot] = []
        self.stills: list[bytes] = []
        """One JPEG a shot: its last picture, empty for shots that no storyboard needs."""
        self._composer = composer
        self._state = _State()
        self._film: FilmFile | None = None

    def close(self) -> None:
        """End the file. Raises: `OSError`."""
        if self._film is not None:
            self._film.close()

    def draw(self, scene: Scene) -> Generator[None]:
        """Draw a scene, a frame with each step. Raises: `OSError`, and what the encoder raises."""
        if self._film is None:
            self._film = FilmFile(self.path, self._composer.size, self.codec)
        film = self._film
        from_ms = _ms(film.frames)
        boxes: tuple[Box, ...] = ()
        if scene.kind == "call":
            # The pictures of this scene are from before the call.
            yield from self._play(scene, film)
            self._state.before = self._state.page
            composed = self._composed(scene, scene.layers, ())
            yield from self._turn(composed, scene.film_ms, film)
        elif scene.kind == "wait":
            yield from self._wait(scene, film)
        else:
            yield from self._play(scene, film)
            boxes = self._changes() if scene.changes else ()
            layers = self._beside(boxes, scene)
            composed = self._composed(scene, layers, boxes)
            yield from self._turn(composed, scene.film_ms, film)
        if _ms(film.frames) > from_ms:
            self.shots.append(
                Shot(scene.kind, scene.caption, scene.chapter, from_ms, _ms(film.frames),
                     scene.run_to_ms, boxes)
            )  # fmt: skip
            self.stills.append(self._still() if scene.kind in _STORYBOARD else b"")

    def _play(self, scene: Scene, film: FilmFile) -> Generator[None]:
        """What moves before a scene comes to rest; its last picture is what it rests on."""
        for number, shown in enumerate(scene.shown, 1):
            self._state.page = self._composer.fitted(shown.picture)
            if number < len(scene.shown) and scene.page:
                whole = self._composer.compose(View(self._state.page, scene.layers))
                picture = self._composer.with_clock(whole, shown.picture.at_ms)
                yield from film.writing(picture, _frames(shown.ms))
                self._state.picture = picture

    def _wait(self, scene: Scene, film: FilmFile) -> Generator[None]:
        """The page as it was while the model worked, below a clock that runs."""
        if not scene.film_ms:
            yield from self._play(_without_motion(scene), film)
            return
        frames = _frames(scene.film_ms)
        upcoming = list(scene.shown)
        until_ms = 0.0
        base: Image.Image | None = None
        for start in (0, *range(FADE_FRAMES + 1, frames, _CLOCK_FRAMES)):
            while upcoming and _ms(start) >= until_ms:
                shown = upcoming.pop(0)
                until_ms += shown.ms
                self._state.page, base = self._composer.fitted(shown.picture), None
            base = base or self._composer.compose(View(self._state.page, scene.layers))
            share = start / frames
            run_ms = scene.run_from_ms + share * (scene.run_to_ms - scene.run_from_ms)
            picture = self._composer.with_clock(base, run_ms, scene.speed)
            if start:
                yield from film.writing(picture, min(_CLOCK_FRAMES, frames - start))
                self._state.picture = picture
            else:
                yield from self._turn(picture, _ms(min(FADE_FRAMES + 1, frames)), film)

    def _composed(
        self, scene: Scene, layers: tuple[Layer, ...], boxes: tuple[Box, ...]
    ) -> Image.Image:
        if not scene.page:
            return self._composer.compose(View(None, layers))
        whole = self._composer.compose(View(self._state.page, layers, boxes, scene.dim))
        return self._composer.with_clock(whole, scene.run_to_ms)

    def _turn(self, picture: Image.Image, film_ms: float, film: FilmFile) -> Generator[None]:
        """Fade from what the film shows to `picture`, and stay there; all of it in `film_ms`."""
        frames, last = _frames(film_ms), self._state.picture
        box = ImageChops.difference(last, picture).getbbox() if last is not None else None
        if last is not None and box is not None:
            old, new, blended = last.crop(box), picture.crop(box), last.copy()
            steps = min(FADE_FRAMES, frames - 1)
            for step in range(1, steps + 1):
                part = step / (steps + 1)
                blended.paste(Image.blend(old, new, part * part * (3 - 2 * part)), box[:2])
                yield from film.writing(blended)
            frames -= steps
        yield from film.writing(picture, frames)
        self._state.picture = picture

    def _changes(self) -> tuple[Box, ...]:
        before, now = self._state.before, self._state.page
        return () if before is None or now is None else tuple(changed_boxes(before, now))

    def _beside(self, boxes: tuple[Box, ...], scene: Scene) -> tuple[Layer, ...]:
        """The layers, the last one in the corner where it hides least of what stands out."""
        if not scene.movable or not boxes:
            return scene.layers
        *others, card = scene.layers
        corners = self._composer.corners(card)
        hidden = [sum(self._composer.hidden(box, each) for box in boxes) for each in corners]
        return (*others, corners[hidden.index(min(hidden))])

    def _still(self) -> bytes:
        assert self._state.picture is not None
        data = io.BytesIO()
        self._state.picture.save(data, "JPEG", quality=_STILL_QUALITY)
        return data.getvalue()


def _without_motion(scene: Scene) -> Scene:
    return replace(scene, shown=scene.shown[-1:])


def _frames(ms: float) -> int:
    return max(1, round(ms * FRAME_RATE / 1000))


def _ms(frames: int) -> int:
    return round(frames * 1000 / FRAME_RATE)
