"""A page in memory, the run of a request against it, and the grammar that every run keeps."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from webmcp_agent.agent.loop import run_local_agent
from webmcp_agent.agent.options import LocalLoopOptions
from webmcp_agent.agent.request import (
    AgentDefinition,
    AgentRunRequest,
    ChatMessage,
    RunRequest,
    user_message,
)
from webmcp_agent.agent.stream import (
    AgentStreamPart,
    Finish,
    MessageStart,
    RunError,
    TextDelta,
    ToolCall,
    ToolError,
    ToolResult,
)
from webmcp_agent.browser.tools import (
    JsonObject,
    PageContext,
    PageTool,
    StopSignal,
    ToolFail,
    ToolOk,
)
from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.base import LocalProvider

Answer = str | ToolOk | ToolFail | BaseException
Answers = Answer | Sequence[Answer] | Callable[[JsonObject], Answer | Awaitable[Answer]]


def tool(name: str, description: str = "", **properties: JsonObject) -> PageTool:
    """A tool with its parameters as keyword arguments; `NAME_required` makes NAME required."""
    required = [key.removesuffix("_required") for key in properties if key.endswith("_required")]
    return PageTool(
        name=name,
        description=description or name.replace("_", " "),
        input_schema={
            "type": "object",
            "properties": {
                key.removesuffix("_required"): schema for key, schema in properties.items()
            },
            "required": [*required],
        },
        fingerprint=f"{name}:{sorted(properties)}",
    )


SEARCH = tool("search_products", "Search the shop", query_required={"type": "string"})
OPEN = tool("open_product", "Open a product's page", id_required={"type": "integer"})
ADD = tool("add_to_cart", "Add the open product to the cart", quantity={"type": "integer"})
SHOP_TOOLS = (SEARCH, OPEN, ADD)
SHOP_ANSWERS: dict[str, Answers] = {
    "search_products": '{"results":[{"id":7,"title":"Blue mug"}]}',
    "open_product": "Opened Blue mug.",
    "add_to_cart": ToolFail("failed", "Out of stock"),
}


@dataclass
class PageDouble:
    """A `ToolSource` in memory that keeps what was asked of it."""

    tools: Sequence[PageTool] = SHOP_TOOLS
    answers: dict[str, Answers] = field(default_factory=lambda: dict(SHOP_ANSWERS))
    context: PageContext | None = None
    calls: list[tuple[str, JsonObject]] = field(default_factory=list[tuple[str, JsonObject]])
    spans: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """("start", name) and ("end", name), in the order in which they happened."""
    listings: int = 0

    async def list_tools(self) -> Sequence[PageTool]:
        self.listings += 1
        return self.tools

    async def call_tool(
        self, name: str, args: JsonObject, *, call_id: str, signal: StopSignal
    ) -> ToolOk | ToolFail:
        self.calls.append((name, args))
        self.spans.append(("start", name))
        await asyncio.sleep(0)
        try:
            answer = await self._answer(name, args)
        finally:
            self.spans.append(("end", name))
        if isinstance(answer, BaseException):
            raise answer
        return ToolOk(answer) if isinstance(answer, str) else answer

    async def _answer(self, name: str, args: JsonObject) -> Answer:
        answers = self.answers[name]
        if callable(answers):
            answer = answers(args)
            return await answer if inspect.isawaitable(answer) else answer
        if isinstance(answers, str | ToolOk | ToolFail | BaseException):
            return answers
        done = sum(1 for called, _ in self.calls if called == name)
        return answers[min(done, len(answers)) - 1]

    async def page_context(self) -> PageContext | None:
        return self.context


def request(
    page: PageDouble,
    ask: str | Sequence[ChatMessage],
    signal: AbortSignal | None = None,
    agent: AgentDefinition | None = None,
) -> RunRequest:
    """A request of the person, or a whole conversation."""
    messages = [user_message(ask)] if isinstance(ask, str) else ask
    return RunRequest(messages, page, signal or AbortSignal(), agent)


async def collect(
    provider: LocalProvider, req: AgentRunRequest, options: LocalLoopOptions | None = None
) -> list[AgentStreamPart]:
    """All parts of a run, whose grammar is checked."""
    parts: list[AgentStreamPart] = []
    async with asyncio.timeout(20), aclosing(run_local_agent(provider, req, options)) as stream:
        async for part in stream:
            parts.append(part)
    check_grammar(parts)
    return parts


def check_grammar(parts: Sequence[AgentStreamPart]) -> None:
    """`step* end`, each call answered before the next part, ids unique (A-033, A-078, C-01)."""
    assert parts, "a run has at least one part"
    assert isinstance(parts[-1], Finish | RunError), parts[-1]
    running: ToolCall | None = None
    seen: set[str] = set()
    stage = "start"
    for part in parts[:-1]:
        assert not isinstance(part, Finish | RunError), "only the last part ends a run"
        if running is not None:
            assert isinstance(part, ToolResult | ToolError), f"{running} has no answer"
            same = (part.id, part.name) == (running.id, running.name)
            assert same, f"{running} has no answer but {part}"
            running = None
            continue
        match part:
            case MessageStart():
                stage = "message"
            case TextDelta():
                assert stage == "message", "prose comes once, before the calls"
                stage = "text"
            case ToolCall():
                assert stage in {"message", "text", "calls"}, "a call belongs to a message"
                stage, running = "calls", part
            case _:
                raise AssertionError(f"{part} answers no call")
        if isinstance(part, MessageStart | ToolCall):
            assert part.id not in seen, f"{part.id} is used twice"
            seen.add(part.id)
    assert running is None, f"{running} has no answer"
