"""Plain replies in whole runs: which stand, which are sent back once, which are an echo."""

from collections.abc import Sequence

import pytest
from page_double import PageDouble, collect, request
from shop_run import (
    ADD_MUG,
    FIND_MUG,
    REFUSED,
    add,
    agent_message,
    counting_page,
    refused,
    restated,
    search,
    start,
    text,
)

from webmcp_agent.agent.options import LocalLoopOptions
from webmcp_agent.agent.request import user_message
from webmcp_agent.agent.stream import Finish
from webmcp_agent.agent.trace import TraceEvent
from webmcp_agent.browser.tools import PageTool
from webmcp_agent.providers.base import ChatTurn
from webmcp_agent.providers.scripted import Reply, ScriptedProvider

ONLY_LOOKED = "So far you have only looked, and nothing was done. Call the next tool now."
SAY_IT = (
    "Don't tell me whether it answers me. If it does, say what it says; if not, call the next tool."
)
NOT_CALLED = (
    "No tool was called, so nothing was done. Call a tool now, or tell me plainly that you can't."
)


@pytest.mark.parametrize("reply", ["Done! It is in your cart.", "Great choice!"])
async def test_a_reply_that_ignores_a_failure_twice_stands(reply: str) -> None:
    """A-062, A-063, A-064."""
    provider = ScriptedProvider([add(), reply, reply])
    parts = await collect(provider, request(PageDouble(), ADD_MUG))
    assert parts == [start(1), *refused("c1.1"), start(2), text(reply), Finish("stop")]
    assert provider.requests[2].messages[-2:] == (
        ChatTurn("assistant", reply),
        ChatTurn(
            "user",
            "Your last call, add_to_cart, failed: Error [failed]: Out of stock. "
            "Don't say it worked. Fix the call, or tell me plainly that it failed.",
        ),
    )


async def test_only_the_newest_call_counts_as_a_failure() -> None:
    """A-062: one that worked since then is a reason to be glad."""
    provider = ScriptedProvider([add(), search(), "Done! I found the Blue mug."])
    parts = await collect(provider, request(PageDouble(), ADD_MUG))
    assert parts[-2:] == [text("Done! I found the Blue mug."), Finish("stop")]
    assert len(provider.requests) == 3


@pytest.mark.parametrize(
    ("ask", "replies", "shown"),
    [
        pytest.param(
            "What can I do here?",
            ["You can click Add to cart."],
            "You can click Add to cart.",
            id="a question",
        ),
        pytest.param(
            ADD_MUG, ["You can click Pay now."], "You can click Pay now.", id="no such tool"
        ),
        pytest.param(
            "Is it in my cart?",
            ["Done! It is in your cart."],
            "Done! It is in your cart.",
            id="a claim after a question",
        ),
        pytest.param(
            ADD_MUG,
            ["Which mug should I add to the cart?"],
            "Which mug should I add to the cart?",
            id="a question back",
        ),
    ],
)
async def test_a_plain_reply_that_may_stand_is_shown(
    ask: str, replies: list[Reply], shown: str
) -> None:
    """A-065, A-068, C-42: not an action, or not a tool of this page."""
    provider = ScriptedProvider(replies)
    parts = await collect(provider, request(PageDouble(), ask))
    assert parts == [start(1), text(shown), Finish("stop")]


@pytest.mark.parametrize(
    ("ask", "sent_back"),
    [("Is it ready?", SAY_IT), ("Find it and add it.", ONLY_LOOKED)],
)
async def test_a_reply_that_only_judges_the_result_is_sent_back_and_never_shown(
    ask: str, sent_back: str
) -> None:
    judged = "The result above answers your request."
    call = '<tool_call>\n{"name": "find_it", "arguments": {}}\n</tool_call>'
    provider = ScriptedProvider([call, judged, judged])
    page = PageDouble([PageTool("find_it", "Find it")], {"find_it": "Ready on Monday."})
    parts = await collect(provider, request(page, ask))
    assert provider.requests[2].messages[-1] == ChatTurn("user", sent_back)
    assert parts[-2:] == [text("Ready on Monday."), Finish("stop")]


async def test_only_a_tool_that_is_shown_is_offered_back() -> None:
    """A-066, A-067, A-068."""
    page = counting_page(9)
    hidden = ScriptedProvider(["You can use tool 9."])
    await collect(hidden, request(page, "Find it"))
    shown = ScriptedProvider(["You can use tool 8.", "I can't."])
    await collect(shown, request(page, "Find it"))
    assert len(hidden.requests) == 1
    assert shown.requests[1].messages[-1] == ChatTurn(
        "user", "The tool tool_8 is right here: you do it. Call now."
    )


@pytest.mark.parametrize(
    ("history", "replies", "sent_back"),
    [
        pytest.param(
            [],
            ["Done! You can click Add to cart.", "Done! I added it."],
            ["The tool add_to_cart is right here: you do it. Call now."],
            id="telling before claiming, and one of the two",
        ),
        pytest.param(
            [],
            ["I will use add_to_cart for that.", "I need to call add_to_cart."],
            ["The tool add_to_cart is right here: you do it. Call now."],
            id="a call that is only announced",
        ),
        pytest.param(
            [agent_message(REFUSED)],
            ["Done! You can click Add to cart.", "Simply press Add to cart."],
            [
                "Your last call, add_to_cart, failed: Error [failed]: Out of stock. "
                "Don't say it worked. Fix the call, or tell me plainly that it failed."
            ],
            id="the failure first",
        ),
        pytest.param(
            [],
            ["Done! I added it.", "<tool_call>???</tool_call>", "You can click Add to cart."],
            [
                NOT_CALLED,
                "Error: the call cannot be read at character 1, near «???</tool_ca»: "
                "there is no call in it. Try again.",
            ],
            id="a correction and a repair",
        ),
        pytest.param(
            [],
            ["<tool_call>???</tool_call>", "Done! I added it.", "It is in your cart now."],
            [
                "Error: the call cannot be read at character 1, near «???</tool_ca»: "
                "there is no call in it. Try again.",
                NOT_CALLED,
            ],
            id="a repair and a correction",
        ),
    ],
)
async def test_corrections_share_one_chance_and_repair_has_its_own(
    history: Sequence[object], replies: list[Reply], sent_back: list[str]
) -> None:
    """A-053, A-064, C-43: never more than three replies in a step; the last one stands."""
    provider = ScriptedProvider(replies)
    asked = [user_message(ADD_MUG), *([agent_message(REFUSED)] if history else [])]
    parts = await collect(provider, request(PageDouble(), asked))
    assert parts == [start(1), text(str(replies[-1])), Finish("stop")]
    assert [req.messages[-1].content for req in provider.requests[1:]] == sent_back
    provider.assert_complete()


async def test_each_step_has_its_own_correction() -> None:
    """A-064, C-43."""
    provider = ScriptedProvider(
        ["Done! I added it.", add(), "Done! It is in your cart.", "Sorry, out of stock."]
    )
    parts = await collect(provider, request(PageDouble(), ADD_MUG))
    assert parts == [
        start(1),
        *refused("c1.1"),
        start(2),
        text("Sorry, out of stock."),
        Finish("stop"),
    ]
    assert provider.requests[2].messages[-1].content == restated(ADD_MUG)


@pytest.mark.parametrize(
    "echo",
    [
        '{ "results": [ {"id": 7, "title": "Blue mug"} ] }',
        '```json\n{"results":[{"id":7,"title":"Blue mug"}]}\n```',
        '{"ok": true}',
    ],
)
async def test_an_echo_is_replaced_by_the_short_form_of_the_last_answer(echo: str) -> None:
    """A-069, A-080: without another generation, also when the correction is used up."""
    provider = ScriptedProvider([search(), echo])
    parts = await collect(provider, request(PageDouble(), FIND_MUG))
    assert parts[-2:] == [text("1 result: Blue mug"), Finish("stop")]
    assert len(provider.requests) == 2


async def test_nothing_of_a_correction_is_in_the_next_step() -> None:
    """C-43."""
    events: list[TraceEvent] = []
    provider = ScriptedProvider(["Done! I added it.", search(), "I found the Blue mug."])
    await collect(provider, request(PageDouble(), ADD_MUG), LocalLoopOptions(trace=events.append))
    assert provider.requests[2].messages == (
        ChatTurn("user", ADD_MUG),
        ChatTurn("assistant", search()),
        ChatTurn("tool", '{"results":[{"id":7,"title":"Blue mug"}]}', "search_products"),
        ChatTurn("user", restated(ADD_MUG)),
    )
    assert [event.data for event in events if event.type == "correction"] == [
        {"kind": "d", "text": NOT_CALLED}
    ]
