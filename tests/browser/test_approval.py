import asyncio

from playwright.async_api import Browser

from webmcp_agent.browser.launch import open_page
from webmcp_agent.browser.page_tools import PageTools
from webmcp_agent.browser.policy import Approval, PendingCall, Policy
from webmcp_agent.browser.tools import JsonObject, ToolFail, ToolOk
from webmcp_agent.providers.abort import AbortController, AbortSignal


async def called(tools: PageTools, name: str, args: JsonObject | None = None) -> ToolOk | ToolFail:
    async with asyncio.timeout(20):
        return await tools.call_tool(name, args or {}, call_id="c1.1", signal=AbortSignal())


class Person:
    """Gives the answers in turn, and remembers what was asked."""

    def __init__(self, *answers: Approval) -> None:
        self.answers = list(answers)
        self.asked: list[PendingCall] = []

    async def __call__(self, call: PendingCall) -> Approval:
        self.asked.append(call)
        return self.answers.pop(0)


NOT_SENT = ToolFail(
    "cancelled", "The person pressed Stop; nothing was sent.", may_have_happened=False
)


async def test_without_anybody_to_ask_a_call_is_denied_and_says_how_to_allow_it(
    chromium: Browser, site: str
) -> None:
    """C-57."""
    async with open_page(chromium, f"{site}/changing.html") as tools:
        plain = await called(tools, "pay")
        await tools.page.evaluate("offer('Pays the bill', true)")
        await tools.list_tools()
        consequential = await called(tools, "pay")
        assert await tools.page.evaluate("sent") == []
    assert plain == ToolFail(
        "denied",
        "Nobody could be asked about pay. Allow it with --allow pay, or all tools with --yes.",
    )
    assert consequential == ToolFail(
        "denied",
        "Nobody could be asked about pay. Allow it with --allow pay, or all tools with --yes=all.",
    )


async def test_a_denied_name_is_blocked(chromium: Browser, site: str) -> None:
    policy = Policy(mode="all", deny=("pa*",))
    async with open_page(chromium, f"{site}/changing.html", policy=policy) as tools:
        answer = await called(tools, "pay")
        assert await tools.page.evaluate("sent") == []
    assert answer == ToolFail("blocked", "The tool pay is on the list of denied ones.")


async def test_each_call_is_asked_for_with_what_will_be_sent(chromium: Browser, site: str) -> None:
    """C-58."""
    person = Person("yes", "no", "stop")
    policy = Policy(approve=person)
    async with open_page(chromium, f"{site}/changing.html", policy=policy) as tools:
        [pay, _] = await tools.list_tools()
        answers = [await called(tools, "pay", {"n": n}) for n in (1, 2, 3)]
        assert await tools.page.evaluate("sent") == [{"n": 1}]
    assert answers == [ToolOk("paid", "paid"), ToolFail("denied", "The person said no."), NOT_SENT]
    assert person.asked == [PendingCall(pay, {"n": n}) for n in (1, 2, 3)]


async def test_arguments_that_change_after_the_question_are_not_sent(
    chromium: Browser, site: str
) -> None:
    """C-58."""
    args: JsonObject = {"n": 1}

    async def change_and_agree(call: PendingCall) -> Approval:
        args["n"] = 1_000_000
        call.args["n"] = 2_000_000
        return "yes"

    policy = Policy(approve=change_and_agree)
    async with open_page(chromium, f"{site}/changing.html", policy=policy) as tools:
        await called(tools, "pay", args)
        assert await tools.page.evaluate("sent") == [{"n": 1}]


async def test_a_tool_that_changes_during_the_question_is_not_called(
    chromium: Browser, site: str
) -> None:
    """C-09, C-58."""

    async def swap_and_agree(call: PendingCall) -> Approval:
        await tools.page.evaluate("offer('Pays everybody\\'s bills', false)")
        return "yes"

    policy = Policy(approve=swap_and_agree)
    async with open_page(chromium, f"{site}/changing.html", policy=policy) as tools:
        answer = await called(tools, "pay")
        assert await tools.page.evaluate("sent") == []
    assert answer == ToolFail("changed", "The tool pay is not the one that was shown any more.")


async def test_always_holds_until_the_tool_changes(chromium: Browser, site: str) -> None:
    person = Person("always", "no")
    policy = Policy(approve=person)
    async with open_page(chromium, f"{site}/changing.html", policy=policy) as tools:
        await tools.list_tools()
        first = [await called(tools, "pay", {"n": n}) for n in (1, 2)]
        await tools.page.evaluate("offer('Pays more', false)")
        await tools.list_tools()
        second = await called(tools, "pay", {"n": 3})
    assert first == [ToolOk("paid", "paid")] * 2
    assert second == ToolFail("denied", "The person said no.")
    assert len(person.asked) == 2


async def test_always_is_only_once_for_what_is_consequential(chromium: Browser, site: str) -> None:
    """C-57."""
    person = Person("always", "no")
    policy = Policy(mode="yes", approve=person)
    async with open_page(chromium, f"{site}/changing.html", policy=policy) as tools:
        await tools.page.evaluate("offer('Pays the bill', true)")
        await tools.list_tools()
        answers = [await called(tools, "pay") for _ in range(2)]
    assert answers == [ToolOk("paid", "paid"), ToolFail("denied", "The person said no.")]


async def test_stop_ends_a_question_and_nothing_is_sent(chromium: Browser, site: str) -> None:
    """C-58."""
    controller = AbortController()
    asked = asyncio.Event()

    async def never(call: PendingCall) -> Approval:
        asked.set()
        await asyncio.Event().wait()
        return "yes"

    policy = Policy(approve=never)
    async with open_page(chromium, f"{site}/changing.html", policy=policy) as tools:
        call = asyncio.ensure_future(
            tools.call_tool("pay", {}, call_id="c1.1", signal=controller.signal)
        )
        async with asyncio.timeout(5):
            await asked.wait()
            controller.abort()
            assert await call == NOT_SENT
        assert await tools.page.evaluate("sent") == []


async def test_a_question_that_fails_is_a_no(chromium: Browser, site: str) -> None:
    async def broken(call: PendingCall) -> Approval:
        raise OSError("no terminal")

    policy = Policy(approve=broken)
    async with open_page(chromium, f"{site}/changing.html", policy=policy) as tools:
        answer = await called(tools, "pay")
    assert answer == ToolFail("denied", "The question could not be asked: no terminal")
