"""What `webmcp-agent test` does: hold the cases of files and folders, and tell how they ended."""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Generic, TypeVar

from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.case_run import CaseResult, open_case_runner
from webmcp_agent.scenarios.case_view import CaseView
from webmcp_agent.scenarios.console import Progress, progress_console, results_console, write_json
from webmcp_agent.scenarios.errors import WrongUsage
from webmcp_agent.scenarios.evals_report import REPORT_FILE, evals_report
from webmcp_agent.scenarios.interrupt import Interrupt
from webmcp_agent.scenarios.pass_rates import Comparison, Statistics
from webmcp_agent.scenarios.report import PrivateLines, write_whole
from webmcp_agent.scenarios.report_data import About
from webmcp_agent.scenarios.report_files import now, write_report
from webmcp_agent.scenarios.results import (
    CaseRecord,
    open_results,
    read_results,
    record_of,
    results_named,
)
from webmcp_agent.scenarios.runner import RunSettings
from webmcp_agent.scenarios.scenario import Case
from webmcp_agent.scenarios.suite import Tallies, cases_of, folder_names
from webmcp_agent.scenarios.workers import in_parallel

ALL_PASSED, NOT_ALL_PASSED = 0, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """How cases are held, and what is kept of them."""

    url: str | None = None
    """The page of cases that name none."""
    repeats: int = 1
    workers: int = 1
    out: Path | None = None
    """Where parts and trace of each case go, and all results."""
    report: Path | None = None
    """Where a page to look at goes, and a JUnit file; all else too where `out` says nothing."""
    against: Path | None = None
    """Results of an earlier test, to compare with."""
    command: str = "test"
    """What a report says was run."""
    as_json: bool = False

    @property
    def kept(self) -> Path | None:
        """Where cases leave their parts."""
        return self.out or self.report


Work = TypeVar("Work")


@dataclass(frozen=True, slots=True)
class Job(Generic[Work]):
    """One repeat of a case."""

    work: Work
    """What is to be done: the case itself, or what was made of it."""
    case: Case
    repeat: int
    folder: Path | None
    """Where its parts go."""


async def hold_cases(
    interrupt: Interrupt, paths: list[Path], settings: RunSettings, holding: Holding
) -> int:
    """Hold each case; files that are wrong are told before anything is opened.

    Paths that are results of an earlier test are counted as they are, without a model."""
    settings.film.check()
    earlier = None if holding.against is None else read_results(holding.against)
    if kept := results_named(paths):
        if len(kept) < len(paths):
            raise WrongUsage("results of an earlier test cannot be mixed with cases to be held")
        return _count_again(
            [record for path in kept for record in read_results(path)], earlier, holding
        )
    given = settings.page.given
    cases = cases_of(paths, given.variables, secrets=given.secrets)
    jobs = [
        Job(case, case, repeat, None if holding.kept is None else holding.kept / name)
        for case, names in zip(cases, folder_names(cases, holding.repeats), strict=True)
        for repeat, name in enumerate(names, 1)
    ]
    progress = Progress(progress_console())
    signal = interrupt.setup.signal
    try:
        async with open_case_runner(
            settings, told=progress, signal=signal, url=holding.url
        ) as runner:
            # What cannot be had is told before the first case.
            for case in cases:
                await runner.model_of(case)

            async def hold(job: Job[Case]) -> CaseResult:
                return await runner.run(job.work, signal, repeat=job.repeat, folder=job.folder)

            return await hold_jobs(jobs, hold, settings, holding, earlier, progress)
    finally:
        progress.done()


async def hold_jobs(
    jobs: Sequence[Job[Work]],
    hold: Callable[[Job[Work]], Awaitable[CaseResult]],
    settings: RunSettings,
    holding: Holding,
    earlier: Sequence[CaseRecord] | None = None,
    progress: Progress | None = None,
) -> int:
    """Do all jobs, several at a time, and tell how they ended, one after another and together."""
    progress = progress or Progress(progress_console())
    view = CaseView(results_console(), progress, len(jobs), holding.repeats)

    async def work(job: Job[Work]) -> CaseResult:
        view.begins(job.case, job.repeat)
        return await hold(job)

    with contextlib.closing(_Kept(view, settings, holding)) as kept:
        try:
            await in_parallel(jobs, holding.workers, work, kept.add)
        except asyncio.CancelledError:
            kept.counted(earlier)
            raise
        finally:
            progress.done()
        kept.counted(earlier)
        return ALL_PASSED if kept.tallies.all.all_passed else NOT_ALL_PASSED


@dataclass(slots=True)
class _Kept:
    """The results as they come: shown, counted, and written."""

    view: CaseView
    settings: RunSettings
    holding: Holding
    tallies: Tallies = field(default_factory=Tallies)
    results: list[CaseResult] = field(default_factory=list[CaseResult])
    records: list[CaseRecord] = field(default_factory=list[CaseRecord])
    file: PrivateLines | None = None
    began: str = field(default_factory=now)
    began_at: float = field(default_factory=perf_counter)

    def add(self, result: CaseResult) -> None:
        line = self.settings.page.given.masker.members(result.to_json())
        self.tallies.add(result)
        self.results.append(result)
        self.records.append(record_of(line))
        if self.holding.kept is not None:
            self.file = self.file or open_results(self.holding.kept)
            self.file.add(line)
        if self.holding.as_json:
            write_json(line)
        else:
            self.view.ended(result)

    def counted(self, earlier: Sequence[CaseRecord] | None) -> None:
        """Tell the counts, and write what is written at the end."""
        summary = self.tallies.all.summary()
        told = _Told.of(self.records, earlier, self.holding.repeats)
        if self.file is not None and self.holding.kept is not None:
            self.file.add(summary)
            report = evals_report(self.results, self.holding.url)
            if report is not None:
                report = self.settings.page.given.masker.members(report)
                text = json.dumps(report, ensure_ascii=False, indent=2)
                write_whole(self.holding.kept / REPORT_FILE, f"{text}\n")
        page = self._page()
        if self.holding.as_json:
            told.write(summary)
            return
        self.view.counted(self.tallies)
        told.show(self.view)
        if page is not None:
            self.view.report(page)

    def _page(self) -> Path | None:
        if self.holding.report is None:
            return None
        about = About(
            command=self.holding.command,
            model=", ".join(dict.fromkeys(r.model for r in self.records if r.model)),
            began=self.began,
            wall_ms=(perf_counter() - self.began_at) * 1000,
        )
        folders = [result.folder for result in self.results if result.folder is not None]
        return write_report(self.holding.report, about, folders)

    def close(self) -> None:
        if self.file is not None:
            self.file.close()


@dataclass(frozen=True, slots=True)
class _Told:
    """What is told besides the counts."""

    statistics: Statistics | None
    comparison: Comparison | None

    @staticmethod
    def of(
        records: Sequence[CaseRecord], earlier: Sequence[CaseRecord] | None, repeats: int
    ) -> "_Told":
        wanted = repeats > 1 or earlier is not None
        return _Told(
            Statistics(records) if wanted else None,
            None if earlier is None else Comparison.of(earlier, records),
        )

    def write(self, summary: JsonObject) -> None:
        """The last lines: statistics only where somebody asked for more than one run."""
        if self.statistics is not None:
            write_json({"type": "statistics", **self.statistics.to_json()})
        if self.comparison is not None:
            write_json({"type": "against", **self.comparison.to_json()})
        write_json(summary)

    def show(self, view: CaseView) -> None:
        if self.statistics is not None:
            view.statistics(self.statistics)
        if self.comparison is not None:
            view.comparison(self.comparison)


def _count_again(
    records: Sequence[CaseRecord], earlier: Sequence[CaseRecord] | None, holding: Holding
) -> int:
    """Statistics of results that are there already."""
    statistics = Statistics(records)
    passed, judged = statistics.rate.passed, statistics.rate.total
    summary: JsonObject = {
        "type": "summary",
        "passed": passed,
        "failed": judged - passed,
        "errors": statistics.errors,
    }
    told = _Told.of(records, earlier, 2)
    if holding.as_json:
        told.write(summary)
    else:
        told.show(CaseView(results_console(), Progress(progress_console()), 0, 1))
    return ALL_PASSED if passed == len(records) else NOT_ALL_PASSED
