import asyncio
from threading import Event

import pytest
from playwright.async_api import Browser

from webmcp_agent.browser.cdp import CdpSession
from webmcp_agent.browser.launch import open_page
from webmcp_agent.browser.page_tools import PageTools
from webmcp_agent.browser.policy import Policy
from webmcp_agent.browser.tools import JsonObject, ToolFail, ToolOk
from webmcp_agent.providers.abort import AbortController, AbortSignal

YES = Policy(mode="yes")


async def called(tools: PageTools, name: str, args: JsonObject | None = None) -> ToolOk | ToolFail:
    async with asyncio.timeout(20):
        return await tools.call_tool(name, args or {}, call_id="c1.1", signal=AbortSignal())


async def test_answers_come_as_the_page_gave_them(chromium: Browser, site: str) -> None:
    """C-51, C-55."""
    nothing = ToolOk("(no result)")
    items: JsonObject = {
        "content": [
            {"type": "text", "text": "first line"},
            {"type": "text", "text": "second line"},
        ]
    }
    expected = {
        "gives_undefined": nothing,
        "gives_null": nothing,
        "gives_empty": nothing,
        "gives_text": ToolOk("Two boats leave today", "Two boats leave today"),
        "gives_false": ToolOk("false", "false"),
        "gives_zeros": ToolOk("007", "007"),
        "gives_json_text": ToolOk('{"boats": 2}', {"boats": 2}),
        "gives_object": ToolOk(
            '{"boats":[{"id":"heron","seats":4}]}', {"boats": [{"id": "heron", "seats": 4}]}
        ),
        "gives_items": ToolOk("first line\nsecond line", items),
        "gives_half_pair": ToolOk("a\ufffdb", "a\ufffdb"),
    }
    async with open_page(chromium, f"{site}/answers.html", policy=YES) as tools:
        assert {name: await called(tools, name) for name in expected} == expected


async def test_a_failure_says_what_the_tool_said(chromium: Browser, site: str) -> None:
    """C-51, C-54."""
    expected = {
        "gives_error_items": ToolFail("failed", "the harbour is closed"),
        "throws_error": ToolFail("failed", "only 3 seats left"),
        "throws_text": ToolFail("failed", "closed on Mondays"),
        "throws_object": ToolFail("failed", "code 409, that seat is taken"),
        "throws_nothing": ToolFail("failed", "The tool failed and gave no reason."),
        "throws_trap": ToolFail("failed", "The tool failed and gave no reason."),
        "throws_much": ToolFail("failed", "y" * 499 + "…"),
        "gives_circle": ToolFail(
            "no-answer", "The tool finished, but its answer cannot be written as JSON."
        ),
    }
    async with open_page(chromium, f"{site}/answers.html", policy=YES) as tools:
        assert {name: await called(tools, name) for name in expected} == expected
        assert await tools.page.title() == "Answers"  # no getter ran


async def test_large_and_deep_answers_come_whole(chromium: Browser, site: str) -> None:
    async with open_page(chromium, f"{site}/answers.html", policy=YES) as tools:
        much, deep = await called(tools, "gives_much"), await called(tools, "gives_depth")
    assert much == ToolOk("w" * 2_000_000, "w" * 2_000_000)
    nested = '{"nested":' * 3000 + "{}" + "}" * 3000
    assert deep == ToolOk(nested, nested)


@pytest.mark.parametrize(
    "args",
    list[JsonObject](
        [
            {"words": "a\u2028b 漢字 \U0001f331 \" ' \\ </script>"},
            {"nested": {"list": [1, 2.5, None, True, []]}, "__proto__": {"a": 1}},
            {},
        ]
    ),
)
async def test_the_page_gets_exactly_the_arguments(
    chromium: Browser, site: str, args: JsonObject
) -> None:
    """C-58."""
    async with open_page(chromium, f"{site}/answers.html", policy=YES) as tools:
        answer = await called(tools, "repeat_input", args)
    assert isinstance(answer, ToolOk)
    assert answer.value == args


async def test_arguments_that_are_no_json_are_not_sent(chromium: Browser, site: str) -> None:
    async with open_page(chromium, f"{site}/answers.html", policy=YES) as tools:
        answer = await called(tools, "repeat_input", {"n": float("nan")})
    assert answer == ToolFail("invalid-args", "The arguments cannot be written as JSON.")


async def test_a_page_that_leaves_without_an_answer_is_navigated_and_the_order_is_made_once(
    chromium: Browser, site: str
) -> None:
    """C-04, C-02."""
    async with open_page(chromium, f"{site}/moves.html", policy=YES) as tools:
        left = await called(tools, "order_and_leave")
        shown = await called(tools, "show_order")
        assert tools.url == f"{site}/arrived.html?order=7"
    assert left == ToolFail(
        "navigated", "The page changed before it answered. It is now /arrived.html."
    )
    assert shown == ToolOk("orders: 1", "orders: 1")


async def test_an_answer_before_the_page_leaves_is_ok_and_says_where_it_is_now(
    chromium: Browser, site: str
) -> None:
    """C-04, C-46."""
    async with open_page(chromium, f"{site}/moves.html", policy=YES) as tools:
        answer = await called(tools, "answer_and_leave")
        names = [tool.name for tool in await tools.list_tools()]
    assert answer == ToolOk(
        "opening order 7\nThe page is now /arrived.html.", "opening order 7", navigated=True
    )
    assert names == ["show_order"]


async def test_a_move_within_the_document_is_no_navigation(chromium: Browser, site: str) -> None:
    async with open_page(chromium, f"{site}/moves.html", policy=YES) as tools:
        answer = await called(tools, "stay_within")
        assert tools.url == f"{site}/moves.html?tab=2"
    assert answer == ToolOk("tab 2", "tab 2")


async def test_a_move_that_comes_to_nothing_is_no_navigation(chromium: Browser, site: str) -> None:
    async with open_page(chromium, f"{site}/moves.html", policy=YES) as tools:
        answer = await called(tools, "answer_and_get_nothing")
    assert answer == ToolOk("asked", "asked")


async def test_a_slow_move_is_waited_for(chromium: Browser, site: str, release: Event) -> None:
    async with open_page(chromium, f"{site}/moves.html", policy=YES) as tools:
        call = asyncio.ensure_future(called(tools, "leave_slowly"))
        async with tools.page.expect_request("**/held/arrived.html"):
            pass
        assert not call.done()
        release.set()
        answer = await call
    assert answer == ToolOk(
        "on the way\nThe page is now /held/arrived.html.", "on the way", navigated=True
    )


async def test_a_tool_without_an_answer_ends_at_the_limit_and_is_told_to_stop(
    chromium: Browser, site: str
) -> None:
    """C-51."""
    page = f"{site}/endless.html"
    async with open_page(chromium, page, policy=YES, call_timeout_ms=1_000) as tools:
        late = await called(tools, "wait_for_ever")
        assert await tools.page.text_content("#log") == "called;aborted;"
        assert await called(tools, "say_hello") == ToolOk("hello", "hello")
    assert late == ToolFail("timeout", "No answer within 1 s; it may still finish.")


async def test_a_page_that_is_busy_for_ever_is_freed_at_the_limit(
    chromium: Browser, site: str
) -> None:
    page = f"{site}/endless.html"
    async with open_page(chromium, page, policy=YES, call_timeout_ms=1_000) as tools:
        late = await called(tools, "count_for_ever")
        assert await called(tools, "say_hello") == ToolOk("hello", "hello")
    assert late == ToolFail(
        "timeout",
        "No answer within 1 s, and the page was busy, so its script was ended; "
        "it may still finish.",
    )


async def test_stop_ends_a_call_and_reaches_the_tool(chromium: Browser, site: str) -> None:
    """C-51."""
    controller = AbortController()
    async with open_page(chromium, f"{site}/endless.html", policy=YES) as tools:
        call = asyncio.ensure_future(
            tools.call_tool("wait_for_ever", {}, call_id="c1.1", signal=controller.signal)
        )
        await tools.page.wait_for_function("document.querySelector('#log').textContent")
        controller.abort()
        async with asyncio.timeout(5):
            stopped = await call
        assert await tools.page.text_content("#log") == "called;aborted;"
        again = await tools.call_tool("say_hello", {}, call_id="c1.2", signal=controller.signal)
    assert stopped == ToolFail("cancelled", "The call was stopped; it may still finish.")
    assert again == ToolFail(
        "cancelled", "The person pressed Stop; nothing was sent.", may_have_happened=False
    )


async def test_a_cancelled_task_ends_the_call_in_the_page(chromium: Browser, site: str) -> None:
    async with open_page(chromium, f"{site}/endless.html", policy=YES) as tools:
        call = asyncio.ensure_future(called(tools, "wait_for_ever"))
        await tools.page.wait_for_function("document.querySelector('#log').textContent")
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await tools.page.wait_for_function(
            "document.querySelector('#log').textContent === 'called;aborted;'"
        )


async def test_a_tool_that_changed_after_it_was_shown_is_not_called(
    chromium: Browser, site: str
) -> None:
    """C-09, C-58."""
    async with open_page(chromium, f"{site}/changing.html", policy=YES) as tools:
        [shown, _] = await tools.list_tools()
        await tools.page.evaluate("offer('Pays everybody\\'s bills', false)")
        changed = await called(tools, "pay", {"n": 1})
        [now, _] = await tools.list_tools()
        paid = await called(tools, "pay", {"n": 2})
        assert await tools.page.evaluate("sent") == [{"n": 2}]
    assert changed == ToolFail("changed", "The tool pay is not the one that was shown any more.")
    assert (shown.description, now.description) == ("Pays the bill", "Pays everybody's bills")
    assert shown.fingerprint != now.fingerprint
    assert paid == ToolOk("paid", "paid")


async def test_a_changed_hint_is_a_change(chromium: Browser, site: str) -> None:
    """C-09."""
    async with open_page(chromium, f"{site}/changing.html", policy=YES) as tools:
        await tools.list_tools()
        await tools.page.evaluate("offer('Pays the bill', true)")
        changed = await called(tools, "pay")
        assert await tools.page.evaluate("sent") == []
    assert isinstance(changed, ToolFail)
    assert changed.code == "changed"


async def test_a_tool_that_takes_itself_away_while_it_runs_is_ok_and_then_not_there(
    chromium: Browser, site: str
) -> None:
    """C-03."""
    async with open_page(chromium, f"{site}/changing.html", policy=YES) as tools:
        await tools.list_tools()
        first, second = await called(tools, "start_once"), await called(tools, "start_once")
        assert await tools.page.evaluate("sent") == ["start_once"]
        assert [tool.name for tool in await tools.list_tools()] == ["pay"]
    assert first == ToolOk("started", "started")
    assert second == ToolFail("not-found", "The page has no tool start_once any more.")


async def test_a_page_that_was_closed_is_unavailable(chromium: Browser, site: str) -> None:
    """C-51."""
    async with open_page(chromium, f"{site}/endless.html", policy=YES) as tools:
        call = asyncio.ensure_future(called(tools, "wait_for_ever"))
        await tools.page.wait_for_function("document.querySelector('#log').textContent")
        await tools.page.close()
        during, after = await call, await called(tools, "say_hello")
    assert during == ToolFail(
        "no-answer", "The page was closed. Whether the call worked is not known."
    )
    assert after == ToolFail("unavailable", "The page was closed.")


async def test_a_page_that_crashes_loses_the_answer_and_is_unavailable_then(
    chromium: Browser, site: str
) -> None:
    """C-51."""
    async with open_page(chromium, f"{site}/endless.html", policy=YES) as tools:
        call = asyncio.ensure_future(called(tools, "wait_for_ever"))
        await tools.page.wait_for_function("document.querySelector('#log').textContent")
        cdp = await CdpSession.of(tools.page)
        crash = asyncio.ensure_future(cdp.send("Page.crash"))
        during, after = await call, await called(tools, "say_hello")
        crash.cancel()
    assert during == ToolFail(
        "no-answer", "The page crashed. Whether the call worked is not known."
    )
    assert after == ToolFail("unavailable", "The page crashed.")
