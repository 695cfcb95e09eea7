"""The demo shop's tools in a real Chromium: what each page offers, answers and refuses."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from playwright.async_api import Browser, Page
from pydantic import JsonValue

from webmcp_agent.browser.page_tools import PageTools
from webmcp_agent.browser.tools import PageContext, ToolFail, ToolOk
from webmcp_agent.providers.abort import AbortController

OpenShop = Callable[[str], Awaitable[PageTools]]

EVERYWHERE = {
    "search_products",
    "list_categories",
    "open_product",
    "view_cart",
    "set_quantity",
    "remove_from_cart",
    "apply_coupon",
}

PLAIN = (False, False, False)
READS = (True, False, False)


async def call(tools: PageTools, tool: str, /, **args: JsonValue) -> ToolOk | ToolFail:
    await tools.list_tools()
    return await tools.call_tool(tool, args, call_id="c1", signal=AbortController().signal)


async def value(tools: PageTools, tool: str, /, **args: JsonValue) -> JsonValue:
    """What a tool that must answer answers."""
    result = await call(tools, tool, **args)
    assert isinstance(result, ToolOk), result
    return result.value


async def failure(tools: PageTools, tool: str, /, **args: JsonValue) -> str:
    """What a tool that must fail says."""
    result = await call(tools, tool, **args)
    assert isinstance(result, ToolFail), result
    assert result.code == "failed"
    return result.message


async def found(tools: PageTools, **args: JsonValue) -> list[str]:
    """The ids that a search gives, in order."""
    answer: Any = await value(tools, "search_products", **args)
    return [each["id"] for each in answer["results"]]


async def shop_state(page: Page) -> dict[str, JsonValue]:
    """What `window.shop` shows of the cart."""
    return await page.evaluate(
        "() => ({ cart: shop.cart().map(({ id, quantity }) => [id, quantity]), count: shop.count(),"
        " subtotal: shop.subtotal(), coupon: shop.coupon(), discount: shop.discount(),"
        " total: shop.total(), orders: shop.orders().length })"
    )


@pytest.mark.parametrize(
    ("path", "more"),
    [
        ("", {"start_checkout"}),
        ("index.html?q=mug", {"start_checkout"}),
        ("product.html?id=brass-pen", {"start_checkout", "add_to_cart", "get_reviews"}),
        ("product.html?id=nowhere", {"start_checkout"}),
        ("cart.html", {"start_checkout"}),
        ("checkout.html", set[str]()),
        ("confirmation.html?order=TH-1001", {"start_checkout"}),
    ],
)
async def test_each_page_offers_its_own_tools(
    open_shop: OpenShop, path: str, more: set[str]
) -> None:
    tools = await open_shop(path)
    assert {tool.name for tool in await tools.list_tools()} == EVERYWHERE | more


async def test_tools_say_what_they_read_and_whose_words_they_give(open_shop: OpenShop) -> None:
    tools = await open_shop("product.html?id=brass-pen")
    await value(tools, "add_to_cart")
    hints = {
        tool.name: (tool.read_only, tool.untrusted, tool.declarative)
        for tool in await tools.list_tools()
    }
    assert hints == {
        "search_products": READS,
        "list_categories": READS,
        "view_cart": READS,
        "get_reviews": (True, True, False),
        "open_product": PLAIN,
        "add_to_cart": PLAIN,
        "set_quantity": PLAIN,
        "remove_from_cart": PLAIN,
        "apply_coupon": PLAIN,
        "start_checkout": PLAIN,
    }
    await call(tools, "start_checkout")
    order = next(tool for tool in await tools.list_tools() if tool.name == "place_order")
    assert (order.declarative, order.autosubmit, order.read_only) == (True, False, False)


async def test_the_search_tells_its_parameters_briefly(open_shop: OpenShop) -> None:
    tools = await open_shop("")
    listed = {tool.name: tool for tool in await tools.list_tools()}
    assert listed["search_products"].input_schema == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "Words to look for"},
            "category": {
                "type": "string",
                "enum": ["shoes", "bags", "kitchen", "desk", "outdoor"],
                "description": "Only this category",
            },
            "max_price": {
                "type": "number",
                "minimum": 0,
                "description": "Highest price in euros",
            },
            "sort": {
                "type": "string",
                "enum": ["relevance", "price-asc", "price-desc", "rating"],
                "description": "Order of the results",
            },
        },
        "required": ["query"],
    }
    assert all(len(tool.description) <= 80 for tool in listed.values())


async def test_a_search_gives_ids_prices_ratings_and_stock(open_shop: OpenShop) -> None:
    tools = await open_shop("")
    assert await value(tools, "search_products", query="trail running shoes", max_price=100) == {
        "results": [
            {
                "id": "trail-runner-1",
                "title": "Trail Runner 1",
                "price": 79,
                "rating": 4.3,
                "in_stock": True,
            }
        ],
        "total": 1,
    }


SEARCHES: list[tuple[dict[str, JsonValue], list[str]]] = [
    ({"query": "trail running shoes"}, ["trail-runner-1", "trail-runner-2", "trail-runner-pro"]),
    (
        {"query": "Trail running SHOES under 100 euros please"},
        ["trail-runner-1", "trail-runner-2", "trail-runner-pro"],
    ),
    (
        {"query": "trail shoe", "sort": "price-desc"},
        ["trail-runner-pro", "trail-runner-2", "trail-runner-1"],
    ),
    (
        {"query": "trail shoe", "sort": "rating"},
        ["trail-runner-2", "trail-runner-pro", "trail-runner-1"],
    ),
    (
        {"query": "the cheapest mug", "sort": "price-asc"},
        ["red-enamel-mug", "blue-stoneware-mug", "steel-travel-mug"],
    ),
    ({"query": "blue mug", "max_price": 20}, ["blue-stoneware-mug"]),
    (
        {"query": "mugs", "max_price": 16.5, "sort": "price-desc"},
        ["blue-stoneware-mug", "red-enamel-mug"],
    ),
    (
        {"query": "mugs", "max_price": "20", "sort": "price-desc"},
        ["blue-stoneware-mug", "red-enamel-mug"],
    ),
    ({"query": "backpack"}, ["day-pack-20", "trek-pack-45"]),
    ({"query": "waterproof"}, ["trail-runner-pro", "rain-jacket"]),
    ({"query": "purple trail shoes", "max_price": 100}, ["trail-runner-1"]),
    ({"query": "spaceship"}, []),
    ({"query": "mug", "max_price": 5}, []),
    ({"query": "mug", "category": "shoes"}, []),
    (
        {"query": "", "category": "desk"},
        ["arc-desk-lamp", "grid-notebook", "brass-pen", "compact-keyboard"],
    ),
]


async def test_a_search_finds_what_its_words_price_and_category_say(open_shop: OpenShop) -> None:
    tools = await open_shop("cart.html")
    assert [(args, await found(tools, **args)) for args, _ in SEARCHES] == SEARCHES


async def test_a_long_answer_is_cut_and_tells_the_whole_number(open_shop: OpenShop) -> None:
    tools = await open_shop("cart.html")
    result = await call(tools, "search_products", query="")
    assert isinstance(result, ToolOk)
    answer: Any = result.value
    assert (len(answer["results"]), answer["total"]) == (10, 20)
    assert len(result.text) <= 1_100, "must fit what a model is shown of a result"


async def test_a_search_on_the_front_page_shows_what_it_found(open_shop: OpenShop) -> None:
    tools = await open_shop("")
    await value(tools, "search_products", query="mug", max_price=20, sort="price-asc")
    page = tools.page
    assert await page.locator("#grid h3").all_inner_texts() == [
        "Red Enamel Mug",
        "Blue Stoneware Mug",
    ]
    assert await page.locator("#found").inner_text() == "2 products"
    assert page.url.endswith("?q=mug&max=20&sort=price-asc")
    assert await tools.page_context() == PageContext(
        path="/", title="Results for “mug” – Tarnhill", h1="Results for “mug”"
    )


async def test_categories_are_listed_with_their_size(open_shop: OpenShop) -> None:
    tools = await open_shop("")
    assert await value(tools, "list_categories") == {
        "categories": [
            {"id": "shoes", "name": "Shoes", "products": 4},
            {"id": "bags", "name": "Bags", "products": 4},
            {"id": "kitchen", "name": "Kitchen", "products": 4},
            {"id": "desk", "name": "Desk", "products": 4},
            {"id": "outdoor", "name": "Outdoor", "products": 4},
        ]
    }


@pytest.mark.parametrize("wanted", ["trail-runner-1", "Trail Runner 1", "TRAIL-RUNNER-1"])
async def test_opening_a_product_answers_first_and_then_moves(
    open_shop: OpenShop, wanted: str
) -> None:
    tools = await open_shop("")
    result = await call(tools, "open_product", id=wanted)
    assert isinstance(result, ToolOk)
    assert result.text.startswith("Opening Trail Runner 1, 79 euros.")
    assert result.navigated
    assert await tools.page_context() == PageContext(
        path="/product.html", title="Trail Runner 1 – Tarnhill", h1="Trail Runner 1"
    )


async def test_a_whole_purchase_goes_through_the_tools_and_ends_with_the_person(
    open_shop: OpenShop,
) -> None:
    tools = await open_shop("")
    page = tools.page
    assert await found(tools, query="trail running shoes", max_price=100) == ["trail-runner-1"]
    await call(tools, "open_product", id="trail-runner-1")
    assert await value(tools, "add_to_cart", quantity=2) == {
        "id": "trail-runner-1",
        "title": "Trail Runner 1",
        "added": 2,
        "in_cart": 2,
        "total": 158,
    }
    await call(tools, "open_product", id="grid-notebook")
    added: Any = await value(tools, "add_to_cart")
    assert (added["added"], added["total"]) == (1, 167.5)
    assert await value(tools, "set_quantity", id="grid-notebook", quantity=3) == {
        "items": [
            {
                "id": "trail-runner-1",
                "title": "Trail Runner 1",
                "quantity": 2,
                "price": 79,
                "sum": 158,
            },
            {
                "id": "grid-notebook",
                "title": "Grid Notebook",
                "quantity": 3,
                "price": 9.5,
                "sum": 28.5,
            },
        ],
        "coupon": None,
        "discount": 0,
        "total": 186.5,
    }
    await value(tools, "remove_from_cart", id="Grid Notebook")
    used: Any = await value(tools, "apply_coupon", code=" welcome10 ")
    assert (used["coupon"], used["discount"], used["total"]) == ("WELCOME10", 15.8, 142.2)
    assert used == await value(tools, "view_cart")
    assert await shop_state(page) == {
        "cart": [["trail-runner-1", 2]],
        "count": 2,
        "subtotal": 158,
        "coupon": "WELCOME10",
        "discount": 15.8,
        "total": 142.2,
        "orders": 0,
    }
    going = await call(tools, "start_checkout")
    assert isinstance(going, ToolOk)
    assert going.text.startswith("Opening the checkout: 2 in the cart, 142.2 euros.")

    waiting = await call(
        tools,
        "place_order",
        name="Ada Vos",
        email="ada@example.org",
        address="Quay 7",
        postcode="1011",
        city="Haarlem",
        delivery="express",
    )
    assert isinstance(waiting, ToolFail)
    assert waiting.code == "needs-user"
    assert (await shop_state(page))["orders"] == 0
    assert await page.locator("#filled").inner_text() == (
        "Your assistant has filled in this form. Check it, then place the order."
    )
    assert await page.locator("#summary .sum").all_inner_texts() == ["To pay", "€152.10"]

    await page.get_by_role("button", name="Place order").click()
    await page.wait_for_url("**/confirmation.html?order=TH-1001")
    assert await page.get_by_role("heading", level=1).inner_text() == "Thank you, Ada Vos"
    assert await page.evaluate("shop.orders()") == [
        {
            "id": "TH-1001",
            "items": [
                {
                    "id": "trail-runner-1",
                    "title": "Trail Runner 1",
                    "quantity": 2,
                    "price": 79,
                    "sum": 158,
                }
            ],
            "subtotal": 158,
            "coupon": "WELCOME10",
            "discount": 15.8,
            "delivery": "express",
            "delivery_price": 9.9,
            "total": 152.1,
            "name": "Ada Vos",
            "email": "ada@example.org",
            "address": "Quay 7",
            "postcode": "1011",
            "city": "Haarlem",
        }
    ]
    assert (await shop_state(page))["cart"] == []
    linked = "JSON.parse(document.querySelector('[type=\"application/ld+json\"]').textContent)"
    assert await page.evaluate(linked) == {
        "@context": "https://schema.org",
        "@type": "Order",
        "orderNumber": "TH-1001",
        "orderStatus": "https://schema.org/OrderProcessing",
        "price": "152.10",
        "priceCurrency": "EUR",
        "customer": {"@type": "Person", "name": "Ada Vos"},
        "acceptedOffer": [
            {
                "@type": "Offer",
                "itemOffered": {
                    "@type": "Product",
                    "sku": "trail-runner-1",
                    "name": "Trail Runner 1",
                },
                "eligibleQuantity": {"@type": "QuantitativeValue", "value": 2},
                "price": "79.00",
                "priceCurrency": "EUR",
            }
        ],
    }


async def test_an_agent_that_waits_for_the_order_hears_its_number(open_shop: OpenShop) -> None:
    tools = await open_shop("product.html?id=brass-pen")
    await value(tools, "add_to_cart")
    await call(tools, "start_checkout")
    page = tools.page
    person = {"name": "Ada", "email": "a@b.nl", "address": "Quay 7", "postcode": "1", "city": "H"}
    async with asyncio.timeout(10):
        answer = asyncio.ensure_future(
            page.evaluate(
                """async (person) => {
                  const tools = await document.modelContext.getTools();
                  const order = tools.find((tool) => tool.name === "place_order");
                  return document.modelContext.executeTool(order, person);
                }""",
                person,
            )
        )
        await page.locator("#filled:not(:empty)").wait_for()
        await page.get_by_role("button", name="Place order").click()
        assert await answer == '{"order":"TH-1001","total":38.9}'
        await page.wait_for_url("**/confirmation.html?order=TH-1001")


async def test_reviews_are_those_of_the_open_product_and_make_its_rating(
    open_shop: OpenShop,
) -> None:
    tools = await open_shop("product.html?id=grid-notebook")
    assert await value(tools, "get_reviews") == {
        "product": "Grid Notebook",
        "rating": 5,
        "reviews": [
            {"author": "Klara", "stars": 5, "text": "Fountain pen, no ghost on the other side."},
            {"author": "Tim", "stars": 5, "text": "Lies flat. That is all I ask."},
            {"author": "Zofia", "stars": 5, "text": "On my sixth one."},
        ],
    }


REFUSALS: dict[str, list[tuple[str, dict[str, JsonValue], str]]] = {
    "": [
        (
            "open_product",
            {"id": "trail-runner-9"},
            'There is no product with the id "trail-runner-9". '
            "Did you mean trail-runner-1, trail-runner-2, trail-runner-pro?",
        ),
        (
            "open_product",
            {"id": "spaceship"},
            'There is no product with the id "spaceship". Use search_products to find ids.',
        ),
        (
            "search_products",
            {"query": "mug", "category": "mugs"},
            'category must be one of shoes, bags, kitchen, desk, outdoor, not "mugs".',
        ),
        (
            "search_products",
            {"query": "mug", "sort": "newest"},
            'sort must be one of relevance, price-asc, price-desc, rating, not "newest".',
        ),
        (
            "search_products",
            {"query": "mug", "max_price": "cheap"},
            'max_price must be a number of euros, not "cheap".',
        ),
        ("start_checkout", {}, "The cart is empty. Add a product first."),
        (
            "remove_from_cart",
            {"id": "brass-pen"},
            '"brass-pen" is not in the cart. The cart is empty.',
        ),
        (
            "set_quantity",
            {"id": "brass-pen", "quantity": 11},
            "quantity must be a whole number from 0 to 10, not 11.",
        ),
        ("apply_coupon", {"code": "FREE"}, 'The coupon code "FREE" is not valid.'),
        ("apply_coupon", {"code": "toString"}, 'The coupon code "toString" is not valid.'),
        ("apply_coupon", {"code": "WELCOME10"}, "The cart is empty. Add a product first."),
    ],
    "product.html?id=brass-pen": [
        (
            "add_to_cart",
            {"quantity": 0},
            "quantity must be a whole number from 1 to 10, not 0.",
        ),
        (
            "add_to_cart",
            {"quantity": 1.5},
            "quantity must be a whole number from 1 to 10, not 1.5.",
        ),
    ],
    "product.html?id=messenger-bag": [("add_to_cart", {}, "Messenger Bag is out of stock.")],
}


@pytest.mark.parametrize("path", REFUSALS)
async def test_what_cannot_be_done_is_said_in_a_sentence_and_changes_nothing(
    open_shop: OpenShop, path: str
) -> None:
    tools = await open_shop(path)
    assert [
        (tool, args, await failure(tools, tool, **args)) for tool, args, _ in REFUSALS[path]
    ] == REFUSALS[path]
    assert (await shop_state(tools.page))["count"] == 0


async def test_a_filled_cart_knows_its_limits(open_shop: OpenShop) -> None:
    tools = await open_shop("product.html?id=brass-pen")
    await value(tools, "add_to_cart", quantity=2)
    assert "The coupon HILLS20 needs a cart of at least 100 euros." in await failure(
        tools, "apply_coupon", code="HILLS20"
    )
    assert '"arc-desk-lamp" is not in the cart. In the cart: brass-pen.' in await failure(
        tools, "remove_from_cart", id="arc-desk-lamp"
    )
    await value(tools, "add_to_cart", quantity="6")
    assert "At most 10 of one product. The cart already has 8." in await failure(
        tools, "add_to_cart", quantity=3
    )
    used: Any = await value(tools, "apply_coupon", code="HILLS20")
    assert (used["discount"], used["total"]) == (54.4, 217.6)
    less: Any = await value(tools, "set_quantity", id="brass-pen", quantity=1)
    assert (less["coupon"], less["discount"], less["total"]) == ("HILLS20", 0, 34)


async def test_twenty_products_have_slugs_reviews_and_a_drawing(open_shop: OpenShop) -> None:
    tools = await open_shop("")
    products: Any = await tools.page.evaluate(
        """async () => {
          const [{ PRODUCTS, slug }, { ratingOf, reviewsOf }] = await Promise.all(
            ["./products.js", "./reviews.js"].map((name) => import(name)));
          const drawings = await (await fetch("pictures.svg")).text();
          return PRODUCTS.map((product) => {
            const stars = reviewsOf(product.id).map((review) => review.stars);
            const mean = stars.reduce((sum, each) => sum + each, 0) / stars.length;
            return { id: product.id, slug: slug(product.title),
              drawn: drawings.includes(`<symbol id="${product.kind}"`),
              rated: Math.abs(ratingOf(product.id) - mean) <= 0.05 && stars.length > 1 };
          });
        }"""
    )
    assert len({product["id"] for product in products}) == 20
    assert [product for product in products if product["id"] != product["slug"]] == []
    assert [product for product in products if not product["drawn"] or not product["rated"]] == []


async def test_a_browser_of_the_first_releases_gets_the_same_tools(
    chromium: Browser, shop_address: str
) -> None:
    old = """
      Object.defineProperty(document, 'modelContext', { value: undefined });
      const tools = new Map();
      Object.defineProperty(navigator, 'modelContext',
        { value: { tools, registerTool: (tool) => void tools.set(tool.name, tool) } });
    """
    page = await (await chromium.new_context()).new_page()
    await page.add_init_script(old)
    await page.goto(f"{shop_address}product.html?id=brass-pen")
    names = await page.evaluate("[...navigator.modelContext.tools.keys()]")
    assert set(names) == EVERYWHERE | {"start_checkout", "add_to_cart", "get_reviews"}
    execute = "navigator.modelContext.tools.get('add_to_cart').execute({ quantity: 2 }, {})"
    assert (await page.evaluate(execute))["in_cart"] == 2
    await page.context.close()
