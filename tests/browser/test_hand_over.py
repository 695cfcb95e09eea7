"""Answers by which a checkout hands over to the buyer, as sentences and on a page."""

import asyncio
from typing import Any

import pytest
from playwright.async_api import Browser

from webmcp_agent.browser.hand_over import handed_over
from webmcp_agent.browser.launch import open_page
from webmcp_agent.browser.page_tools import PageTools
from webmcp_agent.browser.policy import Policy
from webmcp_agent.browser.tools import JsonObject, PageTool, ToolFail, ToolOk
from webmcp_agent.providers.abort import AbortController, AbortSignal

PAY = PageTool("complete_checkout", "Pays", consequential=True)
UPDATE = PageTool("update_checkout", "Changes")
READ = PageTool("get_checkout", "Reads", read_only=True)

ASKS = 'The bank asks you to confirm it. Press "Pay".'
CHECKOUT: JsonObject = {
    "ucp": {"version": "2026-04-08"},
    "status": "requires_escalation",
    "currency": "EUR",
    "line_items": [
        {"item": {"title": "Tent, Green"}, "quantity": 2},
        {"item": {"title": "Pen"}, "quantity": 1},
    ],
    "totals": [
        {"type": "subtotal", "amount": 49200},
        {"type": "total", "amount": 50190},
    ],
    "buyer": {"first_name": "Ada", "last_name": "Vos", "email": "ada@example.org"},
    "fulfillment": {
        "methods": [
            {
                "selected_destination_id": "a1",
                "destinations": [
                    {
                        "id": "a1",
                        "street_address": "Quay 7",
                        "postal_code": "1011",
                        "address_locality": "Haarlem",
                    },
                    {"id": "a2", "street_address": "Elsewhere 1"},
                ],
                "groups": [
                    {
                        "selected_option_id": "fast",
                        "options": [
                            {"id": "slow", "title": "Standard"},
                            {"id": "fast", "title": "Express"},
                        ],
                    }
                ],
            }
        ]
    },
    "payment": {
        "instruments": [
            {"selected": False, "display": {"name": "Gift card"}},
            {"selected": True, "display": {"name": "Card"}},
        ]
    },
    "messages": [
        {"type": "info", "content": "Order before noon."},
        {"type": "error", "severity": "requires_buyer_review", "content": ASKS},
    ],
}
TOLD = (
    f'The buyer has to go on; the shop says: "{ASKS}" To pay: 501.90 EUR. '
    "Filled in: 2 × Tent, Green, 1 × Pen; Ada Vos, ada@example.org; "
    "Quay 7, 1011 Haarlem, Express; Card."
)


def answer(**changes: Any) -> ToolOk:
    return ToolOk("{…}", {**CHECKOUT, **changes})


def said(outcome: ToolOk | ToolFail) -> str:
    assert isinstance(outcome, ToolFail)
    return outcome.message


def test_a_checkout_that_waits_for_its_buyer_tells_what_is_to_do_to_pay_and_filled_in() -> None:
    assert handed_over(answer(), PAY) == ToolFail(
        "needs-user", TOLD, may_have_happened=False, hand_over=True
    )
    assert handed_over(ToolOk("…", {"checkout": CHECKOUT}), PAY) == handed_over(answer(), PAY)
    updated = handed_over(answer(), UPDATE)
    assert isinstance(updated, ToolFail)
    assert updated.may_have_happened, "the change itself was made"


KEPT: list[tuple[str, ToolOk | ToolFail, PageTool]] = [
    ("a status that needs nobody", answer(status="ready_for_complete"), PAY),
    ("a tool that merely reads", answer(), READ),
    ("a failure", ToolFail("failed", "requires_escalation"), PAY),
    ("a text", ToolOk("requires_escalation"), PAY),
    ("a list", ToolOk("[]", [CHECKOUT]), PAY),
    ("another document with that word", ToolOk("…", {"status": "requires_escalation"}), PAY),
]


@pytest.mark.parametrize(
    ("outcome", "tool"), [each[1:] for each in KEPT], ids=[each[0] for each in KEPT]
)
def test_other_answers_stay_what_they_are(outcome: ToolOk | ToolFail, tool: PageTool) -> None:
    assert handed_over(outcome, tool) is outcome


COSTS = [("EUR", "501.90 EUR"), ("JPY", "50190 JPY"), ("KWD", "50.190 KWD")]


@pytest.mark.parametrize(("currency", "cost"), COSTS)
def test_the_cost_is_written_in_whole_units_of_its_currency(currency: str, cost: str) -> None:
    assert f"To pay: {cost}." in said(handed_over(answer(currency=currency), PAY))


ODD: list[tuple[str, dict[str, Any], str]] = [
    (
        "nothing but a message",
        dict.fromkeys(("line_items", "totals", "buyer", "fulfillment", "payment")),
        f'The buyer has to go on; the shop says: "{ASKS}"',
    ),
    (
        "no message",
        {**dict.fromkeys(("buyer", "fulfillment", "payment")), "messages": []},
        "The buyer has to go on. To pay: 501.90 EUR. Filled in: 2 × Tent, Green, 1 × Pen.",
    ),
    (
        "kinds that are wrong",
        {
            "line_items": "two",
            "totals": [3, {"type": "total", "amount": True}],
            "buyer": [],
            "fulfillment": {"methods": {"a": 1}},
            "payment": {"instruments": [None]},
            "messages": [None, {"content": 3}, {"content": "Come over."}],
        },
        'The buyer has to go on; the shop says: "Come over."',
    ),
]


@pytest.mark.parametrize(
    ("changes", "told"), [each[1:] for each in ODD], ids=[each[0] for each in ODD]
)
def test_what_a_document_lacks_is_left_out(changes: dict[str, Any], told: str) -> None:
    assert said(handed_over(answer(**changes), PAY)) == told


def test_long_documents_are_told_in_one_short_line() -> None:
    lines: list[Any] = [{"item": {"title": "A\n" * 200}, "quantity": 1}] * 40
    messages: list[Any] = [{"content": "word " * 300}]
    told = said(handed_over(answer(line_items=lines, messages=messages), PAY))
    assert len(told) <= 500
    assert "\n" not in told
    assert "To pay: 501.90 EUR." in told, "the cost stands before what may be cut"


# --- on a page that somebody sees -------------------------------------------------------------

YES = Policy(mode="yes")
WAITS = "The form is filled in (to); it is not sent. The person has to check it and submit it."


async def sent(tools: PageTools, signal: AbortSignal | None = None) -> ToolOk | ToolFail:
    """What the call of a form that waits comes to."""
    given = signal or AbortSignal()
    async with asyncio.timeout(30):
        return await tools.call_tool("send_parcel", {"to": "Ada"}, call_id="c1.1", signal=given)


async def press(tools: PageTools) -> None:
    await tools.page.click("[toolname=send_parcel] button")


async def test_when_the_person_sends_the_form_the_run_goes_on_where_that_led(
    chromium: Browser, site: str
) -> None:
    told: list[str] = []
    async with open_page(chromium, f"{site}/forms.html", policy=YES) as tools:

        async def person(todo: str) -> bool:
            told.append(todo)
            await press(tools)
            await asyncio.Event().wait()  # says nothing: the page tells it
            raise NotImplementedError

        tools.person = person
        answer = await sent(tools)
        assert answer == ToolOk(
            'The person took over and is done. The page is now /forms.html, "Forms".',
            navigated=True,
        )
        assert tools.url == f"{site}/forms.html?to=Ada&weight="
        assert "count_parcels" in [tool.name for tool in await tools.list_tools()]
    assert told == [WAITS]


async def test_a_person_may_say_that_they_are_done_although_the_page_stays(
    chromium: Browser, site: str
) -> None:
    async with open_page(chromium, f"{site}/forms.html", policy=YES) as tools:

        async def person(_: str) -> bool:
            return True

        tools.person = person
        answer = await sent(tools)
    assert isinstance(answer, ToolOk)
    assert not answer.navigated


async def test_a_person_may_decline_fail_or_press_stop(chromium: Browser, site: str) -> None:
    stop = AbortController()

    async def declines(_: str) -> bool:
        return False

    async def fails(_: str) -> bool:
        raise OSError("no terminal")

    async def stops(_: str) -> bool:
        stop.abort("stopped")
        await asyncio.Event().wait()
        raise NotImplementedError

    answers: list[ToolOk | ToolFail] = []
    async with open_page(chromium, f"{site}/forms.html", policy=YES) as tools:
        for person in (declines, fails, stops):
            tools.person = person
            answers.append(await sent(tools, stop.signal))
            await tools.page.reload()
    assert answers == [
        ToolFail("needs-user", WAITS),
        ToolFail("needs-user", f"{WAITS} It could not be asked: no terminal"),
        ToolFail("needs-user", WAITS),
    ]


async def test_the_person_may_go_elsewhere_and_come_back_and_the_tools_may_not(
    chromium: Browser, site: str, other_site: str
) -> None:
    seen: list[str] = []
    async with open_page(chromium, f"{site}/forms.html", policy=YES) as tools:

        async def person(_: str) -> bool:
            await tools.page.goto(f"{other_site}/forms.html?bank")
            seen.append(tools.url)
            await tools.page.goto(f"{site}/forms.html?elsewhere={other_site}/parcel.html")
            await asyncio.Event().wait()
            raise NotImplementedError

        tools.person = person
        answer = await sent(tools)
        assert isinstance(answer, ToolOk)
        assert tools.url.startswith(f"{site}/forms.html?elsewhere=")
        assert seen == [f"{other_site}/forms.html?bank"]
        await tools.list_tools()
        blocked = await tools.call_tool("find_elsewhere", {}, call_id="c", signal=AbortSignal())
    assert isinstance(blocked, ToolFail)
    assert blocked.code == "blocked"
