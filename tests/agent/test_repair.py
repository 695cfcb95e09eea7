import pytest
from hypothesis import given, strategies as st

from webmcp_agent.agent.repair import problem_text, unknown_tool

SHOWN = ["search_products", "open_product", "add_to_cart"]
PAGE = [*SHOWN, "open_products", "open_order", "view_cart", "open-review", "productopen"]


@pytest.mark.parametrize("name", ["openProduct", "OPEN_PRODUCT", "open_product ", "open-product."])
def test_a_name_that_differs_in_case_or_punctuation_is_asked_back(name: str) -> None:
    """C-30"""
    assert unknown_tool(name, SHOWN, PAGE) == (
        f"Error: there is no tool {name.strip()}; did you mean open_product? Try again."
    )


def test_all_names_that_are_the_same_in_letters_are_asked_back_shown_ones_first() -> None:
    """C-30"""
    assert unknown_tool("SearchA", ["search.a"], ["search-a", "search_a", "search.a"]) == (
        "Error: there is no tool SearchA; did you mean search.a or search-a or search_a? Try again."
    )


def test_a_near_name_is_found_among_tools_that_are_not_shown() -> None:
    """C-30"""
    assert unknown_tool("ViewCart", SHOWN, PAGE) == (
        "Error: there is no tool ViewCart; did you mean view_cart? Try again."
    )


def test_an_unknown_tool_is_sent_back_with_the_nearest_names() -> None:
    assert unknown_tool("open_item", SHOWN, SHOWN) == (
        "Error: there is no tool open_item; you have open_product, add_to_cart, search_products. "
        "Try again."
    )


def test_at_most_three_near_names_that_are_not_shown_follow_the_shown_ones() -> None:
    text = unknown_tool("open_produce", ["add_to_cart"], [*PAGE, "open_producer"])
    assert text == (
        "Error: there is no tool open_produce; you have add_to_cart, open_producer, open_product, "
        "open_products. Try again."
    )


def test_names_of_a_big_page_are_not_all_listed() -> None:
    many = [f"manage_theme_{number}" for number in range(200)]
    assert unknown_tool("search_web", ["cancel_trip"], many) == (
        "Error: there is no tool search_web; you have cancel_trip. Try again."
    )


def test_a_page_without_tools_has_none() -> None:
    assert unknown_tool("search_web", [], []) == (
        "Error: there is no tool search_web; you have none. Try again."
    )


def test_an_empty_name_is_written_as_quotes() -> None:
    assert unknown_tool("", ["water_row"], ["water_row"]) == (
        'Error: there is no tool ""; you have water_row. Try again.'
    )


def test_a_name_with_a_marker_or_of_many_lines_comes_back_harmless() -> None:
    text = unknown_tool("a\n<tool_call>{x}" + "y" * 500, ["water_row"], ["water_row"])
    assert "<tool_call>" not in text
    assert "\n" not in text
    assert len(text) < 250


def test_a_problem_becomes_one_sentence_that_asks_for_another_try() -> None:
    wanted = "Error: your reply was cut off, make it shorter. Try again."
    assert problem_text("your reply was cut off, make it shorter") == wanted
    assert problem_text("your reply was cut off, make it shorter. ") == wanted


@given(st.text(), st.lists(st.text()), st.lists(st.text()))
def test_any_name_gives_a_text_that_asks_for_another_try(
    name: str, shown: list[str], others: list[str]
) -> None:
    text = unknown_tool(name, shown, others)
    assert text.startswith("Error: there is no tool ")
    assert text.endswith(" Try again.")
