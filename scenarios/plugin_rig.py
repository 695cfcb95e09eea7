"""What the tests of a session share: a thread with a loop, a Chromium, and loaded models.

Each comes with its first use, and all are gone at the end of the session, also of one that was
interrupted.
"""

import logging
import re
from collections.abc import AsyncGenerator, Generator
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, Playwright, async_playwright

from webmcp_agent.browser.bridge import script
from webmcp_agent.browser.cdp import CdpSession
from webmcp_agent.browser.errors import NoBrowser
from webmcp_agent.browser.launch import open_chromium
from webmcp_agent.providers.abort import AbortController
from webmcp_agent.providers.base import Disposable, LocalProvider
from webmcp_agent.providers.detection import provider_from_name
from webmcp_agent.scenarios.loop_thread import LoopThread
from webmcp_agent.scenarios.masking import Masker
from webmcp_agent.scenarios.plugin_artifacts import Artifacts
from webmcp_agent.scenarios.report import RunFolder
from webmcp_agent.scenarios.runner import load_model

logger = logging.getLogger("webmcp_agent.pytest")

NAME_LENGTH = 150
"""Characters of a test's id in a folder's name."""


class Rig:
    """The thread, the browser and the models of a session."""

    def __init__(self, config: pytest.Config) -> None:
        self.thread = LoopThread()
        self._config = config
        self._stack = ExitStack()
        self._browser: Browser | None = None
        self._playwright: Playwright | None = None
        self._models: dict[str | None, LocalProvider] = {}

    def close(self) -> None:
        """Close the browser, free the models, end the thread."""
        try:
            self._stack.close()
            for provider in self._models.values():
                if isinstance(provider, Disposable):
                    provider.dispose()
        finally:
            self.thread.close()

    def browser(self) -> Browser:
        """A Chromium of our own, by the options of pytest-playwright; a new one after a crash.

        Raises: `NoBrowser`."""
        if self._browser is None or not self._browser.is_connected():
            opening = open_chromium(
                browser=self._option("--browser-channel"),
                headed=bool(self._option("--headed")),
                slow_mo_ms=self.slow_mo_ms,
            )
            self._browser = self._stack.enter_context(self.thread.entered(opening))
        return self._browser

    def model(self, model: str | LocalProvider | None) -> LocalProvider:
        """A loaded model; one that takes time to load is shared by all tests.

        Raises: `ModelUnavailable`, and what else the model raises when it cannot be had."""
        if model is not None and not isinstance(model, str):
            self._load(model)
            return model
        if model is not None and model.partition(":")[0] in {"scripted", "recorded"}:
            # Each test begins at the script's first reply.
            provider = provider_from_name(model)
            self._load(provider)
            return provider
        if model not in self._models:
            provider = provider_from_name(model)
            self._load(provider)
            self._models[model] = provider
        return self._models[model]

    def _load(self, provider: LocalProvider) -> None:
        stop = AbortController()
        try:
            self.thread.run(load_model(provider, _Told(), stop.signal))
        except BaseException:
            stop.abort("the session ends")
            raise

    def fresh_page(self) -> AbstractContextManager[Page]:
        """A page in a context of its own."""
        return self.thread.entered(_fresh_page(self.browser()))

    def attached_page(self, port: int, target: str) -> AbstractContextManager[Page]:
        """A page of somebody else's browser, as our own Playwright sees it."""
        if self._playwright is None:
            self._playwright = self._stack.enter_context(self.thread.entered(async_playwright()))
        return self.thread.entered(_attached_page(self._playwright, port, target, self.slow_mo_ms))

    def artifacts(self, node: pytest.Item) -> Artifacts:
        """What is recorded of a test's pages, by the options of pytest-playwright."""
        output = Path(self._option("--output") or "test-results").absolute()
        return Artifacts(
            target=output / folder_name(node),
            title=node.nodeid,
            tracing=self._option("--tracing") or "off",
            video=self._option("--video") or "off",
            screenshot=self._option("--screenshot") or "off",
            full_page=bool(self._option("--full-page-screenshot")),
        )

    @contextmanager
    def run_folder(
        self, node: pytest.Item, number: int, masker: Masker
    ) -> Generator[RunFolder | None]:
        """Where a run of a test is kept; None when nobody asked for it."""
        path = self.kept_in(node)
        if path is None:
            yield None
            return
        folder = RunFolder(path / str(number), masker)
        try:
            yield folder
        finally:
            folder.close()

    def kept_in(self, node: pytest.Item) -> Path | None:
        """The folder of a test below `--webmcp-report`."""
        report: str | None = self._option("--webmcp-report")
        return None if report is None else Path(report).absolute() / folder_name(node)

    @property
    def slow_mo_ms(self) -> float:
        """How long to wait after each thing that is done, so that people can follow."""
        return float(self._option("--slowmo") or 0)

    def _option(self, name: str) -> Any:
        return self._config.getoption(name, default=None)


def folder_name(node: pytest.Item) -> str:
    """A test's id as the name of a folder."""
    words = re.sub(r"[^a-z0-9]+", "-", node.nodeid.casefold()).strip("-")
    return words if len(words) <= NAME_LENGTH else words[-NAME_LENGTH:].lstrip("-")


class _Told:
    """Loading a model, for the log."""

    def say(self, label: str) -> None:
        logger.info("%s", label)

    def advance(self, fraction: float) -> None:
        logger.debug("%.0f %%", fraction * 100)


@asynccontextmanager
async def _fresh_page(browser: Browser) -> AsyncGenerator[Page]:
    context = await browser.new_context(viewport={"width": 1280, "height": 720})
    try:
        page = await context.new_page()
        await page.add_init_script(script("legacy.js"))
        yield page
    finally:
        await context.close()


@asynccontextmanager
async def _attached_page(
    playwright: Playwright, port: int, target: str, slow_mo_ms: float
) -> AsyncGenerator[Page]:
    # Without defaults: the test's own colour scheme, downloads and the like stay as they are.
    browser = await playwright.chromium.connect_over_cdp(
        f"http://127.0.0.1:{port}", no_defaults=True, is_local=True, slow_mo=slow_mo_ms
    )
    try:
        yield await _page_of(browser, target)
    finally:
        await browser.close()


async def _page_of(browser: Browser, target: str) -> Page:
    for context in browser.contexts:
        for page in context.pages:
            cdp = await CdpSession.of(page)
            told = await cdp.send("Target.getTargetInfo")
            await cdp.detach()
            if told["targetInfo"]["targetId"] == target:
                return page
    raise NoBrowser("The page of the test is not in the browser that answers at its port.")
