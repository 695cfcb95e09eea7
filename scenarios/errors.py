"""What can be wrong with what a person starts.

ScenarioError
├── WrongUsage           what was asked for makes no sense here
│   ├── StartNotFound    the start address names nothing that can be opened
│   └── BadFile          a scenario or eval file cannot be read as one
└── PortTaken            the port that was asked for cannot be had
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


class ScenarioError(Exception):
    """Base of everything that this folder raises."""


class WrongUsage(ScenarioError):
    """The caller's mistake; the message says what would do instead."""


class StartNotFound(WrongUsage):
    """The start address names no file, folder, shop or web page; the message says what would."""

    def __init__(self, start: str, reason: str) -> None:
        super().__init__(f"{start!r} cannot be opened: {reason}")
        self.start = start
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a file."""

    line: int | None
    """From 1; None when it cannot be told."""
    key: str
    """Where it stands, such as `checks.calls.2.tool`, list items counted from 1; may be empty."""
    text: str

    def at(self, path: Path) -> str:
        """File, line, key and what is wrong."""
        place = str(path) if self.line is None else f"{path}:{self.line}"
        return ": ".join(piece for piece in (place, self.key, self.text) if piece)


class BadFile(WrongUsage):
    """A file is not what it should be; the message names file, line and key of each problem."""

    def __init__(self, path: Path, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(problem.at(path) for problem in problems))
        self.path = path
        self.problems = tuple(problems)


class PortTaken(ScenarioError):
    """The port cannot be had; port 0 stands for a free one."""

    def __init__(self, port: int, reason: str) -> None:
        super().__init__(f"Port {port} cannot be used ({reason}). Leave it out for a free one.")
        self.port = port
        self.reason = reason
