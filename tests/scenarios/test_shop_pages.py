"""The demo shop's pages in a real Chromium: keyboard, screen readers, small screens, no network."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal

import pytest
from playwright.async_api import Browser, Page, Request
from pydantic import JsonValue

from webmcp_agent.browser.page_tools import PageTools

OpenShop = Callable[[str], Awaitable[PageTools]]

ACCESSIBILITY = Path(__file__).with_name("accessibility.js").read_text(encoding="utf-8")

IN_CART = "() => shop.cart().map(({ id, quantity }) => [id, quantity])"


async def test_the_cart_outlives_the_page_and_a_broken_store(open_shop: OpenShop) -> None:
    tools = await open_shop("product.html?id=brass-pen")
    page = tools.page
    await page.get_by_role("button", name="Add to cart").click()
    await page.reload()
    assert await page.evaluate(IN_CART) == [["brass-pen", 1]]
    await page.evaluate("localStorage.setItem('tarnhill.cart', '{broken')")
    await page.reload()
    assert await page.evaluate(IN_CART) == []
    gone = '{"items": [{"id": "sold-last-year", "quantity": 1}], "coupon": "OLD"}'
    await page.evaluate("text => localStorage.setItem('tarnhill.cart', text)", gone)
    await page.reload()
    assert await page.evaluate(IN_CART) == []
    assert await page.evaluate("shop.coupon()") is None


async def focus(page: Page, selector: str) -> None:
    """Press Tab until what the selector names has the focus, at most once around the page."""
    for _ in range(80):
        await page.keyboard.press("Tab")
        if await page.evaluate("s => document.activeElement.matches(s)", selector):
            return
    raise AssertionError(f"Tab never reaches {selector}")


async def test_a_purchase_needs_nothing_but_a_keyboard(open_shop: OpenShop) -> None:
    page = (await open_shop("")).page
    keys = page.keyboard
    await keys.press("Tab")
    assert await page.evaluate("document.activeElement.textContent") == "Skip to content"
    await focus(page, "#find")
    await keys.type("trail shoes")
    await keys.press("Enter")
    await page.wait_for_url("**/index.html?q=trail+shoes")
    await keys.press("Tab")
    await keys.press("Enter")
    assert await page.evaluate("document.activeElement.id") == "main"
    await focus(page, "#filters [name=sort]")
    await keys.press("P")
    await focus(page, "#grid a")
    await keys.press("Enter")
    await page.wait_for_url("**/product.html?id=trail-runner-1")
    await focus(page, "#quantity")
    await keys.press("2")
    await keys.press("Enter")
    await focus(page, ".buy button")
    await keys.press("Enter")
    assert await page.locator("#notice").inner_text() == "Added 2 × Trail Runner 1 to the cart."
    assert await page.locator(".cart-link").get_attribute("aria-label") == "Cart, 2 items"
    await focus(page, ".held a")
    await keys.press("Enter")
    await page.wait_for_url("**/cart.html")
    await focus(page, "#code")
    await keys.type("nonsense")
    await keys.press("Enter")
    problem = page.get_by_role("alert")
    assert await problem.inner_text() == 'The coupon code "nonsense" is not valid.'
    await keys.press("Control+A")
    await keys.type("welcome10")
    await keys.press("Enter")
    assert await page.evaluate("document.activeElement.textContent") == "Remove coupon"
    await focus(page, ".summary a.button")
    await keys.press("Enter")
    await page.wait_for_url("**/checkout.html")
    for field, text in {
        "name": "Ada Vos",
        "email": "ada@example.org",
        "address": "Quay 7",
        "postcode": "1011",
        "city": "Haarlem",
    }.items():
        await focus(page, f"#{field}")
        await keys.type(text)
    await focus(page, "#order button")
    await keys.press("Enter")
    await page.wait_for_url("**/confirmation.html?order=TH-1001")
    assert (await page.evaluate("shop.orders()"))[0]["total"] == 142.2


async def test_removing_a_product_leaves_the_keyboard_somewhere(open_shop: OpenShop) -> None:
    tools = await open_shop("product.html?id=brass-pen")
    page = tools.page
    await page.get_by_role("button", name="Add to cart").click()
    await page.goto(page.url.replace("product.html?id=brass-pen", "cart.html"))
    await page.get_by_role("combobox", name="Quantity of Brass Pen").select_option("3")
    assert await page.evaluate("document.activeElement.id") in {"quantity-brass-pen", ""}
    await page.get_by_role("button", name="Remove Brass Pen").press("Enter")
    assert await page.evaluate("document.activeElement.tagName") == "H1"
    assert await page.locator("#notice").inner_text() == "Removed Brass Pen from the cart."


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

    async def look(path: str | None = None) -> None:
        if path is not None:
            await page.goto(shop_address + path)
        problems[f"{page.url} {path}"] = await page.evaluate(ACCESSIBILITY)

    for path in ("cart.html", "checkout.html", "confirmation.html?order=none"):
        await look(path)
    for path in ("product.html?id=messenger-bag", "product.html?id=none"):
        await look(path)
    await look("product.html?id=trail-runner-1")
    await page.get_by_role("button", name="Add to cart").click()
    await look("index.html")
    await look("index.html?q=steel&category=kitchen&max=35")
    await look("cart.html?filled")
    await page.get_by_label("Coupon code").fill("nonsense")
    await page.get_by_role("button", name="Apply").click()
    await look()
    await look("checkout.html?filled")
    for label in ("Name", "Email", "Street and number", "Postcode", "City"):
        await page.get_by_label(label, exact=True).fill("ada@example.org")
    await page.get_by_role("button", name="Place order").click()
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
    await page.goto(f"{shop_address}product.html?id=brass-pen")
    await page.get_by_role("button", name="Add to cart").click()
    assert await page.evaluate(IN_CART) == [["brass-pen", 1]]
    await page.goto(f"{shop_address}checkout.html")
    assert await page.get_by_role("heading", level=2, name="Your order").is_visible()
    assert errors == []
    await page.context.close()
