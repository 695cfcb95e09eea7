"""The `prompt-api` provider: Chrome's built-in model, used through a page of that browser.

The page is one that the caller owns, or a blank tab of a running browser that is attached to. The
page side is `prompt_api.js`. The model hears nothing of tools but what stands in the prompt text.
Whether the download of the real model works has not been tried; the tests have a page that
behaves as the specification says, and a real Chromium, which has no such model.
"""

import asyncio
import contextlib
from collections.abc import Callable
from importlib.resources import files
from typing import cast

from playwright.async_api import Error, JSHandle, Page, Route, async_playwright
from pydantic import JsonValue

from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.base import (
    Available,
    CallFormat,
    Downloading,
    GenerateRequest,
    GenerateResult,
    NeedsDownload,
    PromptParts,
    ProviderAvailability,
    Unavailable,
)
from webmcp_agent.providers.chat_completion import messages
from webmcp_agent.providers.errors import (
    Aborted,
    ModelFailed,
    ModelUnavailable,
    NotReady,
    PromptTooLong,
    ProviderError,
)

DEFAULT_ADDRESS = "http://127.0.0.1:9222"
"""Where a Chrome that was started with `--remote-debugging-port=9222` listens."""

REPLY_TOKENS = 512
"""Room for a reply; the interface has no limit of its own for it."""

_ABORT_MS = 1_000
"""How long a page may take to hear that something is over."""

_BLANK = "https://webmcp-agent.invalid/"
"""Answered by ourselves: the model is there in a secure context only, and `about:blank` is none."""


class PromptApiProvider:
    """Generates with the model of the browser that a page belongs to."""

    id = "prompt-api"
    label = "The browser's built-in model"
    tools_inline = True
    call_format: CallFormat = "tags"

    def __init__(self, page: Page | str = DEFAULT_ADDRESS) -> None:
        """Touches nothing yet. `page` stays the caller's; an address is that of a browser's
        DevTools, in which a tab is opened at first use and closed by `dispose`."""
        self.broken: str | None = None
        self._where = page
        self._tab: _Tab | None = None
        self._model: JSHandle | None = None
        self._number = 0
        self._progress = 0.0
        self._loads = 0
        """How many wait for the download."""
        self._load_number = 0
        self._too_long: int | None = None
        """Characters of the shortest prompt that did not fit."""

    async def availability(self) -> ProviderAvailability:
        """What the browser says of its model; downloads nothing."""
        try:
            state = await self._ask("availability")
        except ProviderError as exc:
            return Unavailable(str(exc))
        match state:
            case "available":
                return Available()
            case "downloadable":
                return NeedsDownload(note=self.label)
            case "downloading":
                return Downloading(self._progress)
            case "unavailable":
                return Unavailable("the browser cannot run its built-in model on this machine")
            case _:
                return Unavailable("this browser has no built-in model")

    async def prepare(
        self, on_progress: Callable[[float], None], signal: AbortSignal | None = None
    ) -> None:
        """Have the browser download and load its model; joins a download that is under way.

        Raises `Aborted`, `ModelUnavailable`, and `ModelFailed` with the browser's words."""
        signal = signal or AbortSignal()
        signal.throw_if_aborted()
        state = await self.availability()
        if isinstance(state, Unavailable):
            raise ModelUnavailable(state.reason)
        self._loads += 1
        try:
            await self._load(on_progress, signal)
        finally:
            self._loads -= 1
        on_progress(1.0)

    async def _load(self, on_progress: Callable[[float], None], signal: AbortSignal) -> None:
        model = await self._handle()
        if self._loads == 1:
            self._load_number = self._next()
        number = self._load_number
        seen = 0.0
        on_progress(seen)
        try:
            await self._evaluated(model, "load", [number], signal)
            while True:
                news = await self._evaluated(model, "news", [seen], signal)
                assert isinstance(news, dict)
                progress = news["progress"]
                if isinstance(progress, int | float) and seen < progress < 1:
                    seen = self._progress = float(progress)
                    on_progress(seen)
                elif news["done"] is None:
                    seen = 1.0  # loaded from the disk into memory now; only the end is news
                if (done := news["done"]) is not None:
                    _value(done)
                    return
        except Aborted:
            if self._loads == 1:  # nobody else waits for it
                await self._abort(model, number)
            raise

    async def fits(self, prompt: PromptParts) -> bool:
        """Whether the browser's own measure leaves room for a reply; True where it has none."""
        if self._too_long is not None and _chars(prompt) >= self._too_long:
            return False
        try:
            measured = await self._ask("measure", prompt.system, messages("", prompt.messages))
        except PromptTooLong:
            return False
        if not isinstance(measured, dict):
            return True
        needed, window = measured["needed"], measured["window"]
        assert isinstance(needed, int | float)
        assert isinstance(window, int | float)
        return needed + REPLY_TOKENS <= window

    async def generate(self, req: GenerateRequest) -> GenerateResult:
        """One reply; the browser is told to stop once `req.signal` is set, which raises `Aborted`.

        Raises `NotReady` before `prepare`, `PromptTooLong` when the browser says so, and
        `ModelFailed` with its words for everything else."""
        req.signal.throw_if_aborted()
        turns = messages("", req.messages)
        try:
            text = await self._ask("prompt", req.system, turns, signal=req.signal)
        except PromptTooLong:
            self._too_long = _chars(PromptParts(req.system, req.messages, req.tools))
            raise
        if not isinstance(text, str):
            raise ModelFailed(f"the built-in model replied something else than text: {text!r}")
        if req.on_token is not None and text:
            req.on_token(text)
        return GenerateResult(text)

    def dispose(self) -> None:
        """Give up the sessions and close the tab of our own; twice is fine.

        Both happen in the event loop, soon; where it has ended, so has the page."""
        if self._tab is not None:
            self._tab.close()
            self._tab = None
        elif self._model is not None and _loop_runs():
            leaving = asyncio.ensure_future(_left(self._model))
            _LEAVING.add(leaving)
            leaving.add_done_callback(_LEAVING.discard)
        self._model = None

    async def _ask(
        self, what: str, *args: JsonValue, signal: AbortSignal | None = None
    ) -> JsonValue:
        """The value that a function of the page side gives, raced against Stop."""
        model = await self._handle()
        number = self._next()
        ended = False
        try:
            outcome = await self._evaluated(model, what, [number, *args], signal or AbortSignal())
            ended = True
        finally:
            if not ended:  # also when the task is cancelled: the page must not go on
                await self._abort(model, number)
        return _value(outcome)

    async def _evaluated(
        self, model: JSHandle, what: str, args: list[JsonValue], signal: AbortSignal
    ) -> JsonValue:
        expression = "(model, [what, args]) => model[what](...args)"
        work = asyncio.ensure_future(model.evaluate(expression, [what, args]))
        stopped = asyncio.ensure_future(signal.wait())
        try:
            await asyncio.wait({work, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise Aborted(signal.reason or "stopped")
            return cast("JsonValue", work.result())
        except Error as exc:
            raise self._lost(exc) from exc
        finally:
            work.cancel()
            stopped.cancel()
            await asyncio.gather(work, stopped, return_exceptions=True)

    async def _abort(self, model: JSHandle, number: int) -> None:
        with contextlib.suppress(Error, TimeoutError):
            async with asyncio.timeout(_ABORT_MS / 1000):
                await model.evaluate("(model, number) => model.abort(number)", number)

    async def _handle(self) -> JSHandle:
        """The page side, in the document that is open now."""
        if self.broken is not None:
            raise ModelUnavailable(self.broken)
        if self._model is None:
            page = await self._page()
            try:
                self._model = await page.evaluate_handle(_script())
            except Error as exc:
                raise self._lost(exc) from exc
        return self._model

    async def _page(self) -> Page:
        if not isinstance(self._where, str):
            return self._where
        if self._tab is None:
            self._tab = _Tab(self._where)
        try:
            return await self._tab.page()
        except ModelUnavailable:
            self._tab = None
            raise

    def _lost(self, exc: Error) -> ProviderError:
        """What it means that the page did not answer."""
        self._model = None
        page = self._where if not isinstance(self._where, str) else None
        if page is not None and page.is_closed():
            self.broken = "the page through which the built-in model is used was closed"
            return ModelUnavailable(self.broken)
        if self._tab is not None:
            self._tab.close()
            self._tab = None
        return ModelFailed(f"the page of the built-in model went away: {_first_line(exc)}")

    def _next(self) -> int:
        self._number += 1
        return self._number


class _Tab:
    """A blank tab of a browser that was started by somebody else."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._opened: asyncio.Future[Page] = asyncio.get_running_loop().create_future()
        self._closing = asyncio.Event()
        # Playwright has to be left in the task that entered it.
        self._holding = asyncio.create_task(self._hold(), name="hold the tab of the built-in model")
        _LEAVING.add(self._holding)
        self._holding.add_done_callback(_LEAVING.discard)

    async def page(self) -> Page:
        """The tab, once it is open."""
        return await asyncio.shield(self._opened)

    def close(self) -> None:
        """Close the tab and leave the browser as it was, soon."""
        self._closing.set()

    async def _hold(self) -> None:
        try:
            async with async_playwright() as playwright:
                browser = await playwright.chromium.connect_over_cdp(self._address)
                context = browser.contexts[0] if browser.contexts else await browser.new_context()
                page = await context.new_page()
                try:
                    await page.route(_BLANK, _blank)
                    await page.goto(_BLANK)
                    self._opened.set_result(page)
                    await self._closing.wait()
                finally:
                    with contextlib.suppress(Error):
                        await page.close()
        except Error as exc:
            if not self._opened.done():
                self._opened.set_exception(
                    ModelUnavailable(
                        f"no browser can be used at {self._address}: {_first_line(exc)}; start "
                        "one with --remote-debugging-port"
                    )
                )
                self._opened.exception()  # who asked may have left; that is no reason to complain
        finally:
            self._opened.cancel()


_LEAVING: set[asyncio.Future[None]] = set()
"""What still closes; held here, since a task that nobody holds can vanish."""


async def _blank(route: Route) -> None:
    await route.fulfill(
        body="<!doctype html><title>Built-in model</title>", content_type="text/html"
    )


async def _left(model: JSHandle) -> None:
    with contextlib.suppress(Error, TimeoutError):
        async with asyncio.timeout(_ABORT_MS / 1000):
            await model.evaluate("(model) => model.dispose()")


def _loop_runs() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _script() -> str:
    return files("webmcp_agent.providers").joinpath("prompt_api.js").read_text(encoding="utf-8")


def _value(outcome: JsonValue) -> JsonValue:
    """The value of an outcome of the page side; its error as ours."""
    assert isinstance(outcome, dict)
    error = outcome.get("error")
    if not isinstance(error, dict):
        return outcome.get("value")
    name, message = str(error["name"]), str(error["message"])
    match name:
        case "QuotaExceededError":
            raise PromptTooLong(f"the prompt is too long for the built-in model: {message}")
        case "NotReady":
            raise NotReady(f"{message}; call prepare first")
        case "AbortError":
            raise Aborted("the browser stopped the built-in model")
        case _:
            raise ModelFailed(f"the built-in model failed: {name}: {message}")


def _chars(prompt: PromptParts) -> int:
    return len(prompt.system) + sum(len(turn.content) for turn in prompt.messages)


def _first_line(exc: Error) -> str:
    return next(iter(exc.message.splitlines()), "Error")
