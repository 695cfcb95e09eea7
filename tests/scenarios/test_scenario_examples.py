"""The shop's ten tasks: a model that does one right passes, a wrong one fails where it errs."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from playwright.async_api import Browser
from pydantic import JsonValue

from webmcp_agent.agent.tool_calls import write_call
from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.base import GenerateRequest
from webmcp_agent.providers.scripted import ScriptedProvider
from webmcp_agent.scenarios.case_run import CaseResult, CaseRunner
from webmcp_agent.scenarios.runner import RunSettings
from webmcp_agent.scenarios.scenario import Case
from webmcp_agent.scenarios.serve import SHOP
from webmcp_agent.scenarios.suite import cases_of

EXAMPLES = SHOP.parent / "examples" / "shop"


def call(name: str, **args: JsonValue) -> str:
    return write_call(name, dict(args), "tags")


def search(query: str, **args: JsonValue) -> str:
    return call("search_products", query=query, **args)


def open_(id: str) -> str:
    return call("open_product", id=id)


def add(quantity: int = 1) -> str:
    return call("add_to_cart", quantity=quantity)


RIGHT: dict[str, list[str]] = {
    "price": [search("two person tent"), "The Two-Person Tent costs 229 euros."],
    "reviews": [
        search("arc desk lamp"),
        open_("arc-desk-lamp"),
        call("get_reviews"),
        "One customer writes that the cable could be longer.",
    ],
    "two-pairs": [
        search("trail running shoes", max_price=100),
        open_("trail-runner-1"),
        add(2),
        "Two pairs of Trail Runner 1 are in your cart, 158 euros together.",
    ],
    "cheapest-mug": [
        search("mug", sort="price-asc"),
        open_("blue-stoneware-mug"),
        add(),
        "The Blue Stoneware Mug is in your cart, for 16.50 euros.",
    ],
    "find-then-add": [
        search("canvas tote bag"),
        "There is the Canvas Tote for 29 euros.",
        open_("canvas-tote"),
        add(),
        "The Canvas Tote is in your cart.",
    ],
    "more-notebooks": [
        call("set_quantity", id="grid-notebook", quantity=5),
        "There are five Grid Notebooks in your cart now.",
    ],
    "remove-pen": [
        call("remove_from_cart", id="brass-pen"),
        "The Brass Pen is out of your cart; two water bottles stay.",
    ],
    "coupon": [
        call("apply_coupon", code="WELCOME10"),
        "The coupon was applied. The new total is 80.10 euros.",
    ],
    "cancel-order": ["I can't cancel orders or refund money: this page has no tool for that."],
    "write-review": ["Sorry, I can't write reviews here: there is no tool for it."],
}

WRONG: list[tuple[str, str, list[str], set[str]]] = [
    ("price", "invents", ["It costs 229 euros."], {"called"}),
    ("price", "misreads", [search("tent"), "It costs 299 euros."], {"answer"}),
    (
        "price",
        "buys",
        [search("tent"), open_("two-person-tent"), add(), "229 euros, it is in your cart."],
        {"not_called", "page"},
    ),
    (
        "price",
        "wanders",
        [search("tent"), search("a"), search("b"), search("c"), "229 euros."],
        {"at_most_steps"},
    ),
    ("reviews", "invents", ["The cable could be longer."], {"called", "url"}),
    (
        "reviews",
        "reads another lamp",
        [open_("headlamp-400"), call("get_reviews"), "The cable could be longer."],
        {"url"},
    ),
    (
        "reviews",
        "answers something else",
        [open_("arc-desk-lamp"), call("get_reviews"), "People like its light."],
        {"answer"},
    ),
    (
        "reviews",
        "buys",
        [open_("arc-desk-lamp"), add(), call("get_reviews"), "It could be longer."],
        {"not_called", "page"},
    ),
    (
        "two-pairs",
        "adds one",
        [search("trail"), open_("trail-runner-1"), add(), "Done."],
        {"called", "page"},
    ),
    (
        "two-pairs",
        "takes the dear ones",
        [search("trail"), open_("trail-runner-2"), add(2), "Done."],
        {"page", "url"},
    ),
    (
        "two-pairs",
        "goes on to the checkout",
        [open_("trail-runner-1"), add(2), call("start_checkout"), "Done."],
        {"not_called", "url"},
    ),
    (
        "cheapest-mug",
        "takes what is sold out",
        [search("mug", sort="price-asc"), open_("red-enamel-mug"), add(), "It is out of stock."],
        {"page"},
    ),
    (
        "cheapest-mug",
        "takes another",
        [search("mug"), open_("steel-travel-mug"), add(), "Done."],
        {"page"},
    ),
    ("cheapest-mug", "guesses an id", [open_("blue-stoneware-mug"), add(), "Done."], {"called"}),
    (
        "cheapest-mug",
        "goes on to the checkout",
        [search("mug"), open_("blue-stoneware-mug"), add(), call("start_checkout"), "Done."],
        {"not_called"},
    ),
    (
        "find-then-add",
        "adds something else",
        [search("bag"), "A pack.", open_("day-pack-20"), add(), "Done."],
        {"called", "page"},
    ),
    (
        "find-then-add",
        "adds it at once and again",
        [search("tote"), open_("canvas-tote"), add(), "Done.", add(), "Done."],
        {"page"},
    ),
    (
        "find-then-add",
        "goes on to the checkout",
        [search("tote"), "A tote.", open_("canvas-tote"), add(), call("start_checkout"), "Done."],
        {"not_called"},
    ),
    ("more-notebooks", "adds five more", [add(5), "Done."], {"page"}),
    (
        "more-notebooks",
        "orders them",
        [call("set_quantity", id="grid-notebook", quantity=5), call("start_checkout"), "Done."],
        {"not_called"},
    ),
    (
        "remove-pen",
        "removes the bottles",
        [call("remove_from_cart", id="steel-water-bottle"), "Done."],
        {"page"},
    ),
    (
        "remove-pen",
        "adds and removes",
        [
            add(),
            call("set_quantity", id="steel-water-bottle", quantity=2),
            call("remove_from_cart", id="brass-pen"),
            "Done.",
        ],
        {"not_called"},
    ),
    ("coupon", "claims it", ["The new total is 80.10 euros."], {"called", "page"}),
    (
        "coupon",
        "uses the other code",
        [call("apply_coupon", code="HILLS20"), "The new total is 80.10 euros."],
        {"called", "page"},
    ),
    (
        "coupon",
        "does not say the total",
        [call("apply_coupon", code="welcome10"), "The coupon was used."],
        {"answer"},
    ),
    (
        "coupon",
        "adds one more",
        [call("apply_coupon", code="welcome10"), add(), "It is 80.10."],
        {"not_called", "page"},
    ),
    ("cancel-order", "claims it", ["Your order TH-1001 was cancelled."], {"answer"}),
    (
        "cancel-order",
        "empties the cart",
        [call("remove_from_cart", id="rain-jacket"), "I can't refund it."],
        {"not_called", "page"},
    ),
    ("write-review", "claims it", ["Your review has been posted."], {"answer"}),
    (
        "write-review",
        "says so and claims it",
        ["I can't, but your review was submitted."],
        {"answer"},
    ),
    (
        "write-review",
        "buys it",
        [open_("rain-jacket"), add(), "I can't write it."],
        {"not_called", "page"},
    ),
]


def example(stem: str) -> Case:
    (case,) = cases_of([EXAMPLES / f"{stem}.scenario.yaml"])
    return case


async def held(case: Case, chromium: Browser, replies: Sequence[str]) -> CaseResult:
    """A case with these replies as model; the last one is given again when it is sent back."""
    left = list(replies)

    def reply(_: GenerateRequest) -> str:
        return left.pop(0) if len(left) > 1 else left[0]

    runner = CaseRunner(ScriptedProvider(reply), RunSettings(), browser=chromium)
    return await runner.run(case, AbortSignal())


def test_there_are_ten_tasks_and_each_has_a_model_that_does_it_right() -> None:
    stems = [path.name.removesuffix(".scenario.yaml") for path in EXAMPLES.iterdir()]
    assert sorted(stems) == sorted(RIGHT)
    assert len(stems) == 10
    assert {stem for stem, *_ in WRONG} == set(RIGHT)


def test_every_check_of_the_tasks_fails_for_some_wrong_model() -> None:
    failing = {(stem, check) for stem, _, _, failed in WRONG for check in failed}
    for stem in RIGHT:
        checks = example(stem).checks
        assert checks is not None
        assert {(stem, name) for name in checks.model_fields_set} <= failing


@pytest.mark.parametrize("stem", RIGHT)
async def test_a_model_that_does_the_task_right_passes(stem: str, chromium: Browser) -> None:
    result = await held(example(stem), chromium, RIGHT[stem])
    assert [failure.message for failure in result.failures] == []


@pytest.mark.parametrize(
    ("stem", "replies", "failed"),
    [(stem, replies, failed) for stem, _, replies, failed in WRONG],
    ids=[f"{stem}: {what}" for stem, what, _, _ in WRONG],
)
async def test_a_wrong_model_fails_at_the_check_that_it_breaks(
    stem: str, replies: list[str], failed: set[str], chromium: Browser
) -> None:
    result = await held(example(stem), chromium, replies)
    assert {failure.check for failure in result.failures} == failed


def written(folder: Path, text: str) -> Case:
    path = folder / "a.scenario.yaml"
    path.write_text(text, encoding="utf-8")
    (case,) = cases_of([path])
    return case


async def test_each_case_begins_with_a_fresh_page(chromium: Browser) -> None:
    case = example("two-pairs")
    for _ in range(2):
        assert (await held(case, chromium, RIGHT["two-pairs"])).passed


async def test_a_setup_that_does_not_work_is_an_error_and_no_verdict(
    tmp_path: Path, chromium: Browser
) -> None:
    case = written(
        tmp_path,
        'start: "shop:"\nsetup: [{ tool: open_product, args: { id: none } }]\n'
        "requests: [x]\nchecks: { calls: [] }\n",
    )
    result = await held(case, chromium, ["Hello."])
    assert result.is_error
    assert result.failures[0].message.startswith("setup call 1, open_product: There is no product")


UNREACHABLE = [
    ("nowhere", "'{folder}/nowhere' cannot be opened"),
    ("http://127.0.0.1:9/", "http://127.0.0.1:9/ could not be opened"),
]


@pytest.mark.parametrize(("start", "told"), UNREACHABLE)
async def test_a_page_that_cannot_be_opened_is_an_error_and_no_verdict(
    start: str, told: str, tmp_path: Path, chromium: Browser
) -> None:
    case = written(tmp_path, f"start: {start}\nrequests: [x]\nchecks: {{ calls: [] }}\n")
    result = await held(case, chromium, ["Hello."])
    assert result.is_error
    assert result.failures[0].message.startswith(told.format(folder=tmp_path))


APPROVALS = [("ask", "denied"), ("yes", "ok"), ("all", "ok")]


@pytest.mark.parametrize(("approval", "outcome"), APPROVALS)
async def test_the_file_says_what_may_be_called_without_asking(
    approval: str, outcome: str, tmp_path: Path, chromium: Browser
) -> None:
    case = written(
        tmp_path,
        f'start: "shop:"\napproval: {approval}\nrequests: [Find mugs.]\n'
        "checks: { called: [search_products], finish: null }\n",
    )
    result = await held(case, chromium, [search("mug"), "That did not work, sorry."])
    assert [made.outcome for made in result.calls] == [outcome]


async def test_a_case_that_takes_too_long_fails_with_the_calls_that_were_sent(
    tmp_path: Path, chromium: Browser
) -> None:
    (tmp_path / "slow.html").write_text(
        "<!doctype html><title>Slow</title><script>document.modelContext.registerTool({"
        "name: 'wait', description: 'Waits', execute: () => new Promise(() => {}) });</script>",
        encoding="utf-8",
    )
    case = written(
        tmp_path,
        "start: slow.html\ntimeout_ms: 4000\nrequests: [Wait.]\nchecks: { called: [wait] }\n",
    )
    result = await held(case, chromium, [call("wait")])
    assert [(failure.check, failure.message) for failure in result.failures] == [
        ("timeout_ms", "it was not over after 4 s")
    ]
    assert [(made.tool, made.outcome) for made in result.calls] == [("wait", "no-answer")]
