"""What a page does besides answering: dialogs, popups, downloads. Each is dealt with and told.

A dialog is always answered, since nothing else runs in a page while one is open. A popup is never
followed, and closed at the end. A file is kept only when there is a folder for it.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.async_api import Dialog, Download, Page

from webmcp_agent.browser.answers import message
from webmcp_agent.browser.cdp import CdpSession
from webmcp_agent.browser.policy import origin_of
from webmcp_agent.browser.waiting import HeldTasks, Pulse

DOWNLOAD_LIMIT_BYTES = 50_000_000
_ARRIVAL_MS = 300
"""An announced tab or file that has not come by then is not waited for."""
_SAVING_MS = 5_000
_QUOTED = 200


class Incident:
    """One of them, in a sentence that may still change while a file comes in."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.settled = True


class Incidents:
    """The incidents of one page, oldest first."""

    def __init__(
        self,
        page: Page,
        cdp: CdpSession,
        pulse: Pulse,
        tasks: HeldTasks,
        *,
        downloads: Path | None,
        file_name: Callable[[str], str],
        allowed: Callable[[str], bool],
    ) -> None:
        self.all: list[Incident] = []
        self.popups: list[Page] = []
        self._pulse = pulse
        self._tasks = tasks
        self._downloads = downloads
        self._file_name = file_name
        self._allowed = allowed
        self._told = 0
        self._announced = 0
        self._arrived = 0
        self._files: dict[str, str] = {}
        self._coming: list[Download] = []
        self._too_large: set[str] = set()
        page.on("dialog", self._on_dialog)
        page.on("popup", self._on_popup)
        page.on("download", self._on_download)
        cdp.on("Page.windowOpen", self._announce)
        cdp.on("Page.downloadWillBegin", self._announce_file)
        cdp.on("Page.downloadProgress", self._on_progress)
        cdp.on("Page.frameRequestedNavigation", self._on_request)

    async def news(self, *, expected: bool = False) -> list[str]:
        """The sentences that were not told yet, when all that is on its way has come.

        A file may be announced only after the call that offers it has answered: it is told with
        the next one. `expected`: a request was seen that may become a file."""
        if expected or self._arrived < self._announced:
            goal = max(self._announced, self._arrived + 1 if expected else 0)
            await self._pulse.until(lambda: self._arrived >= goal, _ARRIVAL_MS)
            self._announced = self._arrived
        await self._pulse.until(lambda: all(each.settled for each in self.all), _SAVING_MS)
        news = [each.text for each in self.all[self._told :]]
        self._told = len(self.all)
        return news

    async def close(self) -> None:
        """Close the popups that are still open."""
        for popup in self.popups:
            if not popup.is_closed():
                await popup.close()

    def _add(self, text: str) -> Incident:
        incident = Incident(text)
        self.all.append(incident)
        return incident

    def tab_stopped(self, address: str) -> None:
        """A new tab was closed before it could ask for `address`."""
        self._arrived += 1
        self._add(f"The page opened {message(address)} in a new tab; it was closed.")
        self._pulse.fire()

    def frame_stopped(self, address: str) -> None:
        """A frame was kept from `address`."""
        target = message(origin_of(address) or address.partition(":")[0])
        self._add(f"The page wanted to show {target} in a frame, which is not allowed.")

    def _announce(self, _event: dict[str, Any]) -> None:
        self._announced += 1

    def _announce_file(self, event: dict[str, Any]) -> None:
        self._announced += 1
        self._files[event["guid"]] = event["url"]

    def _on_progress(self, event: dict[str, Any]) -> None:
        if event.get("state") != "inProgress":
            self._files.pop(event["guid"], None)
        elif max(event["receivedBytes"], event["totalBytes"]) > DOWNLOAD_LIMIT_BYTES:
            # At once: a file without an end would fill the disk.
            if (address := self._files.pop(event["guid"], None)) is not None:
                self._too_large.add(address)
                for download in [each for each in self._coming if each.url == address]:
                    self._tasks.start(download.cancel())

    def _on_request(self, event: dict[str, Any]) -> None:
        if event.get("disposition") in {"newTab", "newWindow", "download"}:
            self._announced += 1

    def _on_dialog(self, dialog: Dialog) -> None:
        words = _quote(dialog.message)
        match dialog.type:
            case "alert":
                self._add(f"The page said {words}.")
                self._tasks.start(dialog.accept())
            case "beforeunload":
                # Whoever navigates means it: staying would leave the call waiting for ever.
                self._add("The page asked whether to leave it; the answer was yes.")
                self._tasks.start(dialog.accept())
            case "prompt":
                self._add(f"The page asked {words}; no answer was given.")
                self._tasks.start(dialog.dismiss())
            case _:
                self._add(f"The page asked {words}; the answer was no.")
                self._tasks.start(dialog.dismiss())

    def _on_popup(self, popup: Page) -> None:
        if not popup.url:  # it was stopped before it had a document, and is told already
            return
        self._arrived += 1
        self.popups.append(popup)
        address = popup.url
        # A tab that has an address which may not be used goes at once; its tools are nobody's.
        if address.startswith(("http:", "https:")) and not self._allowed(address):
            self._add(f"The page opened {message(address)} in a new tab; it was closed.")
            self._tasks.start(popup.close())
        else:
            self._add(f"The page opened {message(address)} in a new tab; it was not followed.")
        self._pulse.fire()

    def _on_download(self, download: Download) -> None:
        self._arrived += 1
        name = clean_name(self._file_name(clean_name(download.suggested_filename)))
        if self._downloads is None:
            self._add(f'The page offered the file "{name}"; it was not saved.')
        else:
            incident = self._add(f'The file "{name}" is still coming in.')
            incident.settled = False
            self._tasks.start(self._save(download, self._downloads, name, incident))
        self._pulse.fire()

    async def _save(self, download: Download, folder: Path, name: str, incident: Incident) -> None:
        incident.text = f'The file "{name}" could not be saved.'
        self._coming.append(download)
        try:
            if download.url in self._too_large:
                await download.cancel()
            failure = await download.failure()
            if download.url in self._too_large:
                incident.text = f'The file "{name}" is too large; it was not saved.'
            elif failure is None:
                if _size(await download.path()) > DOWNLOAD_LIMIT_BYTES:
                    incident.text = f'The file "{name}" is too large; it was not saved.'
                else:
                    target = _free(folder, name)
                    await download.save_as(target)
                    target.chmod(0o600)
                    incident.text = f'The page\'s file was saved as "{target.name}".'
        finally:
            self._coming.remove(download)
            incident.settled = True
            self._pulse.fire()


def clean_name(name: str) -> str:
    """A file name with ordinary characters only, at most 100 of them, that leads to no folder."""
    plain = re.sub(r"[^\w .()+-]", "_", message(name))
    stem = re.sub(r"\.{2,}", "_", plain).strip(" ._")
    return stem[-100:].strip(" ._") or "download"


def _quote(text: str) -> str:
    line = message(text)
    return f'"{line if len(line) <= _QUOTED else line[: _QUOTED - 1] + "…"}"'


def _size(path: Path) -> int:
    return path.stat().st_size


def _free(folder: Path, name: str) -> Path:
    """A place for `name` in the folder, which only its owner can read; a number is added to a name
    that is taken."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / name
    number, free = 2, path
    while free.exists():
        free = path.with_name(f"{path.stem}-{number}{path.suffix}")
        number += 1
    return free
