"""Logs of libraries and exceptions that nobody caught, on stderr: masked and escaped."""

import logging
import sys
import traceback
from types import TracebackType

from webmcp_agent.scenarios.console import printable
from webmcp_agent.scenarios.masking import Masker


class _Safe(logging.Formatter):
    """A record as text that can neither repaint a terminal nor tell a secret."""

    def __init__(self, masker: Masker) -> None:
        super().__init__("%(message)s")
        self._masker = masker

    def format(self, record: logging.LogRecord) -> str:
        return printable(self._masker.text(super().format(record)), lines=True)


def guard_stderr(masker: Masker) -> None:
    """From now on library warnings and exceptions that nobody caught leave through `masker`."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Safe(masker))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)

    def told(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        text = "".join(traceback.format_exception(kind, error, trace))
        sys.stderr.write(printable(masker.text(text), lines=True))

    sys.excepthook = told
