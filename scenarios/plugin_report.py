"""The page that `--webmcp-report` leaves: all runs of a session, also those of other workers."""

import time
from pathlib import Path

import pytest

OUT = "webmcp_out"
"""The property of a test that names the folder of a run."""


class Report:
    """Hears of every test; one for a session, in the process that the person started."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._began = time.time()
        self._runs: dict[str, None] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take note of the folders of a test."""
        self._runs |= {str(value): None for name, value in report.user_properties if name == OUT}

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Write the page, and say where it is."""
        if not self._runs:
            return
        from webmcp_agent.scenarios.report_data import About
        from webmcp_agent.scenarios.report_files import write_report

        about = About(
            command="pytest",
            began=time.strftime("%Y-%m-%d %H:%M", time.localtime(self._began)),
            wall_ms=(time.time() - self._began) * 1000,
        )
        page = write_report(self._folder, about, [Path(run) for run in self._runs])
        terminalreporter.write_line(f"webmcp report: {page}")
