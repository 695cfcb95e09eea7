import pytest
from hypothesis import given, strategies as st

from webmcp_agent.agent.corrections import (
    announced_tool,
    claims_success,
    echoes,
    ignores_failure,
    is_action,
    only_judges,
    told_tool,
)
from webmcp_agent.browser.tools import PageTool

ADD = PageTool("add_to_cart", "Put a product into the cart")
SEARCH = PageTool("search_products", "Search the shop")
OPEN = PageTool("open_product", "Open a product's page")
CHECKOUT = PageTool("checkout", "Pay for the cart", title="Pay now")
SHOP = [ADD, SEARCH, OPEN, CHECKOUT]
WATER = PageTool("water_row", "Water one row of the greenhouse")

anything = st.text() | st.text("aeidtsuw yor'.?!:,;\n<>*_`{}[]\"'-1")


@pytest.mark.parametrize(
    "request_text",
    [
        "Add the blue mug to my cart",
        "can you buy two mugs?",
        "Please book a table for 2",
        "I'd like a table for two at 7pm",
        "I’d like a table for two at 7pm",
        "I want to cancel my order",
        "ok, do it",
        "yes please",
        "Yes, please do.",
        "go ahead",
        "Thanks! Now remove it.",
        "help me find a mug",
        "The mug is nice. Could you please just add it?",
        "Hi, let's compare them",
        "- add the red one\n- remove the blue one",
    ],
)
def test_a_request_for_something_to_be_done_is_an_action(request_text: str) -> None:
    """A-066, A-068"""
    assert is_action(request_text, SHOP) is True


@pytest.mark.parametrize(
    "request_text",
    [
        "What is in my cart?",
        "How do I add it to the cart?",
        "The mug is nice",
        "Don't add it to the cart",
        "Please don’t add it",
        "Is the mug dishwasher safe? If so add it.",
        "Could you maybe",
        "Let's not",
        "I don't want it",
        "Thanks!",
        "hello",
        "yes, but in which size?",
        "",
        "Füge die blaue Tasse hinzu",
    ],
)
def test_a_question_or_a_remark_is_no_action(request_text: str) -> None:
    """A-068"""
    assert is_action(request_text, SHOP) is False


def test_the_first_word_of_a_tools_name_is_a_verb_on_its_page() -> None:
    assert is_action("Water row 3.", [WATER]) is True
    assert is_action("Water row 3.", SHOP) is False
    assert is_action("can you water row 3", [WATER]) is True


@pytest.mark.parametrize("name", ["is_open", "has_stock", "my_orders", "---"])
def test_a_tools_first_word_that_says_nothing_makes_no_action(name: str) -> None:
    requests = ["is it open", "has it stock", "my order is late", "---"]
    assert [is_action(text, [PageTool(name, "")]) for text in requests] == [False] * 4


@pytest.mark.parametrize(
    ("reply", "tool"),
    [
        ("You can click Add to cart on the product page.", "add_to_cart"),
        ('To buy it, click the "Add to Cart" button, then checkout.', "add_to_cart"),
        ("Please use the search_products tool to find it.", "search_products"),
        ("Just press Pay now.", "checkout"),
        ("Go to checkout.", "checkout"),
        ("**Click** `add_to_cart`", "add_to_cart"),
        ("Sure!\n1. Use **searchProducts**.", "search_products"),
        ("You’ll need to open the product yourself.", "open_product"),
        ("I added it to the cart.", None),
        ("I'll add to cart now.", None),
        ("Sure, I’ll just use search_products.", None),
        ("Done, please use add_to_cart again.", None),
        ("You could visit the store.", None),
        ("Which product should I add to the cart?", None),
        ("The mug costs 8 euros.", None),
        ("The add_to_cart tool is here.", None),
        ("", None),
    ],
)
def test_a_reply_that_hands_the_work_back_names_the_shown_tool(
    reply: str, tool: str | None
) -> None:
    """A-066, A-068"""
    assert told_tool(reply, SHOP) == tool


@pytest.mark.parametrize(
    ("reply", "tool"),
    [
        ("I'll add to cart now.", "add_to_cart"),
        ("Sure, I’ll just use search_products.", "search_products"),
        (
            'The ids are unknown. I will try the "search_products" function instead.',
            "search_products",
        ),
        ("The cart is empty, so I need to call the open_product tool again.", "open_product"),
        ("Let me first use searchProducts.", "search_products"),
        ("I will add it. Shall I open_product first?", None),
        ("I need to know your email before I checkout.", None),
        ("I will need your size to add to cart.", None),
        ("I used search_products.", None),
        ("You can use search_products.", None),
        ("I will keep it in mind.", None),
        ("", None),
    ],
)
def test_a_reply_that_only_announces_a_call_names_the_tool(reply: str, tool: str | None) -> None:
    assert announced_tool(reply, SHOP) == tool


@pytest.mark.parametrize(
    ("reply", "judges"),
    [
        ("The result above answers your request.", True),
        ("The result does not answer your question.", True),
        ("Yes, the tool result fully satisfies the request!", True),
        ("This output doesn't answer it", True),
        ("The result above answers your request. The mug costs 8 euros.", False),
        ("The result is 8 euros.", False),
        ("The result answers it: 8 euros", False),
        ("", False),
    ],
)
def test_a_reply_that_only_judges_the_result_says_nothing_of_it(reply: str, judges: bool) -> None:
    assert only_judges(reply) is judges


def test_an_explanation_instead_of_a_call_is_work_handed_back() -> None:
    reply = "To water row 3, use the water_row tool with row = 3. Let me know how it goes!"
    assert told_tool(reply, [WATER]) == "water_row"


def test_a_tool_that_is_not_shown_is_not_named() -> None:
    """A-068"""
    assert told_tool("You can click Add to cart.", [SEARCH, OPEN]) is None


def test_a_name_of_one_word_is_not_found_inside_a_longer_name() -> None:
    tools = [PageTool("open", "Open it"), PageTool("cart.v2", "")]
    assert told_tool("Please use open_product.", tools) is None
    assert told_tool("Please use cart.open to do it.", tools) is None
    assert told_tool("Please use Open.", tools) == "open"


def test_the_name_with_the_most_words_wins_and_then_the_first_tool() -> None:
    tools = [PageTool("cart", ""), PageTool("view_cart", ""), PageTool("cart_view", "")]
    assert told_tool("Just view the cart.", tools) == "view_cart"


@pytest.mark.parametrize(
    "reply",
    [
        "Done! I added the blue mug to your cart.",
        "Your cart has 2 items.",
        "Great choice!",
        "",
    ],
)
def test_a_reply_that_passes_over_the_failure_ignores_it(reply: str) -> None:
    """A-062"""
    assert ignores_failure(reply, "Out of stock: blue mug") is True
    assert ignores_failure(reply, "Error [failed]: Out of stock: blue mug") is True


@pytest.mark.parametrize(
    "reply",
    [
        "I couldn't add it: it is out of stock.",
        "I couldn’t do that.",
        "The blue mug is out of stock.",
        "Which size do you want?",
        "Shall I look for another one? **",
        "It's not available right now.",
        "That went wrong.",
    ],
)
def test_a_reply_that_admits_the_failure_or_asks_does_not_ignore_it(reply: str) -> None:
    """A-065"""
    assert ignores_failure(reply, "Out of stock: blue mug") is False
    assert ignores_failure(reply, "Error [failed]: Out of stock: blue mug") is False


def test_an_error_without_words_is_ignored_by_a_cheerful_reply() -> None:
    assert ignores_failure("All done!", "Error [failed]: !!!") is True


@pytest.mark.parametrize(
    "reply",
    [
        "Done.",
        "Done! I have watered row 3 for you.",
        "I have watered row 3.",
        "I’ve just watered it.",
        "I added the blue mug to your cart.",
        "The blue mug has been added to your cart.",
        "It is now in your cart.",
        "Your table is booked.",
        "Your order was placed successfully.",
        "Your two blue mugs are now reserved.",
        "All set!",
        "**All set!**",
        "It's done.",
        "I found two mugs for you.",
        "Ok, I booked it.",
        "✅ Done: row 3",
        "The mug costs 8 euros.\nI added it.",
    ],
)
def test_a_reply_that_says_it_is_done_claims_success(reply: str) -> None:
    """C-42"""
    assert claims_success(reply) is True


@pytest.mark.parametrize(
    "reply",
    [
        "The mug costs 8 euros.",
        "I couldn't add it.",
        "I will add it now.",
        "I'll have it added.",
        "Which size do you want?",
        "You can add it to the cart.",
        "Once it has been added, open the cart.",
        "Then, once it has been added, open the cart.",
        "The cart was empty.",
        "I need your address first.",
        "This shop is called Mugs & Co.",
        "Set the date first.",
        "I added it. Is that right?",
        "It sells ferry tickets.",
        "Sorry, your order was not placed successfully.",
        "",
    ],
)
def test_a_reply_that_promises_asks_or_tells_claims_nothing(reply: str) -> None:
    assert claims_success(reply) is False


RESULT = '{"results": [{"id": 7, "title": "Blue mug"}]}'
ADDED = "Added Blue mug to the cart."
PAGE = "Our mugs are made by hand in a small workshop by the sea. They come in three sizes."


@pytest.mark.parametrize(
    ("reply", "result"),
    [
        ('{ "results":[{"id":7,  "title":"Blue mug"} ] }', RESULT),
        ('```json\n{"results": [{"id": 7, "title": "Blue mug"}]}\n```', RESULT),
        ("results: id: 7, title: Blue mug", RESULT),
        (ADDED, ADDED),
        ("**added blue mug to the cart.**", ADDED),
        ("Added the Blue mug to the cart.", ADDED),
        ("I added Blue mug to the cart.", ADDED),
        ('{"ok":true}', "anything"),
        ("[]", "anything"),
        ("They are made by hand in a small workshop by the sea.", PAGE.replace("Our mugs", "They")),
        (PAGE, f"[page content] {PAGE} [/page content]"),
        (f"[page content] {ADDED} [/page content]", ADDED),
        ("x" + "Row 12 is dry, row 13 is wet. " * 99, "Row 12 is dry, row 13 is wet. " * 99),
        ("Row 12 is dry, row 14 is wet. " * 33, "Row 12 is dry, row 13 is wet. " * 33),
        (PAGE[:60] + "…", PAGE),
    ],
)
def test_a_reply_that_only_repeats_a_result_is_an_echo(reply: str, result: str) -> None:
    """A-069"""
    assert echoes(reply, ["earlier", result]) is True


@pytest.mark.parametrize(
    ("reply", "results"),
    [
        ("I found two mugs: Blue mug for 8 and Red mug for 9.", [RESULT]),
        ("The Blue mug is now in your cart.", [ADDED]),
        ("Blue mug", [RESULT]),
        ('{"ok":true}', []),
        (ADDED, []),
        ("Done.", ["", "{}", '""']),
        ("()", ["{}"]),
        ('{"ok":', ["anything"]),
        ("Three sizes, made by hand.", [PAGE]),
        ("", [""]),
    ],
)
def test_a_reply_in_other_words_is_no_echo(reply: str, results: list[str]) -> None:
    assert echoes(reply, results) is False


@given(anything, anything)
def test_no_text_makes_a_judgement_fail(text: str, other: str) -> None:
    """C-08."""
    tools = [PageTool(other, other, title=text), *SHOP]
    assert is_action(text, tools) in {True, False}
    names = {None, *(tool.name for tool in tools)}
    assert told_tool(text, tools) in names
    assert announced_tool(text, tools) in names
    assert ignores_failure(text, other) in {True, False}
    assert claims_success(text) in {True, False}
    assert echoes(text, [other, text]) in {True, False}


@given(st.text(min_size=1))
def test_a_result_repeated_as_it_is_always_is_an_echo_once_it_has_letters(text: str) -> None:
    assert echoes(f"x{text}", [f"x{text}"]) is True
