"""Cards drawn by a Chromium, in a context of their own: without scripts and without a network."""

import base64
from contextlib import AsyncExitStack
from functools import cache
from importlib.resources import files
from types import TracebackType
from typing import Self

from playwright.async_api import Browser, Error, Page

from webmcp_agent.browser.cdp import CdpSession
from webmcp_agent.browser.launch import open_chromium
from webmcp_agent.browser.recording_cards import SIZE, Card, Look, on_color


@cache
def _style() -> str:
    return files("webmcp_agent.browser").joinpath("recording_cards.css").read_text("utf-8")


class Canvas:
    """Draws cards; inside its `async with` there is a page for it, from the first card on.

    `browser` is one in which a further context can be seen by nobody; without it a Chromium of its
    own is started."""

    def __init__(self, look: Look, browser: Browser | None) -> None:
        self._look = look
        self._browser = browser
        self._stack = AsyncExitStack()
        self._page: Page | None = None
        self._cdp: CdpSession | None = None

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

    async def draw(self, card: Card) -> bytes:
        """A card as PNG. Raises: what Playwright and `open_chromium` raise."""
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

    async def _opened(self) -> Page:
        browser = self._browser
        if browser is None:
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
