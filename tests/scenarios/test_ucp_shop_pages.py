"""The pages of the shop's second face: keyboard, screen readers, small screens, no network."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal

import pytest
from playwright.async_api import Browser, Page, Request
from pydantic import JsonValue

from webmcp_agent.browser.page_tools import PageTools

OpenShop = Callable[[str], Awaitable[PageTools]]

ACCESSIBILITY = Path(__file__).with_name("accessibility.js").read_text(encoding="utf-8")

IN_CART = "() => shop.cart().map(({ title, quantity }) => [title, quantity])"
PERSON = {
    "first_name": "Ada",
    "last_name": "Vos",
    "email": "ada@example.org",
    "street_address": "Quay 7",
    "postal_code": "1011",
    "address_locality": "Haarlem",
}


async def focus(page: Page, selector: str) -> None:
    """Press Tab until what the selector names has the focus, at most once around the page."""
    for _ in range(80):
        await page.keyboard.press("Tab")
        if await page.evaluate("s => document.activeElement.matches(s)", selector):
            return
    raise AssertionError(f"Tab never reaches {selector}")


async def test_a_purchase_needs_nothing_but_a_keyboard(open_shop: OpenShop) -> None:
    page = (await open_shop("ucp/")).page
    keys = page.keyboard
    await focus(page, "#find")
    await keys.type("coral trail shoes")
    await keys.press("Enter")
    await page.wait_for_url("**/ucp/index.html?q=coral+trail+shoes")
    await focus(page, "#grid a")
    await keys.press("Enter")
    await page.wait_for_url("**/ucp/product.html?id=trail-runner-2")
    await focus(page, "input[name=Color]")
    await keys.press("ArrowRight")
    assert await page.evaluate("document.activeElement.value") == "Coral"
    await focus(page, "input[name=Size]")
    for _ in range(2):
        await keys.press("ArrowRight")
    sold_out = page.locator(".soldout")
    assert await sold_out.inner_text() == (
        "Trail Runner 2, Coral / 41 is sold out. In Coral there is size 38, 39, 40, 42, 43, 44, 45."
    )
    await keys.press("ArrowRight")
    assert await sold_out.count() == 0
    await focus(page, "#quantity")
    await keys.press("2")
    await focus(page, ".buy button")
    await keys.press("Enter")
    assert await page.evaluate(IN_CART) == [["Trail Runner 2, Coral / 42", 2]]
    assert await page.locator("#notice").inner_text() == (
        "Trail Runner 2, Coral / 42: now 2 in the cart."
    )
    await focus(page, ".held a")
    await keys.press("Enter")
    await page.wait_for_url("**/ucp/cart.html")
    await focus(page, "#code")
    await keys.type("nonsense")
    await keys.press("Enter")
    problem = page.get_by_role("alert")
    assert await problem.inner_text() == 'The coupon code "nonsense" is not valid.'
    await keys.press("Control+A")
    await keys.type("hills20")
    await keys.press("Enter")
    assert await page.evaluate("document.activeElement.textContent") == "Remove coupon"
    await focus(page, ".summary a.button")
    await keys.press("Enter")
    await page.wait_for_url("**/ucp/checkout.html")
    for field, text in PERSON.items():
        await focus(page, f"#{field}")
        await keys.type(text)
    await focus(page, "#pay")
    await keys.press("Enter")
    assert await page.evaluate("document.activeElement.textContent") == "Confirm the payment"
    assert await page.evaluate("shop.checkout().status") == "requires_escalation"
    await keys.press("Tab")
    await keys.press("Enter")
    await page.wait_for_url("**/ucp/confirmation.html?order=TH-1001")
    (order,) = await page.evaluate("shop.orders()")
    assert (order["payment"], order["total"]) == ("card", 190.4)


async def test_a_checkout_outlives_the_page_and_a_broken_store(open_shop: OpenShop) -> None:
    page = (await open_shop("ucp/product.html?id=brass-pen")).page
    await page.get_by_role("button", name="Add to cart").click()
    await page.goto(page.url.replace("product.html?id=brass-pen", "checkout.html"))
    await page.get_by_label("First name").fill("Ada")
    await page.get_by_label("Delivery").select_option("pickup")
    await page.reload()
    assert await page.get_by_label("First name").input_value() == "Ada"
    assert await page.evaluate("shop.checkout().delivery") == "pickup"
    assert not await page.get_by_label("City").is_visible()
    await page.evaluate("localStorage.setItem('tarnhill.ucp', '{broken')")
    await page.reload()
    assert await page.evaluate(IN_CART) == []
    gone = '{"lines": [{"id": "sold-last-year", "quantity": 1}], "code": "OLD"}'
    await page.evaluate("text => localStorage.setItem('tarnhill.ucp', text)", gone)
    await page.reload()
    assert await page.evaluate(IN_CART) == []
    assert await page.evaluate("shop.coupon()") is None


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1280])
async def test_every_page_is_fit_for_eyes_ears_and_small_screens(
    chromium: Browser, shop_address: str, scheme: Literal["light", "dark"], width: int
) -> None:
    """Nothing leaves the shop's origin either, and no page complains in the console."""
    context = await chromium.new_context(
        color_scheme=scheme, viewport={"width": width, "height": 800}
    )
    page = await context.new_page()
    complaints: list[str] = []
    requests: list[Request] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(error.message))
    page.on("response", lambda answer: None if answer.ok else complaints.append(answer.url))
    page.on("request", lambda request: requests.append(request))
    problems: dict[str, JsonValue] = {}
    face = f"{shop_address}ucp/"

    async def look(path: str | None = None) -> None:
        if path is not None:
            await page.goto(face + path)
        problems[f"{page.url} {path}"] = await page.evaluate(ACCESSIBILITY)

    for path in (
        "cart.html",
        "checkout.html",
        "confirmation.html?order=none",
        "policies.html",
        "product.html?id=messenger-bag",
        "product.html?id=none",
        "product.html?id=brass-pen",
        "index.html",
        "index.html?q=steel&category=kitchen&max=35",
        "product.html?id=trail-runner-2",
    ):
        await look(path)
    await page.get_by_role("button", name="Add to cart").click()
    await look()
    await look("cart.html?filled")
    await look("checkout.html?filled")
    for name, text in PERSON.items():
        await page.locator(f"#{name}").fill(text)
    await page.locator("#pay").click()
    await look()
    await page.get_by_role("button", name="Confirm and pay").click()
    await page.wait_for_url("**/confirmation.html?order=TH-1001")
    await look()
    await context.close()
    assert {path: found for path, found in problems.items() if found} == {}
    assert complaints == []
    assert [each.url for each in requests if not each.url.startswith(shop_address)] == []


async def test_without_webmcp_it_is_a_shop_like_any_other(
    chromium: Browser, shop_address: str
) -> None:
    page = await (await chromium.new_context()).new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(error.message))
    await page.add_init_script(
        "Object.defineProperty(document, 'modelContext', { value: undefined });"
    )
    await page.goto(f"{shop_address}ucp/product.html?id=trail-runner-2")
    await page.get_by_role("button", name="Add to cart").click()
    assert await page.evaluate(IN_CART) == [["Trail Runner 2, Blue / 39", 1]]
    await page.goto(f"{shop_address}ucp/checkout.html")
    for name, text in PERSON.items():
        await page.locator(f"#{name}").fill(text)
    await page.get_by_label("Test payment").check()
    await page.locator("#pay").click()
    await page.wait_for_url("**/confirmation.html?order=TH-1001")
    assert errors == []
    await page.context.close()


async def test_the_two_faces_keep_their_carts_apart(open_shop: OpenShop) -> None:
    tools = await open_shop("product.html?id=brass-pen")
    page = tools.page
    await page.get_by_role("button", name="Add to cart").click()
    await page.goto(page.url.replace("product.html", "ucp/product.html"))
    assert await page.evaluate("shop.count()") == 0
    await page.get_by_role("button", name="Add to cart").click()
    await page.goto(page.url.replace("ucp/product.html", "product.html"))
    assert await page.evaluate("shop.count()") == 1
