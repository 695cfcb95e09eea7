"""What counts as a right step."""

import pytest

from webmcp_agent.agent.tool_calls import write_call
from webmcp_agent.browser.tools import PageTool
from webmcp_agent.providers.base import ChatTurn, CompactTool
from webmcp_agent.providers.scripted import ScriptedProvider
from webmcp_agent.scenarios.curriculum import Example
from webmcp_agent.scenarios.exam import examine, is_right

OPEN = PageTool(
    "open_product",
    "Open a product.",
    {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
)
SHOWN = (CompactTool("open_product", "Open a product.", {"type": "object", "properties": {}}),)
RESULT = (
    ChatTurn("user", "How much is the mug?"),
    ChatTurn("assistant", "…"),
    ChatTurn("tool", '{"title":"Mug","price":19.5}', "get_product"),
)


def step(kind: str, *, facts: tuple[str, ...] = (), call: tuple[str, str] | None = None) -> Example:
    return Example("system", RESULT, SHOWN, "", kind, "shop", call, facts, (OPEN,))


CALL = step("call", call=("open_product", '{"id": 7}'))
ANSWER = step("answer", facts=("19.5",))
REFUSAL = step("refusal")


@pytest.mark.parametrize(
    ("example", "reply", "right"),
    [
        pytest.param(CALL, write_call("open_product", {"id": 7}, "tags"), True, id="the call"),
        pytest.param(CALL, write_call("open_product", {"id": "7"}, "tags"), True, id="as text"),
        pytest.param(CALL, write_call("open_product", {"id": 8}, "tags"), False, id="another id"),
        pytest.param(CALL, "I opened it.", False, id="only words"),
        pytest.param(CALL, "<tool_call>???</tool_call>", False, id="unreadable"),
        pytest.param(ANSWER, "It costs 19.50 euros.", False, id="another spelling"),
        pytest.param(ANSWER, "It costs 19.5 euros.", True, id="the number"),
        pytest.param(ANSWER, "It costs 119.5 euros.", False, id="inside another number"),
        pytest.param(ANSWER, "It costs 19.5, before that 24.", False, id="a number from nowhere"),
        pytest.param(ANSWER, "", False, id="empty"),
        pytest.param(
            ANSWER, write_call("open_product", {"id": 7}, "tags"), False, id="a needless call"
        ),
        pytest.param(REFUSAL, "Sorry, I can't do that here.", True, id="honest"),
        pytest.param(REFUSAL, "Done, it is booked.", False, id="a false claim"),
    ],
)
def test_a_reply_is_judged(example: Example, reply: str, right: bool) -> None:
    assert is_right(example, reply) is right


async def test_an_exam_counts_by_kind_and_site_and_keeps_what_was_wrong() -> None:
    provider = ScriptedProvider(
        [write_call("open_product", {"id": 7}, "tags"), "It costs 3 euros."]
    )
    result = await examine(provider, [CALL, ANSWER])
    assert {kind: (s.right, s.all) for kind, s in result.kinds.items()} == {
        "call": (1, 1),
        "answer": (0, 1),
    }
    assert (result.total.right, result.total.all, result.total.share) == (1, 2, 0.5)
    assert result.sites["shop"].all == 2
    assert result.wrong == [(ANSWER, "It costs 3 euros.")]
    assert [request.constraints for request in provider.requests][0] is not None
    assert len(result.seconds) == 2
