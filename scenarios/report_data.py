"""What a report tells, as one JSON value: the cases, read from their folders, and their texts.

Texts that come again and again (the lines of a system prompt, the turns of a conversation) stand
once in `texts`, and prompts name them by number.
"""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from pydantic import JsonValue, TypeAdapter

from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.outcome import Failure
from webmcp_agent.scenarios.report import SUMMARY_FILE
from webmcp_agent.scenarios.scenario import SUFFIXES
from webmcp_agent.scenarios.timeline import read_timeline

VIDEOS = {".mp4", ".webm"}
PICTURES = {".gif", ".jpeg", ".jpg", ".png", ".webp"}

_TAKEN = (
    *("file", "repeat", "model", "why", "failures", "steps", "finish", "answer", "url", "ms"),
    "tokens",
)
"""What a report takes over from a summary as it is."""

Verdict = Literal["passed", "failed", "error"]

_SUMMARY: TypeAdapter[JsonObject] = TypeAdapter(JsonObject)


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a report is about; all texts are for people."""

    command: str
    """What was run, such as `test`."""
    title: str = ""
    """The task of a run; empty where the cases speak for themselves."""
    model: str = ""
    began: str = ""
    """Date and time."""
    wall_ms: float | None = None
    """From start to end, loading included."""


def read_summary(folder: Path) -> JsonObject:
    """The summary of a run; that of an error when it was cut off before it had one."""
    try:
        return _SUMMARY.validate_json((folder / SUMMARY_FILE).read_bytes())
    except (OSError, ValueError):
        failure = Failure("error", "error", "it was cut off before it had a result")
        return {"case": folder.name, "passed": False, "failures": [failure.to_json()]}


def read_case(folder: Path, seen_from: Path) -> JsonObject:
    """What became of a case, and what happened in it; its media are named as seen from a folder."""
    summary = read_summary(folder)
    return {
        **{key: summary[key] for key in _TAKEN if key in summary},
        "name": summary.get("case") or folder.name,
        "group": group_of(summary),
        "verdict": verdict_of(summary),
        "calls": len(listed(summary.get("calls"))),
        "folder": os.path.relpath(folder, seen_from),
        "media": [*_media(folder, seen_from)],
        "requests": [*read_timeline(folder)],
    }


def verdict_of(summary: JsonObject) -> Verdict:
    """`passed`, `failed`, or `error` for what could not be judged or was cut off.

    A run without checks passed when it finished by itself and its last call worked."""
    if "passed" in summary:
        if summary["passed"] is True:
            return "passed"
        kinds = [f.get("kind") for f in listed(summary.get("failures")) if isinstance(f, dict)]
        return "error" if "error" in kinds else "failed"
    last = (listed(summary.get("calls")) or [{"outcome": "ok"}])[-1]
    worked = isinstance(last, dict) and last.get("outcome") == "ok"
    return "passed" if summary.get("finish") == "stop" and worked else "failed"


def group_of(summary: JsonObject) -> str:
    """What a case is counted with: its file, or the folder of a scenario file."""
    file = str(summary.get("file") or "")
    return str(Path(file).parent) if file.endswith(SUFFIXES) else file


def report_data(
    about: About, cases: Sequence[JsonObject], *, text_limit: int, keep_passed: bool = True
) -> JsonObject:
    """The whole of a report, each text at most `text_limit` characters and a note on its length.

    Without `keep_passed`, cases that passed come without their steps."""
    texts = _Texts(text_limit)
    told: list[JsonValue] = []
    for case in cases:
        left_out = case["verdict"] == "passed" and not keep_passed
        told.append(texts.case({**case, "requests": None} if left_out else case))
    return {
        "about": texts.case(asdict(about)),
        "text_limit": text_limit,
        "cases": told,
        "texts": [*texts.known],
    }


@dataclass(slots=True)
class _Texts:
    """Texts that are cut to a limit, and those that stand in a list of their own."""

    limit: int
    known: dict[str, int] = field(default_factory=dict[str, int])

    def case(self, case: JsonObject) -> JsonObject:
        return {key: self._cut(value) for key, value in case.items()}

    def _cut(self, value: JsonValue) -> JsonValue:
        match value:
            case str():
                return self._text(value)
            case list():
                return [self._cut(item) for item in value]
            case {"kind": "prompt"}:
                return self._prompt(value)
            case dict():
                return {key: self._cut(item) for key, item in value.items()}
            case _:
                return value

    def _text(self, text: str) -> str:
        """Head and tail of a long text, so that nothing hides at the end."""
        if len(text) <= self.limit:
            return text
        tail = self.limit // 3
        return f"{text[: self.limit - tail]} … {text[-tail:]} ({len(text)} characters)"

    def _prompt(self, entry: JsonObject) -> JsonObject:
        turns: list[JsonValue] = []
        for turn in listed(entry.get("turns")):
            if isinstance(turn, dict):
                content = self._number(str(turn.get("content")))
                turns.append({**self.case(turn), "content": content})
        lines = str(entry.get("system") or "").split("\n")
        names = [str(name) for name in listed(entry.get("tools"))]
        return {
            **{key: value for key, value in entry.items() if key not in {"system", "tools"}},
            "system": [self._number(line) for line in lines],
            "turns": turns,
            "tools": [self._number(name) for name in names],
        }

    def _number(self, text: str) -> int:
        return self.known.setdefault(self._text(text), len(self.known))


def _media(folder: Path, seen_from: Path) -> list[JsonObject]:
    """The films and pictures in a folder, not those below it: there lies what a page offered.

    A picture that is called like a film is its poster; a film is not shown as a GIF again."""
    paths = sorted(path for path in folder.glob("*") if path.is_file())
    films = {path.stem: path for path in paths if path.suffix.casefold() in VIDEOS}
    media: list[JsonObject] = []
    for path in paths:
        suffix = path.suffix.casefold()
        named: JsonObject = {"name": path.name, "address": _address(path, seen_from)}
        if suffix in VIDEOS:
            poster = path.with_suffix(".png")
            there = poster.is_file()
            named["poster"] = _address(poster, seen_from) if there else None
            media.append({"kind": "video", **named})
        elif suffix in PICTURES and path.stem not in films:
            media.append({"kind": "picture", **named})
    return media


def _address(path: Path, seen_from: Path) -> str:
    return quote(Path(os.path.relpath(path, seen_from)).as_posix())


def listed(value: JsonValue) -> list[JsonValue]:
    """A list as it is; none for anything else."""
    return value if isinstance(value, list) else []
