"""The contract between the agent loop and whatever runs a model.

A provider only generates; the loop owns tools, checks and the conversation. Implement
`LocalProvider` to plug in an engine of your own. Values and Protocols only.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from pydantic import JsonValue

from webmcp_agent.providers.abort import AbortSignal

JsonObject = dict[str, JsonValue]

CallFormat = Literal["tags", "pythonic"]
"""How a model writes a call: `<tool_call>{json}</tool_call>` (Qwen, Hermes), or
`<|tool_call_start|>[name(arg="x")]<|tool_call_end|>` (Liquid LFM2)."""

CALL_MARKERS: dict[CallFormat, tuple[str, str]] = {
    "tags": ("<tool_call>", "</tool_call>"),
    "pythonic": ("<|tool_call_start|>", "<|tool_call_end|>"),
}
"""Opening and closing marker of each format: the parser and the grammar have to agree on them."""

REASONING_MARKERS = ("<think>", "</think>")

END_MARKERS = (
    "<|im_end|>",
    "<|im_start|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<|startoftext|>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<tool_response>",
    "</tool_response>",
    "<|tool_response_start|>",
    "<|tool_response_end|>",
)
"""What ends a turn, or begins somebody else's: nothing after one of these is the model's reply."""


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """A turn of the prompt; `tool` turns carry a tool's result back to the model."""

    role: Literal["user", "assistant", "tool"]
    content: str
    name: str | None = None
    """The tool's name, on tool turns only."""


@dataclass(frozen=True, slots=True)
class CompactTool:
    """A tool as a small model sees it."""

    name: str
    description: str
    """At most 400 characters."""
    parameters: JsonObject
    """The input schema, through `compact_schema`."""


@dataclass(frozen=True, slots=True)
class ToolConstraint:
    """A shown tool with the page's original schema, for decoding that is held to it."""

    name: str
    schema: JsonObject
    fingerprint: str


@dataclass(frozen=True, slots=True)
class PromptParts:
    """What is rendered into one prompt."""

    system: str
    messages: tuple[ChatTurn, ...]
    tools: tuple[CompactTool, ...]


@dataclass(frozen=True, slots=True)
class GenerateRequest:
    """One generation."""

    system: str
    messages: tuple[ChatTurn, ...]
    tools: tuple[CompactTool, ...]
    """At most a handful, compacted."""
    signal: AbortSignal = field(default_factory=AbortSignal)
    """Set when the person presses Stop or the step takes too long."""
    on_token: Callable[[str], None] | None = None
    """Gets raw text as it is generated, from the generation's thread."""
    constraints: tuple[ToolConstraint, ...] | None = None
    """The shown tools' original schemas; a provider that cannot use them ignores them."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one generation."""

    prompt_tokens: int
    cached_tokens: int = 0
    """How many of the prompt's tokens came from a kept cache."""
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True)
class GenerateResult:
    """The raw reply; the loop parses tool calls out of it."""

    text: str
    finish_reason: Literal["stop", "length"] = "stop"
    """`length`: the token limit ended the reply. A provider that cannot tell says `stop`."""
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Available:
    """`generate` may be called now."""

    state: Literal["available"] = "available"


@dataclass(frozen=True, slots=True)
class NeedsDownload:
    """Files have to be downloaded, or (`cached`) only loaded, first."""

    bytes: int | None = None
    note: str | None = None
    cached: bool = False
    """Every file is on this disk from before, so it loads on first use without a question."""
    state: Literal["needs-download"] = "needs-download"


@dataclass(frozen=True, slots=True)
class Downloading:
    """A download is in progress."""

    progress: float
    """0 to 1."""
    state: Literal["downloading"] = "downloading"


@dataclass(frozen=True, slots=True)
class Unavailable:
    """It cannot run here."""

    reason: str
    state: Literal["unavailable"] = "unavailable"


ProviderAvailability = Available | NeedsDownload | Downloading | Unavailable


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """One of the models that a provider offers."""

    id: str
    """What `select_model` takes."""
    label: str
    bytes: int | None = None
    note: str | None = None
    cached: bool = False
    selected: bool = False


class LocalProvider(Protocol):
    """An engine that generates text.

    Three attributes may be missing and are read with their defaults: `tools_inline` (False: list
    the tools in the prompt text, for engines without tools in their chat template),
    `call_format` ("tags") and `broken` (None: set, before raising from `generate`, once the
    provider finds that it cannot run here after all). Optional methods are the one-method
    Protocols below."""

    @property
    def id(self) -> str:
        """`transformers`, `prompt-api`, or any other text."""
        ...

    @property
    def label(self) -> str:
        """A name for people."""
        ...

    async def availability(self) -> ProviderAvailability:
        """Whether it can run, and what it needs first. Downloads nothing."""
        ...

    async def prepare(
        self, on_progress: Callable[[float], None], signal: AbortSignal | None = None
    ) -> None:
        """Download and load the model; `on_progress` gets 0 to 1, never falling."""
        ...

    async def generate(self, req: GenerateRequest) -> GenerateResult:
        """One generation: raw text."""
        ...


@runtime_checkable
class Fits(Protocol):
    """A provider that knows its window; without it everything fits."""

    def fits(self, prompt: PromptParts) -> Awaitable[bool]:
        """Whether a prompt fits, with room left for the reply."""
        ...


@runtime_checkable
class OffersModels(Protocol):
    """A provider with more than one model; without it there is no picker."""

    def models(self) -> Sequence[ModelChoice]:
        """The models it offers; exactly one is selected."""
        ...

    async def select_model(self, id: str) -> None:
        """Free the current model and switch; `ValueError` for an unknown id."""
        ...


@runtime_checkable
class Disposable(Protocol):
    """A provider that holds something to free."""

    def dispose(self) -> None:
        """Free the model; twice is fine."""
        ...


def tools_inline_of(provider: LocalProvider) -> bool:
    """The provider's `tools_inline`, False when it has none."""
    return bool(getattr(provider, "tools_inline", False))


def call_format_of(provider: LocalProvider) -> CallFormat:
    """The provider's `call_format`, "tags" when it has none."""
    return "pythonic" if getattr(provider, "call_format", "tags") == "pythonic" else "tags"


def broken_of(provider: LocalProvider) -> str | None:
    """Why the provider cannot run here after all; None while it can."""
    reason = getattr(provider, "broken", None)
    return str(reason) if reason else None
