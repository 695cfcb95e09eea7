"""What a page or a model raises becomes an answer, or ends the run in words."""

import asyncio
from collections.abc import Sequence

import pytest
from page_double import PageDouble, collect, request
from shop_run import FIND_MUG, search, searched, start, text

from webmcp_agent.agent.stream import (
    Finish,
    RunError,
    ToolCall,
    ToolError,
)
from webmcp_agent.browser.tools import (
    JsonObject,
    PageContext,
    PageTool,
    StopSignal,
    ToolFail,
    ToolOk,
)
from webmcp_agent.providers.errors import NotReady
from webmcp_agent.providers.scripted import ScriptedProvider


class Faulty(PageDouble):
    """A page that raises at one place."""

    def __init__(self, place: str, raised: BaseException) -> None:
        super().__init__()
        self.place, self.raised = place, raised

    async def list_tools(self) -> Sequence[PageTool]:
        if self.place == "tools":
            raise self.raised
        return await super().list_tools()

    async def page_context(self) -> PageContext | None:
        if self.place == "page":
            raise self.raised
        return None

    async def call_tool(
        self, name: str, args: JsonObject, *, call_id: str, signal: StopSignal
    ) -> ToolOk | ToolFail:
        if self.place == "call":
            raise self.raised
        return await super().call_tool(name, args, call_id=call_id, signal=signal)


@pytest.mark.parametrize(
    ("raised", "reason"),
    [
        (RuntimeError("page\nis <tool_call> gone"), "page is <\u200btool_call> gone"),
        (RuntimeError(), "RuntimeError"),
        (asyncio.CancelledError(), "it was cancelled"),
    ],
)
async def test_a_fault_of_the_page_becomes_an_answer_or_the_end(
    raised: BaseException, reason: str
) -> None:
    """C-01, B-001: nothing is raised, and each call has its answer."""
    failed = ToolError("c1.1", "search_products", "no-answer", reason, may_have_happened=True)
    ends = {
        "tools": [RunError("unavailable", f"The page's tools could not be read: {reason}")],
        "page": [*searched("c1.1"), start(2), text("I found the Blue mug."), Finish("stop")],
        "call": [
            ToolCall("c1.1", "search_products", {"query": "mug"}),
            failed,
            start(2),
            text("I can't tell."),
            Finish("stop"),
        ],
    }
    for place, parts in ends.items():
        said = "I can't tell." if place == "call" else "I found the Blue mug."
        provider = ScriptedProvider([search(), said])
        page = Faulty(place, raised)
        assert await collect(provider, request(page, FIND_MUG)) == [start(1), *parts]


@pytest.mark.parametrize(
    ("raised", "end"),
    [
        (
            NotReady("call prepare first"),
            RunError("not-ready", "The on-device model failed: call prepare first"),
        ),
        (NotReady(), RunError("not-ready", "The on-device model failed: NotReady")),
        (KeyError(), RunError("provider-failed", "The on-device model failed: KeyError")),
        (
            asyncio.CancelledError(),
            RunError("provider-failed", "The on-device model failed: it was cancelled"),
        ),
    ],
)
async def test_a_fault_of_the_model_ends_the_run(raised: BaseException, end: RunError) -> None:
    """A-014, A-057, B-048."""
    provider = ScriptedProvider([search(), raised])
    assert await collect(provider, request(PageDouble(), FIND_MUG)) == [
        start(1),
        *searched("c1.1"),
        start(2),
        end,
    ]
