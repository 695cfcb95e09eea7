"""Whole runs, as the model's replies and the parts that come of them (C-13)."""

import asyncio
from dataclasses import dataclass, field

import pytest
from page_double import SHOP_ANSWERS, Answers, PageDouble, collect, request
from pydantic import JsonValue

from webmcp_agent.agent.options import LocalLoopOptions
from webmcp_agent.agent.request import CallPart, ChatMessage, user_message
from webmcp_agent.agent.stream import (
    AgentStreamPart,
    CallReport,
    Finish,
    MessageStart,
    RunError,
    TextDelta,
    ToolCall,
    ToolError,
    ToolResult,
    part_from_json,
    report_of,
)
from webmcp_agent.agent.tool_calls import write_call
from webmcp_agent.agent.wording import APOLOGY
from webmcp_agent.browser.tools import ToolFail, ToolOk
from webmcp_agent.providers.base import GenerateRequest, GenerateResult, PromptParts
from webmcp_agent.providers.scripted import ScriptedProvider

MUGS = '{"results":[{"id":7,"title":"Blue mug"}]}'
OUT = "Out of stock"
ASK = "Add the blue mug to my cart"


def search(query: str = "mug") -> str:
    return write_call("search_products", {"query": query}, "tags")


def open_(id: JsonValue = 7) -> str:
    return write_call("open_product", {"id": id}, "tags")


def add() -> str:
    return write_call("add_to_cart", {}, "tags")


def start(n: int) -> MessageStart:
    return MessageStart(f"m{n}")


def text(said: str) -> TextDelta:
    return TextDelta(said)


def searched(id: str, query: str = "mug", answer: str = MUGS) -> list[AgentStreamPart]:
    return [
        ToolCall(id, "search_products", {"query": query}),
        ToolResult(id, "search_products", None, answer),
    ]


def opened(id: str, answer: str = "Opened Blue mug.") -> list[AgentStreamPart]:
    return [
        ToolCall(id, "open_product", {"id": 7}),
        ToolResult(id, "open_product", None, answer),
    ]


def refused(id: str) -> list[AgentStreamPart]:
    return [
        ToolCall(id, "add_to_cart", {}),
        ToolError(id, "add_to_cart", "failed", OUT, may_have_happened=False),
    ]


@dataclass
class Trace:
    """One golden trace."""

    id: str
    replies: list[str | GenerateResult]
    parts: list[AgentStreamPart]
    generations: int
    ask: str = ASK
    answers: dict[str, Answers] = field(default_factory=dict[str, Answers])
    options: LocalLoopOptions | None = None
    turns: list[str] = field(default_factory=list[str])
    """Texts that the last turn of the last request has to begin with, or hold."""


TRACES = [
    Trace(
        "plain",
        ["Hello! How can I help?"],
        [start(1), text("Hello! How can I help?"), Finish("stop")],
        1,
        ask="hello",
    ),
    Trace(
        "two steps",
        [search("blue mug"), open_("7"), "I opened the Blue mug page."],
        [
            start(1),
            *searched("c1.1", "blue mug"),
            start(2),
            *opened("c2.1"),
            start(3),
            text("I opened the Blue mug page."),
            Finish("stop"),
        ],
        3,
        ask="Find and open the blue mug",
    ),
    Trace(
        "ignored failure",
        [add(), "Done! It is in your cart.", "Sorry, the mug is out of stock."],
        [
            start(1),
            *refused("c1.1"),
            start(2),
            text("Sorry, the mug is out of stock."),
            Finish("stop"),
        ],
        3,
        turns=[
            "Your last call, add_to_cart, failed: Error [failed]: Out of stock. "
            "Don't say it worked. Fix the call, or tell me plainly that it failed."
        ],
    ),
    Trace(
        "tells the person",
        ["You can click Add to cart.", add(), "It is out of stock, sorry."],
        [start(1), *refused("c1.1"), start(2), text("It is out of stock, sorry."), Finish("stop")],
        3,
    ),
    Trace(
        "claim without a call",
        ["Done! I added the blue mug to your cart.", add(), "It is out of stock, sorry."],
        [start(1), *refused("c1.1"), start(2), text("It is out of stock, sorry."), Finish("stop")],
        3,
    ),
    Trace(
        "the same claim twice",
        ["Done! I added the blue mug to your cart.", "It is in your cart now."],
        [start(1), text("It is in your cart now."), Finish("stop")],
        2,
    ),
    Trace(
        "repair",
        [write_call("open_product", {}, "tags"), open_(), "Opened."],
        [start(1), *opened("c1.1"), start(2), text("Opened."), Finish("stop")],
        3,
        ask="Open product 7",
    ),
    Trace(
        "repair twice",
        [write_call("fly_away", {}, "tags"), "<tool_call>???</tool_call>"],
        [start(1), text(APOLOGY), Finish("repair-failed")],
        2,
    ),
    Trace(
        "near name",
        [write_call("openProduct", {"id": 7}, "tags"), open_(), "Opened."],
        [start(1), *opened("c1.1"), start(2), text("Opened."), Finish("stop")],
        3,
        ask="Open product 7",
    ),
    Trace(
        "one bad of two",
        [f"{search()}\n{open_('seven')}", search(), "I found the Blue mug."],
        [start(1), *searched("c1.1"), start(2), text("I found the Blue mug."), Finish("stop")],
        3,
        ask="Find a mug",
    ),
    Trace(
        "cut off",
        [
            GenerateResult(
                '<tool_call>\n{"name": "search_products", "arguments": {"query": "blue mug with a',
                "length",
            ),
            search("blue mug"),
            "I found the Blue mug.",
        ],
        [
            start(1),
            *searched("c1.1", "blue mug"),
            start(2),
            text("I found the Blue mug."),
            Finish("stop"),
        ],
        3,
        ask="Find a mug",
    ),
    Trace(
        "open reasoning",
        [f"<think>I call\n{open_()}", open_(), "It is open."],
        [start(1), *opened("c1.1"), start(2), text("It is open."), Finish("stop")],
        3,
        ask="Open product 7",
    ),
    Trace(
        "bare call",
        ['{"name": "open_product", "arguments": {"id": 7}}', "It is open."],
        [start(1), *opened("c1.1"), start(2), text("It is open."), Finish("stop")],
        2,
        ask="Open product 7",
    ),
    Trace(
        "loop",
        [search(), search(), search()],
        [
            start(1),
            *searched("c1.1"),
            start(2),
            *searched("c2.1"),
            start(3),
            *searched("c3.1"),
            start(4),
            text("I stopped because I was going in circles. 1 result: Blue mug"),
            Finish("loop"),
        ],
        3,
        ask="Find a mug",
        turns=["You already called search_products with these arguments"],
    ),
    Trace(
        "loop in one reply",
        ["\n".join([search()] * 4)],
        [
            start(1),
            *searched("c1.1"),
            *searched("c1.2"),
            *searched("c1.3"),
            start(2),
            text("I stopped because I was going in circles. 1 result: Blue mug"),
            Finish("loop"),
        ],
        1,
        ask="Find a mug",
    ),
    Trace(
        "polling",
        [search(), search(), search(), "The list is ready now."],
        [
            start(1),
            *searched("c1.1", answer="loading 10%"),
            start(2),
            *searched("c2.1", answer="loading 60%"),
            start(3),
            *searched("c3.1", answer="ready"),
            start(4),
            text("The list is ready now."),
            Finish("stop"),
        ],
        4,
        ask="Find a mug",
        answers={"search_products": ["loading 10%", "loading 60%", "ready"]},
        turns=["My request: Find a mug\n"],
    ),
    Trace(
        "max steps 2",
        [search("a"), search("b")],
        [
            start(1),
            *searched("c1.1", "a"),
            start(2),
            *searched("c2.1", "b"),
            start(3),
            text(
                "1 result: Blue mug\n\nI stopped after 2 steps without finishing. "
                "Tell me to continue, or say it another way."
            ),
            Finish("max-steps"),
        ],
        2,
        ask="Find a mug",
        options=LocalLoopOptions(max_steps=2),
    ),
    Trace(
        "echo",
        [search(), MUGS],
        [start(1), *searched("c1.1"), start(2), text("1 result: Blue mug"), Finish("stop")],
        2,
        ask="Find a mug",
    ),
    Trace(
        "navigation",
        [f"{open_()}\n{add()}", add(), "It is in your cart."],
        [
            start(1),
            *opened("c1.1", "Opened Blue mug.\nThe page is now /product."),
            start(2),
            ToolCall("c2.1", "add_to_cart", {}),
            ToolResult("c2.1", "add_to_cart", None, "added"),
            start(3),
            text("It is in your cart."),
            Finish("stop"),
        ],
        3,
        answers={
            "open_product": ToolOk("Opened Blue mug.\nThe page is now /product.", navigated=True),
            "add_to_cart": "added",
        },
    ),
    Trace(
        "navigated",
        [open_(), "The page changed; I can't tell whether it worked."],
        [
            start(1),
            ToolCall("c1.1", "open_product", {"id": 7}),
            ToolError(
                "c1.1",
                "open_product",
                "navigated",
                "The page changed before it answered. It is now /product.",
                may_have_happened=True,
            ),
            start(2),
            text("The page changed; I can't tell whether it worked."),
            Finish("stop"),
        ],
        2,
        ask="Open product 7",
        answers={
            "open_product": ToolFail(
                "navigated", "The page changed before it answered. It is now /product."
            )
        },
    ),
    Trace(
        "changed",
        [add(), "The tool changed, so nothing was added."],
        [
            start(1),
            ToolCall("c1.1", "add_to_cart", {}),
            ToolError("c1.1", "add_to_cart", "changed", "It changed.", may_have_happened=False),
            start(2),
            text("The tool changed, so nothing was added."),
            Finish("stop"),
        ],
        2,
        answers={"add_to_cart": ToolFail("changed", "It changed.")},
    ),
]


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.id)
async def test_the_replies_of_a_model_lead_to_exactly_these_parts(trace: Trace) -> None:
    """C-13; in whole runs the corrections (A-062, A-066, C-42), the repairs (A-070, A-071, A-072,
    A-073, A-074, A-075), circles (A-081, A-082, A-083) and the end of the steps (A-084, A-085,
    A-086, A-087)."""
    provider = ScriptedProvider(trace.replies)
    page = PageDouble(answers=SHOP_ANSWERS | trace.answers)
    parts = await collect(provider, request(page, trace.ask), trace.options)
    assert parts == trace.parts
    assert len(provider.requests) == trace.generations
    provider.assert_complete()
    assert [part_from_json(_json(part)) for part in parts] == parts
    for said in trace.turns:
        assert provider.requests[-1].messages[-1].content.startswith(said)


def _json(part: AgentStreamPart) -> str:
    import json

    return json.dumps(part.to_json())


async def test_a_claim_that_nothing_stands_behind_is_reported_as_zero_calls() -> None:
    """C-44: what the model says is shown, what the report says is what happened."""
    provider = ScriptedProvider(["Done! I added it to your cart.", "It is in your cart now."])
    report = report_of(await collect(provider, request(PageDouble(), ASK)))
    assert (report.answer, report.calls, report.finish) == ("It is in your cart now.", (), "stop")


async def test_the_report_lists_the_calls_that_ran_with_their_outcomes() -> None:
    """C-44."""
    provider = ScriptedProvider([search(), add(), "It is out of stock, sorry."])
    report = report_of(await collect(provider, request(PageDouble(), ASK)))
    assert report.calls == (
        CallReport("search_products", {"query": "mug"}, "ok", True, MUGS),
        CallReport("add_to_cart", {}, "failed", False, OUT),
    )
    assert (report.steps, report.succeeded) == (3, False)


async def test_the_calls_after_one_that_navigated_are_told_to_the_model() -> None:
    """C-46."""
    provider = ScriptedProvider([f"{open_()}\n{add()}", "Open."])
    answers = SHOP_ANSWERS | {"open_product": ToolOk("Opened.", navigated=True)}
    page = PageDouble(answers=answers)
    await collect(provider, request(page, "Open product 7"))
    last = provider.requests[1].messages[-1].content
    assert last.startswith("The page changed, so add_to_cart did not run.\nMy request: ")
    assert page.calls == [("open_product", {"id": 7})]


async def test_a_near_name_goes_back_as_a_question_and_does_not_run() -> None:
    """C-30."""
    provider = ScriptedProvider([write_call("openProduct", {"id": 7}, "tags"), "Sorry."])
    page = PageDouble()
    await collect(provider, request(page, "Open product 7"))
    last = provider.requests[1].messages[-1]
    assert (last.role, last.name, last.content) == (
        "tool",
        "openProduct",
        "Error: there is no tool openProduct; did you mean open_product? Try again.",
    )
    assert page.calls == []


async def test_a_generation_that_never_answers_ends_the_run_with_a_timeout() -> None:
    """A-021, A-055, A-056, B-046."""
    seen: list[GenerateRequest] = []

    async def never(req: GenerateRequest) -> str:
        seen.append(req)
        await asyncio.Event().wait()
        raise NotImplementedError

    parts = await collect(
        ScriptedProvider([never]),
        request(PageDouble(), ASK),
        LocalLoopOptions(step_timeout_ms=50),
    )
    assert parts == [
        start(1),
        RunError(
            "timeout",
            "The on-device model took too long. Try again, or ask for something simpler.",
        ),
    ]
    assert seen[0].signal.aborted


async def test_what_a_provider_raises_ends_the_run_with_its_words() -> None:
    """A-057, B-048."""
    provider = ScriptedProvider([RuntimeError("CUDA\nout of memory")])
    assert await collect(provider, request(PageDouble(), ASK)) == [
        start(1),
        RunError("provider-failed", "The on-device model failed: CUDA out of memory"),
    ]


def _resumed(*calls: CallPart) -> list[ChatMessage]:
    return [user_message(ASK), ChatMessage("m1", "assistant", calls)]


OPENED = CallPart("c1.1", "open_product", {"id": 7}, "done", result="Opened Blue mug.")


async def test_a_history_that_ends_on_a_result_is_resumed() -> None:
    """A-039, A-040, C-05."""
    provider = ScriptedProvider([add(), "It is out of stock, sorry."])
    page = PageDouble()
    parts = await collect(provider, request(page, _resumed(OPENED)))
    assert parts == [
        start(1),
        *refused("c1.1"),
        start(2),
        text("It is out of stock, sorry."),
        Finish("stop"),
    ]
    assert provider.requests[0].messages[-1].content == f"Next step for my request: {ASK}"
    assert page.calls == [("add_to_cart", {})]


async def test_the_calls_of_a_resumed_request_count_toward_going_in_circles() -> None:
    """A-041."""
    provider = ScriptedProvider([open_(), open_()])
    parts = await collect(provider, request(PageDouble(), _resumed(OPENED)))
    assert parts == [
        start(1),
        *opened("c1.1"),
        start(2),
        *opened("c2.1"),
        start(3),
        text("I stopped because I was going in circles. Opened Blue mug."),
        Finish("loop"),
    ]


async def test_a_resumed_failure_is_not_ignored() -> None:
    """A-042."""
    failed = CallPart("c1.1", "add_to_cart", {}, "error", code="failed", error=OUT)
    provider = ScriptedProvider(["Done!", "Sorry, it is out of stock."])
    await collect(provider, request(PageDouble(), _resumed(failed)))
    assert "Don't say it worked" in provider.requests[1].messages[-1].content


async def test_a_prompt_that_never_fits_is_not_generated() -> None:
    """A-052."""

    def never(prompt: PromptParts) -> bool:
        return False

    provider = ScriptedProvider([], fits=never)
    assert await collect(provider, request(PageDouble(), ASK)) == [
        start(1),
        RunError(
            "prompt-too-long",
            "This request is too long for the on-device model. "
            "Ask for something shorter, or start a new chat.",
        ),
    ]
    assert provider.requests == []
