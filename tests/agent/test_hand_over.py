"""A page that hands over to the person ends the run: what there is to do is said, not tried."""

from page_double import PageDouble, collect, request, tool
from shop_run import start, text, write

from webmcp_agent.agent.stream import Finish, ToolCall, ToolError, report_of
from webmcp_agent.browser.tools import ToolFail
from webmcp_agent.providers.scripted import ScriptedProvider

TODO = "The buyer has to go on. To pay: 12.00 EUR."
PAY = tool("complete_checkout")
LOOK = tool("get_checkout")


def page(hand_over: bool) -> PageDouble:
    waits = ToolFail("needs-user", TODO, hand_over=hand_over)
    return PageDouble((PAY, LOOK), {"complete_checkout": waits, "get_checkout": "waiting"})


async def test_a_hand_over_ends_the_run_with_what_the_person_has_to_do() -> None:
    handed = page(hand_over=True)
    provider = ScriptedProvider([write("complete_checkout"), "Done! I paid it."])
    parts = await collect(provider, request(handed, "Pay my order"))
    assert parts == [
        start(1),
        ToolCall("c1.1", "complete_checkout", {}),
        ToolError("c1.1", "complete_checkout", "needs-user", TODO, may_have_happened=False),
        start(2),
        text(TODO),
        Finish("stop"),
    ]
    report = report_of(parts)
    assert (report.finish, report.answer, report.succeeded) == ("stop", TODO, False)
    assert len(provider.requests) == 1, "the model is not asked what to make of it"


async def test_calls_behind_a_hand_over_are_not_sent() -> None:
    handed = page(hand_over=True)
    both = f"{write('complete_checkout')}\n{write('get_checkout')}"
    await collect(ScriptedProvider([both]), request(handed, "Pay my order"))
    assert handed.calls == [("complete_checkout", {})]


async def test_a_form_that_waits_for_the_person_leaves_the_answer_to_the_model() -> None:
    waiting = page(hand_over=False)
    provider = ScriptedProvider([write("complete_checkout"), "It is not sent yet, you decide."])
    parts = await collect(provider, request(waiting, "Pay my order"))
    assert report_of(parts).answer == "It is not sent yet, you decide."
