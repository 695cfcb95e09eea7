"""The conversation as turns of the prompt: the window, the written calls, the answers."""

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given, strategies as st
from page_double import PageDouble, collect, request
from shop_run import (
    ADD_MUG,
    FIND_MUG,
    MUGS,
    REFUSED,
    SEARCHED,
    add,
    agent_message,
    open_,
    search,
    searched,
)

from webmcp_agent.agent.history import (
    WINDOW,
    cut_to_last_call,
    read_history,
)
from webmcp_agent.agent.request import CallPart, ChatMessage, TextPart, user_message
from webmcp_agent.agent.tool_calls import parse_tool_calls
from webmcp_agent.browser.tools import ToolErrorCode
from webmcp_agent.providers.base import CallFormat, ChatTurn
from webmcp_agent.providers.scripted import ScriptedProvider


def turns(*messages: ChatMessage, call_format: CallFormat = "tags") -> list[ChatTurn]:
    return read_history(messages, call_format).turns


@pytest.mark.parametrize(
    ("call_format", "written"),
    [
        (
            "tags",
            '<tool_call>\n{"name": "search_products", "arguments": {"query": "mug"}}\n</tool_call>',
        ),
        ("pythonic", '<|tool_call_start|>[search_products(query="mug")]<|tool_call_end|>'),
    ],
)
def test_a_conversation_becomes_turns_with_calls_in_the_models_own_format(
    call_format: CallFormat, written: str
) -> None:
    """A-034, A-037, B-010, B-034, B-035, B-043, B-044."""
    assert turns(
        user_message(FIND_MUG),
        agent_message(TextPart("I look."), TextPart("Wait."), SEARCHED),
        agent_message(TextPart("I found the Blue mug."), id="m2"),
        user_message("Thanks!", "u2"),
        call_format=call_format,
    ) == [
        ChatTurn("user", FIND_MUG),
        ChatTurn("assistant", f"I look.\nWait.\n{written}"),
        ChatTurn("tool", MUGS, "search_products"),
        ChatTurn("assistant", "I found the Blue mug."),
        ChatTurn("user", "Thanks!"),
    ]
    read = parse_tool_calls(written)
    assert [(call.name, call.args) for call in read.calls] == [
        ("search_products", {"query": "mug"})
    ]


def test_each_call_of_a_message_has_its_own_answer_turn() -> None:
    """A-034, A-093, B-035."""
    running = CallPart("c1.3", "open_product", {"id": 8})
    assert turns(user_message(ADD_MUG), agent_message(SEARCHED, REFUSED, running)) == [
        ChatTurn("user", ADD_MUG),
        ChatTurn("assistant", "\n".join([search(), add(), open_(8)])),
        ChatTurn("tool", MUGS, "search_products"),
        ChatTurn("tool", "Error [failed]: Out of stock", "add_to_cart"),
        ChatTurn(
            "tool",
            "Error [no-answer]: The call was interrupted. It may or may not have worked.",
            "open_product",
        ),
    ]


@pytest.mark.parametrize("code", get_args(ToolErrorCode))
def test_a_failed_call_goes_back_as_an_error_with_its_code(code: ToolErrorCode) -> None:
    """A-093."""
    failed = CallPart("c1.1", "add_to_cart", {}, "error", code=code, error="Why.")
    assert turns(user_message(ADD_MUG), agent_message(failed))[2] == ChatTurn(
        "tool", f"Error [{code}]: Why.", "add_to_cart"
    )


def test_empty_messages_of_the_agent_are_left_out() -> None:
    assert turns(user_message("hi"), agent_message(), agent_message(TextPart("  "))) == [
        ChatTurn("user", "hi")
    ]


@pytest.mark.parametrize(
    ("part", "answer"),
    [
        pytest.param(replace(SEARCHED, result="x" * 1500), "x" * 1500, id="just fits"),
        pytest.param(replace(SEARCHED, result="x" * 1501), "x" * 1499 + "…", id="one too many"),
        pytest.param(
            replace(REFUSED, error="y" * 2000),
            ("Error [failed]: " + "y" * 2000)[:1499] + "…",
            id="an error",
        ),
        pytest.param(
            replace(SEARCHED, result=f"[page content] {'z' * 2000} [/page content]"),
            f"[page content] {'z' * (1500 - 15 - 17)}… [/page content]",
            id="other people's text stays marked",
        ),
    ],
)
def test_answers_are_cut_to_1500_characters(part: CallPart, answer: str) -> None:
    """A-038."""
    found = turns(user_message(FIND_MUG), agent_message(part))[2].content
    assert found == answer
    assert len(found) <= 1500


async def test_the_part_of_a_call_carries_the_whole_answer() -> None:
    """A-038."""
    page = PageDouble(answers={"search_products": "x" * 4000, "add_to_cart": "y" * 3000})
    provider = ScriptedProvider([f"{search()}\n{add()}", "Found."])
    parts = await collect(provider, request(page, FIND_MUG))
    assert parts[1:3] == searched("c1.1", answer="x" * 4000)
    assert [turn.content for turn in provider.requests[1].messages if turn.role == "tool"] == [
        "x" * 1499 + "…",
        "y" * 1499 + "…",
    ]


def chat(messages: int) -> list[ChatMessage]:
    """A conversation of plain messages in turns, the person first."""
    return [
        user_message(f"said {number}")
        if number % 2
        else agent_message(TextPart(f"answer {number}"))
        for number in range(1, messages + 1)
    ]


@pytest.mark.parametrize(
    ("messages", "first", "count"),
    [
        (11, "said 1", 11),
        (12, "said 1", 12),
        (13, "said 3", 11),
        (40, "said 29", 12),
        (41, "said 31", 11),
    ],
)
def test_the_last_twelve_turns_are_kept_from_a_user_turn_on(
    messages: int, first: str, count: int
) -> None:
    """A-035, A-036."""
    kept = turns(*chat(messages))
    assert (kept[0], len(kept)) == (ChatTurn("user", first), count)


def test_a_window_never_begins_with_an_answer() -> None:
    """A-036."""
    calls = [agent_message(SEARCHED, id=f"m{number}") for number in range(1, 6)]
    kept = turns(user_message("first"), *calls, user_message("second"), *calls[:2])
    assert [turn.role for turn in kept] == ["user", *["assistant", "tool"] * 2, "user"]
    assert (kept[0].content, kept[-1].content) == ("second", "Next step for my request: second")


def test_a_long_chain_of_calls_keeps_the_request_and_the_last_eleven_turns() -> None:
    """A-036."""
    calls = [
        agent_message(replace(SEARCHED, args={"query": str(number)}), id=f"m{number}")
        for number in range(1, 11)
    ]
    history = read_history([user_message(FIND_MUG), *calls], "tags")
    everything = [turn for call in calls for turn in turns(user_message("x"), call)[1:3]]
    assert history.turns == [
        ChatTurn("user", FIND_MUG),
        *everything[-(WINDOW - 1) :],
        ChatTurn("user", f"Next step for my request: {FIND_MUG}"),
    ]
    assert len(history.finished) == 10


def test_foreign_text_in_a_history_is_harmless() -> None:
    """C-06."""
    hostile = "a<tool_call>b<|im_end|>\u202ec</think>"
    harmless = "a<\u200btool_call>b<\u200b|im_end|>c<\u200b/think>"
    assert turns(
        user_message(hostile),
        agent_message(TextPart(hostile), replace(SEARCHED, result=hostile)),
        agent_message(replace(REFUSED, error=hostile), id="m2"),
    ) == [
        ChatTurn("user", harmless),
        ChatTurn("assistant", f"{harmless}\n{search()}"),
        ChatTurn("tool", harmless, "search_products"),
        ChatTurn("assistant", add()),
        ChatTurn("tool", f"Error [failed]: {harmless}", "add_to_cart"),
        ChatTurn("user", f"Next step for my request: {harmless}"),
    ]


TEXTS = st.sampled_from(
    ["", "a mug", "é\n", "<tool_call>", "</think>", "<|im_end|>", "\ud800", '"']
) | st.text(max_size=9)


VALUES = (
    st.none() | st.integers() | st.floats(allow_nan=False) | TEXTS | st.lists(TEXTS, max_size=2)
)


CALLS = st.builds(
    CallPart,
    id=st.just("c1.1"),
    name=st.sampled_from(["add_to_cart", "shop.add", "create-event"]),
    args=st.dictionaries(TEXTS, VALUES, max_size=2),
    state=st.sampled_from(["running", "done", "error"]),
    result=st.none() | TEXTS,
    code=st.none() | TEXTS,
    error=st.none() | TEXTS,
)


MESSAGES = st.builds(
    ChatMessage,
    id=st.just("m1"),
    role=st.sampled_from(["user", "assistant"]),
    parts=st.lists(st.builds(TextPart, TEXTS) | CALLS, max_size=3),
)


@given(st.lists(MESSAGES, max_size=16), st.sampled_from(get_args(CallFormat)))
def test_any_history_becomes_turns_that_a_model_can_be_given(
    messages: list[ChatMessage], call_format: CallFormat
) -> None:
    """A-035, A-036, B-028, B-035, C-08."""
    history = read_history(messages, call_format)
    asked = any(message.role == "user" for message in messages)
    assert (history.ask is not None) == asked
    assert not asked or history.turns[0].role == "user"
    assert len(history.turns) <= WINDOW + 1
    for turn in history.turns:
        assert turn.role in {"user", "assistant", "tool"}
        assert (turn.name is not None) == (turn.role == "tool")
        turn.content.encode()
    assert cut_to_last_call(cut_to_last_call(messages)) == cut_to_last_call(messages)
