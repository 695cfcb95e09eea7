"""A film of a live page with captions: started, told what happens, finished.

Whoever runs something tells a `Recording` what is about to be done and what came of it. Nothing
that goes wrong with the film reaches the run, and the page is only looked at, over the protocol.
"""

import asyncio
import base64
import logging
import mimetypes
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from playwright.async_api import Browser, BrowserContext, Error, Page

from webmcp_agent.browser.errors import NoEncoder
from webmcp_agent.browser.recording_canvas import Canvas
from webmcp_agent.browser.recording_cards import Look
from webmcp_agent.browser.recording_cutting import Waiting
from webmcp_agent.browser.recording_maker import Maker
from webmcp_agent.browser.recording_messages import Begun, Finish, Order
from webmcp_agent.browser.recording_moments import (
    Act,
    End,
    Moment,
    Reply,
    Rest,
    Tick,
    Title,
    What,
)
from webmcp_agent.browser.recording_names import remove
from webmcp_agent.browser.recording_screencast import Screencast

logger = logging.getLogger("webmcp_agent.browser")

REST_MS = 700
"""So long after an answer the page may go on changing because of it."""
_MOST_DELAYS = 3
_TICK_MS = 2_000
_LIVE_GAP_MS, _IDLE_GAP_MS, _REAL_GAP_MS = 33, 250, 50
_TRACE_LIMIT_MS = 30_000

Masker = Callable[[str], str]


def _as_it_is(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingOptions:
    """How a film is made, and what must not be seen in it."""

    waiting: Waiting = "fast"
    theme: Literal["light", "dark"] = "light"
    color: str = "#3556d8"
    """The brand's colour, `#rrggbb`."""
    logo: Path | None = None
    """A picture that a browser can show."""
    scale: Literal[1, 2] = 1
    """Pixels of the film for each CSS pixel; 2 costs about four times as much."""
    gif: bool = False
    trace: bool = False
    """A Playwright trace beside the film: it holds all that the page held, secrets too."""
    mask: Masker = _as_it_is
    """Applied to each text that a film shows."""
    secrets: tuple[str, ...] = ()
    """Values that are painted over on the page; the film then shows it only while it rests."""


def require_encoder() -> None:
    """Raises: `NoEncoder` when films cannot be made here."""
    missing = [name for name in ("av", "PIL") if find_spec(name) is None]
    if missing:
        raise NoEncoder(f'A film needs {" and ".join(missing)}: pip install "webmcp-agent[record]"')


def logo_address(path: Path) -> str:
    """A picture as a `data:` address. Raises: `OSError`; `ValueError` for what is no picture."""
    kind = mimetypes.guess_type(path.name)[0] or ""
    if not kind.startswith("image/"):
        raise ValueError(f"{path} is no picture")
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"


class Recording:
    """A film that is being made; its methods return at once and never raise."""

    def __init__(
        self, page: Callable[[], Page], screencast: Screencast, options: RecordingOptions
    ) -> None:
        self.keep = True
        """Whether the film stays when it is finished."""
        self.path: Path | None = None
        """The film, once there is something of it."""
        self.trouble: str | None = None
        """Why the film ended early, or lacks something."""
        self.abandoned = False
        """Whether what was not drawn yet stays out of the film."""
        self._maker: Maker | None = None
        self._untold: list[Moment | Finish] = []
        """What there was no maker for yet."""
        self._page = page
        self._screencast = screencast
        self._options = options
        self._timer: asyncio.TimerHandle | None = None
        self.rested = asyncio.Event()
        """Set while nothing on the page is expected to change because of a call."""
        self.rested.set()
        self._delays = 0
        self._taken = 0

    def title(self, title: Title) -> None:
        """A request begins."""
        mask = self._options.mask
        masked = replace(title, headline=mask(title.headline), facts=tuple(map(mask, title.facts)))
        self._rest()
        self._put(masked)
        self._idle()

    def acts(self, act: Act) -> None:
        """A call is about to be made."""
        mask = self._options.mask
        rows = tuple(replace(row, value=mask(row.value)) for row in act.rows)
        self._rest()
        self._put(replace(act, caption=mask(act.caption), rows=rows))
        self._after(None)
        self._taken = self._screencast.taken
        self._screencast.gap_ms = _LIVE_GAP_MS

    def answers(self, reply: Reply) -> None:
        """The call that was told of last came to this."""
        self._put(replace(reply, text=self._options.mask(reply.text)))
        self.rested.clear()
        self._delays = 0
        self._after(self._rest_if_painted, REST_MS)

    def ends(self, end: End) -> None:
        """The request is over."""
        mask = self._options.mask
        calls = tuple(replace(call, what=mask(call.what)) for call in end.calls)
        facts = tuple(map(mask, end.facts))
        self._rest()
        self._put(replace(end, headline=mask(end.headline), calls=calls, facts=facts))

    def made_by(self, maker: Maker) -> None:
        """Who makes the film: it is told at once what there is, so that a kill loses none of it."""
        self._maker = maker
        for each in self._untold:
            self._tell(each)
        self._untold = []

    def has_begun(self, begun: Begun) -> None:
        """There is something of the film."""
        self.path = begun.path

    def close(self) -> None:
        """Nothing more will be told."""
        self._rest()
        self._after(None)
        self._tell(Finish(self.keep, self.abandoned))

    def _rest_if_painted(self) -> None:
        """`_rest`, but a page that was not painted since the call gets more time, a few times."""
        late = self._screencast.is_behind or self._screencast.taken == self._taken
        if late and self._delays < _MOST_DELAYS:
            self._delays += 1
            self._after(self._rest_if_painted, REST_MS)
        else:
            self._rest()

    def _rest(self) -> None:
        """End the time that a page has for changing after a call, if it runs."""
        if not self.rested.is_set():
            self.rested.set()
            self._put(Rest())
            self._idle()

    def _idle(self) -> None:
        """From now on the model works."""
        real = self._options.waiting == "real"
        self._screencast.gap_ms = _REAL_GAP_MS if real else _IDLE_GAP_MS
        self._after(self._tick if real else None, _TICK_MS)

    def _tick(self) -> None:
        self._put(Tick())
        self._after(self._tick, _TICK_MS)

    def _after(self, do: Callable[[], None] | None, ms: float = 0) -> None:
        if self._timer is not None:
            self._timer.cancel()
        loop = asyncio.get_running_loop()
        self._timer = None if do is None else loop.call_later(ms / 1000, do)

    def _put(self, what: What) -> None:
        self._screencast.follow()
        address = self._options.mask(short_address(self._page().url))
        pictures = tuple(self._screencast.take())
        self._tell(Moment(what, self._screencast.now_ms(), pictures, address))

    def _tell(self, each: "Moment | Finish") -> None:
        if self._maker is None:
            self._untold.append(each)
        else:
            self._maker.tell(each, last=isinstance(each, Finish))


@asynccontextmanager
async def open_recording(
    page: Callable[[], Page],
    folder: Path,
    options: RecordingOptions,
    *,
    browser: Browser | None = None,
) -> AsyncGenerator[Recording]:
    """A film of what `page()` shows, in `folder`, which is there, finished at the end.

    `browser`: one in which a further context is seen by nobody, for drawing captions; without it
    a Chromium is started for them. When the task is cancelled, the film ends where it is.

    Raises: `NoEncoder`, `OSError` and `ValueError` for the logo; nothing once it is open."""
    require_encoder()
    logo = None if options.logo is None else logo_address(options.logo)
    order = Order(
        folder=folder,
        look=Look(theme=options.theme, color=options.color, logo=logo, scale=options.scale),
        waiting=options.waiting,
        gif=options.gif,
        lends=browser is not None,
    )
    screencast = Screencast(page, scale=options.scale, secrets=options.secrets)
    recording = Recording(page, screencast, options)
    # What an earlier film left in the folder is not of this one.
    with suppress(OSError):
        remove(folder)
    making = asyncio.create_task(_make(recording, order, browser), name="film")
    tracing: BrowserContext | None = None
    try:
        await screencast.start()
        await screencast.first()
        tracing = await _start_trace(page) if options.trace else None
        yield recording
    except asyncio.CancelledError:
        recording.abandoned = True
        raise
    finally:
        recording.close()
        await screencast.stop()
        if tracing is not None:
            await _stop_trace(tracing, folder if recording.keep else None)
        try:
            await asyncio.wait({making})
        except asyncio.CancelledError:
            making.cancel()
            raise


async def _make(recording: Recording, order: Order, browser: Browser | None) -> None:
    """Have the film made of what the recording is told, to its end."""
    try:
        async with AsyncExitStack() as stack:
            canvas: Canvas | None = None
            if browser is not None:
                canvas = await stack.enter_async_context(Canvas(order.look, browser))
            maker = await stack.enter_async_context(Maker(order, canvas))
            recording.made_by(maker)
            left = await maker.until_left(recording.has_begun)
        recording.path, recording.trouble = left.path, left.trouble
    except Exception as exc:  # noqa: BLE001  # whatever it is: the run goes on
        logger.debug("the film ends here: %s", exc)
        recording.trouble = str(exc) or type(exc).__name__


async def _start_trace(page: Callable[[], Page]) -> BrowserContext | None:
    context = page().context
    try:
        await context.tracing.start(screenshots=True, snapshots=True)
    except Error as exc:
        logger.debug("no trace: %s", exc)
        return None
    return context


async def _stop_trace(context: BrowserContext, folder: Path | None) -> None:
    try:
        async with asyncio.timeout(_TRACE_LIMIT_MS / 1000):
            await context.tracing.stop(path=None if folder is None else folder / "trace.zip")
    except (Error, OSError, TimeoutError) as exc:
        logger.debug("no trace: %s", exc)


def short_address(address: str) -> str:
    """An address as people read it: host and path."""
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"}:
        return address
    return f"{parts.netloc}{parts.path}".rstrip("/")
