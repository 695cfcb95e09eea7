import json

import pytest
from hypothesis import given, strategies as st

from webmcp_agent.agent.wording import cut, error_line, gist, names_text, one_line, steps_text

MUGS = [{"title": title} for title in ("Blue mug", "Red mug", "Mug rack", "Tea cup")]


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ('{"message":"Added Blue mug to the cart.","cart":{"n":1}}', "Added Blue mug to the cart."),
        (json.dumps({"results": MUGS}), "4 results: Blue mug, Red mug, Mug rack, …"),
        ('{"results":[{"id":7,"title":"Blue mug"}]}', "1 result: Blue mug"),
        ("[]", "0 results"),
        ("[1,2]", "2 results: 1, 2"),
        ('{"ok":true,"total":12.5}', "ok: true, total: 12.5"),
        ('{"a":{"b":1}}', ""),
        ("Plain answer.  With   spaces", "Plain answer. With spaces"),
        ('{"message":"  ","items":[{"name":"Mug","id":1},{"id":2},{}]}', "3 items: Mug, 2"),
        ('[{"id":true},null,[1],false]', "4 results: true, …"),
        ('{"ucp":{"status":"success"},"product":{"title":"Blue mug"}}', "Blue mug"),
        ('{"line_items":[{"id":1,"item":{"title":"Mug"}}]}', "1 line_item: Mug"),
        ('{"results":[{"title":"Blue mug"},"… 19 more",{"all 20":{}}]}', "20 results: Blue mug, …"),
        ("{}", ""),
        ("", ""),
        ("7", "7"),
        ('{"a": ' + "[" * 2_000, '{"a": ' + "[" * 193 + "…"),
        ("9" * 5_000, "9" * 199 + "…"),
    ],
)
def test_the_gist_of_a_result_is_what_it_says_in_short(text: str, short: str) -> None:
    assert gist(text) == short


@given(st.text() | st.text('[]{}":,0e-\\u'))
def test_every_text_has_a_gist_of_one_short_line(text: str) -> None:
    """C-08."""
    said = gist(text)
    assert len(said) <= 200
    assert said == " ".join(said.split())


def test_a_cut_text_has_the_limits_length_with_its_mark() -> None:
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abcdefg", 6) == "abcde…"
    assert one_line(" a\n\tb  c ", 4) == "a b…"


def test_counts_and_names_are_put_in_words() -> None:
    assert [steps_text(1), steps_text(2)] == ["1 step", "2 steps"]
    assert [names_text([]), names_text(["a", "b"])] == ["none", "a, b"]
    assert error_line("failed", "Out of stock") == "Error [failed]: Out of stock"
