"""The second face of the demo shop: what its tools offer, answer and refuse, page by page."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from commerce_schemas import FOLDER, Check, Kind, own, published
from playwright.async_api import Page
from pydantic import JsonValue

from webmcp_agent.browser.page_tools import PageTools
from webmcp_agent.browser.tools import ToolFail, ToolOk
from webmcp_agent.providers.abort import AbortController

OpenShop = Callable[[str], Awaitable[PageTools]]

STOREFRONT = {
    "search_catalog",
    "lookup_catalog",
    "get_product",
    "show_variant",
    "get_cart",
    "update_cart",
    "cancel_cart",
    "proceed_to_checkout",
    "search_shop_policies_and_faqs",
}
RECEIPT = {"get_checkout", "navigate_to_storefront"}
CHECKOUT = RECEIPT | {"update_checkout", "complete_checkout"}

BLUE_42 = "gid://tarnhill/ProductVariant/41104"
"""Trail Runner 2 in blue, size 42."""
SOLD_OUT = "gid://tarnhill/ProductVariant/41009"
"""Trail Runner 1 in blue, size 42."""
PEN = "brass-pen"
RUNNER_1, RUNNER_2 = "gid://tarnhill/Product/8001", "gid://tarnhill/Product/8002"

ADA: dict[str, JsonValue] = {
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
                        "address_country": "Netherlands",
                    }
                ],
                "groups": [{"selected_option_id": "express"}],
            }
        ]
    },
}
TEST_PAYMENT: dict[str, JsonValue] = {"payment": {"instruments": [{"id": "test_payment"}]}}


def line(id: str, quantity: JsonValue = 1) -> dict[str, JsonValue]:
    return {"item": {"id": id}, "quantity": quantity}


async def call(tools: PageTools, tool: str, /, **args: JsonValue) -> ToolOk | ToolFail:
    await tools.list_tools()
    return await tools.call_tool(tool, args, call_id="c1", signal=AbortController().signal)


async def value(tools: PageTools, tool: str, /, **args: JsonValue) -> Any:
    """The document of a tool that must answer."""
    result = await call(tools, tool, **args)
    assert isinstance(result, ToolOk), result
    return result.value


async def refusal(tools: PageTools, tool: str, /, **args: JsonValue) -> str:
    """What a tool that must refuse says."""
    result = await call(tools, tool, **args)
    assert isinstance(result, ToolFail), result
    assert result.code == "failed"
    return result.message


async def put(tools: PageTools, *lines: dict[str, JsonValue]) -> Any:
    return await value(tools, "update_cart", cart={"line_items": list(lines)})


async def names(tools: PageTools) -> set[str]:
    return {tool.name for tool in await tools.list_tools()}


async def raw(page: Page, tool: str, args: JsonValue) -> Any:
    """What the page's own tool answers, as the page gives it."""
    text = await page.evaluate(
        """async ([name, args]) => {
          const tools = await document.modelContext.getTools();
          const tool = tools.find((each) => each.name === name);
          return document.modelContext.executeTool(tool, args);
        }""",
        [tool, args],
    )
    return json.loads(text)


async def cart(tools: PageTools) -> Any:
    return await tools.page.evaluate("shop.cart().map(({ title, quantity }) => [title, quantity])")


def amounts(document: Any) -> dict[str, int]:
    """The totals of a document by their kind."""
    return {each["type"]: each["amount"] for each in document["totals"]}


@pytest.mark.parametrize(
    ("path", "offered"),
    [
        ("ucp/", STOREFRONT),
        ("ucp/index.html?q=mug", STOREFRONT),
        ("ucp/product.html?id=brass-pen", STOREFRONT),
        ("ucp/product.html?id=nowhere", STOREFRONT),
        ("ucp/cart.html", STOREFRONT),
        ("ucp/policies.html", STOREFRONT),
        ("ucp/checkout.html", RECEIPT),
        ("ucp/confirmation.html?order=TH-1001", {"navigate_to_storefront"}),
    ],
)
async def test_each_page_offers_its_own_tools(
    open_shop: OpenShop, path: str, offered: set[str]
) -> None:
    assert await names(await open_shop(path)) == offered


async def test_tools_say_what_they_read_whose_words_they_give_and_what_is_hard_to_undo(
    open_shop: OpenShop,
) -> None:
    tools = await open_shop("ucp/")
    reads = {tool.name for tool in await tools.list_tools() if tool.read_only}
    untrusted = {tool.name for tool in await tools.list_tools() if tool.untrusted}
    assert untrusted == {"search_catalog", "lookup_catalog", "get_product", "get_cart"}
    assert reads == untrusted | {"search_shop_policies_and_faqs"}
    await put(tools, line(PEN))
    await call(tools, "proceed_to_checkout")
    hints = {
        tool.name: (tool.read_only, tool.untrusted, tool.consequential)
        for tool in await tools.list_tools()
    }
    assert hints == {
        "get_checkout": (True, True, False),
        "update_checkout": (False, False, False),
        "complete_checkout": (False, False, True),
        "navigate_to_storefront": (False, False, False),
    }


async def test_the_search_takes_its_request_in_one_object(open_shop: OpenShop) -> None:
    tools = {tool.name: tool for tool in await (await open_shop("ucp/")).list_tools()}
    schema: Any = tools["search_catalog"].input_schema
    catalog = schema["properties"]["catalog"]
    assert schema["required"] == ["catalog"]
    assert catalog["required"] == ["query"]
    assert list(catalog["properties"]) == ["query", "context", "filters", "pagination"]
    assert list(catalog["properties"]["filters"]["properties"]) == ["categories", "price"]
    assert all(len(tool.description) <= 100 for tool in tools.values())


async def test_a_search_is_a_long_document_with_pages(open_shop: OpenShop) -> None:
    tools = await open_shop("ucp/cart.html")
    whole = await call(tools, "search_catalog", catalog={"query": "", "pagination": {"limit": 20}})
    assert isinstance(whole, ToolOk)
    assert len(whole.text) > 50_000
    everything: Any = whole.value
    assert len(everything["products"]) == 20
    first = await value(tools, "search_catalog", catalog={"query": "", "pagination": {"limit": 8}})
    seen = [product["id"] for product in first["products"]]
    pages = first["pagination"]
    while pages["has_next_page"]:
        more = await value(
            tools,
            "search_catalog",
            catalog={"query": "", "pagination": {"limit": 8, "cursor": pages["cursor"]}},
        )
        seen += [product["id"] for product in more["products"]]
        pages = more["pagination"]
    assert seen == [product["id"] for product in everything["products"]]


SEARCHES: list[tuple[dict[str, JsonValue], list[str]]] = [
    (
        {"query": "trail running shoes"},
        ["Trail Runner 1", "Trail Runner 2", "Trail Runner Pro"],
    ),
    ({"query": "trail shoes", "filters": {"price": {"max": 10000}}}, ["Trail Runner 1"]),
    (
        {"query": "trail shoes", "filters": {"price": {"min": 10000, "max": 12000}}},
        ["Trail Runner 2"],
    ),
    (
        {"query": "", "filters": {"categories": ["Bags"], "price": {"max": 7000}}},
        ["Day Pack 20", "Canvas Tote"],
    ),
    ({"query": "coral trail shoes"}, ["Trail Runner 2"]),
    ({"query": "mug", "filters": {"categories": ["shoes"]}}, []),
    ({"query": "spaceship"}, []),
]


async def test_a_search_finds_what_its_words_price_and_category_say(open_shop: OpenShop) -> None:
    tools = await open_shop("ucp/cart.html")
    found = [
        (
            asked,
            [
                product["title"]
                for product in (await value(tools, "search_catalog", catalog=asked))["products"]
            ],
        )
        for asked, _ in SEARCHES
    ]
    assert found == SEARCHES


async def test_the_variant_that_a_search_names_comes_first(open_shop: OpenShop) -> None:
    tools = await open_shop("ucp/cart.html")
    answer = await value(tools, "search_catalog", catalog={"query": "trail runner 2 black 42"})
    assert answer["products"][0]["variants"][0]["title"] == "Black / 42"
    plain = await value(tools, "search_catalog", catalog={"query": "trail runner 2"})
    assert plain["products"][0]["variants"][0]["title"] == "Blue / 39", "38 is sold out"


async def test_a_limit_in_whole_euros_is_told_to_be_one_in_minor_units(
    open_shop: OpenShop,
) -> None:
    tools = await open_shop("ucp/")
    answer = await value(
        tools, "search_catalog", catalog={"query": "shoes", "filters": {"price": {"max": 100}}}
    )
    assert [each["content"] for each in answer["messages"]] == [
        'Nothing matches "shoes" up to €1.00. Prices are in minor units: 10000 is €100.00.'
    ]


async def test_a_search_on_the_storefront_shows_what_it_found(open_shop: OpenShop) -> None:
    tools = await open_shop("ucp/")
    await value(
        tools, "search_catalog", catalog={"query": "mug", "filters": {"price": {"max": 2000}}}
    )
    assert await tools.page.locator("#grid h3").all_inner_texts() == [
        "Blue Stoneware Mug",
        "Red Enamel Mug",
    ]
    assert tools.page.url.endswith("?q=mug&max=20")


CHOICES = [
    ([("Color", "Blue"), ("Size", "42")], [("Color", "Blue"), ("Size", "42")]),
    ([("colour", "BLUE"), ("size", "EU 42")], [("Color", "Blue"), ("Size", "42")]),
    ([("size", "size 42")], [("Size", "42")]),
]


@pytest.mark.parametrize(("wished", "chosen"), CHOICES)
async def test_options_are_matched_from_the_products_own_list(
    open_shop: OpenShop, wished: list[tuple[str, str]], chosen: list[tuple[str, str]]
) -> None:
    tools = await open_shop("ucp/")
    answer = await value(
        tools,
        "get_product",
        catalog={
            "id": RUNNER_2,
            "selected": [{"name": name, "label": label} for name, label in wished],
        },
    )
    found = answer["product"]
    assert [(each["name"], each["label"]) for each in found["selected"]] == chosen
    assert all(
        {"name": name, "label": label} in variant["options"]
        for name, label in chosen
        for variant in found["variants"]
    )
    assert BLUE_42 in [variant["id"] for variant in found["variants"]]


NO_SUCH_OPTION = [
    ("Color", "purple", 'Trail Runner 2 has no Color "purple". There is Blue, Coral, Black.'),
    (
        "Size",
        "50",
        'Trail Runner 2 has no Size "50". There is 38, 39, 40, 41, 42, 43, 44, 45.',
    ),
    (
        "Width",
        "wide",
        'Trail Runner 2 has no option "Width". It has Color: Blue, Coral, Black; '
        "Size: 38, 39, 40, 41, 42, 43, 44, 45.",
    ),
]


@pytest.mark.parametrize(("name", "label", "says"), NO_SUCH_OPTION)
async def test_an_option_that_is_not_there_is_answered_with_those_that_are(
    open_shop: OpenShop, name: str, label: str, says: str
) -> None:
    tools = await open_shop("ucp/")
    asked: JsonValue = {"id": RUNNER_2, "selected": [{"name": name, "label": label}]}
    assert await refusal(tools, "get_product", catalog=asked) == says
    assert await refusal(tools, "show_variant", catalog=asked) == says


async def test_what_is_sold_out_is_said_and_never_put_into_the_cart(open_shop: OpenShop) -> None:
    tools = await open_shop("ucp/")
    says = "Trail Runner 1, Blue / 42 is sold out. In Blue there is size 39, 40, 41, 43, 44."
    answer = await value(
        tools,
        "get_product",
        catalog={
            "id": RUNNER_1,
            "selected": [{"name": "Color", "label": "blue"}, {"name": "Size", "label": "42"}],
        },
    )
    (variant,) = answer["product"]["variants"]
    assert (variant["id"], variant["availability"]) == (
        SOLD_OUT,
        {"available": False, "status": "out_of_stock"},
    )
    assert [(each["code"], each["content"]) for each in answer["messages"]] == [
        ("out_of_stock", says)
    ]
    sizes = answer["product"]["options"][1]["values"]
    assert {each["label"] for each in sizes if not each["available"]} == {"42"}
    assert await refusal(tools, "update_cart", cart={"line_items": [line(SOLD_OUT)]}) == says
    assert "Messenger Bag, Olive is sold out. So are all its variants." == await refusal(
        tools, "update_cart", cart={"line_items": [line("gid://tarnhill/ProductVariant/41700")]}
    )
    assert await cart(tools) == []


async def test_a_product_with_options_is_not_enough_for_the_cart(open_shop: OpenShop) -> None:
    tools = await open_shop("ucp/")
    assert await refusal(tools, "update_cart", cart={"line_items": [line(RUNNER_2)]}) == (
        "Trail Runner 2 comes in several variants. Choose Color (Blue, Coral, Black) and "
        "Size (38, 39, 40, 41, 42, 43, 44, 45) with get_product, then use the variant's id."
    )
    await put(tools, line(PEN))
    assert await cart(tools) == [["Brass Pen", 1]], "it has no options"


async def test_lookups_tell_which_id_found_what_and_which_nothing(open_shop: OpenShop) -> None:
    tools = await open_shop("ucp/")
    answer = await value(tools, "lookup_catalog", catalog={"ids": [RUNNER_2, BLUE_42, "nope"]})
    (product,) = answer["products"]
    assert [(each["title"], each["inputs"]) for each in product["variants"]] == [
        ("Blue / 39", [{"id": RUNNER_2, "match": "featured"}]),
        ("Blue / 42", [{"id": BLUE_42, "match": "exact"}]),
    ]
    assert [each["content"] for each in answer["messages"]] == [
        'There is nothing with the id "nope".'
    ]


async def test_lines_of_the_cart_are_added_changed_and_removed(open_shop: OpenShop) -> None:
    tools = await open_shop("ucp/cart.html")
    first = await put(tools, line(BLUE_42), line(PEN, 2))
    assert amounts(first) == {"subtotal": 18700, "total": 18700}
    again = await put(tools, line(BLUE_42, 3))
    assert again == await value(tools, "get_cart")
    assert await cart(tools) == [["Trail Runner 2, Blue / 42", 3], ["Brass Pen", 2]]
    assert await tools.page.locator(".lines h2").all_inner_texts() == [
        "Trail Runner 2, Blue / 42",
        "Brass Pen",
    ]
    await put(tools, line(again["line_items"][0]["id"], 0))
    assert await cart(tools) == [["Brass Pen", 2]], "the id of a line means its variant"
    emptied = await value(tools, "cancel_cart")
    assert emptied["line_items"] == []
    assert await cart(tools) == []


async def test_a_change_that_cannot_be_made_whole_changes_nothing(open_shop: OpenShop) -> None:
    tools = await open_shop("ucp/")
    await put(tools, line(PEN))
    wrong: list[JsonValue] = [
        {"line_items": [line(PEN, 5), line(SOLD_OUT)]},
        {"line_items": [line(PEN, 11)]},
        {"line_items": [line(PEN, "many")]},
        {"line_items": [line("gid://tarnhill/ProductVariant/1")]},
        {"line_items": [line(PEN, 5)], "discounts": {"codes": ["NONSENSE"]}},
        {"discounts": {"codes": ["HILLS20"]}},
        {"discounts": {"codes": ["WELCOME10", "HILLS20"]}},
        {},
    ]
    said = [await refusal(tools, "update_cart", cart=each) for each in wrong]
    assert [text.split(".")[0] for text in said] == [
        "Trail Runner 1, Blue / 42 is sold out",
        "The quantity must be a whole number from 0 to 10, 0 removes it; not 11",
        "The quantity must be a whole number from 0 to 10, 0 removes it; not null",
        'There is no variant with the id "gid://tarnhill/ProductVariant/1"',
        'The coupon code "NONSENSE" is not valid',
        "The coupon HILLS20 needs a cart of at least €100",
        "Only one coupon can be used at a time",
        "There is nothing to change",
    ]
    assert await cart(tools) == [["Brass Pen", 1]]


async def test_a_coupon_takes_its_part_off_and_can_be_given_back(open_shop: OpenShop) -> None:
    tools = await open_shop("ucp/")
    await put(tools, line(BLUE_42))
    used = await value(tools, "update_cart", cart={"discounts": {"codes": [" welcome10 "]}})
    assert used["discounts"]["codes"] == ["WELCOME10"]
    assert amounts(used) == {"subtotal": 11900, "discount": -1190, "total": 10710}
    bare = await value(tools, "update_cart", cart={"discounts": {"codes": []}})
    assert amounts(bare) == {"subtotal": 11900, "total": 11900}


async def test_policies_are_answered_from_the_shops_terms(open_shop: OpenShop) -> None:
    tools = await open_shop("ucp/")
    answer = await value(
        tools, "search_shop_policies_and_faqs", query="How long can I send shoes back?"
    )
    assert "within 30 days" in answer["policies"][0]["description"]["plain"]
    assert answer["policies"][0]["url"].endswith("policies.html#returns")
    nothing = await value(tools, "search_shop_policies_and_faqs", query="Do you sell to wizards?")
    assert nothing["policies"] == []
    assert nothing["messages"][0]["content"].startswith("The shop's policies say nothing of that.")


async def test_a_variant_is_shown_to_the_person_on_its_own_page(open_shop: OpenShop) -> None:
    tools = await open_shop("ucp/")
    shown = await call(
        tools,
        "show_variant",
        catalog={
            "id": RUNNER_2,
            "selected": [{"name": "Color", "label": "coral"}, {"name": "Size", "label": "42"}],
        },
    )
    assert isinstance(shown, ToolOk)
    assert shown.navigated
    assert "/ucp/product.html?id=trail-runner-2&variant=" in tools.page.url
    chosen = "() => [...document.querySelectorAll(':checked')].map(({ value }) => value)"
    assert await tools.page.evaluate(chosen) == ["Coral", "42", "1"]


async def test_from_storefront_to_checkout_and_back_the_tools_are_right_and_never_stale(
    open_shop: OpenShop,
) -> None:
    tools = await open_shop("ucp/")
    page = tools.page
    assert await refusal(tools, "proceed_to_checkout") == "The cart is empty. Add a product first."
    assert await names(tools) == STOREFRONT
    await put(tools, line(BLUE_42))
    going = await call(tools, "proceed_to_checkout")
    assert isinstance(going, ToolOk)
    assert going.navigated

    async def stale(name: str) -> str:
        answer = await tools.call_tool(name, {}, call_id="c", signal=AbortController().signal)
        assert isinstance(answer, ToolFail)
        assert answer.may_have_happened is False
        return answer.code

    assert await stale("get_cart") == "not-found", "listed on the page before"
    assert await names(tools) == CHECKOUT
    assert await stale("update_cart") == "not-found"
    back = await call(tools, "navigate_to_storefront")
    assert isinstance(back, ToolOk)
    assert back.text == "Back to the shop. The cart has 1 item.\nThe page is now /ucp/index.html."
    assert await stale("complete_checkout") == "not-found"
    assert await names(tools) == STOREFRONT
    assert await stale("complete_checkout") == "not-found"
    assert await cart(tools) == [["Trail Runner 2, Blue / 42", 1]]

    await call(tools, "proceed_to_checkout")
    await value(tools, "update_checkout", checkout=ADA)
    await value(tools, "complete_checkout", checkout=TEST_PAYMENT)
    assert page.url.endswith("/ucp/confirmation.html?order=TH-1001")
    assert await stale("complete_checkout") == "not-found"
    assert await names(tools) == RECEIPT
    receipt = await value(tools, "get_checkout")
    assert (receipt["status"], receipt["order"]["label"]) == ("completed", "TH-1001")
    await call(tools, "navigate_to_storefront")
    assert await names(tools) == STOREFRONT
    assert await cart(tools) == []


async def test_the_checkout_tells_what_is_missing_and_what_it_costs(open_shop: OpenShop) -> None:
    tools = await open_shop("ucp/")
    await put(tools, line(PEN))
    await call(tools, "proceed_to_checkout")
    empty = await value(tools, "get_checkout")
    assert empty["status"] == "incomplete"
    assert [each["content"] for each in empty["messages"]] == [
        f"The buyer's {name} is missing."
        for name in (
            "first name",
            "last name",
            "email address",
            "street and number",
            "postcode",
            "city",
        )
    ]
    assert amounts(empty) == {"subtotal": 3400, "fulfillment": 490, "total": 3890}
    assert (await refusal(tools, "complete_checkout", checkout=TEST_PAYMENT)).startswith(
        "The order cannot be placed yet. Missing: first name, last name"
    )
    buyer: JsonValue = {"buyer": ADA["buyer"]}
    half = await value(tools, "update_checkout", checkout=buyer)
    assert [each["code"] for each in half["messages"]] == [
        "missing_street_address",
        "missing_postal_code",
        "missing_address_locality",
    ]
    pickup: JsonValue = {"fulfillment": {"methods": [{"type": "pickup"}]}}
    picked = await value(tools, "update_checkout", checkout=pickup)
    assert (picked["status"], amounts(picked)["total"]) == ("ready_for_complete", 3400)
    full = await value(tools, "update_checkout", checkout=ADA)
    assert (full["status"], amounts(full)["total"]) == ("ready_for_complete", 4390)
    assert full["buyer"] == ADA["buyer"], "what was not given again stays"
    coupon: JsonValue = {"discounts": {"codes": ["WELCOME10"]}}
    less = await value(tools, "update_checkout", checkout=coupon)
    assert amounts(less) == {
        "subtotal": 3400,
        "discount": -340,
        "fulfillment": 990,
        "total": 4050,
    }


async def test_a_checkout_refuses_what_the_shop_cannot_do(open_shop: OpenShop) -> None:
    tools = await open_shop("ucp/")
    await put(tools, line(PEN))
    await call(tools, "proceed_to_checkout")

    def delivery(**method: JsonValue) -> JsonValue:
        return {"fulfillment": {"methods": [dict(method)]}}

    wrong: list[JsonValue] = [
        {"buyer": {"email": "ada"}},
        delivery(destinations=[{"address_country": "France"}]),
        delivery(groups=[{"selected_option_id": "drone"}]),
        delivery(type="pickup", groups=[{"selected_option_id": "express"}]),
        {"payment": {"instruments": [{"id": "gold"}]}},
        {},
    ]
    said = [await refusal(tools, "update_checkout", checkout=each) for each in wrong]
    assert said == [
        '"ada" is no email address.',
        "The shop does not deliver to France, only to Netherlands, Belgium, Germany.",
        'There is no delivery "drone". There is standard, express, pickup.',
        'pickup has no delivery "express". It has pickup.',
        'There is no payment "gold". There is card, test_payment.',
        "There is nothing to change. Give checkout.buyer, fulfillment, discounts or payment.",
    ]
    assert await tools.page.evaluate("shop.checkout().status") == "incomplete"


async def test_what_the_tools_fill_in_stands_on_the_page_and_the_other_way_round(
    open_shop: OpenShop,
) -> None:
    tools = await open_shop("ucp/")
    page = tools.page
    await put(tools, line(PEN))
    await call(tools, "proceed_to_checkout")
    await value(tools, "update_checkout", checkout=ADA)
    assert await page.get_by_label("First name").input_value() == "Ada"
    assert await page.get_by_label("Delivery").input_value() == "express"
    assert await page.locator("#filled").inner_text() == (
        "Your assistant has filled in this checkout. Check it before you pay."
    )
    await page.get_by_label("First name").fill("Grace")
    await page.get_by_label("Delivery").select_option("pickup")
    read = await value(tools, "get_checkout")
    assert read["buyer"]["first_name"] == "Grace"
    assert read["fulfillment"]["methods"][1]["groups"][0]["selected_option_id"] == "pickup"
    assert await page.locator("#pay").inner_text() == "Pay €34.00"


async def documents(open_shop: OpenShop) -> list[tuple[Kind, Any]]:
    """Answers of all tools, in all states that the shop knows."""
    tools = await open_shop("ucp/")
    page = tools.page
    made: list[tuple[Kind, Any]] = []

    async def take(kind: Kind, tool: str, **args: JsonValue) -> None:
        made.append((kind, await value(tools, tool, **args)))

    async def refuse(tool: str, args: JsonValue) -> None:
        await tools.list_tools()
        answer = await raw(page, tool, args)
        assert answer["isError"] is True
        made.append(("error", answer["structuredContent"]))

    searches: list[JsonValue] = [
        {"query": "", "pagination": {"limit": 20}},
        {"query": "", "pagination": {"limit": 3}},
        {"query": "spaceship"},
        *(asked for asked, _ in SEARCHES),
        {"query": "mug", "filters": {"categories": ["Boats"]}},
    ]
    for asked in searches:
        await take("search", "search_catalog", catalog=asked)
    ids: list[JsonValue] = await page.evaluate("shop.products().map(({ id }) => id)")
    await take("lookup", "lookup_catalog", catalog={"ids": [*ids, RUNNER_1, BLUE_42, "nope"]})
    await take("lookup", "lookup_catalog", catalog={"ids": ["nope"]})
    for id in ids:
        await take("product", "get_product", catalog={"id": id})
    await take("product", "get_product", catalog={"id": SOLD_OUT})
    await refuse("get_product", {"catalog": {"id": "nope"}})
    await refuse("search_catalog", {"catalog": {"query": "", "pagination": {"cursor": "x"}}})
    await take("cart", "get_cart")
    await refuse("proceed_to_checkout", {})
    await refuse("update_cart", {"cart": {"line_items": [line(SOLD_OUT)]}})
    await take("cart", "update_cart", cart={"line_items": [line(BLUE_42, 2), line(PEN)]})
    await take("cart", "update_cart", cart={"discounts": {"codes": ["HILLS20"]}})
    await refuse("update_cart", {"cart": {"discounts": {"codes": ["NONSENSE"]}}})
    await take("product", "show_variant", catalog={"id": BLUE_42})
    await take("checkout", "proceed_to_checkout")
    await take("checkout", "get_checkout")
    await refuse("complete_checkout", {})
    await take("checkout", "update_checkout", checkout=ADA)
    made.append(("checkout", await raw(page, "complete_checkout", {})))
    await take("checkout", "get_checkout")
    pickup: JsonValue = {"fulfillment": {"methods": [{"type": "pickup"}]}}
    await take("checkout", "update_checkout", checkout=pickup)
    await take("checkout", "complete_checkout", checkout=TEST_PAYMENT)
    await take("checkout", "get_checkout")
    await page.goto(page.url.partition("/ucp/")[0] + "/ucp/checkout.html")
    await take("checkout", "get_checkout")
    return made


def wrongs(made: list[tuple[Kind, Any]], check: Callable[[Kind], Check]) -> list[str]:
    checks = {kind: check(kind) for kind, _ in made}
    return [
        f"{kind}: {error.json_path}: {error.message[:300]}"
        for kind, document in made
        for error in checks[kind].iter_errors(document)
    ]


async def test_every_answer_is_a_document_of_its_kind(open_shop: OpenShop) -> None:
    made = await documents(open_shop)
    assert wrongs(made, own) == []
    states = {document["status"] for kind, document in made if kind == "checkout"}
    assert states == {"incomplete", "ready_for_complete", "requires_escalation", "completed"}
    damaged = json.loads(json.dumps(made[0][1]))
    damaged["products"][3]["variants"][0]["price"]["amount"] = 12.5
    assert len(wrongs([("search", damaged)], own)) == 1, "the schemas can tell"


@pytest.mark.skipif(FOLDER is None, reason="UCP_SCHEMAS names no folder of published schemas")
async def test_every_answer_holds_to_the_published_schemas(open_shop: OpenShop) -> None:
    assert wrongs(await documents(open_shop), published) == []
