"""Whole runs on a page in a real browser, with replies written in advance."""

import pytest
from page_double import collect
from playwright.async_api import Browser
from shop_run import start, text, write

from webmcp_agent.agent.request import RunRequest, user_message
from webmcp_agent.agent.stream import Finish, ToolCall, ToolResult
from webmcp_agent.browser.launch import open_page
from webmcp_agent.browser.policy import Policy
from webmcp_agent.providers.base import CallFormat
from webmcp_agent.providers.scripted import ScriptedProvider

YES = Policy(mode="yes")
EVENT = 'create-event got {"first-name":"Ada"}'
ODD_NAMES = """() => {
  for (const name of ['create-event', 'shop.add']) {
    document.modelContext.registerTool({
      name,
      description: name,
      inputSchema: { type: 'object', properties: { 'first-name': { type: 'string' } } },
      execute: (args) => `${name} got ${JSON.stringify(args)}`,
    });
  }
}"""


@pytest.mark.parametrize("call_format", ["tags", "pythonic"])
async def test_names_with_hyphens_and_dots_work_in_both_formats(
    chromium: Browser, site: str, call_format: CallFormat
) -> None:
    """C-12."""
    replies = [
        write("create-event", call_format, **{"first-name": "Ada"}),
        write("shop.add", call_format),
        "Both were called.",
    ]
    provider = ScriptedProvider(replies, call_format=call_format)
    async with open_page(chromium, f"{site}/plain.html", policy=YES) as tools:
        await tools.page.evaluate(ODD_NAMES)
        parts = await collect(provider, RunRequest([user_message("Call both")], tools))
    assert parts == [
        start(1),
        ToolCall("c1.1", "create-event", {"first-name": "Ada"}),
        ToolResult("c1.1", "create-event", EVENT, EVENT),
        start(2),
        ToolCall("c2.1", "shop.add", {}),
        ToolResult("c2.1", "shop.add", "shop.add got {}", "shop.add got {}"),
        start(3),
        text("Both were called."),
        Finish("stop"),
    ]


async def test_the_prompt_says_what_is_open_before_and_after_a_navigation(
    chromium: Browser, site: str
) -> None:
    """A-090, A-043."""
    provider = ScriptedProvider([write("answer_and_leave"), "Order 7 is open."])
    async with open_page(chromium, f"{site}/moves.html", policy=YES) as tools:
        await collect(provider, RunRequest([user_message("Open the order")], tools))
    before, after = provider.requests
    assert before.system.endswith("\nPage: /moves.html | Moves | Moves")
    assert "\nPage: /arrived.html | Arrived | Order 7" in after.system
    assert {tool.name for tool in before.tools} != {tool.name for tool in after.tools}
