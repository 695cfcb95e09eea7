"""Secrets of a pytest session: given by name, and left out of whatever pytest tells and writes.

A captured line, a failure with its values, a property: all of it stands in the report of a test.
What a plugin prints while tests run (`-s`, live logs) does not pass here.
"""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from webmcp_agent.scenarios.masking import Masker

_KEPT = pytest.StashKey["Kept"]()


class Kept:
    """All secrets that a session was given so far."""

    def __init__(self) -> None:
        self._secrets: dict[str, str] = {}
        self._masker: Masker | None = None

    def add(self, secrets: Mapping[str, str]) -> None:
        """Keep these, too."""
        if not secrets.items() <= self._secrets.items():
            self._secrets |= secrets
            self._masker = None

    @property
    def masker(self) -> "Masker | None":
        """Masks them; None while there are none."""
        if self._masker is None and self._secrets:
            from webmcp_agent.scenarios.masking import Masker

            self._masker = Masker(self._secrets)
        return self._masker


def kept_by(config: pytest.Config) -> Kept:
    """The secrets of a session."""
    return config.stash.setdefault(_KEPT, Kept())


def secrets_of(names: Sequence[str]) -> dict[str, str]:
    """The values in the environment.

    Raises: `pytest.UsageError` for one that is not there."""
    for name in names:
        if not os.environ.get(name, "").strip():
            raise pytest.UsageError(
                f"--webmcp-secret {name}: there is no value in the environment for it"
            )
    return {name: os.environ[name] for name in names}


def without(report: pytest.TestReport, masker: "Masker") -> None:
    """Put names in the place of secrets, in all that a report says."""
    report.sections = [(masker.given(name), masker.given(text)) for name, text in report.sections]
    report.user_properties = [
        (name, masker.given(value) if isinstance(value, str) else value)
        for name, value in report.user_properties
    ]
    told = report.longrepr
    if isinstance(told, tuple):  # of a test that was skipped
        path, line, reason = told
        report.longrepr = (path, line, masker.given(reason))
    elif told is not None:
        text = str(told)
        # Only where it has to be: pytest shows its own account with more care than a plain text.
        if (masked := masker.given(text)) != text:
            report.longrepr = masked
