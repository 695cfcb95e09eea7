"""One case held and judged: a fresh page or stand-ins, the requests, the checks.

All cases share one model and one Chromium; each has a browser context of its own.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, ExitStack, aclosing, asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

from playwright.async_api import Browser

from webmcp_agent.agent.adapter import create_local_adapter
from webmcp_agent.agent.history import messages_of
from webmcp_agent.agent.request import ChatMessage, RunRequest
from webmcp_agent.agent.stream import AgentStreamPart, RunError
from webmcp_agent.agent.trace import TraceEvent
from webmcp_agent.browser.errors import BrowserError
from webmcp_agent.browser.launch import open_chromium, open_page
from webmcp_agent.browser.page_tools import PageTools
from webmcp_agent.browser.policy import Mode, Policy
from webmcp_agent.browser.tools import JsonObject, ToolFail, ToolSource
from webmcp_agent.providers.abort import AbortController, AbortSignal
from webmcp_agent.providers.base import Disposable, LocalProvider
from webmcp_agent.providers.detection import provider_from_name
from webmcp_agent.scenarios.causes import Cause, cause_of
from webmcp_agent.scenarios.errors import ScenarioError
from webmcp_agent.scenarios.outcome import Failure, MadeCall, Outcome, outcome_of
from webmcp_agent.scenarios.report import RunFolder
from webmcp_agent.scenarios.runner import PageSettings, RunSettings, Spent, Told, load_model
from webmcp_agent.scenarios.scenario import Case
from webmcp_agent.scenarios.serve import resolve_start
from webmcp_agent.scenarios.stand_ins import StandInTools

_NOT_JUDGED = {"provider-failed", "not-ready", "needs-download"}
"""Ends of a run that say nothing about model or page."""

_MODES: tuple[Mode, ...] = ("ask", "yes", "all")


class CannotJudge(ScenarioError):
    """A case could not be held as it is meant; the message says why."""


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
        }


class CaseRunner:
    """Holds cases with one model; gets itself a browser when the first case needs one."""

    def __init__(
        self,
        provider: LocalProvider,
        settings: RunSettings,
        *,
        url: str | None = None,
        browser: Browser | None = None,
    ) -> None:
        self._provider = provider
        self._settings = settings
        self._url = url
        self._browser = browser
        self._stack = AsyncExitStack()

    async def close(self) -> None:
        """Close the browser that it got for itself."""
        await self._stack.aclose()

    async def run(
        self, case: Case, signal: AbortSignal, *, repeat: int = 1, folder: Path | None = None
    ) -> CaseResult:
        """Hold a case and judge it; parts and trace go to `folder`.

        Raises: `NoBrowser` when there is none; all else that goes wrong is in the result."""
        start = case.start or self._url
        browser = None if start is None else await self._chromium()
        with ExitStack() as stack:
            files = None if folder is None else stack.enter_context(closing(RunFolder(folder)))
            talk = _Talk(case, repeat, signal, files, folder)
            try:
                async with self._tools(case, start, browser, signal) as source:
                    result = await self._judged(talk, source)
            except (ScenarioError, BrowserError) as exc:
                result = talk.result([Failure("error", "error", str(exc))])
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
        async with (
            resolve_start(start) as address,
            open_page(browser, address, policy=self._policy(case)) as tools,
        ):
            if not await tools.has_webmcp():
                raise CannotJudge(f"{start} has no WebMCP here: the page offers no model context")
            for number, (name, args) in enumerate(case.setup, 1):
                await tools.list_tools()
                answer = await tools.call_tool(name, args, call_id=f"s{number}", signal=signal)
                if isinstance(answer, ToolFail):
                    raise CannotJudge(f"setup call {number}, {name}: {answer.message}")
            yield tools

    def _policy(self, case: Case) -> Policy:
        """What the file allows, and what the caller allows or denies besides."""
        page = self._settings.page
        stricter = _MODES.index(case.approval) < _MODES.index(page.approval)
        return Policy(
            mode=page.approval if stricter else case.approval,
            allow=(*case.allow, *page.allow),
            deny=(*case.deny, *page.deny),
            origins=(*case.origins, *page.origins),
        )

    async def _chromium(self) -> Browser:
        if self._browser is None or not self._browser.is_connected():
            page: PageSettings = self._settings.page
            self._browser = await self._stack.enter_async_context(
                open_chromium(browser=page.browser, headed=page.headed)
            )
        return self._browser

    async def _judged(self, talk: "_Talk", source: ToolSource) -> CaseResult:
        page = source if isinstance(source, PageTools) else None
        limit_ms = talk.case.timeout_ms
        try:
            async with asyncio.timeout(limit_ms / 1000):
                await self._talk(talk, source, talk.case.stand_in_steps if page is None else None)
        except TimeoutError:
            text = f"it was not over after {limit_ms / 1000:g} s"
            return talk.result([Failure("timeout_ms", "timeout", text)])
        outcome = outcome_of(talk.runs, None if page is None else page.url)
        if set(outcome.finishes) & _NOT_JUDGED:
            raise CannotJudge(f"the model could not go on: {outcome.error}")
        failures = await talk.case.checks.judge(outcome, page and page.page)
        return talk.result(failures, outcome.url)

    async def _talk(self, talk: "_Talk", source: ToolSource, steps: int | None) -> None:
        """The requests one after another; ends early on Stop and when a run could not go on."""
        adapter = create_local_adapter(
            providers=[self._provider],
            max_steps=self._settings.max_steps or steps or talk.case.max_steps,
            instructions=self._settings.instructions or talk.case.instructions,
            # What a model can do is judged, and its times are told: a slow machine fails nobody.
            step_timeout_ms=talk.case.timeout_ms,
            trace=talk.trace,
        )
        messages: list[ChatMessage] = []
        talk.began = perf_counter()
        try:
            for turn in talk.case.turns:
                messages += turn
                request = RunRequest(messages, source, talk.signal)
                parts = talk.new_run()
                async with aclosing(adapter.run(request)) as stream:
                    async for part in stream:
                        talk.part(part)
                messages += messages_of(parts)
                if talk.signal.aborted or isinstance(parts[-1], RunError):
                    break
        finally:
            talk.total_ms = (perf_counter() - talk.began) * 1000


@dataclass(slots=True)
class _Talk:
    """A conversation as it comes about, and what is left of it when it is cut off."""

    case: Case
    repeat: int
    signal: AbortSignal
    files: RunFolder | None
    folder: Path | None
    runs: list[list[AgentStreamPart]] = field(default_factory=list[list[AgentStreamPart]])
    spent: Spent = field(default_factory=Spent)
    began: float = 0.0
    total_ms: float = 0.0

    def new_run(self) -> list[AgentStreamPart]:
        self.runs.append([])
        return self.runs[-1]

    def part(self, part: AgentStreamPart) -> None:
        self.runs[-1].append(part)
        if self.files is not None:
            self.files.part(part)

    def trace(self, event: TraceEvent) -> None:
        self.spent.add(event)
        if self.files is not None:
            self.files.trace(event)

    def result(self, failures: list[Failure], url: str | None = None) -> CaseResult:
        return CaseResult(
            case=self.case,
            repeat=self.repeat,
            failures=tuple(failures),
            outcome=outcome_of(self.runs, url),
            spent=self.spent,
            total_ms=self.total_ms,
            folder=self.folder,
        )


@asynccontextmanager
async def open_case_runner(
    settings: RunSettings,
    *,
    told: Told,
    signal: AbortSignal,
    url: str | None = None,
) -> AsyncGenerator[CaseRunner]:
    """A runner with a loaded model; model and browser are freed at the end.

    Raises what the model raises when it cannot be had."""
    model = settings.model
    provider = provider_from_name(
        model.model, adapter=model.adapter, device=model.device, constrained=model.constrained
    )
    own = AbortController()
    runner = CaseRunner(provider, settings, url=url)
    try:
        await load_model(provider, told, AbortSignal.any([signal, own.signal]))
        yield runner
    finally:
        own.abort("the cases are over")
        await runner.close()
        if isinstance(provider, Disposable):
            provider.dispose()
