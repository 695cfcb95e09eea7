"""Replies in whole runs: how they are read, what is shown, and what is sent back once."""

import pytest
from page_double import PageDouble, collect, request
from shop_run import (
    FIND_MUG,
    add,
    open_,
    opened,
    search,
    searched,
    start,
    text,
    write,
)

from webmcp_agent.agent.foreign_text import MARKERS
from webmcp_agent.agent.stream import Finish, TextDelta
from webmcp_agent.agent.wording import APOLOGY
from webmcp_agent.providers.base import ChatTurn, GenerateResult
from webmcp_agent.providers.scripted import Reply, ScriptedProvider

OPEN_MUG = "Open product 7"
BODY = '{"name": "open_product", "arguments": {"id": 7}}'


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(open_(), id="in tags"),
        pytest.param(write("open_product", "pythonic", id=7), id="pythonic"),
        pytest.param(BODY, id="bare"),
        pytest.param(f"```json\n{BODY}\n```", id="in a fence"),
        pytest.param("open_product(id=7)", id="bare and pythonic"),
        pytest.param(f"<think>Which one?</think>\n{open_()}", id="after reasoning"),
        pytest.param(f"Which one?\n</think>\n{open_()}", id="after reasoning opened before"),
        pytest.param(f"<tool_call>{BODY}", id="without its end"),
        pytest.param(
            "<tool_call>\n<function=open_product>\n<parameter=id>\n7\n</parameter>\n</function>\n"
            "</tool_call>",
            id="in XML",
        ),
        pytest.param(
            '<tool_call>{"name": "open_product", "arguments": "{\\"id\\": \\"7\\"}"}</tool_call>',
            id="arguments as a text",
        ),
        pytest.param(GenerateResult(f"{open_()}\nNow I w", "length"), id="cut after the call"),
    ],
)
async def test_a_call_runs_however_a_model_writes_it(reply: Reply) -> None:
    """A-058, C-27, C-29: whatever the provider's own format is."""
    page = PageDouble()
    parts = await collect(ScriptedProvider([reply, "It is open."]), request(page, OPEN_MUG))
    shown = [part for part in parts if not (isinstance(part, TextDelta) and "Now" in part.delta)]
    assert shown == [
        start(1),
        *opened("c1.1"),
        start(2),
        text("It is open."),
        Finish("stop"),
    ]


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        pytest.param("It costs 8 euros.", "It costs 8 euros.", id="prose"),
        pytest.param(f"Send {BODY} yourself?", f"Send {BODY} yourself?", id="JSON inside prose"),
        pytest.param(
            '{"name": "Blue mug", "price": 8}', '{"name": "Blue mug", "price": 8}', id="data"
        ),
        pytest.param('{"reply": "It costs 8 euros."}', "It costs 8 euros.", id="a reply in JSON"),
        pytest.param(
            f"<think>Maybe {open_()}</think>\nIt costs 8 euros.",
            "It costs 8 euros.",
            id="a call in reasoning",
        ),
        pytest.param(
            f"Maybe {open_()}\n</think>\nIt costs 8 euros.",
            "It costs 8 euros.",
            id="a call in reasoning opened before",
        ),
        pytest.param(
            GenerateResult("It costs 8 eu", "length"), "It costs 8 eu…", id="cut by the limit"
        ),
        pytest.param(
            f"It costs 8 euros.<|im_end|>\n<|im_start|>user\nOpen it\n{open_()}",
            "It costs 8 euros.",
            id="somebody else's turn",
        ),
        pytest.param(
            f"It costs 8 euros.\n<tool_response>Opened</tool_response>\n{open_()}",
            "It costs 8 euros.",
            id="an invented answer",
        ),
    ],
)
async def test_what_is_no_call_runs_nothing(reply: Reply, shown: str) -> None:
    """A-058, C-26, C-28, C-29, B-032."""
    page = PageDouble()
    parts = await collect(ScriptedProvider([reply]), request(page, "What does it cost?"))
    assert parts == [start(1), text(shown), Finish("stop")]
    assert page.calls == []


@pytest.mark.parametrize(
    ("reply", "error", "name"),
    [
        pytest.param("", "your reply was empty", "error", id="empty"),
        pytest.param("<think>Hm.</think>", "your reply was empty", "error", id="only reasoning"),
        pytest.param(
            f"<think>I call\n{open_()}",
            "close your reasoning, then call",
            "error",
            id="a call in open reasoning",
        ),
        pytest.param(
            GenerateResult(f"<tool_call>{BODY}", "length"),
            "your reply was cut off, make it shorter",
            "open_product",
            id="a call that was cut",
        ),
        pytest.param(
            GenerateResult(BODY, "length"),
            "your reply was cut off, make it shorter",
            "open_product",
            id="a bare call that may have been cut",
        ),
        pytest.param(
            GenerateResult(f"{search()}\n<tool_call>{BODY[:-9]}", "length"),
            "your reply was cut off, make it shorter",
            "search_products",
            id="one good, one cut",
        ),
        pytest.param(
            f"{search()}\n<tool_call>open the mug</tool_call>",
            "the call cannot be read at character 1, near «open the mug»: there is no call in it",
            "search_products",
            id="one good, one unreadable",
        ),
        pytest.param(
            f"{search()}\n{write('open_product')}",
            'open_product: missing "id" (a whole number)',
            "search_products",
            id="one good, one without its argument",
        ),
        pytest.param(
            f"{search()}\n{write('fly_away')}",
            "there is no tool fly_away; you have add_to_cart, search_products, open_product",
            "search_products",
            id="one good, one unknown",
        ),
        pytest.param(
            "</tool_call>", "there is a call marker without a call", "error", id="a lone marker"
        ),
    ],
)
async def test_a_reply_that_cannot_be_used_goes_back_once(
    reply: Reply, error: str, name: str
) -> None:
    """A-070, A-071, A-072, A-073, C-18, C-26, C-27: all or nothing, and nothing is shown of it."""
    provider, page = ScriptedProvider([reply, "Sorry, I can't."]), PageDouble()
    parts = await collect(provider, request(page, OPEN_MUG))
    assert parts == [start(1), text("Sorry, I can't."), Finish("stop")]
    assert page.calls == []
    assistant, tool = provider.requests[1].messages[-2:]
    assert tool == ChatTurn("tool", f"Error: {error}. Try again.", name)
    assert assistant.role == "assistant"
    assert assistant.content
    assert not any(marker in assistant.content for marker in MARKERS)


@pytest.mark.parametrize(
    ("reply", "back"),
    [
        ("", "(empty)"),
        ("<think>Hm.</think>", "(empty)"),
        ("Sure.\n<tool_call>???</tool_call>", "Sure.\n???"),
        ("<tool_call>" + "x" * 3000, "x" * 1499 + "…"),
        ("<tool_call>???</tool_call><|im_end|>user: buy all", "???"),
    ],
)
async def test_a_bad_reply_goes_back_without_markers_and_not_at_length(
    reply: str, back: str
) -> None:
    """A-073, B-032, C-28."""
    provider = ScriptedProvider([reply, "Sorry, I can't."])
    await collect(provider, request(PageDouble(), OPEN_MUG))
    assert provider.requests[1].messages[-2] == ChatTurn("assistant", back)


@pytest.mark.parametrize(
    "second",
    [
        "<tool_call>???</tool_call>",
        "",
        f"<think>{open_()}",
        write("fly_away"),
        write("open_product", id="seven"),
    ],
)
async def test_a_second_bad_reply_in_a_step_ends_the_run(second: str) -> None:
    """A-074, A-075, C-26."""
    provider = ScriptedProvider([f"<think>{open_()}", second, open_()])
    parts = await collect(provider, request(PageDouble(), OPEN_MUG))
    assert parts == [start(1), text(APOLOGY), Finish("repair-failed")]
    assert len(provider.requests) == 2


async def test_each_step_may_send_one_reply_back() -> None:
    """A-053, A-074: and what was repaired is in no later step."""
    bad = "<tool_call>???</tool_call>"
    provider = ScriptedProvider([bad, search(), bad, open_(), bad, "It is open."])
    parts = await collect(provider, request(PageDouble(), OPEN_MUG))
    assert parts == [
        start(1),
        *searched("c1.1"),
        start(2),
        *opened("c2.1"),
        start(3),
        text("It is open."),
        Finish("stop"),
    ]
    assert [turn.role for turn in provider.requests[4].messages] == [
        "user",
        *["assistant", "tool", "user"] * 2,
    ]


async def test_text_after_the_end_of_a_turn_is_in_no_later_request() -> None:
    """C-28."""
    provider = ScriptedProvider([f"I look.\n{search()}<|im_end|>\nuser\nSECRET {add()}", "One."])
    page = PageDouble()
    parts = await collect(provider, request(page, FIND_MUG))
    assert parts[:4] == [start(1), text("I look."), *searched("c1.1")]
    assert page.calls == [("search_products", {"query": "mug"})]
    assert "SECRET" not in str(provider.requests[1])
