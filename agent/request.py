"""A request to the agent: the conversation so far, and where the tools come from."""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from pydantic import JsonValue

from webmcp_agent.browser.tools import (
    JsonObject,
    PageContext,
    PageTool,
    ToolFail,
    ToolOk,
    ToolSource,
)
from webmcp_agent.providers.abort import AbortSignal


@dataclass(frozen=True, slots=True)
class TextPart:
    """Prose of a message."""

    text: str
    type: Literal["text"] = "text"


@dataclass(frozen=True, slots=True)
class CallPart:
    """One call of an earlier message, with its answer."""

    id: str
    name: str
    args: JsonObject
    state: Literal["running", "done", "error"] = "running"
    """A call that is still `running` in a history was interrupted."""
    result: str | None = None
    value: JsonValue = None
    code: str | None = None
    error: str | None = None
    type: Literal["call"] = "call"


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of the chat; the agent writes one for each of its steps."""

    id: str
    role: Literal["user", "assistant"]
    parts: Sequence[TextPart | CallPart]


@dataclass(frozen=True, slots=True)
class AgentDefinition:
    """What a site says of its agent, or of a sub-agent."""

    id: str = "page"
    label: str = ""
    description: str = ""
    instructions: str | None = None
    max_steps: int | None = None
    tools: Sequence[str] | None = None
    """Names of the tools it may use; None for all."""
    agents: Sequence["AgentDefinition"] = ()


class AgentRunRequest(Protocol):
    """What a chat hands to an adapter's `run`."""

    @property
    def messages(self) -> Sequence[ChatMessage]:
        """The conversation, oldest first."""
        ...

    @property
    def signal(self) -> AbortSignal:
        """Stop."""
        ...

    @property
    def agent(self) -> AgentDefinition | None:
        """What the page says of its agent."""
        ...

    def tools(self) -> Sequence[PageTool] | Awaitable[Sequence[PageTool]]:
        """The tools as they are now; asked again before each step."""
        ...

    async def call_tool(
        self, name: str, args: JsonObject, *, call_id: str, signal: AbortSignal
    ) -> ToolOk | ToolFail:
        """Call a tool once; never raises."""
        ...

    async def page(self) -> PageContext | None:
        """What is open now."""
        ...


@dataclass(frozen=True, slots=True)
class RunRequest:
    """The ready-made `AgentRunRequest`: messages, and a `ToolSource` such as `PageTools`."""

    messages: Sequence[ChatMessage]
    source: ToolSource
    signal: AbortSignal = field(default_factory=AbortSignal)
    agent: AgentDefinition | None = None

    def tools(self) -> Awaitable[Sequence[PageTool]]:
        """The source's tools as they are now."""
        return self.source.list_tools()

    async def call_tool(
        self, name: str, args: JsonObject, *, call_id: str, signal: AbortSignal
    ) -> ToolOk | ToolFail:
        """Pass the call to the source."""
        return await self.source.call_tool(name, args, call_id=call_id, signal=signal)

    async def page(self) -> PageContext | None:
        """What the source says is open."""
        return await self.source.page_context()


def user_message(text: str, id: str = "u1") -> ChatMessage:
    """A message of the person."""
    return ChatMessage(id=id, role="user", parts=(TextPart(text),))


def message_text(message: ChatMessage) -> str:
    """The prose of a message, its pieces joined by newlines."""
    return "\n".join(part.text for part in message.parts if isinstance(part, TextPart))


def last_user_text(messages: Sequence[ChatMessage]) -> str | None:
    """What the person said last; None when they have said nothing."""
    for message in reversed(messages):
        if message.role == "user":
            return message_text(message)
    return None
