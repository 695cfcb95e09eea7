"""A shop as plain values, for figures of a model: tools, answers, and six replies that buy a mug.

No browser and no page: the conversation is made once by the agent's own loop, so its prompts have
the form, and about the length, of a run in the demo shop.
"""

import json
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from webmcp_agent.agent.loop import run_local_agent
from webmcp_agent.agent.options import LocalLoopOptions
from webmcp_agent.agent.request import RunRequest, user_message
from webmcp_agent.agent.tool_calls import write_call
from webmcp_agent.browser.tools import JsonObject, PageContext, PageTool, StopSignal, ToolOk
from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.base import CallFormat, GenerateRequest, GenerateResult
from webmcp_agent.providers.scripted import ScriptedProvider

TASK = "Find a blue mug under 20 euros with good reviews and put two of them into my cart."

_ID: JsonObject = {"type": "string", "description": "Product id, as search_products gives it"}
_COUNT: JsonObject = {"type": "integer", "minimum": 1, "maximum": 10, "description": "How many"}

_SEARCH: JsonObject = {
    "query": {"type": "string", "description": "Words to look for"},
    "category": {
        "type": "string",
        "enum": ["mugs", "shoes", "bags", "desk"],
        "description": "Only this category",
    },
    "max_price": {"type": "number", "minimum": 0, "description": "Highest price in euros"},
    "sort": {
        "type": "string",
        "enum": ["relevance", "price-asc", "price-desc", "rating"],
        "description": "Order of the results",
    },
}


def _tool(
    name: str, description: str, required: Sequence[str], **properties: JsonValue
) -> PageTool:
    schema: JsonObject = {
        "type": "object",
        "properties": properties,
        "required": list(required),
    }
    return PageTool(name, description, schema, fingerprint=name)


_EVERYWHERE = (
    _tool(
        "search_products",
        "Find products in the shop by words, category and price.",
        ["query"],
        **_SEARCH,
    ),
    _tool("list_categories", "List the categories of the shop.", []),
    _tool("open_product", "Open the page of a product. There it can be bought.", ["id"], id=_ID),
    _tool("view_cart", "Show what is in the cart and the total price.", []),
    _tool(
        "set_quantity",
        "Change how many of a product are in the cart.",
        ["id", "quantity"],
        id=_ID,
        quantity=_COUNT,
    ),
    _tool("remove_from_cart", "Remove a product from the cart.", ["id"], id=_ID),
    _tool(
        "apply_coupon",
        "Use a coupon code for the cart.",
        ["code"],
        code={"type": "string", "description": "The code"},
    ),
    _tool("start_checkout", "Go to the checkout to order what is in the cart.", []),
)
_ON_PRODUCT = (
    _tool("add_to_cart", "Add the product of this page to the cart.", [], quantity=_COUNT),
    _tool("get_reviews", "Read what customers say about the product of this page.", []),
)

_FOUND: list[JsonValue] = [
    {"id": "blue-stoneware-mug", "title": "Blue stoneware mug", "price": 14.5, "rating": 4.6},
    {"id": "harbour-mug", "title": "Harbour mug, blue glaze", "price": 17.9, "rating": 4.1},
    {"id": "camp-mug", "title": "Camp mug, enamel", "price": 11.0, "rating": 3.9},
    {"id": "tall-mug", "title": "Tall mug with lid, navy", "price": 19.5, "rating": 4.4},
]
_REVIEWS: list[JsonValue] = [
    "The glaze is even and the handle fits a large hand. Two of them survived a year of daily use.",
    "Keeps tea warm longer than my thin ones, and the blue is the blue of the picture.",
    "A little heavy, but it stands well. The dishwasher has left no mark so far.",
]
_CART: JsonObject = {
    "items": [{"id": "blue-stoneware-mug", "title": "Blue stoneware mug", "quantity": 2}],
    "coupon": None,
    "total": 29.0,
}

_CALLS: tuple[tuple[str, JsonObject], ...] = (
    ("search_products", {"query": "blue mug", "max_price": 20, "sort": "rating"}),
    ("open_product", {"id": "blue-stoneware-mug"}),
    ("get_reviews", {}),
    ("add_to_cart", {"quantity": 2}),
    ("view_cart", {}),
)
_ANSWERS: dict[str, JsonValue] = {
    "search_products": {"results": _FOUND, "total": len(_FOUND)},
    "open_product": "Opening Blue stoneware mug, 14.50 euros.",
    "get_reviews": {"product": "Blue stoneware mug", "rating": 4.6, "reviews": _REVIEWS},
    "add_to_cart": {"title": "Blue stoneware mug", "added": 2, "in_cart": 2, "total": 29.0},
    "view_cart": _CART,
}
_END = "Two blue stoneware mugs are in your cart for 29 euros in all. Customers rate them 4.6 of 5."


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request to the model, and what it replies."""

    request: GenerateRequest
    reply: str


async def shop_conversation(call_format: CallFormat, *, tools_inline: bool) -> list[Exchange]:
    """The six exchanges of a run, as the loop asks for them."""
    replies = [_written(name, args, call_format, tools_inline) for name, args in _CALLS]
    replies.append(json.dumps({"reply": _END}) if tools_inline else _END)
    model = ScriptedProvider(
        [GenerateResult(reply) for reply in replies],
        call_format=call_format,
        tools_inline=tools_inline,
    )
    options = LocalLoopOptions(max_steps=len(replies), tools_inline=tools_inline)
    run = run_local_agent(model, RunRequest([user_message(TASK)], _Shop()), options)
    async with aclosing(run) as parts:
        async for _ in parts:
            pass
    # The loop has set each request's own signal when its step was over.
    return [
        Exchange(replace(request, signal=AbortSignal()), reply)
        for request, reply in zip(model.requests, replies, strict=True)
    ]


def _written(name: str, args: JsonObject, call_format: CallFormat, tools_inline: bool) -> str:
    if tools_inline:
        return json.dumps({"tool": name, "args": args})
    return write_call(name, args, call_format)


@dataclass(slots=True)
class _Shop:
    """The pages of the shop: a catalogue, and a product once it was opened."""

    opened: bool = field(default=False)

    async def list_tools(self) -> Sequence[PageTool]:
        return [*_EVERYWHERE, *_ON_PRODUCT] if self.opened else _EVERYWHERE

    async def page_context(self) -> PageContext | None:
        if self.opened:
            return PageContext("/product.html", "Blue stoneware mug - Shop", "Blue stoneware mug")
        return PageContext("/", "Shop for good things", "Good things for home and hills")

    async def call_tool(
        self, name: str, args: JsonObject, *, call_id: str, signal: StopSignal
    ) -> ToolOk:
        answer = _ANSWERS[name]
        moved = name == "open_product"
        self.opened = self.opened or moved
        text = answer if isinstance(answer, str) else json.dumps(answer)
        if moved:
            text += "\nThe page is now /product.html."
        return ToolOk(text, answer, navigated=moved)
