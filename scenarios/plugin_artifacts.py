"""Traces, films and pictures of the pages of a scenario file, by pytest-playwright's own options.

Below `--output`, named as pytest-playwright names them.
"""

import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from playwright.async_api import Browser, BrowserContext, Error, Page

Keep = Literal["on", "off", "retain-on-failure"]
Shoot = Literal["on", "off", "only-on-failure"]

PICTURE_LIMIT_MS = 5_000


@dataclass(slots=True)
class Artifacts:
    """What the contexts of one test leave."""

    target: Path
    """The folder of this test; made when there is something to keep."""
    title: str
    tracing: Keep = "off"
    video: Keep = "off"
    screenshot: Shoot = "off"
    """Of each page as it is in the end."""
    full_page: bool = False
    failed: bool = True
    """Set it to False once the test has passed."""
    kept: list[tuple[str, Path]] = field(default_factory=list[tuple[str, Path]])
    """Kind and file of each thing that was kept."""

    @property
    def wanted(self) -> bool:
        """Whether anything of it is."""
        return {self.tracing, self.video, self.screenshot} != {"off"}

    @contextmanager
    def of(self, browser: Browser) -> Generator[None]:
        """Record every context that is opened meanwhile; at the end, keep it or not."""
        if not self.wanted:
            yield
            return
        with TemporaryDirectory(prefix="webmcp-agent-") as name:
            folder = Path(name)
            plain = browser.new_context

            async def new_context(**options: Any) -> BrowserContext:
                if self.video != "off":
                    options["record_video_dir"] = folder
                context = await plain(**options)
                if self.tracing != "off":
                    await context.tracing.start(title=self.title, screenshots=True, snapshots=True)
                    close = context.close

                    async def closed(**reason: Any) -> None:
                        await context.tracing.stop(path=_free(folder, ".zip"))
                        await close(**reason)

                    _put(context, "close", closed)
                if self.screenshot != "off":
                    self._shoot(context, folder)
                return context

            _put(browser, "new_context", new_context)
            try:
                yield
            finally:
                del browser.new_context  # the class's own is behind it
                self._keep("trace", self.tracing, sorted(folder.glob("*.zip")))
                self._keep("video", self.video, sorted(folder.glob("*.webm")))
                self._keep("screenshot", self.screenshot, sorted(folder.glob("*.png")))

    def _shoot(self, context: BrowserContext, folder: Path) -> None:
        """Have each page of a context leave a picture before it is closed."""
        plain = context.new_page

        async def new_page() -> Page:
            page = await plain()
            close = page.close

            async def closed(**how: Any) -> None:
                with suppress(Error):  # a page that crashed has no picture
                    await page.screenshot(
                        path=_free(folder, ".png"),
                        full_page=self.full_page,
                        timeout=PICTURE_LIMIT_MS,
                    )
                await close(**how)

            _put(page, "close", closed)
            return page

        _put(context, "new_page", new_page)

    def _keep(self, kind: str, when: Keep | Shoot, files: list[Path]) -> None:
        if when == "off" or (when != "on" and not self.failed):
            return
        for number, file in enumerate(files, 1):
            self.target.mkdir(parents=True, exist_ok=True)
            stem = kind if len(files) == 1 else f"{kind}-{number}"
            if kind == "screenshot":
                stem = f"test-{'failed' if self.failed else 'finished'}-{number}"
            target = self.target / (stem + file.suffix)
            shutil.move(file, target)
            self.kept.append((kind, target))


def _put(where: object, name: str, value: object) -> None:
    """Hide a method of one object behind another one, as pytest-playwright does."""
    setattr(where, name, value)


def _free(folder: Path, suffix: str) -> Path:
    return folder / f"{len(list(folder.iterdir()))}{suffix}"
