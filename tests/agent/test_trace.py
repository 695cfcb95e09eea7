"""What a trace callback is told, in which order, and that watching changes nothing."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from page_double import ADD, SHOP_ANSWERS, Answers, PageDouble, collect, request, tool
from pydantic import JsonValue
from shop_run import ADD_MUG, FIND_MUG, MUGS, add, open_, search, write

from webmcp_agent.agent.options import LocalLoopOptions
from webmcp_agent.agent.request import AgentDefinition
from webmcp_agent.agent.stream import AgentStreamPart, Finish, RunError
from webmcp_agent.agent.trace import TraceEvent
from webmcp_agent.agent.wording import NOT_CALLED
from webmcp_agent.browser.tools import PageTool, ToolOk
from webmcp_agent.providers.base import GenerateResult, PromptParts, Usage
from webmcp_agent.providers.scripted import Reply, ScriptedProvider

DONE = "Done! I added the blue mug to your cart."
STEP = ["page", "fit", "request", "reply", "parsed"]
MENDED = "<tool_call>{'name': 'open_product', 'arguments': {'id': '7'}}</tool_call>"


async def traced(
    replies: list[Reply],
    ask: str = FIND_MUG,
    page: PageDouble | None = None,
    fits: Callable[[PromptParts], bool] | None = None,
    **options: Any,
) -> tuple[list[AgentStreamPart], list[TraceEvent]]:
    """The parts of a run and its trace."""
    events: list[TraceEvent] = []
    parts = await collect(
        ScriptedProvider(replies, fits=fits),
        request(page or PageDouble(), ask),
        LocalLoopOptions(trace=events.append, **options),
    )
    return parts, events


def timeless(event: TraceEvent) -> dict[str, JsonValue]:
    return {key: value for key, value in event.data.items() if key != "ms"}


def only(events: list[TraceEvent], *types: str) -> list[tuple[str, int, dict[str, JsonValue]]]:
    return [(event.type, event.step, timeless(event)) for event in events if event.type in types]


async def test_a_run_is_traced_from_the_page_to_the_calls_of_each_step() -> None:
    """C-82."""
    _, events = await traced([search(), "I found the Blue mug."])
    assert [(event.step, event.type) for event in events] == [
        *((1, type) for type in (*STEP, "call")),
        *((2, type) for type in STEP),
    ]
    assert {event.agent for event in events} == {None}


async def test_each_event_of_a_step_tells_what_happened() -> None:
    """C-82."""
    usage = Usage(prompt_tokens=400, cached_tokens=300, completion_tokens=20)
    replies: list[Reply] = [GenerateResult(search(), "stop", usage), "I found the Blue mug."]
    page = PageDouble([*PageDouble().tools, tool("pay")])
    _, events = await traced(replies, page=page, max_tools=2)
    first = [event for event in events if event.step == 1]
    system = first[2].data.get("system")
    assert isinstance(system, str)
    assert system.startswith("You are the assistant on this web page.")
    assert [(event.type, timeless(event)) for event in first] == [
        ("page", {"tools": 4}),
        ("fit", {"tries": [[2, 1]]}),
        (
            "request",
            {
                "system": system,
                "turns": [{"role": "user", "content": FIND_MUG}],
                "tools": ["search_products", "open_product"],
                "not_shown": 2,
            },
        ),
        (
            "reply",
            {
                "text": search(),
                "finish_reason": "stop",
                "usage": {"prompt_tokens": 400, "cached_tokens": 300, "completion_tokens": 20},
            },
        ),
        (
            "parsed",
            {
                "calls": [{"name": "search_products", "args": {"query": "mug"}}],
                "errors": [],
                "repairs": [],
            },
        ),
        ("call", {"name": "search_products", "args": {"query": "mug"}, "outcome": "ok"}),
    ]
    second = next(event for event in events if event.type == "request" and event.step == 2)
    turns = second.data["turns"]
    assert isinstance(turns, list)
    assert turns[2] == {"role": "tool", "content": MUGS, "name": "search_products"}
    assert [event.data["usage"] for event in events if event.type == "reply"][1] is None


async def test_waits_are_timed_in_milliseconds() -> None:
    """C-82."""
    _, events = await traced([search(), "I found the Blue mug."])
    timed = [event for event in events if "ms" in event.data]
    assert [event.type for event in timed] == ["page", "reply", "call", "page", "reply"]
    for event in timed:
        ms = event.data["ms"]
        assert isinstance(ms, float)
        assert ms >= 0


async def test_what_was_mended_in_a_reply_is_traced() -> None:
    """C-31, C-82."""
    parts, events = await traced([MENDED, "It is open."], "Open product 7")
    (parsed, args), *_ = [
        (first, second)
        for first, second in zip(events, events[1:], strict=False)
        if first.type == "parsed" and second.type == "args"
    ]
    assert parsed.data["calls"] == [{"name": "open_product", "args": {"id": "7"}}]
    assert parsed.data["repairs"] != []
    assert timeless(args) == {
        "tool": "open_product",
        "changes": ['id: "7" sent as 7'],
        "warnings": [],
    }
    assert parts[-1] == Finish("stop")


@pytest.mark.parametrize(
    ("reply", "kind", "text"),
    [
        (
            "<tool_call>???</tool_call>",
            "unreadable",
            None,
        ),
        ("", "empty", "Error: your reply was empty. Try again."),
        (
            write("openProduct", id=7),
            "unknown-tool",
            "Error: there is no tool openProduct; did you mean open_product? Try again.",
        ),
        (write("open_product"), "invalid-args", None),
    ],
)
async def test_a_reply_that_cannot_be_used_is_traced_with_what_goes_back(
    reply: str, kind: str, text: str | None
) -> None:
    """C-82."""
    page = PageDouble()
    provider = ScriptedProvider([reply, "I cannot do that."])
    events: list[TraceEvent] = []
    await collect(provider, request(page, "hello"), LocalLoopOptions(trace=events.append))
    sent = provider.requests[1].messages[-1].content
    assert only(events, "repair") == [("repair", 1, {"kind": kind, "text": sent, "used": False})]
    assert text in (None, sent)
    assert [event.type for event in events] == [*STEP, "repair", *STEP[1:]]


async def test_a_second_bad_reply_is_traced_as_one_that_nothing_goes_back_for() -> None:
    """C-82."""
    _, events = await traced([write("fly_away"), ""])
    assert [(kind, data["kind"], data["used"]) for kind, _, data in only(events, "repair")] == [
        ("repair", "unknown-tool", False),
        ("repair", "empty", True),
    ]


@pytest.mark.parametrize(
    ("replies", "kind", "begins"),
    [
        ([add(), "Done!", "It is out of stock, sorry."], "a", "Your last call, add_to_cart, fail"),
        (["You can click Add to cart.", "I cannot."], "b", "The tool add_to_cart is right here"),
        ([DONE, "I cannot do that."], "d", NOT_CALLED),
    ],
)
async def test_a_correction_is_traced_with_its_kind_and_text(
    replies: list[Reply], kind: str, begins: str
) -> None:
    """C-82."""
    _, events = await traced(replies, ADD_MUG)
    ((_, _, data),) = only(events, "correction")
    assert data["kind"] == kind
    said = data["text"]
    assert isinstance(said, str)
    assert said.startswith(begins)


async def test_a_repeat_is_traced_each_time() -> None:
    """C-82."""
    _, events = await traced([search(), search(), search()])
    call: dict[str, JsonValue] = {"name": "search_products", "args": {"query": "mug"}}
    assert only(events, "repeat") == [
        ("repeat", 2, {**call, "count": 1}),
        ("repeat", 3, {**call, "count": 2}),
    ]


async def test_a_failed_call_is_traced_with_its_code() -> None:
    """C-82."""
    _, events = await traced([add(), "It is out of stock, sorry."], ADD_MUG)
    assert only(events, "call") == [
        ("call", 1, {"name": "add_to_cart", "args": {}, "outcome": "failed"})
    ]


async def test_what_was_left_out_to_fit_is_traced() -> None:
    """C-82."""
    _, events = await traced(["Hello!"], fits=lambda prompt: len(prompt.tools) < 2)
    assert only(events, "fit") == [("fit", 1, {"tries": [[3, 1], [2, 1], [1, 1]]})]


async def test_odd_schemas_and_names_are_traced_once() -> None:
    """C-38, C-82."""
    odd = PageTool(name="odd", description="Odd", input_schema="{no json", fingerprint="odd")
    bad = PageTool(name="a b", description="Bad name", fingerprint="bad")
    page = PageDouble([ADD, odd, bad, ADD])
    _, events = await traced([write("add_to_cart"), "It is out of stock, sorry."], page=page)
    warnings = [(step, data["text"]) for _, step, data in only(events, "warning")]
    assert [step for step, _ in warnings] == [1, 1, 1]
    assert warnings[0] == (1, "a tool with an illegal name was left out: a b")
    assert warnings[1] == (1, "a second tool named add_to_cart was left out")
    assert str(warnings[2][1]).startswith("odd: ")


RUNS: dict[str, tuple[str, list[Reply], dict[str, Answers]]] = {
    "hello": ("hello", ["Hello!"], {}),
    "two steps": (FIND_MUG, [search(), open_(), "I opened it."], {}),
    "mended": ("Open product 7", [MENDED, "It is open."], {}),
    "ignored failure": (ADD_MUG, [add(), "Done! It is in.", "It is out of stock, sorry."], {}),
    "claim": (ADD_MUG, [DONE, add(), "It is out of stock, sorry."], {}),
    "repair": ("Open product 7", [write("open_product"), open_(), "Opened."], {}),
    "repair twice": (ADD_MUG, [write("fly_away"), "<tool_call>???</tool_call>"], {}),
    "circles": (FIND_MUG, [search(), search(), search()], {}),
    "echo": (FIND_MUG, [search(), MUGS], {}),
    "navigation": (
        ADD_MUG,
        [f"{open_()}\n{add()}", add(), "It is in your cart."],
        {"open_product": ToolOk("Opened.", navigated=True), "add_to_cart": "added"},
    ),
    "provider error": (ADD_MUG, [search(), RuntimeError("CUDA out of memory")], {}),
}


@pytest.mark.parametrize("name", RUNS)
async def test_watching_a_run_changes_nothing_in_it(name: str) -> None:
    """C-82, C-13."""
    ask, replies, answers = RUNS[name]

    def noting(event: TraceEvent) -> None:
        seen.append(event.type)

    def failing(event: TraceEvent) -> None:
        seen.append(event.type)
        raise RuntimeError("the trace broke")

    def meddling(event: TraceEvent) -> None:
        seen.append(event.type)
        event.data.clear()

    seen: list[str] = []
    runs: list[tuple[list[AgentStreamPart], Any]] = []
    told: list[list[str]] = []
    for trace in (None, noting, failing, meddling):
        seen.clear()
        provider = ScriptedProvider(replies)
        page = PageDouble(answers=SHOP_ANSWERS | answers)
        parts = await collect(provider, request(page, ask), LocalLoopOptions(trace=trace))
        asked = [(req.system, req.messages, req.tools) for req in provider.requests]
        runs.append((parts, (asked, page.calls)))
        told.append(list(seen))
    assert runs[1:] == runs[:1] * 3
    assert told[0] == []
    assert told[1] == told[2] == told[3] != []


async def test_a_trace_can_be_written_as_json() -> None:
    """C-82."""
    for ask, replies, answers in RUNS.values():
        page = PageDouble(answers=SHOP_ANSWERS | answers)
        _, events = await traced(replies, ask, page)
        assert [json.loads(json.dumps(event.data)) for event in events] == [
            event.data for event in events
        ]


async def test_a_run_that_fails_is_traced_up_to_what_failed() -> None:
    """C-82."""
    parts, events = await traced([RuntimeError("CUDA error")])
    assert isinstance(parts[-1], RunError)
    assert [event.type for event in events] == STEP[:3]


async def test_the_agents_tools_are_the_ones_that_are_counted() -> None:
    """C-82."""
    events: list[TraceEvent] = []
    agent = AgentDefinition(tools=["add_to_cart"])
    options = LocalLoopOptions(trace=events.append)
    await collect(ScriptedProvider(["Hi"]), request(PageDouble(), "hello", agent=agent), options)
    assert only(events, "page") == [("page", 1, {"tools": 1})]
