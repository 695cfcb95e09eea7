"""One case held and judged: a fresh page or stand-ins, the requests, the checks.

All cases share one model and one Chromium; each has a browser context of its own.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import (
    AbstractAsyncContextManager,
    ExitStack,
    aclosing,
    asynccontextmanager,
    closing,
    nullcontext,
)
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter

from playwright.async_api import Browser

from webmcp_agent.agent.adapter import create_local_adapter
from webmcp_agent.agent.history import messages_of
from webmcp_agent.agent.request import ChatMessage, RunRequest, message_text
from webmcp_agent.agent.stream import AgentStreamPart, RunError, report_of
from webmcp_agent.agent.trace import TraceEvent
from webmcp_agent.browser.errors import BrowserError
from webmcp_agent.browser.page_tools import PageTools
from webmcp_agent.browser.tools import JsonObject, ToolSource
from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.base import LocalProvider
from webmcp_agent.scenarios.case_models import CaseModels
from webmcp_agent.scenarios.case_page import CannotJudge, SharedChromium, open_case_page
from webmcp_agent.scenarios.causes import Cause, cause_of
from webmcp_agent.scenarios.errors import ScenarioError
from webmcp_agent.scenarios.film import Film, open_film
from webmcp_agent.scenarios.masking import Masker
from webmcp_agent.scenarios.offered import Start, WatchedTools
from webmcp_agent.scenarios.outcome import Failure, MadeCall, Outcome, outcome_of
from webmcp_agent.scenarios.report import RunFolder
from webmcp_agent.scenarios.runner import RunSettings, Spent, Told
from webmcp_agent.scenarios.scenario import Case
from webmcp_agent.scenarios.stand_ins import StandInTools
from webmcp_agent.scenarios.unreachable import why_unreachable, with_script_error

_NOT_JUDGED = {"provider-failed", "not-ready", "needs-download"}
"""Ends of a run that say nothing about model or page."""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What became of a case."""

    case: Case
    repeat: int
    """From 1."""
    failures: tuple[Failure, ...]
    outcome: Outcome = field(default_factory=Outcome)
    spent: Spent = field(default_factory=Spent)
    total_ms: float = 0.0
    """Of the conversation, without opening the page."""
    folder: Path | None = None
    """Where its parts and its trace were written."""
    model: str | None = None
    """None for a replay."""
    notes: tuple[Failure, ...] | None = None
    """Of a replay: what was not as it had been, and did no harm."""

    @property
    def calls(self) -> tuple[MadeCall, ...]:
        """The calls that were made, of all requests."""
        return self.outcome.calls

    @property
    def why(self) -> Cause | None:
        """The one cause of its failures; None when it passed."""
        return cause_of(self.failures, self.outcome)

    @property
    def passed(self) -> bool:
        """Whether nothing was wrong."""
        return not self.failures

    @property
    def is_error(self) -> bool:
        """Whether it could not be judged, which is no verdict on the model or the page."""
        return any(failure.kind == "error" for failure in self.failures)

    def to_json(self) -> JsonObject:
        """The line of this case."""
        spent = self.spent
        own_ms = max(0.0, self.total_ms - spent.model_ms - spent.page_ms)
        return {
            "file": str(self.case.file),
            "case": self.case.name,
            "repeat": self.repeat,
            "model": self.model,
            "passed": self.passed,
            "why": self.why,
            "failures": [failure.to_json() for failure in self.failures],
            "calls": [call.to_json() for call in self.calls],
            "steps": self.outcome.steps,
            "finish": self.outcome.finishes[-1] if self.outcome.finishes else None,
            "answer": self.outcome.answer,
            "url": self.outcome.url,
            "ms": {
                "total": round(self.total_ms, 1),
                "model": round(spent.model_ms, 1),
                "page": round(spent.page_ms, 1),
                "own": round(own_ms, 1),
            },
            "tokens": {
                "prompt": spent.prompt_tokens,
                "cached": spent.cached_tokens,
                "completion": spent.completion_tokens,
            },
            "out": None if self.folder is None else str(self.folder),
            **({} if self.notes is None else {"drift": [note.to_json() for note in self.notes]}),
        }


class CaseRunner:
    """Holds cases; gets itself a browser when the first case needs one.

    `models` is one loaded model for all cases, or knows the model of each."""

    def __init__(
        self,
        models: LocalProvider | CaseModels,
        settings: RunSettings,
        *,
        url: str | None = None,
        browser: Browser | None = None,
    ) -> None:
        self._models = models
        self._settings = settings
        self._url = url
        self._chromium = SharedChromium(settings.page, browser)

    async def close(self) -> None:
        """Close the browser that it got for itself."""
        await self._chromium.close()

    async def model_of(self, case: Case) -> LocalProvider:
        """The loaded model of a case.

        Raises: what the model raises when it cannot be had."""
        models = self._models
        return await models.of(case) if isinstance(models, CaseModels) else models

    async def run(
        self, case: Case, signal: AbortSignal, *, repeat: int = 1, folder: Path | None = None
    ) -> CaseResult:
        """Hold a case and judge it; parts and trace go to `folder`.

        Several may be held at once. Raises: `NoBrowser` when there is none, and what the model
        raises when it cannot be had; all else that goes wrong is in the result."""
        start = case.start or self._url
        provider = await self.model_of(case)
        browser = None if start is None else await self._chromium.browser()
        masker = self._settings.page.given.masker
        with ExitStack() as stack:
            files = None
            if folder is not None:
                files = stack.enter_context(closing(RunFolder(folder, masker)))
                if start is not None:
                    files.page(Start(start=start, setup=list(case.setup)).to_json())
            talk = _Talk(case, repeat, signal, provider, files, folder)
            try:
                async with (
                    self._tools(case, start, browser, signal) as source,
                    self._film(source, talk) as talk.film,
                ):
                    result = await self._judged(talk, source)
                    if talk.film is not None:
                        talk.film.judged(result.passed)
            except (ScenarioError, BrowserError) as exc:
                result = talk.result([Failure("error", "error", str(exc))])
            result = without_secrets(result, masker)
            if files is not None:
                files.summary(result.to_json())
            return result

    @asynccontextmanager
    async def _tools(
        self, case: Case, start: str | None, browser: Browser | None, signal: AbortSignal
    ) -> AsyncGenerator[ToolSource]:
        """The page of a case, set up; its stand-ins when it has some and there is no page."""
        if start is None or browser is None:
            if case.stand_ins is None:
                raise CannotJudge("it names no page; give one with --url")
            if case.problem is not None:
                raise CannotJudge(case.problem)
            yield StandInTools(case.stand_ins)
            return
        async with open_case_page(case, start, browser, self._settings.page, signal) as tools:
            yield tools

    def _film(self, source: ToolSource, talk: "_Talk") -> AbstractAsyncContextManager[Film | None]:
        """The film of a page in the folder of its case, when there is to be one."""
        if talk.folder is None or not isinstance(source, PageTools):
            return nullcontext()
        settings = self._settings
        return open_film(
            settings.film, settings.page, source, talk.folder, model=talk.provider.label
        )

    async def _judged(self, talk: "_Talk", source: ToolSource) -> CaseResult:
        limit_ms = talk.case.timeout_ms
        files = talk.files
        watched = WatchedTools(
            source, None if files is None else lambda listing: files.page(listing.told().to_json())
        )
        try:
            async with asyncio.timeout(limit_ms / 1000):
                failures = await self._talk(talk, source, watched)
        except TimeoutError:
            text = f"it was not over after {limit_ms / 1000:g} s"
            return talk.result([Failure("timeout_ms", "timeout", text)])
        page = source if isinstance(source, PageTools) else None
        outcome = outcome_of(talk.runs, page and page.url)
        if set(outcome.finishes) & _NOT_JUDGED:
            raise CannotJudge(f"the model could not go on: {outcome.error}")
        checks = talk.case.checks
        if not failures and checks is not None:
            failures = await checks.judge(outcome, page and page.page)
        if page is not None and (why := await why_unreachable(talk.case, outcome, watched)):
            text = with_script_error(why, page.script_error)
            failures = [Failure("error", "error", text)]
        return talk.result(failures, outcome.url)

    async def _talk(
        self, talk: "_Talk", source: ToolSource, watched: WatchedTools
    ) -> list[Failure]:
        """The requests one after another, until one is not done as it should be.

        Ends early on Stop and when a run could not go on."""
        page = source if isinstance(source, PageTools) else None
        steps = talk.case.stand_in_steps if page is None else None
        adapter = create_local_adapter(
            providers=[talk.provider],
            max_steps=self._settings.max_steps or steps or talk.case.max_steps,
            instructions=self._settings.instructions or talk.case.instructions,
            # What a model can do is judged, and its times are told: a slow machine fails nobody.
            step_timeout_ms=talk.case.timeout_ms,
            trace=talk.trace,
        )
        messages: list[ChatMessage] = []
        for index, turn in enumerate(talk.case.turns):
            messages += turn
            parts = talk.new_run()
            if talk.film is not None and page is not None:
                talk.film.request(message_text(messages[-1]), page.url)
            began, spent_ms = perf_counter(), talk.spent.model_ms
            try:
                async with aclosing(
                    adapter.run(RunRequest(messages, watched, talk.signal))
                ) as stream:
                    async for part in stream:
                        talk.part(part)
            finally:
                ms = (perf_counter() - began) * 1000
                talk.total_ms += ms
            if talk.film is not None:
                talk.film.over(report_of(parts), ms, talk.spent.model_ms - spent_ms)
            messages += messages_of(parts)
            if talk.signal.aborted or isinstance(parts[-1], RunError):
                break
            if failures := await talk.wrong_in_turn(index, page):
                return failures
        return []


@dataclass(slots=True)
class _Talk:
    """A conversation as it comes about, and what is left of it when it is cut off."""

    case: Case
    repeat: int
    signal: AbortSignal
    provider: LocalProvider
    files: RunFolder | None
    folder: Path | None
    film: Film | None = None
    runs: list[list[AgentStreamPart]] = field(default_factory=list[list[AgentStreamPart]])
    spent: Spent = field(default_factory=Spent)
    total_ms: float = 0.0

    def new_run(self) -> list[AgentStreamPart]:
        self.runs.append([])
        return self.runs[-1]

    def part(self, part: AgentStreamPart) -> None:
        self.runs[-1].append(part)
        if self.files is not None:
            self.files.part(part)
        if self.film is not None:
            self.film.part(part)

    def trace(self, event: TraceEvent) -> None:
        self.spent.add(event)
        if self.files is not None:
            self.files.trace(event)

    async def wrong_in_turn(self, index: int, page: PageTools | None) -> list[Failure]:
        """What the last run did wrong, by the checks of its own request."""
        checks = self.case.turn_checks[index] if index < len(self.case.turn_checks) else None
        if checks is None:
            return []
        earlier = len(outcome_of(self.runs[:-1]).calls)
        outcome = outcome_of(self.runs[-1:], page and page.url)
        return [
            replace(
                failure,
                message=f"request {index + 1}: {failure.message}",
                call=None if failure.call is None else failure.call + earlier,
            )
            for failure in await checks.judge(outcome, page and page.page)
        ]

    def result(self, failures: list[Failure], url: str | None = None) -> CaseResult:
        return CaseResult(
            case=self.case,
            repeat=self.repeat,
            failures=tuple(failures),
            outcome=outcome_of(self.runs, url),
            spent=self.spent,
            total_ms=self.total_ms,
            folder=self.folder,
            model=self.provider.label,
        )


def _masked(failures: tuple[Failure, ...], masker: Masker) -> tuple[Failure, ...]:
    return tuple(replace(each, message=masker.text(each.message)) for each in failures)


def without_secrets(result: CaseResult, masker: Masker) -> CaseResult:
    """The result as it may be shown and written; it is judged already."""
    outcome = result.outcome
    calls = [
        replace(call, args=masker.members(call.args), text=masker.text(call.text))
        for call in outcome.calls
    ]
    return replace(
        result,
        failures=_masked(result.failures, masker),
        notes=None if result.notes is None else _masked(result.notes, masker),
        outcome=replace(
            outcome,
            calls=tuple(replace(call, value=masker.value(call.value)) for call in calls),
            answer=masker.text(outcome.answer),
            url=outcome.url and masker.text(outcome.url),
            error=outcome.error and masker.text(outcome.error),
        ),
    )


@asynccontextmanager
async def open_case_runner(
    settings: RunSettings,
    *,
    told: Told,
    signal: AbortSignal,
    url: str | None = None,
) -> AsyncGenerator[CaseRunner]:
    """A runner that loads each case's model when it needs it; all is freed at the end."""
    models = CaseModels(settings.model, told, signal, settings.page.given)
    runner = CaseRunner(models, settings, url=url)
    try:
        yield runner
    finally:
        await runner.close()
        models.close()
