"""Where a film is made: a process that is told moments and leaves a film, run by `recording_maker`.

It gives way to the run until that is over. When whoever tells it is gone, it finishes alone.
"""

import asyncio
import contextlib
import os
import signal
import threading
from collections import deque
from contextlib import AsyncExitStack
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from webmcp_agent.browser.recording_cards import Card, digits, ground
from webmcp_agent.browser.recording_messages import (
    Begun,
    Drawn,
    Finish,
    Going,
    Left,
    Order,
    Wanted,
    packed,
    read_message,
)
from webmcp_agent.browser.recording_moments import Moment, Title
from webmcp_agent.browser.recording_names import STEM, remove
from webmcp_agent.browser.recording_pace import Pace

if TYPE_CHECKING:
    from webmcp_agent.browser.recording_canvas import Canvas
    from webmcp_agent.browser.recording_editor import Editor, Scene

_HEAVY = ("PIL.Image", "PIL.ImageDraw", "PIL.ImageChops", "av")
_HEAVY_OWN = "webmcp_agent.browser.recording_director"
_MOST_BYTES = 24_000_000
"""Of pictures that wait; beyond them what moved is left out."""
_FAR_BEHIND, _NEAR = 60, 30
"""Moments that wait: from the first number on the film hurries, until there are fewer than the
second. A call is three moments."""
_HEAD_START_S = 8
"""So long nothing is drawn: a short run is over by then, and has lost no time to its film."""
_UNTITLED = "Recording"


class Backlog:
    """Moments of which there are no scenes yet; what they hold is bounded."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._moments: deque[Moment] = deque()
        self._bytes = 0
        self._ended = False
        self._news = asyncio.Event()

    def add(self, moment: Moment) -> None:
        """Take one in."""
        self._moments.append(moment)
        self._bytes += _weight(moment)
        for number, each in enumerate(self._moments):
            if self._bytes <= _MOST_BYTES:
                break
            if len(each.pictures) > 1:
                thin = replace(each, pictures=each.pictures[-1:])
                self._bytes -= _weight(each) - _weight(thin)
                self._moments[number] = thin
        if len(self._moments) > _FAR_BEHIND:
            self._pace.hurry()
        self._news.set()

    def end(self) -> None:
        """There will be no more, and nobody is kept waiting."""
        self._ended = True
        self._pace.hurry()
        self._news.set()

    async def ripe(self) -> None:
        """Wait until it is time to work on what there is."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_HEAD_START_S):
                while not self._ended:
                    self._news.clear()
                    await self._news.wait()

    async def take(self) -> Moment | None:
        """The oldest one, waiting for it; None at the end."""
        while not self._moments:
            if self._ended:
                return None
            self._news.clear()
            await self._news.wait()
        moment = self._moments.popleft()
        self._bytes -= _weight(moment)
        if not self._ended and len(self._moments) < _NEAR:
            self._pace.hurry(False)
        return moment


def _weight(moment: Moment) -> int:
    return sum(len(picture.data) for picture in moment.pictures)


class Studio:
    """Makes one film; `writing` is where its messages go."""

    def __init__(self, order: Order, writing: BinaryIO) -> None:
        self._order = order
        self._writing = writing
        self._pace = Pace()
        self._backlog = Backlog(self._pace)
        self._stack = AsyncExitStack()
        self._canvas: Canvas | None = None
        self._lends = order.lends
        self._drawn: asyncio.Future[bytes | None] | None = None
        self._finish = Finish(keep=True)
        """What is done when nobody says so: who was killed did not succeed."""
        self._over = False
        """Whether nothing more comes into the film."""
        self._trouble: str | None = None
        self._title = ""

    async def make(self, reading: BinaryIO) -> None:
        """Make the film that is told of by `reading`, to its end."""
        loop = asyncio.get_running_loop()

        def read() -> None:
            message: object = reading
            while message is not None:
                message = read_message(reading)
                loop.call_soon_threadsafe(self._told, message)

        threading.Thread(target=read, name="told", daemon=True).start()
        editor: Editor | None = None
        try:
            await self._backlog.ripe()
            editor = await self._begun()
        except Exception as exc:  # noqa: BLE001  # no browser, no encoder, a full disk
            self._fails(exc)
        if editor is None:
            self._say(Left(None, self._trouble))
        else:
            await self._film(editor)
            self._say(Left(await self._left(editor), self._trouble))
        await self._stack.aclose()

    def _told(self, message: object) -> None:
        match message:
            case Moment():
                if isinstance(message.what, Title):
                    self._title = self._title or message.what.headline
                self._backlog.add(message)
            case Drawn(data):
                self._answer(data)
            case Finish():
                self._finish = message
                if message.abandoned:
                    self._ends()
                self._backlog.end()
            case _:
                self._lends = False
                self._answer(None)
                self._backlog.end()

    def _answer(self, data: bytes | None) -> None:
        if self._drawn is not None and not self._drawn.done():
            self._drawn.set_result(data)

    def _say(self, message: object) -> None:
        try:
            self._writing.write(packed(message))
            self._writing.flush()
        except OSError:
            self._lends = False  # nobody is there any more

    def _ends(self) -> None:
        self._over = True
        self._pace.stop()

    def _fails(self, exc: Exception) -> None:
        self._trouble = self._trouble or str(exc) or type(exc).__name__
        self._ends()

    async def _begun(self) -> "Editor":
        """An editor of the film."""
        # One by one: each is a step after which the pace may change.
        for name in (*_HEAVY, _HEAVY_OWN):
            await self._pace.run(lambda name=name: import_module(name))
        from webmcp_agent.browser.recording_editor import Editor
        from webmcp_agent.browser.recording_encoder import find_codec
        from webmcp_agent.browser.recording_layers import Layers
        from webmcp_agent.browser.recording_picture import Composer

        order = self._order
        self._layers = Layers(self._paint, self._pace, order.look.scale)
        drawn = await self._layers.draw(ground()), await self._layers.draw(digits())
        codec = find_codec()
        path = order.folder / f"{STEM}{codec.suffix}"
        composer = await self._pace.run(
            lambda: Composer(*drawn, color=order.look.color, scale=order.look.scale)
        )
        editor = Editor(path, composer, codec)
        self._say(Begun(path))
        return editor

    async def _film(self, editor: "Editor") -> None:
        """Draw all that is told; what fails ends the film where it is."""
        # Few: who decides on scenes waits for those who draw, so that a busy run is not asked for
        # cards that nobody has the time for.
        scenes: asyncio.Queue[Scene | None] = asyncio.Queue(1)
        drawing = asyncio.create_task(self._draw(editor, scenes))
        await self._direct(scenes)
        await drawing
        try:
            await self._pace.run(editor.close)
        except Exception as exc:  # noqa: BLE001  # a full disk, an encoder
            self._fails(exc)

    async def _direct(self, scenes: "asyncio.Queue[Scene | None]") -> None:
        from webmcp_agent.browser.recording_director import Director

        director = Director(self._layers, self._order.look, self._order.waiting, scenes.put)
        failed = False
        while (moment := await self._backlog.take()) is not None:
            if self._over or failed:
                continue
            try:
                await director.handle(moment)
            except Exception as exc:  # noqa: BLE001  # no browser for cards any more
                self._trouble = self._trouble or str(exc)
                failed = True
        await scenes.put(None)

    async def _draw(self, editor: "Editor", scenes: "asyncio.Queue[Scene | None]") -> None:
        while (scene := await scenes.get()) is not None:
            if self._over:
                continue
            try:
                await self._pace.steps(editor.draw(scene))
            except Exception as exc:  # noqa: BLE001  # a full disk, an encoder
                self._fails(exc)
            self._say(Going())

    async def _left(self, editor: "Editor") -> Path | None:
        """Write what belongs to the film, or remove it; where it is then."""
        from webmcp_agent.browser.recording_files import finish

        order = self._order
        if not self._finish.keep:
            remove(order.folder)
            return None
        title = self._title or _UNTITLED
        trouble = await self._pace.run(lambda: finish(editor, order.folder, title, gif=order.gif))
        self._trouble = self._trouble or trouble
        return editor.path if editor.shots else None

    async def _paint(self, card: Card) -> bytes:
        if self._lends:
            self._drawn = asyncio.get_running_loop().create_future()
            self._say(Wanted(card))
            data = await self._drawn if self._lends else None
            if data is not None:
                return data
            self._lends = False
        if self._canvas is None:
            await self._pace.run(lambda: import_module("webmcp_agent.browser.recording_canvas"))
            from webmcp_agent.browser.recording_canvas import Canvas

            self._canvas = await self._stack.enter_async_context(Canvas(self._order.look, None))
        return await self._canvas.draw(card)


def main() -> None:
    """Make the film that is ordered by what comes in."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    reading, writing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # What a library prints must not get between the messages.
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    if isinstance(order := read_message(reading), Order):
        asyncio.run(Studio(order, writing).make(reading))


if __name__ == "__main__":
    main()
