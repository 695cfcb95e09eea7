"""Cases on the real shop: checks after each request, isolation, and what no model could do."""

from pathlib import Path

import pytest
from playwright.async_api import Browser
from pydantic import JsonValue

from webmcp_agent.agent.tool_calls import write_call
from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.base import GenerateRequest
from webmcp_agent.providers.scripted import ScriptedProvider
from webmcp_agent.scenarios.bench_cases import bench_reply, held_ms
from webmcp_agent.scenarios.case_run import CaseResult, CaseRunner
from webmcp_agent.scenarios.errors import ScenarioError
from webmcp_agent.scenarios.runner import RunSettings
from webmcp_agent.scenarios.scenario import read_scenario
from webmcp_agent.scenarios.workers import in_parallel


def call(name: str, **args: JsonValue) -> str:
    return write_call(name, dict(args), "tags")


SEARCH = call("search_products", query="mug")


async def held(
    browser: Browser, folder: Path, text: str, *replies: str, url: str | None = None
) -> CaseResult:
    path = folder / "a.scenario.yaml"
    path.write_text(text, encoding="utf-8")
    provider = ScriptedProvider(list(replies))
    runner = CaseRunner(provider, RunSettings(), browser=browser, url=url)
    result = await runner.run(read_scenario(path), AbortSignal())
    provider.assert_complete()
    return result


TURNS = """
start: "shop:"
requests:
  - request: Find mugs.
    checks:
      calls: [search_products]
      answer: { contains: three }
  - request: Open the blue one.
    checks:
      calls: [{ tool: open_product, args: { id: blue-stoneware-mug } }]
      url: product
      page: [{ selector: h1, text: Blue Stoneware Mug }]
checks:
  at_most_steps: 4
"""
OPEN = call("open_product", id="blue-stoneware-mug")


async def test_each_request_is_judged_by_what_it_did_itself(
    chromium: Browser, tmp_path: Path
) -> None:
    replies = [SEARCH, "There are three mugs.", OPEN, "It is open."]
    result = await held(chromium, tmp_path, TURNS, *replies)
    assert (result.failures, len(result.calls), result.outcome.steps) == ((), 2, 4)


async def test_a_request_that_fails_ends_the_conversation_and_is_named(
    chromium: Browser, tmp_path: Path
) -> None:
    result = await held(chromium, tmp_path, TURNS, SEARCH, "There are some mugs.")
    assert [(failure.check, failure.message) for failure in result.failures] == [
        ("answer", "request 1: the answer \"There are some mugs.\" does not contain 'three'")
    ]
    wrong = call("open_product", id="grid-notebook")
    result = await held(
        chromium, tmp_path, TURNS, SEARCH, "There are three mugs.", wrong, "It is open."
    )
    first = result.failures[0]
    # The call is counted from the beginning of the conversation.
    assert (first.check, first.kind, first.call) == ("calls", "wrong-argument", 2)
    assert [failure.check for failure in result.failures] == ["calls", "page"]


UNREACHABLE: list[tuple[str, list[str], str]] = [
    (
        "calls: [serch_products]",
        [SEARCH, "Three."],
        "the page offers no tool 'serch_products' here; did you mean 'search_products'?",
    ),
    (
        "calls: [search_products, order]",
        [SEARCH, "Three."],
        "the page offers no tool 'order' here; it offers apply_coupon, list_categories, "
        "open_product, remove_from_cart, search_products, set_quantity, start_checkout, view_cart",
    ),
    (
        "calls: [{ tool: search_products, args: { words: mug } }]",
        [SEARCH, "Three."],
        "the tool search_products has no argument 'words' on this page",
    ),
    (
        "called: [{ tool: search_products, args: { words: mug } }]",
        [SEARCH, "Three."],
        "the tool search_products has no argument 'words' on this page",
    ),
    (
        "calls: [search_products, { tool: search_products, args: { words: a }, optional: true }]",
        [SEARCH, "Three."],
        "the tool search_products has no argument 'words' on this page",
    ),
]


@pytest.mark.parametrize(("checks", "replies", "told"), UNREACHABLE)
async def test_what_no_model_could_do_on_this_page_is_an_error(
    checks: str, replies: list[str], told: str, chromium: Browser, tmp_path: Path
) -> None:
    text = f'start: "shop:"\nrequests: [Find mugs.]\nchecks: {{ {checks} }}\n'
    result = await held(chromium, tmp_path, text, *replies)
    assert (result.passed, result.is_error, result.why) == (False, True, "not-judged")
    assert [failure.message for failure in result.failures] == [told]


async def test_a_model_that_lost_its_way_is_not_excused_by_a_tool_that_comes_later(
    chromium: Browser, tmp_path: Path
) -> None:
    # add_to_cart is offered on a product's page, where this model never goes.
    text = (
        'start: "shop:"\nrequests: [Buy a mug.]\n'
        "checks: { calls: [search_products, open_product, add_to_cart] }\n"
    )
    result = await held(chromium, tmp_path, text, SEARCH, "Bought.")
    assert (result.is_error, result.why) == (False, "missing-call")


async def test_cases_that_run_at_the_same_time_share_a_model_and_nothing_else(
    chromium: Browser, shop_address: str, tmp_path: Path
) -> None:
    """Each fills a cart of its own, while the others fill theirs."""

    def reply(request: GenerateRequest) -> str:
        if any(turn.role == "tool" or "in_cart" in turn.content for turn in request.messages):
            return "It is in your cart."
        wish = request.messages[0].content
        return call("add_to_cart", quantity=int(wish.split()[1]))

    provider = ScriptedProvider(reply)
    runner = CaseRunner(provider, RunSettings(), browser=chromium)
    paths = [tmp_path / f"{number}.scenario.yaml" for number in range(1, 5)]
    for number, path in enumerate(paths, 1):
        path.write_text(
            f'start: "{shop_address}product.html?id=grid-notebook"\n'
            f"requests: [Add {number} of these.]\n"
            f"checks:\n  page: [{{ js: 'shop.cart()[0].quantity', equals: {number} }}]\n",
            encoding="utf-8",
        )
    results: list[CaseResult] = []
    await in_parallel(
        [read_scenario(path) for path in paths],
        4,
        lambda case: runner.run(case, AbortSignal()),
        results.append,
    )
    assert [result.failures for result in results] == [()] * 4
    args: list[JsonObject] = [made.args for result in results for made in result.calls]
    assert args == [{"quantity": number} for number in range(1, 5)]


async def test_the_scenarios_of_the_benchmark_pass_at_the_same_time(chromium: Browser) -> None:
    runner = CaseRunner(ScriptedProvider(bench_reply), RunSettings(), browser=chromium)
    assert await held_ms(runner, 3, 2, AbortSignal()) > 0
    runner = CaseRunner(ScriptedProvider(lambda _: "Bought."), RunSettings(), browser=chromium)
    with pytest.raises(ScenarioError, match="buy 1 failed: no call was made"):
        await held_ms(runner, 1, 1, AbortSignal())
