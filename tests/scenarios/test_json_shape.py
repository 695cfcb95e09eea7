"""The shape of an answer, and how it differs from an earlier one."""

import pytest
from hypothesis import given, strategies as st
from pydantic import JsonValue

from webmcp_agent.scenarios.json_shape import (
    leaves,
    path_text,
    shape_changes,
    value_at,
    with_value,
)

FOUND: JsonValue = {"results": [{"id": "a", "price": 1}, {"id": "b", "price": 2.5}], "total": 2}

CHANGES: list[tuple[str, JsonValue, JsonValue, list[str]]] = [
    ("the same", FOUND, FOUND, []),
    (
        "other texts and numbers",
        FOUND,
        {"results": [{"id": "z", "price": 9}], "total": 1},
        [],
    ),
    ("prose is prose", "Opening the mug.", "Opening the lamp, 3 euros.", []),
    ("a key is gone", {"a": 1, "b": 2}, {"a": 1}, ["! b is gone"]),
    ("a key is new", {"a": 1}, {"a": 1, "b": 2}, ["b is new"]),
    ("a key has another name", {"id": 1}, {"sku": 1}, ["! id is gone", "sku is new"]),
    ("another kind", {"id": "7"}, {"id": 7}, ["! id is number, was string"]),
    ("a list of one", {"item": {}}, {"item": [{}]}, ["! item is array, was object"]),
    ("prose instead of data", FOUND, "2 found", ["!  is string, was object"]),
    (
        "deep in a list",
        FOUND,
        {"results": [{"id": "a", "price": "1 euro"}], "total": 1},
        ["! results[].price is string, was number"],
    ),
    ("no items now", FOUND, {"results": [], "total": 0}, ["results[] there is none now"]),
    ("items where none were", {"results": []}, {"results": [1]}, []),
    ("null now", {"coupon": "X"}, {"coupon": None}, ["coupon is null, was string"]),
    ("no longer null", {"coupon": None}, {"coupon": "X"}, []),
    ("now and then null", {"a": [{"b": 1}, {"b": None}]}, {"a": [{"b": 2}]}, []),
    ("only some had it", {"a": [{"b": 1}, {}]}, {"a": [{}]}, []),
    ("mixed kinds stay allowed", {"a": [1, "b"]}, {"a": ["b"]}, []),
]


@pytest.mark.parametrize(
    ("before", "after", "told"), [row[1:] for row in CHANGES], ids=[row[0] for row in CHANGES]
)
def test_a_change_of_shape_is_told_and_what_is_gone_breaks(
    before: JsonValue, after: JsonValue, told: list[str]
) -> None:
    changes = shape_changes(before, after)
    assert [
        f"{'! ' if change.breaks else ''}{change.place} {change.text}" for change in changes
    ] == told


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=12,
)


@given(JSON)
def test_no_value_differs_from_itself(value: JsonValue) -> None:
    assert shape_changes(value, value) == []


@given(JSON)
def test_each_leaf_is_at_its_place_and_can_be_put_there(value: JsonValue) -> None:
    for path, leaf in leaves(value):
        assert value_at(value, path) == leaf
        assert value_at(with_value(value, path, "new"), path) == "new"


def test_a_place_that_is_not_there_is_named() -> None:
    assert path_text(("results", 0, "id")) == "results[0].id"
    with pytest.raises(LookupError, match=r"results\[2\]\.id"):
        value_at(FOUND, ("results", 2, "id"))
