"""The adapter: the first provider that works, and the next one when it breaks.

A switch runs no call again: what was done so far becomes history, and the run is resumed. Every
wait on a provider is raced against Stop, so that one that ignores it holds nobody.
"""

from collections.abc import AsyncGenerator, Awaitable, Sequence
from dataclasses import dataclass
from typing import Protocol

from webmcp_agent.agent.history import messages_of
from webmcp_agent.agent.loop import Progress, continue_run
from webmcp_agent.agent.options import LocalLoopOptions
from webmcp_agent.agent.racing import StopPressed, TooLate, race
from webmcp_agent.agent.request import AgentDefinition, AgentRunRequest, ChatMessage
from webmcp_agent.agent.stream import AgentStreamPart, Finish, MessageStart, RunError
from webmcp_agent.agent.trace import TraceCallback
from webmcp_agent.agent.wording import FAILED, LOADING, NEEDS_LOAD, one_line
from webmcp_agent.browser.tools import JsonObject, PageContext, PageTool, ToolFail, ToolOk
from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.base import (
    Available,
    Disposable,
    Downloading,
    LocalProvider,
    ModelChoice,
    NeedsDownload,
    OffersModels,
    ProviderAvailability,
    Unavailable,
    broken_of,
    tools_inline_of,
)
from webmcp_agent.providers.detection import default_providers
from webmcp_agent.providers.errors import Aborted

AVAILABILITY_LIMIT_MS = 30_000
"""How long a provider may take to say whether it can run: some load an engine to look."""


class AgentAdapter(Protocol):
    """What a chat runs requests with; exactly these four members are needed."""

    @property
    def id(self) -> str:
        """Identifies the adapter."""
        ...

    @property
    def label(self) -> str:
        """A name for people."""
        ...

    async def prepare(self, signal: AbortSignal | None = None) -> None:
        """Download and load what is needed; called from the person's act."""
        ...

    def run(self, req: AgentRunRequest) -> AsyncGenerator[AgentStreamPart]:
        """Do a request; parts end with `finish` or `error`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalAdapterOptions:
    """How to build a local adapter."""

    providers: Sequence[LocalProvider] | None = None
    """In order of preference; None for those that are known here."""
    id: str = "local"
    label: str = "On this computer"
    max_steps: int = 6
    step_timeout_ms: int = 60_000
    instructions: str | None = None
    trace: TraceCallback | None = None


def create_local_adapter(
    options: LocalAdapterOptions | None = None, **fields: object
) -> "LocalAdapter":
    """An adapter over local providers; `fields` are those of `LocalAdapterOptions`.

    `TypeError` for a field that it does not have (`max_tools`, `tools_inline`), `ValueError` for a
    limit below 1."""
    if options is not None and fields:
        raise TypeError("give either options or single fields, not both")
    return LocalAdapter(options or LocalAdapterOptions(**fields))  # pyright: ignore[reportArgumentType]  # checked by the dataclass


@dataclass(frozen=True, slots=True)
class _ContinuedRequest:
    """A request with what another provider has done as part of its conversation."""

    req: AgentRunRequest
    messages: Sequence[ChatMessage]

    @property
    def signal(self) -> AbortSignal:
        return self.req.signal

    @property
    def agent(self) -> AgentDefinition | None:
        return self.req.agent

    def tools(self) -> Sequence[PageTool] | Awaitable[Sequence[PageTool]]:
        return self.req.tools()

    async def call_tool(
        self, name: str, args: JsonObject, *, call_id: str, signal: AbortSignal
    ) -> ToolOk | ToolFail:
        return await self.req.call_tool(name, args, call_id=call_id, signal=signal)

    async def page(self) -> PageContext | None:
        return await self.req.page()


class LocalAdapter:
    """Runs requests with the first provider that works."""

    def __init__(self, options: LocalAdapterOptions) -> None:
        self.id = options.id
        self.label = options.label
        self._options = options
        # Checked here, so that a wrong limit is refused before the first run.
        self._loop_options(None)
        self._providers = (
            list(options.providers) if options.providers is not None else default_providers()
        )
        self._states: dict[int, ProviderAvailability] = {}

    async def prepare(self, signal: AbortSignal | None = None) -> None:
        """Prepare the first provider that can run here.

        Raises what the provider raises, and `Aborted` as soon as `signal` is set."""
        signal = signal or AbortSignal()
        try:
            provider = await self._usable(signal)
            if provider is not None:
                await self._prepare(provider, signal)
        except StopPressed:
            raise Aborted(signal.reason or "stopped") from None

    async def availability(self) -> ProviderAvailability:
        """The state of the provider that would run; the reasons of all when none can."""
        nobody = AbortSignal()
        provider = await self._usable(nobody)
        if provider is None:
            return Unavailable(await self._reasons(nobody))
        return await self._state(provider, nobody)

    def models(self) -> Sequence[ModelChoice]:
        """The models of the first provider that offers a choice; empty means no picker."""
        provider = self._picker()
        return provider.models() if provider is not None else ()

    async def select_model(self, id: str) -> None:
        """Switch the model; `ValueError` when it is not among `models()`."""
        provider = self._picker()
        if provider is None:
            raise ValueError(f"there is no choice of models, so none is called {id!r}")
        await provider.select_model(id)
        self._states.clear()

    def dispose(self) -> None:
        """Free every provider's model; twice is fine."""
        for provider in self._providers:
            if isinstance(provider, Disposable):
                provider.dispose()

    async def run(self, req: AgentRunRequest) -> AsyncGenerator[AgentStreamPart]:
        """Do a request, moving on to the next provider when one turns out to be broken."""
        parts: list[AgentStreamPart] = []
        failed: RunError | None = None
        while True:
            try:
                provider = await self._ready(req.signal, failed)
            except StopPressed:
                provider = Finish("aborted")
            if isinstance(provider, RunError | Finish):
                yield provider
                return
            failed = None
            started = sum(isinstance(part, MessageStart) for part in parts)
            open_message = bool(parts) and isinstance(parts[-1], MessageStart)
            stream = continue_run(
                provider,
                _ContinuedRequest(req, [*req.messages, *messages_of(parts)]) if parts else req,
                self._loop_options(provider),
                Progress(started - open_message, started, open_message),
            )
            try:
                async for part in stream:
                    if isinstance(part, RunError) and _gave_up(part, provider):
                        failed = part
                        break
                    parts.append(part)
                    yield part
            finally:
                await stream.aclose()
            if failed is None:
                return

    async def _ready(
        self, signal: AbortSignal, failed: RunError | None
    ) -> LocalProvider | RunError | Finish:
        """The first provider that can generate now, or how the run ends without one.

        `failed` is how the one before gave up; it is shown when there is no other."""
        if signal.aborted:
            raise StopPressed
        while (provider := await self._usable(signal)) is not None:
            blocked = await self._made_ready(provider, signal)
            if blocked is None:
                return provider
            if isinstance(blocked, Finish) or not broken_of(provider):
                return blocked
            failed = blocked
        return failed or RunError("unavailable", await self._reasons(signal))

    async def _made_ready(
        self, provider: LocalProvider, signal: AbortSignal
    ) -> RunError | Finish | None:
        """Load what was downloaded before; what stands in the way, or None when it can run."""
        state = await self._state(provider, signal)
        match state:
            case Available():
                return None
            case NeedsDownload(cached=True):
                try:
                    await self._prepare(provider, signal)
                except StopPressed:
                    raise
                except Exception as exc:  # noqa: BLE001  # a provider is foreign code
                    if signal.aborted:
                        return Finish("aborted")
                    return RunError("provider-failed", FAILED.format(reason=_said(exc)))
                return None
            case NeedsDownload():
                return RunError("needs-download", NEEDS_LOAD.format(size=size_text(state.bytes)))
            case Downloading():
                percent = round(state.progress * 100)
                return RunError("needs-download", LOADING.format(percent=percent))
            case Unavailable():
                return RunError("unavailable", state.reason)

    async def _prepare(self, provider: LocalProvider, signal: AbortSignal) -> None:
        # Dropped before it begins too: meanwhile the provider says how far it is.
        self._states.pop(id(provider), None)
        try:
            await race(provider.prepare(lambda _: None, signal), signal)
        finally:
            self._states.pop(id(provider), None)

    async def _usable(self, signal: AbortSignal) -> LocalProvider | None:
        for provider in self._providers:
            if broken_of(provider):
                continue
            if not isinstance(await self._state(provider, signal), Unavailable):
                return provider
        return None

    async def _state(self, provider: LocalProvider, signal: AbortSignal) -> ProviderAvailability:
        """Asked once per provider and kept until something changes it; progress is never kept."""
        if kept := self._states.get(id(provider)):
            return kept
        try:
            state = await race(provider.availability(), signal, AVAILABILITY_LIMIT_MS)
        except StopPressed:
            raise
        except TooLate:
            return Unavailable("no answer")
        except Exception as exc:  # noqa: BLE001  # a provider is foreign code
            return Unavailable(_said(exc))
        if not isinstance(state, Downloading):
            self._states[id(provider)] = state
        return state

    async def _reasons(self, signal: AbortSignal) -> str:
        reasons = [
            f"{provider.label}: {reason}"
            for provider in self._providers
            if (reason := broken_of(provider) or _reason(await self._state(provider, signal)))
        ]
        return "; ".join(reasons) or "there is no model provider"

    def _picker(self) -> OffersModels | None:
        return next((p for p in self._providers if isinstance(p, OffersModels)), None)

    def _loop_options(self, provider: LocalProvider | None) -> LocalLoopOptions:
        return LocalLoopOptions(
            max_steps=self._options.max_steps,
            step_timeout_ms=self._options.step_timeout_ms,
            instructions=self._options.instructions,
            tools_inline=provider is not None and tools_inline_of(provider),
            trace=self._options.trace,
        )


def _gave_up(error: RunError, provider: LocalProvider) -> bool:
    """Whether a provider broke; `unavailable` is the page's own failure."""
    return error.code != "unavailable" and broken_of(provider) is not None


def _said(exc: Exception) -> str:
    return one_line(str(exc)) or type(exc).__name__


def _reason(state: ProviderAvailability) -> str | None:
    return state.reason if isinstance(state, Unavailable) else None


def size_text(size_bytes: int | None) -> str:
    """A size for people: `491 MB`; "some files" when it is unknown."""
    if size_bytes is None:
        return "some files"
    if size_bytes < 1_000_000_000:
        return f"{max(1, round(size_bytes / 1_000_000))} MB"
    return f"{size_bytes / 1_000_000_000:.1f} GB"
