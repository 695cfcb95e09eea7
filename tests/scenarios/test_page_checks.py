"""Checks of elements, of what is stored and of the address, on the real shop."""

from collections.abc import Awaitable, Callable

import pytest
from pydantic import JsonValue, TypeAdapter, ValidationError

from webmcp_agent.browser.page_tools import PageTools
from webmcp_agent.scenarios.checks import Checks
from webmcp_agent.scenarios.page_checks import PageCheck

OpenShop = Callable[[str], Awaitable[PageTools]]
CHECK: TypeAdapter[PageCheck] = TypeAdapter(PageCheck)

SHOWN: list[tuple[dict[str, JsonValue], str | None]] = [
    ({"text": "two of them"}, None),
    ({"text": ["One of", "them, two"]}, None),
    (
        {"text": "Two of them"},
        "the page does not say 'Two of them' but \"One of them, two of them\"",
    ),
    ({"not_text": "three"}, None),
    ({"not_text": ["three", "two"]}, "the page says 'two'"),
    ({"matches": "^One .* them$"}, None),
    ({"matches": "^two"}, "the page does not match '^two': \"One of them, two of them\""),
    ({"selector": "p", "count": 2}, None),
    ({"selector": "p", "count": 3}, "p is there 2 times, not 3 times"),
    ({"selector": ".none", "count": 0}, None),
    ({"selector": "p", "text": ["One", "two"]}, None),
    ({"selector": "p", "text": "three"}, "p does not say 'three' but 2 elements"),
    ({"selector": "p", "visible": True}, None),
    ({"selector": "#hidden", "visible": False}, None),
    ({"selector": "#hidden", "visible": True}, "#hidden cannot be seen"),
    ({"selector": "p", "visible": False}, "p can be seen"),
    ({"selector": ".none", "visible": False}, None),
    ({"selector": "input", "value": "mug"}, None),
    ({"selector": "input", "value": "cup"}, 'input holds ["mug"], not "cup"'),
    ({"selector": "input", "attributes": {"name": "q", "disabled": None}}, None),
    (
        {"selector": "input", "attributes": {"name": "r"}},
        'input has [{"name": "q"}], not {"name": "r"}',
    ),
    ({"selector": "text=two of them", "count": 1}, None),
    ({"local_storage": "cart", "equals": [{"n": 1}]}, None),
    ({"local_storage": "cart", "like": [{"n": {"$gte": 1}}]}, None),
    ({"local_storage": "cart", "equals": []}, "localStorage 'cart' is [{\"n\": 1}], not []"),
    ({"local_storage": "name", "equals": "a b"}, None),
    ({"local_storage": "none", "equals": None}, None),
    (
        {"local_storage": "cart", "like": [{"n": {"$gt": 1}}]},
        "localStorage 'cart' differs: [1].n is 1, not more than 1",
    ),
    ({"js": "({ a: 1, b: 2 })", "like": {"a": 1}}, None),
    ({"js": "1 + 1", "like": {"$lt": 2}}, "1 + 1 is 2, not less than 2"),
]
BODY = "<p>One of   them,</p><p>two of them</p><i id=hidden hidden>x</i><input name=q value=mug>"


@pytest.mark.parametrize(("given", "wrong"), SHOWN, ids=[str(row[0])[:70] for row in SHOWN])
async def test_a_page_is_as_it_should_be_or_the_difference_is_told(
    given: dict[str, JsonValue], wrong: str | None, open_shop: OpenShop
) -> None:
    page = (await open_shop("")).page
    await page.evaluate(
        "body => { document.body.innerHTML = body; localStorage.cart = '[{\"n\":1}]'; "
        "localStorage.name = 'a b'; }",
        BODY,
    )
    failures = await CHECK.validate_python({**given, "within_ms": 0}).judge(page)
    assert [failure.message for failure in failures] == ([] if wrong is None else [wrong])


async def test_elements_and_addresses_are_waited_for(open_shop: OpenShop) -> None:
    page = (await open_shop("")).page
    await page.evaluate(
        "() => { const look = () => { document.body.dataset.looks ??= 0; "
        "if (++document.body.dataset.looks < 3) return requestAnimationFrame(look); "
        "document.body.innerHTML = '<b>Added</b>'; history.pushState(null, '', '?added'); }; "
        "setTimeout(look, 200); }"
    )
    checks = Checks.model_validate({"page": [{"text": "Added"}], "url": r"\?added$"})
    assert await checks.judge_page(page.url, page) == []


async def test_a_selector_that_is_none_fails_with_its_reason(open_shop: OpenShop) -> None:
    page = (await open_shop("")).page
    check = CHECK.validate_python({"selector": "p[", "count": 1, "within_ms": 0})
    (failure,) = await check.judge(page)
    assert failure.message.startswith("p[ could not be evaluated (")


REFUSED: list[tuple[dict[str, JsonValue], str]] = [
    ({}, "there is nothing to check"),
    ({"selector": "p"}, "there is nothing to check"),
    ({"js": "1"}, "give either 'equals' or 'like'"),
    ({"local_storage": "a", "equals": 1, "like": 1}, "give either 'equals' or 'like'"),
    ({"js": "1", "equals": 1, "text": "a"}, "Extra inputs are not permitted"),
    ({"matches": "("}, "cannot be used"),
    ({"local_storage": "a", "like": {"$near": 1}}, "there is no operator '$near'"),
]


@pytest.mark.parametrize(("given", "told"), REFUSED)
def test_a_check_that_checks_nothing_or_two_things_is_refused(
    given: dict[str, JsonValue], told: str
) -> None:
    with pytest.raises(ValidationError, match=told.replace("$", r"\$")):
        CHECK.validate_python(given)
