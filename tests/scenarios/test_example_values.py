"""Values made up for what a file only describes: they match, or there are none."""

import re
from datetime import date

import pytest
from hypothesis import given, strategies as st
from pydantic import JsonValue

from webmcp_agent.scenarios.example_values import NoExample, example, missing_required
from webmcp_agent.scenarios.matching import checked_matcher, mismatch
from webmcp_agent.scenarios.pattern_example import pattern_example

VALUES: list[tuple[JsonValue, JsonValue, JsonValue]] = [
    ("mug", None, "mug"),
    ({"a": [1, {"$gt": 2}]}, None, {"a": [1, 3]}),
    ({"$contains": "shoe"}, None, "shoe"),
    ({"$contains": "shoe"}, {"enum": ["boots", "running shoes"]}, "running shoes"),
    ({"$pattern": "(?i)^running shoes?$"}, None, "running shoe"),
    ({"$pattern": "Bob.*Smith"}, None, "Bob Smith"),
    ({"$pattern": "555.*123.*4567"}, None, "555 123 4567"),
    ({"$pattern": "[Jj]acket"}, None, "Jacket"),
    ({"$pattern": "red|blue"}, {"enum": ["dark blue", "green"]}, "dark blue"),
    ({"$gt": 5}, None, 6),
    ({"$gte": 5}, None, 5),
    ({"$lt": 5}, None, 4),
    ({"$lte": 120}, {"type": "number", "default": 80}, 80),
    ({"$gt": 1, "$lt": 2}, None, 1.5),
    ({"$gt": 1, "$lte": 1.01}, None, 1.01),
    ({"$type": "number"}, None, 1),
    ({"$type": "string"}, {"format": "time"}, "12:30"),
    ({"$type": "object"}, None, {}),
    ({"$any": True}, {"type": "integer", "minimum": 3}, 3),
    ({"$any": True}, {"type": "boolean"}, True),
    ({"$any": True}, {"const": "x"}, "x"),
    ({"$any": True}, None, "example"),
]


@pytest.mark.parametrize(("expected", "schema", "value"), VALUES)
def test_a_value_is_made_up_that_matches(
    expected: JsonValue, schema: JsonValue, value: JsonValue
) -> None:
    checked_matcher(expected)
    assert example(expected, schema) == value
    assert mismatch(expected, value) is None


def test_a_date_is_one_to_come() -> None:
    described: list[tuple[JsonValue, str]] = [({"format": "date"}, "when"), (None, "arrivalDate")]
    for schema, name in described:
        value = example({"$type": "string"}, schema, name)
        assert isinstance(value, str)
        assert date.fromisoformat(value) >= date.today()


NONE: list[tuple[JsonValue, JsonValue, str]] = [
    ({"$gt": 5, "$lt": 5}, None, 'n: {"$gt": 5, "$lt": 5}'),
    ({"$pattern": "(?=a)b"}, None, 'n: {"$pattern": "(?=a)b"}'),
    ({"$pattern": "^a$"}, {"enum": ["b"]}, 'n: {"$pattern": "^a$"}'),
    ({"$type": "string"}, {"type": "integer"}, 'n: {"$type": "string"}'),
    ({"m": [{"$gt": 1, "$lt": 1}]}, None, 'n.m[0]: {"$gt": 1, "$lt": 1}'),
]


@pytest.mark.parametrize(("expected", "schema", "told"), NONE)
def test_where_there_is_no_value_the_place_is_told(
    expected: JsonValue, schema: JsonValue, told: str
) -> None:
    with pytest.raises(NoExample) as none:
        example(expected, schema, "n")
    assert str(none.value) == f"there is no value to be made up for {told}"


PATTERNS = [
    ("^abc$", "abc"),
    (r"\d{3}-\d{4}", "111-1111"),
    (r"^\w+@\w+\.example$", "a@a.example"),
    ("(cat|dog)s", "cats"),
    ("(?:a)(?<n>b)", "ab"),
    ("[^a]x", "1x"),
    (r"[\d-]", "1"),
    ("colou?r", "color"),
    ("a{2,3}?", "aa"),
    (r"\(\.\)", "(.)"),
]


@pytest.mark.parametrize(("pattern", "text"), PATTERNS)
def test_a_pattern_has_an_example(pattern: str, text: str) -> None:
    assert next(pattern_example(pattern)) == text


@pytest.mark.parametrize("pattern", ["(?<=a)b", r"\1", r"\p{L}", "(a", "[a", "a{2", "*", "a{999}"])
def test_a_pattern_that_is_not_understood_has_none(pattern: str) -> None:
    assert list(pattern_example(pattern)) == []


@given(st.text("ab.*+?|()[]{}^$\\d1-,", max_size=12))
def test_no_pattern_is_too_odd(pattern: str) -> None:
    for text in pattern_example(pattern):
        assert isinstance(text, str)


@given(st.text(st.characters(codec="utf-8"), max_size=20))
def test_a_literal_text_is_its_own_example(text: str) -> None:
    escaped = re.sub(r"[\\^$.*+?()\[\]{}|]", r"\\\g<0>", text)
    assert next(pattern_example(escaped)) == text


def test_required_arguments_that_are_missing_are_named() -> None:
    schema: JsonValue = {"required": ["id", "n"]}
    assert missing_required({"n": 1}, schema) == ["id"]
    assert missing_required({"n": 1}, None) == []
