"""What a history resumes, and how the parts of a run become the messages of the next."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from page_double import PageDouble, collect, request
from shop_run import (
    ADD_MUG,
    FIND_MUG,
    MUGS,
    OPENED,
    REFUSED,
    SEARCHED,
    add,
    agent_message,
    open_,
    opened,
    refused,
    search,
    searched,
    start,
    text,
    write,
)

from webmcp_agent.agent.history import (
    History,
    cut_to_last_call,
    messages_of,
    read_history,
)
from webmcp_agent.agent.request import CallPart, ChatMessage, TextPart, user_message
from webmcp_agent.agent.stream import Finish, ToolCall
from webmcp_agent.browser.tools import ToolFail, ToolOk
from webmcp_agent.providers.base import ChatTurn
from webmcp_agent.providers.scripted import ScriptedProvider


@pytest.mark.parametrize(
    ("messages", "finished"),
    [
        pytest.param([agent_message(OPENED)], [OPENED], id="a finished call"),
        pytest.param([agent_message(REFUSED)], [REFUSED], id="a failed call"),
        pytest.param([agent_message(OPENED), agent_message()], [OPENED], id="and an empty message"),
        pytest.param(
            [agent_message(SEARCHED, REFUSED), agent_message(TextPart("Now."), OPENED)],
            [SEARCHED, REFUSED, OPENED],
            id="several messages",
        ),
        pytest.param([agent_message(OPENED, TextPart("Done."))], [], id="prose"),
        pytest.param([agent_message(replace(OPENED, state="running"))], [], id="an open call"),
        pytest.param([agent_message(OPENED), user_message("And?")], [], id="the person"),
        pytest.param([], [], id="the request"),
    ],
)
def test_a_history_that_ends_on_a_finished_call_is_resumed(
    messages: Sequence[ChatMessage], finished: list[CallPart]
) -> None:
    """A-039, A-041: only calls after the last thing that the person said count."""
    earlier = [user_message("Before"), agent_message(SEARCHED)]
    history = read_history([*earlier, user_message(ADD_MUG), *messages], "tags")
    assert history.finished == finished
    said = [turn.content for turn in history.turns if turn.role == "user"]
    following = f"Next step for my request: {ADD_MUG}"
    assert (said[-1] == following) == bool(finished)


def test_a_history_in_which_nobody_asked_is_empty() -> None:
    assert read_history([agent_message(OPENED)], "tags") == History([], None, [])


async def test_a_run_without_a_message_of_the_person_stops_at_once() -> None:
    """A-033: the only run with a single part besides a stopped one."""
    provider, page = ScriptedProvider([]), PageDouble()
    assert await collect(provider, request(page, [])) == [Finish("stop")]
    assert await collect(provider, request(page, [agent_message(OPENED)])) == [Finish("stop")]
    assert (provider.requests, page.listings) == ([], 0)


async def test_a_resumed_call_is_not_run_again_and_the_work_goes_on() -> None:
    """A-039, A-040, C-05, C-42: it counts as called, so a claim may stand."""
    provider = ScriptedProvider(["Done! I opened the Blue mug for you."])
    page = PageDouble()
    parts = await collect(
        provider, request(page, [user_message("Open product 7"), agent_message(OPENED)])
    )
    assert parts == [
        start(1),
        text("Done! I opened the Blue mug for you."),
        Finish("stop"),
    ]
    assert provider.requests[0].messages == (
        ChatTurn("user", "Open product 7"),
        ChatTurn("assistant", open_()),
        ChatTurn("tool", "Opened Blue mug.", "open_product"),
        ChatTurn("user", "Next step for my request: Open product 7"),
    )
    assert page.calls == []


async def test_resumed_calls_count_as_recently_used() -> None:
    """A-041, A-047."""
    provider = ScriptedProvider(["Hm?"])
    await collect(provider, request(PageDouble(), [user_message("go on"), agent_message(OPENED)]))
    assert provider.requests[0].tools[0].name == "open_product"


async def test_the_parts_of_a_run_are_the_messages_of_the_next() -> None:
    """A-034: a run, a second request, and the first run's calls are in its prompt."""
    provider = ScriptedProvider([f"I look.\n{search()}", add(), "Sorry, it is out of stock."])
    page = PageDouble()
    parts = await collect(provider, request(page, ADD_MUG))
    assert parts == [
        start(1),
        text("I look."),
        *searched("c1.1"),
        start(2),
        *refused("c2.1"),
        start(3),
        text("Sorry, it is out of stock."),
        Finish("stop"),
    ]
    messages = messages_of(parts)
    assert messages == [
        agent_message(TextPart("I look."), SEARCHED),
        agent_message(replace(REFUSED, id="c2.1"), id="m2"),
        agent_message(TextPart("Sorry, it is out of stock."), id="m3"),
    ]
    again = ScriptedProvider(["You're welcome."])
    await collect(again, request(page, [user_message(ADD_MUG), *messages, user_message("Thanks")]))
    assert again.requests[0].messages == (
        ChatTurn("user", ADD_MUG),
        ChatTurn("assistant", f"I look.\n{search()}"),
        ChatTurn("tool", MUGS, "search_products"),
        ChatTurn("assistant", add()),
        ChatTurn("tool", "Error [failed]: Out of stock", "add_to_cart"),
        ChatTurn("assistant", "Sorry, it is out of stock."),
        ChatTurn("user", "Thanks"),
    )


def test_messages_keep_values_and_leave_out_what_is_empty() -> None:
    parts = [start(1), ToolCall("c1.1", "search_products", {"query": "mug"}), start(2)]
    assert messages_of(parts) == [
        agent_message(CallPart("c1.1", "search_products", {"query": "mug"}))
    ]


async def test_a_value_of_an_answer_is_kept() -> None:
    page = PageDouble(answers={"search_products": ToolOk("1 mug", {"results": [7]})})
    parts = await collect(ScriptedProvider([search(), "One."]), request(page, FIND_MUG))
    assert messages_of(parts)[0].parts == (
        replace(SEARCHED, result="1 mug", value={"results": [7]}),
    )


@pytest.mark.parametrize(
    ("messages", "kept"),
    [
        pytest.param(
            [agent_message(OPENED), agent_message(TextPart("Done."), id="m2")],
            [agent_message(OPENED)],
            id="prose after a call",
        ),
        pytest.param(
            [
                agent_message(
                    TextPart("I open."), OPENED, replace(OPENED, id="c1.2", state="running")
                )
            ],
            [agent_message(TextPart("I open."), OPENED)],
            id="an open call",
        ),
        pytest.param(
            [agent_message(REFUSED), agent_message()], [agent_message(REFUSED)], id="empty"
        ),
        pytest.param([agent_message(TextPart("No."))], [], id="no call"),
        pytest.param([], [], id="nothing"),
    ],
)
def test_a_retry_goes_back_to_the_last_finished_call(
    messages: list[ChatMessage], kept: list[ChatMessage]
) -> None:
    """C-05: finished calls stay, so that nothing is done twice."""
    asked = user_message(ADD_MUG)
    assert cut_to_last_call([asked, *messages]) == [asked, *kept]


async def test_a_stopped_run_can_be_retried_without_calling_again() -> None:
    """C-05."""
    page = PageDouble()
    first = ScriptedProvider([open_(), RuntimeError("out of memory")])
    chat = [user_message("Open product 7")]
    chat += messages_of(await collect(first, request(page, chat)))
    second = ScriptedProvider(["It is open."])
    parts = await collect(second, request(page, cut_to_last_call(chat)))
    assert parts == [start(1), text("It is open."), Finish("stop")]
    assert page.calls == [("open_product", {"id": 7})]


async def test_an_answer_that_was_stored_unclean_still_counts_as_the_same() -> None:
    """A-041: what is compared is what the model reads."""
    stored = replace(OPENED, result="Opened\u200b Blue mug.")
    provider = ScriptedProvider([open_(), open_()])
    parts = await collect(
        provider, request(PageDouble(), [user_message("Open product 7"), agent_message(stored)])
    )
    assert parts[1:3] == opened("c1.1")
    assert parts[-1] == Finish("loop")


async def test_a_failure_that_is_kept_in_the_chat_keeps_its_code() -> None:
    """A-093."""
    page = PageDouble(answers={"add_to_cart": ToolFail("denied", "No, thanks.")})
    parts = await collect(ScriptedProvider([write("add_to_cart"), "Ok?"]), request(page, ADD_MUG))
    assert messages_of(parts)[0].parts == (replace(REFUSED, code="denied", error="No, thanks."),)
