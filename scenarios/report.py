"""What a run leaves on disk: its stream, its trace and its summary, in a folder of its own.

Lines are written as they happen, so that a run that is killed leaves what it had done; the summary
lands by rename. Only the owner can read the folder, and no secret is written into it.
"""

import json
import os
import re
import time
from pathlib import Path
from typing import IO

from pydantic import JsonValue

from webmcp_agent.agent.stream import AgentStreamPart
from webmcp_agent.agent.trace import TraceEvent
from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.console import json_line
from webmcp_agent.scenarios.masking import Masker, mask

TRACE_TEXT_LIMIT = 100_000
"""Characters of each text that the trace keeps; a page can answer with megabytes."""

PARTS_FILE = "parts.jsonl"
TRACE_FILE = "trace.jsonl"
SUMMARY_FILE = "summary.json"
PAGE_FILE = "page.jsonl"
"""Where a run began, and each listing of the page's tools that differs from the one before."""


def new_run_folder(task: str, parent: Path = Path("runs")) -> Path:
    """A folder name that is not taken: date, time and the first words of the task."""
    words = re.sub(r"[^a-z0-9]+", "-", mask(task).casefold()).strip("-")[:40].strip("-")
    stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{words or 'run'}"
    path, n = parent / stem, 2
    while path.exists():
        path, n = parent / f"{stem}-{n}", n + 1
    return path


class PrivateLines:
    """A new file of JSON lines that only its owner can read; each is there once it was added."""

    def __init__(self, path: Path) -> None:
        self._file = _private(path)

    def add(self, line: JsonObject) -> None:
        """Add a line."""
        self._file.write(json_line(line))
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class RunFolder:
    """The files of one run; close it when the run is over."""

    def __init__(self, path: Path, masker: Masker | None = None) -> None:
        """`masker` knows the values that the person gave by name."""
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o700)
        self.path = path
        self._masker = masker or Masker()
        self._parts = PrivateLines(path / PARTS_FILE)
        self._trace = PrivateLines(path / TRACE_FILE)
        self._page = PrivateLines(path / PAGE_FILE)
        self._began = time.perf_counter()

    def part(self, part: AgentStreamPart) -> None:
        """Add a part of the stream."""
        self._parts.add(self._masker.members(part.to_json()))

    def trace(self, event: TraceEvent) -> None:
        """Add a trace event, with the time since the run began and with long texts cut."""
        line: JsonObject = {
            "type": event.type,
            "step": event.step,
            "at_ms": round((time.perf_counter() - self._began) * 1000, 1),
        }
        if event.agent is not None:
            line["agent"] = event.agent
        data: JsonObject = {key: _bounded(value) for key, value in event.data.items()}
        self._trace.add(line | self._masker.members(data))

    def page(self, line: JsonObject) -> None:
        """Add where it began, or what the page offers now."""
        self._page.add(self._masker.members(line))

    def summary(self, summary: JsonObject) -> None:
        """Write the summary, whole or not at all."""
        write_summary(self.path, summary, self._masker)

    def close(self) -> None:
        """Close the files."""
        self._parts.close()
        self._trace.close()
        self._page.close()


def write_summary(folder: Path, summary: JsonObject, masker: Masker) -> None:
    """Write the summary of a run into its folder, whole or not at all."""
    text = json.dumps(masker.members(summary), ensure_ascii=False, indent=2)
    write_whole(folder / SUMMARY_FILE, f"{text}\n")


def write_whole(path: Path, text: str) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    unfinished = path.with_name(f"{path.name}.tmp")
    with _private(unfinished) as file:
        file.write(text)
    unfinished.replace(path)


def _private(path: Path) -> IO[str]:
    """A new file that only its owner can read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.chmod(path, 0o600)
    return open(descriptor, "w", encoding="utf-8", errors="replace")


def _bounded(value: JsonValue) -> JsonValue:
    match value:
        case str() if len(value) > TRACE_TEXT_LIMIT:
            return f"{value[:TRACE_TEXT_LIMIT]}… ({len(value)} characters)"
        case list():
            return [_bounded(item) for item in value]
        case dict():
            return {key: _bounded(item) for key, item in value.items()}
        case _:
            return value
