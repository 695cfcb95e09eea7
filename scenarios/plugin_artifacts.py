"""Traces and films of the pages that a scenario file opens, by pytest-playwright's own options.

`on`, `off` or `retain-on-failure`, below `--output`, named as pytest-playwright names them.
"""

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from playwright.async_api import Browser, BrowserContext

Keep = Literal["on", "off", "retain-on-failure"]


@dataclass(slots=True)
class Artifacts:
    """What the contexts of one test leave."""

    target: Path
    """The folder of this test; made when there is something to keep."""
    title: str
    tracing: Keep = "off"
    video: Keep = "off"
    failed: bool = True
    """Set it to False once the test has passed."""
    kept: list[tuple[str, Path]] = field(default_factory=list[tuple[str, Path]])
    """Kind and file of each thing that was kept."""

    @contextmanager
    def of(self, browser: Browser) -> Generator[None]:
        """Record every context that is opened meanwhile; at the end, keep it or not."""
        if self.tracing == "off" and self.video == "off":
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
                return context

            _put(browser, "new_context", new_context)
            try:
                yield
            finally:
                del browser.new_context  # the class's own is behind it
                self._keep("trace", self.tracing, sorted(folder.glob("*.zip")))
                self._keep("video", self.video, sorted(folder.glob("*.webm")))

    def _keep(self, kind: str, when: Keep, files: list[Path]) -> None:
        if not (when == "on" or (when == "retain-on-failure" and self.failed)):
            return
        for number, file in enumerate(files, 1):
            self.target.mkdir(parents=True, exist_ok=True)
            stem = kind if len(files) == 1 else f"{kind}-{number}"
            target = self.target / (stem + file.suffix)
            shutil.move(file, target)
            self.kept.append((kind, target))


def _put(where: object, name: str, value: object) -> None:
    """Hide a method of one object behind another one, as pytest-playwright does."""
    setattr(where, name, value)


def _free(folder: Path, suffix: str) -> Path:
    return folder / f"{len(list(folder.iterdir()))}{suffix}"
