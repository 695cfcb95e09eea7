"""The chat template of the shipped adapter: tools as one-line signatures, every turn as it is."""

from pathlib import Path
from typing import Any

import pytest

from webmcp_agent.providers.base import ChatTurn, CompactTool
from webmcp_agent.providers.templates import ChatForm, choose_form

pytestmark = pytest.mark.model

TEMPLATE = (
    Path(__file__).parents[2] / "providers" / "default_adapter" / "chat_template.jinja"
).read_text(encoding="utf-8")

SEARCH = CompactTool(
    "search_products",
    "Find products.",
    {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "Words to look for"},
            "sort": {"type": "string", "enum": ["price-asc", "rating"]},
            "when": {"type": "string", "format": "date"},
            "limit": {"type": ["integer", "null"], "description": "x" * 81},
            "items": {"type": "array", "items": {"type": "string"}},
            "rest": {"type": "array"},
            "to": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "zip": {"type": "string"}},
                "required": ["city"],
            },
            "any": {},
        },
        "required": ["query"],
    },
)
CART = CompactTool("view_cart", "Show the cart.", {"type": "object", "properties": {}})


@pytest.fixture
def render(tiny_tokenizer: Any) -> Any:
    def rendered(messages: Any, tools: Any) -> str:
        return tiny_tokenizer.apply_chat_template(
            messages,
            tools=tools,
            chat_template=TEMPLATE,
            add_generation_prompt=True,
            tokenize=False,
        )

    return rendered


def test_tools_stand_in_the_system_turn_as_one_line_signatures(render: Any) -> None:
    form = ChatForm()
    turns = [
        ChatTurn("user", "Find a mug."),
        ChatTurn("assistant", '<tool_call>\n{"name": "view_cart", "arguments": {}}\n</tool_call>'),
        ChatTurn("tool", '{"items":[]}', "view_cart"),
        ChatTurn("user", "My request: Find a mug."),
    ]
    assert render(form.messages("You act.", turns), form.tools([SEARCH, CART])) == (
        "<|im_start|>system\n"
        "You act.\n"
        "Tools:\n"
        'search_products(query: string, sort?: "price-asc"|"rating", when?: date, '
        "limit?: integer|null, items?: [string], rest?: [any], to?: {city: string, zip?: string}, "
        "any?: any) - Find products. (query: Words to look for)\n"
        "view_cart() - Show the cart.<|im_end|>\n"
        "<|im_start|>user\nFind a mug.<|im_end|>\n"
        '<|im_start|>assistant\n<tool_call>\n{"name": "view_cart", "arguments": {}}\n</tool_call>'
        "<|im_end|>\n"
        '<|im_start|>tool\n{"items":[]}<|im_end|>\n'
        "<|im_start|>user\nMy request: Find a mug.<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_a_conversation_without_tools_and_system_text_has_only_its_turns(render: Any) -> None:
    assert render([{"role": "user", "content": "hello"}], None) == (
        "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n"
    )


def test_the_provider_needs_no_fallback_for_it(render: Any) -> None:
    form = choose_form(render, TEMPLATE, ())
    assert form == ChatForm()
    assert form.notes == []
