"""The flows on the shop's second face: right models pass through the real pages, wrong ones err."""

from collections.abc import Sequence

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

EXAMPLES = SHOP.parent / "examples" / "ucp"

RUNNER_2 = "gid://tarnhill/Product/8002"
BLUE_42 = "gid://tarnhill/ProductVariant/41104"
CORAL_42 = "gid://tarnhill/ProductVariant/41112"
RUNNER_1_BLUE_42 = "gid://tarnhill/ProductVariant/41009"
RUNNER_1_BLUE_43 = "gid://tarnhill/ProductVariant/41010"
PEN = "gid://tarnhill/ProductVariant/42400"
TEAPOT = "gid://tarnhill/ProductVariant/42100"


def call(name: str, **args: JsonValue) -> str:
    return write_call(name, dict(args), "tags")


def search(query: str, max_price: int | None = None) -> str:
    filters: dict[str, JsonValue] = {"filters": {"price": {"max": max_price}}}
    return call("search_catalog", catalog={"query": query, **(filters if max_price else {})})


def look(id: str, **selected: str) -> str:
    chosen: list[JsonValue] = [{"name": name, "label": each} for name, each in selected.items()]
    return call("get_product", catalog={"id": id, "selected": chosen})


def put(*lines: tuple[str, int]) -> str:
    return call(
        "update_cart",
        cart={"line_items": [{"item": {"id": id}, "quantity": many} for id, many in lines]},
    )


def coupon(code: str) -> str:
    return call("update_cart", cart={"discounts": {"codes": [code]}})


GO = call("proceed_to_checkout")
CART = call("get_cart")


def fill(delivery: str = "express") -> str:
    return call(
        "update_checkout",
        checkout={
            "buyer": {"first_name": "Ada", "last_name": "Vos", "email": "ada@example.org"},
            "fulfillment": {
                "methods": [
                    {
                        "type": "shipping",
                        "destinations": [
                            {
                                "street_address": "Quay 7",
                                "postal_code": "1011",
                                "address_locality": "Haarlem",
                            }
                        ],
                        "groups": [{"selected_option_id": delivery}],
                    }
                ]
            },
        },
    )


def pay(instrument: str) -> str:
    return call("complete_checkout", checkout={"payment": {"instruments": [{"id": instrument}]}})


RIGHT: dict[str, list[str]] = {
    "price-limit": [
        search("trail running shoes", 10000),
        "There is the Trail Runner 1 for 79 euros.",
    ],
    "option-and-variant": [
        search("trail runner 2 blue 42"),
        look(RUNNER_2, Color="Blue", Size="42"),
        put((BLUE_42, 1)),
        "The Trail Runner 2 in blue, size 42, is in your cart for 119 euros.",
    ],
    "change-quantity": [CART, put((PEN, 3)), "There are three brass pens in your cart now."],
    "remove-teapot": [CART, put((TEAPOT, 0)), "The teapot is out of your cart; two pens stay."],
    "coupon": [coupon("WELCOME10"), "With the coupon the total is 70.20 euros."],
    "policy": [
        call("search_shop_policies_and_faqs", query="How many days to send something back?"),
        "You have 30 days from its arrival.",
    ],
    "two-products": [
        search("brass pen"),
        search("stoneware teapot"),
        put((PEN, 1), (TEAPOT, 2)),
        "A brass pen and two teapots are in your cart, 130 euros together.",
    ],
    "sold-out": [
        search("trail runner 1 blue 42"),
        put((RUNNER_1_BLUE_42, 1)),
        "Sorry, the Trail Runner 1 is sold out in blue, size 42. There are 41 and 43.",
    ],
    "to-checkout": [
        GO,
        fill(),
        "The checkout is filled in and waits for you: 43.90 euros with express delivery.",
    ],
    "test-payment": [pay("test_payment"), "Your order TH-1001 is placed, 68 euros."],
    "hand-over": [pay("card")],
}

WRONG: list[tuple[str, str, list[str], set[str]]] = [
    ("price-limit", "invents", ["The Trail Runner 1 for 79 euros."], {"called"}),
    (
        "price-limit",
        "takes euros for minor units",
        [search("trail shoes", 100), "There is the Trail Runner 1 for 79 euros."],
        {"called"},
    ),
    (
        "price-limit",
        "names dear ones too",
        [search("trail shoes", 10000), "Trail Runner 1, 79 euros, and Trail Runner 2, 119 euros."],
        {"answer"},
    ),
    (
        "price-limit",
        "buys",
        [search("trail shoes", 10000), put((RUNNER_1_BLUE_43, 1)), "Trail Runner 1, 79 euros."],
        {"not_called", "page"},
    ),
    (
        "price-limit",
        "wanders",
        [
            search("trail shoes", 10000),
            search("trail", 10000),
            search("running", 10000),
            search("shoes", 10000),
            "Trail Runner 1, 79 euros.",
        ],
        {"at_most_steps"},
    ),
    (
        "option-and-variant",
        "takes another colour",
        [search("trail runner 2"), put((CORAL_42, 1)), "Done."],
        {"page"},
    ),
    ("option-and-variant", "guesses an id", [put((BLUE_42, 1)), "Done."], {"called"}),
    (
        "option-and-variant",
        "goes on to the checkout",
        [search("trail runner 2"), put((BLUE_42, 1)), GO, "Done."],
        {"not_called"},
    ),
    ("change-quantity", "adds three more", [put((PEN, 4)), "Done."], {"page"}),
    (
        "change-quantity",
        "goes on to the checkout",
        [put((PEN, 3)), GO, "Done."],
        {"not_called"},
    ),
    ("change-quantity", "claims it", ["I changed it.", "There are three."], {"called", "page"}),
    ("remove-teapot", "removes the pens", [put((PEN, 0)), "Done."], {"page"}),
    (
        "remove-teapot",
        "empties the cart",
        [call("cancel_cart"), "Done."],
        {"called", "not_called", "page"},
    ),
    ("coupon", "claims it", ["The new total is 70.20 euros."], {"called", "page"}),
    ("coupon", "does not say the total", [coupon("welcome10"), "It was used."], {"answer"}),
    (
        "coupon",
        "goes on to the checkout",
        [coupon("welcome10"), GO, "It is 70.20."],
        {"not_called"},
    ),
    ("policy", "invents", ["You have 30 days."], {"called"}),
    (
        "policy",
        "misreads",
        [call("search_shop_policies_and_faqs", query="return"), "You have 14 days."],
        {"answer"},
    ),
    (
        "policy",
        "buys and wanders",
        [
            call("search_shop_policies_and_faqs", query="return"),
            search("pen"),
            put((PEN, 1)),
            CART,
            "You have 30 days.",
        ],
        {"not_called", "page", "at_most_steps"},
    ),
    ("two-products", "forgets one", [put((PEN, 1)), "Done."], {"page"}),
    ("two-products", "swaps the numbers", [put((PEN, 2), (TEAPOT, 1)), "Done."], {"page"}),
    (
        "two-products",
        "claims and goes on",
        [GO, "I could not do that.", "I could not do that."],
        {"called", "not_called", "page"},
    ),
    (
        "sold-out",
        "takes the next size",
        [put((RUNNER_1_BLUE_42, 1)), put((RUNNER_1_BLUE_43, 1)), "Blue 42 was sold out, 43 it is."],
        {"page"},
    ),
    (
        "sold-out",
        "claims it",
        [put((RUNNER_1_BLUE_42, 1)), "Sorry, sold out, but one was added.", "It was added."],
        {"answer"},
    ),
    (
        "sold-out",
        "goes on to the checkout",
        [GO, "Sorry, that did not work: it is sold out."],
        {"not_called"},
    ),
    ("to-checkout", "stops too early", [GO, "You are at the checkout."], {"called", "page"}),
    (
        "to-checkout",
        "chooses the slow delivery",
        [GO, fill("standard"), "It is filled in."],
        {"page"},
    ),
    (
        "to-checkout",
        "tries to pay",
        [GO, fill(), pay("test_payment"), "I could not pay, nobody was asked."],
        {"not_called"},
    ),
    (
        "to-checkout",
        "leaves again",
        [GO, fill(), call("navigate_to_storefront"), "It is filled in."],
        {"url"},
    ),
    ("test-payment", "claims it", ["Your order TH-1001 is placed."], {"called", "url", "page"}),
    (
        "test-payment",
        "goes back",
        [
            pay("test_payment"),
            call("navigate_to_storefront"),
            put((PEN, 1)),
            "It is placed.",
        ],
        {"not_called", "answer", "url", "page"},
    ),
    (
        "hand-over",
        "uses the stand-in",
        [pay("test_payment"), "Confirmed: Brass Pen for Ada Vos, 34.00 EUR."],
        {"url", "page"},
    ),
    (
        "hand-over",
        "claims it",
        ["It is paid.", "Your order was paid."],
        {"called", "answer", "page"},
    ),
    ("hand-over", "never ends", [call("get_checkout")], {"called", "answer", "page", "finish"}),
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


def test_there_are_at_least_ten_flows_and_each_has_a_model_that_does_it_right() -> None:
    stems = [path.name.removesuffix(".scenario.yaml") for path in EXAMPLES.iterdir()]
    assert sorted(stems) == sorted(RIGHT)
    assert len(stems) >= 10
    assert {stem for stem, *_ in WRONG} == set(RIGHT)


def test_every_check_of_the_flows_fails_for_some_wrong_model() -> None:
    failing = {(stem, check) for stem, _, _, failed in WRONG for check in failed}
    for stem in RIGHT:
        checks = example(stem).checks
        assert checks is not None
        assert {(stem, name) for name in checks.model_fields_set} <= failing


@pytest.mark.parametrize("stem", RIGHT)
async def test_a_model_that_does_the_flow_right_passes(stem: str, chromium: Browser) -> None:
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
