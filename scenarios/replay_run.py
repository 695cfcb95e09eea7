"""One replay, from opening the page to its result: of a file's expected calls, or of a recording.

Each has a browser context of its own, all share one Chromium; there is no model.
"""

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack, aclosing, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter

from playwright.async_api import Browser

from webmcp_agent.agent.stream import AgentStreamPart
from webmcp_agent.browser.errors import BrowserError
from webmcp_agent.browser.page_tools import PageTools
from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.scenarios.case_page import CannotJudge, SharedChromium, open_case_page
from webmcp_agent.scenarios.case_run import CaseResult, without_secrets
from webmcp_agent.scenarios.errors import ScenarioError
from webmcp_agent.scenarios.offered import Start, WatchedTools
from webmcp_agent.scenarios.outcome import Failure, outcome_of
from webmcp_agent.scenarios.replay import Replay
from webmcp_agent.scenarios.replay_case import Segment, segments_of
from webmcp_agent.scenarios.report import RunFolder
from webmcp_agent.scenarios.runner import PageSettings, Spent
from webmcp_agent.scenarios.scenario import Case
from webmcp_agent.scenarios.unreachable import with_script_error


@dataclass(frozen=True, slots=True)
class ReplayJob:
    """Something to be replayed."""

    case: Case
    segments: Sequence[Segment] | None
    """None when the file names no calls."""

    @staticmethod
    def of(case: Case) -> "ReplayJob":
        """The expected calls of a case."""
        return ReplayJob(case, segments_of(case))


class ReplayRunner:
    """Replays; gets itself a browser with the first one, unless it is given somebody else's."""

    def __init__(
        self, settings: PageSettings, url: str | None = None, *, browser: Browser | None = None
    ) -> None:
        self._settings = settings
        self._url = url
        self._chromium = SharedChromium(settings, browser)

    async def close(self) -> None:
        """Close the browser that it got for itself."""
        await self._chromium.close()

    async def run(
        self, job: ReplayJob, signal: AbortSignal, *, repeat: int = 1, folder: Path | None = None
    ) -> CaseResult:
        """Replay and judge; the parts go to `folder`.

        Raises: `NoBrowser` when there is none; all else that goes wrong is in the result."""
        case, start = job.case, self._start(job.case)
        browser = None if start is None else await self._chromium.browser()
        masker = self._settings.given.masker
        with ExitStack() as stack:
            files = None
            if folder is not None:
                files = stack.enter_context(closing(RunFolder(folder, masker)))
                if start is not None:
                    files.page(Start(start=start, setup=list(case.setup)).to_json())
            course = _Course(case, repeat, signal, files, folder)
            try:
                if job.segments is None:
                    raise CannotJudge("it names no calls to be replayed")
                if start is None or browser is None:
                    raise CannotJudge("it names no page; give one with --url")
                async with (
                    asyncio.timeout(case.timeout_ms / 1000),
                    open_case_page(case, start, browser, self._settings, signal) as tools,
                ):
                    await course.follow(job.segments, tools)
            except (ScenarioError, BrowserError) as exc:
                course.failures.append(Failure("error", "error", str(exc)))
            except TimeoutError:
                text = f"it was not over after {case.timeout_ms / 1000:g} s"
                course.failures.append(Failure("timeout_ms", "timeout", text))
            result = without_secrets(course.result(), masker)
            if files is not None:
                files.summary(result.to_json())
            return result

    def _start(self, case: Case) -> str | None:
        """A recording is made again at the address that is given, a file where it says."""
        if case.checks is None and not case.turn_checks:
            return self._url or case.start
        return case.start or self._url


@dataclass(slots=True)
class _Course:
    """A replay as it comes about, and what is left of it when it is cut off."""

    case: Case
    repeat: int
    signal: AbortSignal
    files: RunFolder | None
    folder: Path | None
    parts: list[AgentStreamPart] = field(default_factory=list[AgentStreamPart])
    failures: list[Failure] = field(default_factory=list[Failure])
    notes: list[Failure] = field(default_factory=list[Failure])
    page_ms: float = 0.0
    total_ms: float = 0.0
    url: str | None = None

    async def follow(self, segments: Sequence[Segment], tools: PageTools) -> None:
        """Make the calls, and judge the page after each segment; ends with the first failure."""
        files = self.files
        watched = WatchedTools(
            tools, None if files is None else lambda listing: files.page(listing.told().to_json())
        )
        replay = Replay(
            [call for segment in segments for call in segment.calls], watched, self.signal
        )
        self.failures, self.notes = replay.failures, replay.notes
        ends = self._ends(segments)
        began = perf_counter()
        made = 0
        try:
            for segment in ends.get(0, ()):
                await self._judge(segment, tools)
            async with aclosing(replay.parts()) as parts:
                async for part in parts:
                    self.parts.append(part)
                    if files is not None:
                        files.part(part)
                    if part.type in ("tool-result", "tool-error"):
                        made += 1
                        for segment in ends.get(made, ()):
                            await self._judge(segment, tools)
        finally:
            self.failures[:] = [_explained(failure, tools) for failure in self.failures]
            self.page_ms = replay.page_ms
            self.total_ms = (perf_counter() - began) * 1000
            self.url = tools.url

    @staticmethod
    def _ends(segments: Sequence[Segment]) -> dict[int, list[Segment]]:
        """The segments by the number of calls after which they are over."""
        ends: dict[int, list[Segment]] = {}
        made = 0
        for segment in segments:
            made += len(segment.calls)
            ends.setdefault(made, []).append(segment)
        return ends

    async def _judge(self, segment: Segment, tools: PageTools) -> None:
        if segment.checks is not None:
            self.failures += await segment.checks.judge_page(tools.url, tools.page)

    def result(self) -> CaseResult:
        return CaseResult(
            case=self.case,
            repeat=self.repeat,
            failures=tuple(self.failures),
            outcome=outcome_of([self.parts] if self.parts else [], self.url),
            spent=Spent(page_ms=self.page_ms),
            total_ms=self.total_ms,
            folder=self.folder,
            notes=tuple(self.notes),
        )


def _explained(failure: Failure, tools: PageTools) -> Failure:
    if failure.kind != "tool-gone":
        return failure
    return replace(failure, message=with_script_error(failure.message, tools.script_error))
