"""What a policy says of arguments, of dry runs and of what carries a secret."""

import asyncio
from collections.abc import Sequence

import pytest
from playwright.async_api import Browser

from webmcp_agent.browser.launch import open_page
from webmcp_agent.browser.limits import Limit
from webmcp_agent.browser.page_tools import PageTools
from webmcp_agent.browser.policy import Approval, Decision, PendingCall, Policy
from webmcp_agent.browser.tools import JsonObject, PageTool, ToolFail, ToolOk
from webmcp_agent.providers.abort import AbortSignal

TOTAL = Limit(argument="total", at_most=100)
PAY = PageTool("pay", "")
READ = PageTool("read", "", read_only=True)
PAID_READING = PageTool("read_and_pay", "", read_only=True, consequential=True)


async def called(tools: PageTools, name: str, args: JsonObject | None = None) -> ToolOk | ToolFail:
    async with asyncio.timeout(40):
        return await tools.call_tool(name, args or {}, call_id="c1.1", signal=AbortSignal())


@pytest.mark.parametrize(
    ("limit", "args", "broken"),
    [
        pytest.param(TOTAL, {"total": 100}, None, id="the limit itself"),
        pytest.param(TOTAL, {"total": 101}, "at most 100 in total, not 101", id="more"),
        pytest.param(TOTAL, {"total": "250.5"}, "at most 100 in total", id="a number as a text"),
        pytest.param(TOTAL, {"total": "99"}, None, id="a small number as a text"),
        pytest.param(TOTAL, {"total": "1e9"}, "at most 100", id="a text that is no plain number"),
        pytest.param(TOTAL, {"total": "a lot"}, "at most 100 in total", id="no number at all"),
        pytest.param(TOTAL, {"total": True}, "at most 100 in total, not true", id="a boolean"),
        pytest.param(TOTAL, {"total": None}, "at most 100 in total, not null", id="null"),
        pytest.param(TOTAL, {"total": {"eur": 500}}, "at most 100 in total", id="an object"),
        pytest.param(TOTAL, {"order": [{"Total": 500}]}, "at most 100", id="deep, in capitals"),
        pytest.param(TOTAL, {"total": [1, 500]}, "at most 100 in total, not 500", id="a list"),
        pytest.param(TOTAL, {"subtotal": 500}, None, id="another name"),
        pytest.param(TOTAL, {}, None, id="left out"),
        pytest.param(Limit(argument="a.b", at_least=1), {"a": [{"b": 0}]}, "at least 1", id="path"),
        pytest.param(Limit(argument="a.b", at_least=1), {"b": 0}, None, id="not on the path"),
        pytest.param(Limit(argument="to", one_of=("me", 1)), {"to": "me"}, None, id="a choice"),
        pytest.param(
            Limit(argument="to", one_of=("me", 1)), {"to": True}, 'only "me", 1', id="no choice"
        ),
        pytest.param(Limit(argument="to", matches="[a-z]+"), {"to": "me"}, None, id="a match"),
        pytest.param(
            Limit(argument="to", matches="[a-z]+"),
            {"to": "me!"},
            "only what matches",
            id="no match",
        ),
        pytest.param(
            Limit(argument="to", matches="(a+)+b"), {"to": "a" * 60}, "only what", id="too slow"
        ),
    ],
)
def test_a_limit_is_kept_by_what_can_be_judged_and_is_within_it(
    limit: Limit, args: JsonObject, broken: str | None
) -> None:
    said = Policy(mode="all", limits=(limit,)).outside_limits(PAY, args)
    assert (said is None) if broken is None else (said is not None and broken in said)


def test_a_limit_is_for_the_tools_that_it_names() -> None:
    policy = Policy(limits=(Limit(tool="pay*", argument="total", at_most=1),))
    assert policy.outside_limits(READ, {"total": 2}) is None
    assert (
        policy.outside_limits(PAY, {"total": 2}) == "The policy allows at most 1 in total, not 2."
    )


@pytest.mark.parametrize(
    ("policy", "secrets", "decision"),
    [
        pytest.param(Policy(mode="all", ask=("pa*",)), (), "ask", id="ask outweighs all"),
        pytest.param(Policy(allow=("pay",), ask=("pay",)), (), "ask", id="and the full name"),
        pytest.param(Policy(deny=("pay",), ask=("pay",)), (), "deny", id="deny outweighs ask"),
        pytest.param(Policy(mode="yes"), ("PIN",), "ask", id="yes hands over no secret"),
        pytest.param(Policy(allow=("p*",)), ("PIN",), "ask", id="nor does a glob"),
        pytest.param(Policy(allow=("pay",)), ("PIN",), "allow", id="its full name does"),
        pytest.param(Policy(mode="all"), ("PIN",), "allow", id="and all does"),
    ],
)
def test_what_tightens_outweighs_what_allows(
    policy: Policy, secrets: Sequence[str], decision: Decision
) -> None:
    """C-57."""
    assert policy.decide(PAY, secrets) == decision


def test_a_dry_run_sends_only_what_the_page_calls_read_only_and_not_consequential() -> None:
    policy = Policy(mode="all", dry_run=True)
    assert [policy.withholds(tool) for tool in (PAY, READ, PAID_READING)] == [True, False, True]
    assert not Policy(mode="all").withholds(PAY)


async def test_a_dry_run_answers_with_what_would_have_been_sent(
    chromium: Browser, site: str
) -> None:
    policy = Policy(mode="yes", dry_run=True, limits=(Limit(argument="n", at_most=5),))
    async with open_page(chromium, f"{site}/changing.html", policy=policy) as tools:
        [pay, _] = await tools.list_tools()
        answers = [await called(tools, "pay", {"n": n}) for n in (1, 9)]
        assert await tools.page.evaluate("sent") == []
        assert tools.withheld == [PendingCall(pay, {"n": 1})]
    assert answers == [
        ToolOk('Dry run: nothing was sent. It would have been: pay {"n": 1}'),
        ToolFail("blocked", "The policy allows at most 5 in n, not 9."),
    ]


async def test_a_dry_run_still_asks_before_what_only_reads(chromium: Browser, site: str) -> None:
    """C-57: that a page calls a tool read-only skips no question."""
    async with open_page(chromium, f"{site}/changing.html", policy=Policy(dry_run=True)) as tools:
        await tools.page.evaluate(
            "document.modelContext.registerTool({ name: 'look', description: 'Looks',"
            " annotations: { readOnlyHint: true }, execute: () => 'seen' })"
        )
        await tools.list_tools()
        answer = await called(tools, "look")
    assert isinstance(answer, ToolFail)
    assert answer.code == "denied"


async def test_a_call_with_a_secret_is_asked_for_each_time_and_says_which(
    chromium: Browser, site: str
) -> None:
    """C-57, C-58."""
    asked: list[PendingCall] = []

    async def always(call: PendingCall) -> Approval:
        asked.append(call)
        return "always"

    def secrets_in(args: JsonObject) -> list[str]:
        return ["PIN"] if args.get("n") == 4711 else []

    policy = Policy(mode="yes", secrets_in=secrets_in, approve=always)
    async with open_page(chromium, f"{site}/changing.html", policy=policy) as tools:
        [pay, _] = await tools.list_tools()
        for n in (1, 4711, 4711):
            await called(tools, "pay", {"n": n})
        assert await tools.page.evaluate("sent") == [{"n": 1}, {"n": 4711}, {"n": 4711}]
        tools.policy = Policy(mode="yes", secrets_in=secrets_in)
        refused = await called(tools, "pay", {"n": 4711})
    assert asked == [PendingCall(pay, {"n": 4711}, ("PIN",))] * 2
    assert refused == ToolFail(
        "denied",
        "Nobody could be asked about pay, which would get PIN. Allow it with --allow pay, "
        "or all tools with --yes=all.",
    )


async def test_an_always_is_for_once_where_the_policy_asks_every_time(
    chromium: Browser, site: str
) -> None:
    """C-57."""
    asked: list[PendingCall] = []

    async def always(call: PendingCall) -> Approval:
        asked.append(call)
        return "always"

    policy = Policy(mode="all", ask=("pa*",), approve=always)
    async with open_page(chromium, f"{site}/changing.html", policy=policy) as tools:
        for n in (1, 2):
            await called(tools, "pay", {"n": n})
    assert [call.args for call in asked] == [{"n": 1}, {"n": 2}]


async def test_what_a_policy_always_asks_for_says_so(chromium: Browser, site: str) -> None:
    """C-56."""
    policy = Policy(mode="all", ask=("pay",))
    async with open_page(chromium, f"{site}/changing.html", policy=policy) as tools:
        answer = await called(tools, "pay")
    assert answer == ToolFail(
        "denied",
        "Nobody could be asked about pay. The policy asks for pay every time, so somebody has to "
        "be there.",
    )
