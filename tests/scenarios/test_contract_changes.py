"""What counts as breaking, compatible and cosmetic: tools, hints, texts, renames and pages."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from webmcp_agent.browser.tools import PageTool
from webmcp_agent.scenarios.contract import Contract, contract_of
from webmcp_agent.scenarios.contract_changes import differences

SEARCH = PageTool(
    "search_products",
    "Find products in the shop by words and category.",
    {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "Words to look for"},
            "category": {"type": "string", "enum": ["shoes", "bags"]},
        },
        "required": ["query"],
    },
    read_only=True,
)
CART = PageTool("view_cart", "Show what is in the cart.", read_only=True)
REVIEWS = PageTool("get_reviews", "Read what customers say.", read_only=True, untrusted=True)
FORM = PageTool("place_order", "Fill in the order form.", declarative=True)
FRAME = PageTool("pay", "Pay.", origin="https://pay.example")
TOOLS = [SEARCH, CART, REVIEWS, FORM, FRAME]

Changed = Callable[[PageTool], PageTool]


def with_tool(name: str, change: Changed) -> Contract:
    return contract_of({".": [change(tool) if tool.name == name else tool for tool in TOOLS]})


def shown(old: Contract, new: Contract) -> list[tuple[str, str, str]]:
    return [(each.level, each.kind, each.sentence) for each in differences(old, new)]


OF_TOOLS: list[tuple[str, str, Changed, list[tuple[str, str, str]]]] = [
    (
        "renamed",
        "search_products",
        lambda tool: replace(tool, name="find_products"),
        [
            (
                "breaking",
                "tool-renamed",
                "search_products: is gone; renamed to find_products? "
                "(breaks whoever calls search_products)",
            )
        ],
    ),
    (
        "renamed and changed",
        "view_cart",
        lambda tool: replace(tool, name="show_basket", read_only=False),
        [
            (
                "breaking",
                "read-only-lost",
                "show_basket: is no longer read-only (breaks whoever called it to look)",
            ),
            (
                "breaking",
                "tool-renamed",
                "view_cart: is gone; renamed to show_basket? (breaks whoever calls view_cart)",
            ),
        ],
    ),
    (
        "another one in its place",
        "get_reviews",
        lambda tool: PageTool("share_product", "Send a link to a friend."),
        [
            ("breaking", "tool-gone", "get_reviews: is gone (breaks whoever calls get_reviews)"),
            ("compatible", "tool-new", "share_product: is new"),
        ],
    ),
    (
        "reworded",
        "view_cart",
        lambda tool: replace(tool, description="Show what is in the cart, and the sum."),
        [
            (
                "cosmetic",
                "description-changed",
                'view_cart: the description is reworded: "Show what is in the cart, and the sum.", '
                'was "Show what is in the cart."',
            )
        ],
    ),
    (
        "rewritten",
        "view_cart",
        lambda tool: replace(tool, description="Everything a customer needs for checkout."),
        [
            (
                "cosmetic",
                "description-rewritten",
                "view_cart: the description is rewritten; a model may read it differently: "
                '"Everything a customer needs for checkout.", was "Show what is in the cart."',
            )
        ],
    ),
    ("blanks", "view_cart", lambda t: replace(t, description=" Show what is in  the cart.\n"), []),
    (
        "title",
        "view_cart",
        lambda tool: replace(tool, title="Cart"),
        [("cosmetic", "title-added", 'view_cart: the title is added: "Cart"')],
    ),
    (
        "consequential",
        "view_cart",
        lambda tool: replace(tool, consequential=True),
        [
            (
                "breaking",
                "consequential-gained",
                "view_cart: is consequential now "
                "(breaks runs that nobody watches: each call has to be approved)",
            )
        ],
    ),
    (
        "trusted",
        "get_reviews",
        lambda tool: replace(tool, untrusted=False),
        [
            (
                "compatible",
                "untrusted-lost",
                "get_reviews: no longer says that its answers hold other people's text",
            )
        ],
    ),
    (
        "a form that sends itself",
        "place_order",
        lambda tool: replace(tool, autosubmit=True),
        [
            (
                "breaking",
                "acts-by-itself",
                "place_order: takes effect without a person now "
                "(breaks whoever counts on a person to send the form)",
            )
        ],
    ),
    (
        "a script instead of a form",
        "place_order",
        lambda tool: replace(tool, declarative=False),
        [
            (
                "breaking",
                "acts-by-itself",
                "place_order: takes effect without a person now "
                "(breaks whoever counts on a person to send the form)",
            ),
            (
                "compatible",
                "opened",
                "place_order: the arguments: names that are not described are taken now",
            ),
        ],
    ),
    (
        "a form instead of a script",
        "view_cart",
        lambda tool: replace(tool, declarative=True, autosubmit=True),
        [
            (
                "breaking",
                "closed",
                "view_cart: the arguments: names that are not described are refused now "
                "(breaks calls with other names)",
            ),
            ("compatible", "form-changed", "view_cart: is a form now"),
        ],
    ),
    (
        "another frame",
        "pay",
        lambda tool: replace(tool, origin="https://bank.example"),
        [
            (
                "breaking",
                "origin-changed",
                "pay: comes from https://bank.example now "
                "(breaks whoever does not allow https://bank.example)",
            )
        ],
    ),
]


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [case[1:] for case in OF_TOOLS],
    ids=[case[0] for case in OF_TOOLS],
)
def test_each_change_of_a_tool_is_told_with_its_level_and_for_whom_it_breaks(
    name: str, change: Changed, told: list[tuple[str, str, str]]
) -> None:
    assert shown(with_tool(name, lambda tool: tool), with_tool(name, change)) == told


def test_equal_contracts_have_no_differences() -> None:
    contract = contract_of({".": TOOLS, "b.html": [CART]})
    assert differences(contract, contract_of({".": TOOLS[::-1], "b.html": [CART]})) == []


def test_of_two_tools_that_could_be_the_renamed_one_the_more_alike_is_named() -> None:
    new = [replace(CART, name="list_orders"), replace(CART, name="view_carts")]
    changes = differences(contract_of({".": [CART]}), contract_of({".": new}))
    assert [(each.tool, each.text) for each in changes] == [
        ("view_cart", "is gone; renamed to view_carts?"),
        ("list_orders", "is new"),
    ]


def test_a_change_of_several_pages_stands_once_and_names_them() -> None:
    old = contract_of({".": [CART], "a.html": [CART, REVIEWS], "b.html": [CART]})
    new = contract_of({".": [CART], "a.html": [REVIEWS], "b.html": []})
    assert [(each.tool, each.kind, each.pages) for each in differences(old, new)] == [
        ("view_cart", "tool-gone", ("a.html", "b.html"))
    ]


def test_a_page_that_is_gone_breaks_and_a_new_one_does_not() -> None:
    old, new = contract_of({".": [CART], "a.html": []}), contract_of({".": [CART], "b.html": []})
    assert shown(old, new) == [
        ("breaking", "page-gone", "the page a.html is gone (breaks whoever calls its tools)"),
        ("compatible", "page-new", "the page b.html is new"),
    ]
