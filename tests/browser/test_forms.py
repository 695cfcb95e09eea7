import asyncio

from playwright.async_api import Browser

from webmcp_agent.browser.launch import open_page
from webmcp_agent.browser.page_tools import PageTools
from webmcp_agent.browser.policy import Policy
from webmcp_agent.browser.tools import JsonObject, ToolFail, ToolOk
from webmcp_agent.providers.abort import AbortSignal

YES = Policy(mode="yes")


async def called(tools: PageTools, name: str, args: JsonObject | None = None) -> ToolOk | ToolFail:
    async with asyncio.timeout(20):
        return await tools.call_tool(name, args or {}, call_id="c1.1", signal=AbortSignal())


async def test_forms_are_listed_as_what_they_are(chromium: Browser, site: str) -> None:
    async with open_page(chromium, f"{site}/forms.html", policy=YES) as tools:
        listed = await tools.list_tools()
    assert [(tool.name, tool.declarative, tool.autosubmit) for tool in listed] == [
        ("ask_price", True, True),
        ("count_parcels", False, False),
        ("find_elsewhere", True, True),
        ("find_nothing", True, True),
        ("find_parcel", True, True),
        ("find_plain", True, True),
        ("hidden_away", True, False),
        ("send_parcel", True, False),
    ]


async def test_a_forms_result_is_on_the_next_document(chromium: Browser, site: str) -> None:
    """C-52."""
    async with open_page(chromium, f"{site}/forms.html", policy=YES) as tools:
        answer = await called(tools, "find_parcel", {"number": "12", "year": "2030"})
        assert tools.url == f"{site}/parcel.html?number=12&year=2030"
    assert answer == ToolOk(
        '[{"@type":"Message","text":"Parcel 12 is in Lyon"}]\nThe page is now /parcel.html.',
        [{"@type": "Message", "text": "Parcel 12 is in Lyon"}],
        navigated=True,
    )


async def test_a_next_document_without_data_is_no_result(chromium: Browser, site: str) -> None:
    """C-52, C-55."""
    async with open_page(chromium, f"{site}/forms.html", policy=YES) as tools:
        plain = await called(tools, "find_plain")
    assert plain == ToolOk("(no result)\nThe page is now /plain.html.", None, navigated=True)


async def test_a_form_that_leads_nowhere_is_no_result(chromium: Browser, site: str) -> None:
    """C-55."""
    async with open_page(chromium, f"{site}/forms.html", policy=YES) as tools:
        nothing = await called(tools, "find_nothing", {"number": "1"})
        assert tools.url == f"{site}/forms.html"
    assert nothing == ToolOk("(no result)")


async def test_a_form_that_leaves_the_site_is_blocked_before_it_asks(
    chromium: Browser, site: str, other_site: str, asked_there: list[str]
) -> None:
    page = f"{site}/forms.html?elsewhere={other_site}/parcel.html"
    async with open_page(chromium, page, policy=YES) as tools:
        answer = await called(tools, "find_elsewhere")
        assert tools.url == page
    assert answer == ToolFail(
        "blocked",
        f"The page wanted to go to {other_site}, which is not allowed, and was kept here; "
        "the tool did not answer.",
        may_have_happened=True,
    )
    assert asked_there == []


async def test_a_form_that_the_page_answers_is_a_tool_like_others(
    chromium: Browser, site: str
) -> None:
    async with open_page(chromium, f"{site}/forms.html", policy=YES) as tools:
        answer = await called(tools, "ask_price", {"weight": 3})
    assert answer == ToolOk("3 kg cost 4 euros", "3 kg cost 4 euros")


async def test_arguments_that_a_form_refuses_are_invalid(chromium: Browser, site: str) -> None:
    """C-51."""
    async with open_page(chromium, f"{site}/forms.html", policy=YES) as tools:
        unknown = await called(tools, "find_parcel", {"number": "1", "colour": "red"})
        outside = await called(tools, "find_parcel", {"number": "1", "year": "1999"})
        missing = await called(tools, "find_parcel", {"year": "2030"})
    codes = [answer.code for answer in (unknown, outside, missing) if isinstance(answer, ToolFail)]
    assert codes == ["invalid-args"] * 3


async def test_a_form_that_waits_is_filled_in_and_left_to_the_person(
    chromium: Browser, site: str
) -> None:
    """C-53."""
    async with open_page(chromium, f"{site}/forms.html", policy=YES) as tools:
        answer = await called(tools, "send_parcel", {"to": "Ada", "weight": 2})
        assert await tools.page.input_value("[name=to]") == "Ada"
        assert await called(tools, "count_parcels") == ToolOk("no parcels", "no parcels")
        # The call is still open in the page: the person can send the form.
        async with tools.page.expect_navigation():
            await tools.page.click("[toolname=send_parcel] button")
        assert tools.url == f"{site}/forms.html?to=Ada&weight=2"
    assert answer == ToolFail(
        "needs-user",
        "The form is filled in (to, weight); it is not sent. "
        "The person has to check it and submit it.",
    )
