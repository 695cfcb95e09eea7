"""Everything that a run needs, opened and closed in order: site, model, browser, page.

The model loads while the browser starts. What a run did is told by its parts, never by the model.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Protocol

from webmcp_agent.agent.adapter import LocalAdapterOptions, create_local_adapter, size_text
from webmcp_agent.agent.request import AgentDefinition, ChatMessage, RunRequest
from webmcp_agent.agent.stream import AgentStreamPart, RunReport, report_of
from webmcp_agent.agent.trace import TraceCallback, TraceEvent
from webmcp_agent.browser.errors import NoWebMCP
from webmcp_agent.browser.launch import open_chromium, open_page
from webmcp_agent.browser.limits import Limit
from webmcp_agent.browser.page_tools import PageTools
from webmcp_agent.browser.policy import Approver, Policy
from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.providers.abort import AbortController, AbortSignal
from webmcp_agent.providers.base import (
    Available,
    Disposable,
    Downloading,
    LocalProvider,
    NeedsDownload,
    Unavailable,
)
from webmcp_agent.providers.detection import provider_from_name
from webmcp_agent.providers.errors import ModelUnavailable
from webmcp_agent.providers.quantization import Quantize
from webmcp_agent.scenarios.film import Film, FilmSettings
from webmcp_agent.scenarios.given import Given
from webmcp_agent.scenarios.offered import Listing, Start, WatchedTools
from webmcp_agent.scenarios.report import RunFolder
from webmcp_agent.scenarios.serve import resolve_start


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSettings:
    """Which browser, and what may be done in it."""

    browser: str | None = None
    """Path or channel of a browser; None for the one that is found."""
    cdp: str | None = None
    """Address of a running browser to attach to."""
    headed: bool = False
    pause_ms: float = 0
    """After each call to a page of a scenario, so that people can follow."""
    origins: tuple[str, ...] = ()
    """Origins that may be used besides the start page's."""
    approval: Literal["ask", "yes", "all"] = "ask"
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    """Globs of tools that are always asked for."""
    deny: tuple[str, ...] = ()
    limits: tuple[Limit, ...] = ()
    dry_run: bool = False
    given: Given = field(default_factory=Given)
    downloads: Path | None = None
    """Where files that the page offers are kept; None refuses them."""

    def policy(self, approve: Approver | None = None) -> Policy:
        """These settings as the rules of one page."""
        return Policy(
            mode=self.approval,
            allow=self.allow,
            ask=self.ask,
            deny=self.deny,
            limits=self.limits,
            dry_run=self.dry_run,
            secrets_in=self.given.secrets_in,
            origins=self.origins,
            approve=approve,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """Which model, and how it is run."""

    model: str | None = None
    """None for the default."""
    adapter: Path | None = None
    device: str = "auto"
    constrained: bool = True
    quantize: Quantize | None = None
    compiled: bool = False
    prompt_lookup: bool = True

    def provider(self, model: str | None) -> LocalProvider:
        """A provider of the model of that name, run in this way; not loaded.

        Raises `ModelUnavailable` for a name that means nothing."""
        return provider_from_name(
            model,
            adapter=self.adapter,
            device=self.device,
            constrained=self.constrained,
            quantize=self.quantize,
            compiled=self.compiled,
            prompt_lookup=self.prompt_lookup,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """All of a run but its address and its request."""

    page: PageSettings = field(default_factory=PageSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    film: FilmSettings = field(default_factory=FilmSettings)
    max_steps: int | None = None
    instructions: str | None = None


class Told(Protocol):
    """Who wants to know what is going on before the run begins."""

    def say(self, label: str) -> None:
        """What is going on now."""
        ...

    def advance(self, fraction: float) -> None:
        """How far it is, 0 to 1."""
        ...


@dataclass(slots=True)
class Spent:
    """Where the time and the tokens of a run went, read off its trace."""

    model_ms: float = 0.0
    page_ms: float = 0.0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0

    def add(self, event: TraceEvent) -> None:
        """Take one event in. A sub-agent's own call is already in the call that handed it over."""
        ms = event.data.get("ms")
        if isinstance(ms, int | float):
            if event.type == "reply":
                self.model_ms += ms
            elif event.type == "page" or (event.type == "call" and event.agent is None):
                self.page_ms += ms
        usage = event.data.get("usage")
        if event.type == "reply" and isinstance(usage, dict):
            for name in ("prompt_tokens", "cached_tokens", "completion_tokens"):
                count = usage.get(name)
                setattr(self, name, getattr(self, name) + (count if isinstance(count, int) else 0))


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What a run did, and what it cost."""

    report: RunReport
    """To be shown: without secrets."""
    parts: tuple[AgentStreamPart, ...]
    """As they were, for the conversation to go on."""
    url: str
    model: str
    total_ms: float
    spent: Spent

    def summary(self, out: Path | None) -> JsonObject:
        """The summary line of a run."""
        spent, report = self.spent, self.report
        own_ms = max(0.0, self.total_ms - spent.model_ms - spent.page_ms)
        return {
            "type": "summary",
            "finish": report.finish,
            "answer": report.answer,
            "calls": [call.to_json() for call in report.calls],
            "steps": report.steps,
            "url": self.url,
            "model": self.model,
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
            "out": None if out is None else str(out),
        }


class Session:
    """A page and a model, ready for requests."""

    def __init__(
        self,
        tools: PageTools,
        provider: LocalProvider,
        model: str,
        settings: RunSettings,
        start: str | None = None,
    ) -> None:
        """`start`: the address as the person wrote it, for the run folder."""
        self.tools = tools
        self._start = start
        self._folder: RunFolder | None = None
        self._watched = WatchedTools(tools, self._offered)
        self.provider = provider
        self.model = model
        """What runs, and where, in words for people."""
        self._settings = settings
        self._trace: TraceCallback | None = None
        options = LocalAdapterOptions(
            providers=[provider], instructions=settings.instructions, trace=self._traced
        )
        if settings.max_steps is not None:
            options = replace(options, max_steps=settings.max_steps)
        self.adapter = create_local_adapter(options)

    def fill(self, text: str) -> str:
        """What the person wrote, with what they gave by name in its places.

        Raises: `WrongUsage`."""
        return self._settings.page.given.fill(text)

    def _traced(self, event: TraceEvent) -> None:
        if self._trace is not None:
            self._trace(event)

    def _offered(self, listing: Listing) -> None:
        if self._folder is not None:
            self._folder.page(listing.told().to_json())

    def _write_to(self, folder: RunFolder | None) -> None:
        """From now on what the page offers goes there."""
        if folder is not self._folder and folder is not None and self._start is not None:
            folder.page(Start.at(self._start).to_json())
        self._folder = folder

    async def run(
        self,
        messages: Sequence[ChatMessage],
        signal: AbortSignal,
        *,
        on_part: Callable[[AgentStreamPart], None],
        on_trace: TraceCallback,
        folder: RunFolder | None = None,
        film: Film | None = None,
        agent: AgentDefinition | None = None,
    ) -> RunOutcome:
        """Do the last request of `messages`; parts and trace go to the callbacks and the folder.

        What leaves here to be shown has its secrets masked, but for the parts of the outcome."""
        spent, masker = Spent(), self._settings.page.given.masker

        def traced(event: TraceEvent) -> None:
            spent.add(event)
            if folder is not None:
                folder.trace(event)
            on_trace(replace(event, data=masker.members(event.data)))

        self._trace = traced
        self._write_to(folder)
        request = RunRequest(messages, self._watched, signal, agent)
        parts, shown = list[AgentStreamPart](), list[AgentStreamPart]()
        began = time.perf_counter()
        async with aclosing(self.adapter.run(request)) as stream:
            async for part in stream:
                parts.append(part)
                if folder is not None:
                    folder.part(part)
                shown.append(masker.part(part))
                if film is not None:
                    film.part(shown[-1])
                on_part(shown[-1])
        report, total_ms = report_of(shown), (time.perf_counter() - began) * 1000
        if film is not None:
            film.over(report, total_ms, spent.model_ms)
            film.judged(report.succeeded)
        return RunOutcome(
            report=report,
            parts=tuple(parts),
            url=masker.text(self.tools.url),
            model=self.model,
            total_ms=total_ms,
            spent=spent,
        )


@asynccontextmanager
async def open_tools(
    url: str, settings: PageSettings, *, approve: Approver | None = None
) -> AsyncGenerator[PageTools]:
    """The tools of a page, in a browser of its own that is closed at the end.

    `url` may be `shop:`, a local file or folder. Raises `BrowserError` and `ScenarioError`;
    `NoWebMCP` when neither browser nor page offers a model context."""
    async with AsyncExitStack() as stack:
        start = await stack.enter_async_context(resolve_start(url))
        browser = await stack.enter_async_context(
            open_chromium(browser=settings.browser, headed=settings.headed, cdp=settings.cdp)
        )
        tools = await stack.enter_async_context(
            open_page(
                browser,
                start,
                policy=settings.policy(approve),
                downloads=settings.downloads,
                file_name=settings.given.masker.text,
            )
        )
        if not await tools.has_webmcp():
            raise NoWebMCP(
                f"{url} has no WebMCP here: the page offers no model context. It needs an https or "
                "localhost address, and a Chromium from 150 on or a polyfill of its own."
            )
        yield tools


@asynccontextmanager
async def open_session(
    url: str,
    settings: RunSettings,
    *,
    told: Told,
    signal: AbortSignal,
    approve: Approver | None = None,
) -> AsyncGenerator[Session]:
    """A page and a ready model. The model loads while the browser starts; both are freed."""
    provider = settings.model.provider(settings.model.model)
    settings.page.given.guard(provider)
    own = AbortController()
    loading = asyncio.create_task(
        load_model(provider, told, AbortSignal.any([signal, own.signal])), name="load the model"
    )
    try:
        async with open_tools(url, settings.page, approve=approve) as tools:
            yield Session(tools, provider, await loading, settings, url)
    finally:
        own.abort("the session ends")
        if not loading.done():
            with contextlib.suppress(Exception):
                await loading
        if isinstance(provider, Disposable):
            provider.dispose()


async def load_model(provider: LocalProvider, told: Told, signal: AbortSignal) -> str:
    """Make a provider ready, downloading what is missing: to start a run is to ask for it.

    Returns what runs, and where, in words for people."""
    state = await provider.availability()
    match state:
        case Available():
            return provider.label
        case Unavailable():
            raise ModelUnavailable(state.reason)
        case NeedsDownload(cached=True):
            told.say("loading the model")
        case NeedsDownload():
            told.say(f"getting the model, {size_text(state.bytes)}")
        case Downloading():
            told.say("waiting for the model's download")
    await provider.prepare(told.advance, signal)
    name = state.note if isinstance(state, NeedsDownload) and state.note else provider.label
    placement = getattr(provider, "placement", "")
    return f"{name}, {placement}" if placement else name
