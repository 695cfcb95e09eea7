"""Short names for what a model says in the shop of `page_double`, and for the parts of a run."""

from page_double import PageDouble, tool

from webmcp_agent.agent.request import CallPart, ChatMessage, TextPart
from webmcp_agent.agent.stream import (
    AgentStreamPart,
    MessageStart,
    TextDelta,
    ToolCall,
    ToolError,
    ToolResult,
)
from webmcp_agent.agent.tool_calls import write_call
from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.providers.base import CallFormat

MUGS = '{"results":[{"id":7,"title":"Blue mug"}]}'
OUT = "Out of stock"
ADD_MUG = "Add the blue mug to my cart"
FIND_MUG = "Find a mug"
SEARCHED = CallPart("c1.1", "search_products", {"query": "mug"}, "done", result=MUGS)
OPENED = CallPart("c1.1", "open_product", {"id": 7}, "done", result="Opened Blue mug.")
REFUSED = CallPart("c1.1", "add_to_cart", {}, "error", code="failed", error=OUT)


def agent_message(*parts: TextPart | CallPart, id: str = "m1") -> ChatMessage:
    return ChatMessage(id, "assistant", parts)


def write(name: str, call_format: CallFormat = "tags", /, **args: str | int | bool | None) -> str:
    return write_call(name, dict(args), call_format)


def search(query: str = "mug") -> str:
    return write("search_products", query=query)


def open_(id: int = 7) -> str:
    return write("open_product", id=id)


def add() -> str:
    return write("add_to_cart")


def start(number: int) -> MessageStart:
    return MessageStart(f"m{number}")


def text(said: str) -> TextDelta:
    return TextDelta(said)


def answered(id: str, name: str, args: JsonObject, answer: str) -> list[AgentStreamPart]:
    return [ToolCall(id, name, args), ToolResult(id, name, None, answer)]


def searched(id: str, query: str = "mug", answer: str = MUGS) -> list[AgentStreamPart]:
    return answered(id, "search_products", {"query": query}, answer)


def opened(id: str, answer: str = "Opened Blue mug.") -> list[AgentStreamPart]:
    return answered(id, "open_product", {"id": 7}, answer)


def refused(id: str) -> list[AgentStreamPart]:
    return [
        ToolCall(id, "add_to_cart", {}),
        ToolError(id, "add_to_cart", "failed", OUT, may_have_happened=False),
    ]


def counting_page(count: int) -> PageDouble:
    """A page with `count` tools `tool_1, tool_2, …`, each of which answers `done`."""
    names = [f"tool_{number}" for number in range(1, count + 1)]
    page = PageDouble([tool(name, n={"type": "integer"}) for name in names])
    page.answers |= dict.fromkeys(names, "done")
    return page


def restated(request: str) -> str:
    return (
        f"My request: {request}\n"
        "If the result above answers it, tell me in a sentence. If not, make the next call."
    )
