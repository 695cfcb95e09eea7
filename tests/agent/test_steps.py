"""One step after the other: what is read and shown anew, and what the next step sees."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from page_double import ADD, OPEN, SEARCH, SHOP_ANSWERS, PageDouble, collect, request, tool
from shop_run import (
    ADD_MUG,
    FIND_MUG,
    MUGS,
    add,
    answered,
    counting_page,
    open_,
    opened,
    restated,
    search,
    searched,
    start,
    text,
    write,
)

from webmcp_agent.agent.loop import run_local_agent
from webmcp_agent.agent.options import LocalLoopOptions
from webmcp_agent.agent.ranking import rank_tools
from webmcp_agent.agent.request import ChatMessage, TextPart, user_message
from webmcp_agent.agent.schema import compact_schema, read_schema
from webmcp_agent.agent.stream import Finish, MessageStart
from webmcp_agent.agent.trace import TraceEvent
from webmcp_agent.browser.tools import (
    JsonObject,
    PageContext,
    PageTool,
    ToolFail,
    ToolOk,
)
from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.base import (
    ChatTurn,
    CompactTool,
    GenerateRequest,
    GenerateResult,
    ToolConstraint,
)
from webmcp_agent.providers.scripted import ScriptedProvider


async def test_a_call_runs_and_its_answer_is_in_the_next_request() -> None:
    """A-002, A-079, A-080, B-034."""
    provider = ScriptedProvider([f"I look.\n{search()}", "I found the Blue mug."])
    parts = await collect(provider, request(PageDouble(), FIND_MUG))
    assert parts == [
        start(1),
        text("I look."),
        *searched("c1.1"),
        start(2),
        text("I found the Blue mug."),
        Finish("stop"),
    ]
    first, second = provider.requests
    assert first.messages == (ChatTurn("user", FIND_MUG),)
    assert first.tools == tuple(rank_tools((SEARCH, OPEN, ADD), FIND_MUG))
    assert second.messages == (
        ChatTurn("user", FIND_MUG),
        ChatTurn("assistant", f"I look.\n{search()}"),
        ChatTurn("tool", MUGS, "search_products"),
        ChatTurn("user", restated(FIND_MUG)),
    )


@pytest.mark.parametrize("call_format", ["tags", "pythonic"])
async def test_the_same_replies_give_the_same_parts_whatever_the_providers_format(
    call_format: str,
) -> None:
    """A-001, A-037."""
    provider = ScriptedProvider(
        [search(), "I found the Blue mug."],
        id="other",
        label="Another",
        call_format="pythonic" if call_format == "pythonic" else "tags",
    )
    parts = await collect(provider, request(PageDouble(), FIND_MUG))
    assert parts == [
        start(1),
        *searched("c1.1"),
        start(2),
        text("I found the Blue mug."),
        Finish("stop"),
    ]
    written = write("search_products", provider.call_format, query="mug")
    assert provider.requests[1].messages[1] == ChatTurn("assistant", written)


async def test_calls_of_a_reply_run_one_at_a_time_in_their_order() -> None:
    """A-003, A-076, A-077, A-078."""
    page = PageDouble(answers={**SHOP_ANSWERS, "add_to_cart": "Added."})
    provider = ScriptedProvider([f"{add()}\n{search()}\n{open_()}", "All is done."])
    parts = await collect(provider, request(page, ADD_MUG))
    assert parts[1:7] == [
        *answered("c1.1", "add_to_cart", {}, "Added."),
        *searched("c1.2"),
        *opened("c1.3"),
    ]
    names = ["add_to_cart", "search_products", "open_product"]
    assert page.spans == [(edge, name) for name in names for edge in ("start", "end")]
    assert page.listings == 2
    assert provider.requests[1].messages[1:5] == (
        ChatTurn("assistant", "\n".join([add(), search(), open_()])),
        ChatTurn("tool", "Added.", "add_to_cart"),
        ChatTurn("tool", MUGS, "search_products"),
        ChatTurn("tool", "Opened Blue mug.", "open_product"),
    )


@dataclass
class BareRequest:
    """Just what a request has to have; its tools come without being awaited."""

    messages: Sequence[ChatMessage]
    called: list[str] = field(default_factory=list[str])
    signal: AbortSignal = field(default_factory=AbortSignal)
    agent: None = None

    def tools(self) -> Sequence[PageTool]:
        return (SEARCH,)

    async def call_tool(
        self, name: str, args: JsonObject, *, call_id: str, signal: AbortSignal
    ) -> ToolOk | ToolFail:
        self.called.append(call_id)
        return ToolOk(MUGS)

    async def page(self) -> PageContext | None:
        return None


async def test_a_request_needs_messages_tools_a_signal_and_calls() -> None:
    """A-015, A-077, B-001."""
    provider = ScriptedProvider([search(), "I found the Blue mug."])
    req = BareRequest([user_message(FIND_MUG)])
    parts = await collect(provider, req)
    assert parts == [
        start(1),
        *searched("c1.1"),
        start(2),
        text("I found the Blue mug."),
        Finish("stop"),
    ]
    assert req.called == ["c1.1"]


async def test_each_step_reads_the_tools_anew() -> None:
    """A-043: a tool that a call added is shown in the next step, one that left is not."""
    page = PageDouble([SEARCH, OPEN])

    def swap(args: JsonObject) -> str:
        page.tools = [SEARCH, ADD]
        return "Opened Blue mug."

    page.answers["open_product"] = swap
    provider = ScriptedProvider([open_(), search(), "Fine."])
    await collect(provider, request(page, "Open product 7"))
    assert [{shown.name for shown in req.tools} for req in provider.requests] == [
        {"search_products", "open_product"},
        {"search_products", "add_to_cart"},
        {"search_products", "add_to_cart"},
    ]
    assert page.listings == 3


async def test_tools_are_ranked_for_the_last_message_of_the_person() -> None:
    """A-045, A-046, A-048, B-029, B-036, B-037."""
    long = tool("pay_now", "Pay now. " + "x" * 500, sum={"type": "number", "pattern": "1"})
    tools = [SEARCH, OPEN, ADD, long]
    chat = [
        user_message("Open product 7"),
        ChatMessage("m1", "assistant", [TextPart("It is open.")]),
        user_message("Pay now please", "u2"),
    ]
    provider = ScriptedProvider(["Please do."])
    await collect(provider, request(PageDouble(tools), chat))
    shown = provider.requests[0].tools
    assert shown == tuple(rank_tools(tools, "Pay now please"))
    assert shown[0].name == "pay_now"
    for compact in shown:
        original = next(one for one in tools if one.name == compact.name)
        assert compact.parameters == compact_schema(original.input_schema)
        assert len(compact.description) <= 400
    held = {one.name: one for one in provider.requests[0].constraints or ()}
    assert [*held] == [compact.name for compact in shown]
    # Those that take no id are held to the page's own schema.
    assert [held[one.name] for one in (SEARCH, ADD, long)] == [
        ToolConstraint(one.name, read_schema(one.input_schema)[0], one.fingerprint)
        for one in (SEARCH, ADD, long)
    ]


@pytest.mark.parametrize(("length", "kept"), [(400, "x" * 400), (401, "x" * 399 + "…")])
async def test_descriptions_are_cut_to_400_characters(length: int, kept: str) -> None:
    """B-036."""
    provider = ScriptedProvider(["Hello!"])
    await collect(provider, request(PageDouble([tool("a", "x" * length)]), "hello"))
    assert provider.requests[0].tools == (
        CompactTool("a", kept, {"type": "object", "properties": {}}),
    )


async def test_tools_that_were_just_used_stay_listed_among_equals() -> None:
    """A-047: the three newest."""
    page = counting_page(6)
    replies = [write(f"tool_{number}", n=number) for number in (6, 3, 5, 2)]
    provider = ScriptedProvider([*replies, "Done."])
    await collect(provider, request(page, "hm"), LocalLoopOptions(max_tools=3))
    assert [{shown.name[5:] for shown in req.tools} for req in provider.requests] == [
        {"1", "2", "3"},
        {"6", "1", "2"},
        {"3", "6", "1"},
        {"5", "3", "6"},
        {"2", "5", "3"},
    ]


async def test_a_listed_tool_keeps_its_place_and_a_new_one_comes_last() -> None:
    """The beginning of the prompt stays as it was, whatever was called; the best comes first."""
    page = counting_page(4)

    def grow(args: object) -> str:
        page.tools = [tool("tool_0"), *page.tools[:1], *page.tools[2:]]
        return "ok"

    page.answers["tool_4"] = grow
    provider = ScriptedProvider([write("tool_3", n=3), write("tool_4", n=4), "Done."])
    await collect(provider, request(page, "use tool 3"))
    assert [[shown.name[5:] for shown in req.tools] for req in provider.requests] == [
        ["3", "1", "2", "4"],
        ["3", "1", "2", "4"],
        ["3", "1", "4", "0"],
    ]


async def test_nothing_of_a_reply_is_shown_before_its_calls_are_good() -> None:
    """A-059, A-060, B-033: the prose of a reply that is sent back is not shown."""
    provider = ScriptedProvider(
        [f"I open it.\n{write('open_product', id='seven')}", f"Now.\n{open_()}", "It is open."]
    )
    page = PageDouble()
    parts = await collect(provider, request(page, "Open product 7"))
    assert parts == [
        start(1),
        text("Now."),
        *opened("c1.1"),
        start(2),
        text("It is open."),
        Finish("stop"),
    ]
    assert provider.requests[1].messages[1].content.startswith("I open it.")
    assert page.calls == [("open_product", {"id": 7})]


async def test_prose_comes_in_one_piece_however_it_was_generated() -> None:
    """A-061, B-031: a provider may have nobody to give its tokens to."""
    given: list[str] = []

    def generate(req: GenerateRequest) -> GenerateResult:
        for word in ["One"] * 50:
            if req.on_token is not None:
                req.on_token(word)
            given.append(word)
        return GenerateResult(" ".join(given))

    events: list[TraceEvent] = []
    parts = await collect(
        ScriptedProvider([generate]),
        request(PageDouble(), "hello"),
        LocalLoopOptions(trace=events.append),
    )
    assert parts == [start(1), text(" ".join(["One"] * 50)), Finish("stop")]


async def test_each_step_opens_a_message_and_so_does_a_closing_text() -> None:
    """A-089."""
    provider = ScriptedProvider([search("a"), search("b")])
    parts = await collect(provider, request(PageDouble(), FIND_MUG), LocalLoopOptions(max_steps=2))
    assert [part.id for part in parts if isinstance(part, MessageStart)] == ["m1", "m2", "m3"]


async def test_a_message_opens_before_the_tools_are_read() -> None:
    """A-089: a chat can show at once that work goes on."""
    page = PageDouble()
    run = run_local_agent(ScriptedProvider(["Hello!"]), request(page, "hello"))
    assert (await anext(run), page.listings) == (start(1), 0)
    await run.aclose()


async def test_steps_of_many_runs_at_once_do_not_mix() -> None:
    """B-001: everything that a run knows is its own."""

    async def one(number: int) -> None:
        provider = ScriptedProvider([search(str(number)), f"Number {number}."])
        parts = await collect(provider, request(PageDouble(), FIND_MUG))
        assert parts == [
            start(1),
            *searched("c1.1", str(number)),
            start(2),
            text(f"Number {number}."),
            Finish("stop"),
        ]

    await asyncio.gather(*(one(number) for number in range(10)))
