"""What can be wrong with what a person starts.

ScenarioError
├── WrongUsage           what was asked for makes no sense here
│   └── StartNotFound    the start address names nothing that can be opened
└── PortTaken            the port that was asked for cannot be had
"""


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


class PortTaken(ScenarioError):
    """The port cannot be had; port 0 stands for a free one."""

    def __init__(self, port: int, reason: str) -> None:
        super().__init__(f"Port {port} cannot be used ({reason}). Leave it out for a free one.")
        self.port = port
        self.reason = reason
