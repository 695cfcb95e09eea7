"""What `--report DIR` leaves: the page, the results as JSON lines, and a JUnit file; a run's page.

All of it is made from the folders of the cases, where secrets were masked before they were written.
Only the owner can read it.
"""

import json
import time
from collections.abc import Sequence
from pathlib import Path

from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.junit import junit_xml
from webmcp_agent.scenarios.report import write_whole
from webmcp_agent.scenarios.report_data import About, read_summary, verdict_of
from webmcp_agent.scenarios.report_page import REPORT_FILE, write_page
from webmcp_agent.scenarios.results import RESULTS_FILE

JUNIT_FILE = "junit.xml"


def write_report(folder: Path, about: About, cases: Sequence[Path]) -> Path:
    """Write all files of a report on cases, given by their folders in order; returns the page's.

    `results.jsonl` holds what `test --json` prints."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    summaries = [read_summary(case) for case in cases]
    lines = [*summaries, _count(summaries)]
    write_whole(
        folder / RESULTS_FILE,
        "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines),
    )
    write_whole(folder / JUNIT_FILE, junit_xml(summaries))
    page = folder / REPORT_FILE
    write_page(page, about, cases)
    return page


def write_run_report(folder: Path, task: str, model: str) -> Path:
    """Write the page of one run into its folder."""
    page = folder / REPORT_FILE
    write_page(page, About(command="run", title=task, model=model, began=now()), [folder])
    return page


def now() -> str:
    """Date and time, for people."""
    return time.strftime("%Y-%m-%d %H:%M")


def _count(summaries: Sequence[JsonObject]) -> JsonObject:
    verdicts = [verdict_of(summary) for summary in summaries]
    return {
        "type": "summary",
        "passed": verdicts.count("passed"),
        "failed": verdicts.count("failed"),
        "errors": verdicts.count("error"),
    }
