from hypothesis import given, strategies as st
from pydantic import JsonValue

from webmcp_agent.agent.repetition import Repetition

json_values: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
objects: st.SearchStrategy[dict[str, JsonValue]] = st.dictionaries(st.text(), json_values)


def test_the_same_call_with_the_same_answer_is_told_once_and_then_stops() -> None:
    calls = Repetition()
    assert [calls.seen("list_rows", {}, "row 1, row 2") for _ in range(4)] == [
        "new",
        "first",
        "again",
        "again",
    ]


def test_key_order_and_the_spelling_of_whole_numbers_make_no_other_call() -> None:
    calls = Repetition()
    assert [
        calls.seen("add_note", {"text": "a", "at": {"row": 1, "of": [2.0]}}, "ok"),
        calls.seen("add_note", {"at": {"of": [2], "row": 1.0}, "text": "a"}, "ok"),
        calls.seen("add_note", {"text": "a", "at": {"row": 1, "of": [2]}}, "ok"),
    ] == ["new", "first", "again"]


def test_other_arguments_or_another_tool_are_other_calls() -> None:
    calls = Repetition()
    assert [
        calls.seen("water", {"row": 1}, "ok"),
        calls.seen("water", {"row": True}, "ok"),
        calls.seen("water", {"row": "1"}, "ok"),
        calls.seen("water", {"row": 1.5}, "ok"),
        calls.seen("water", {}, "ok"),
        calls.seen("weed", {"row": 1}, "ok"),
    ] == ["new"] * 6


def test_a_new_answer_is_never_a_repeat() -> None:
    calls = Repetition()
    answers = ["loading 10%", "loading 60%", "ready"]
    assert [calls.seen("list_rows", {}, answer) for answer in answers] == ["new"] * 3


def test_an_answer_from_before_the_last_one_is_a_repeat() -> None:
    calls = Repetition()
    assert [calls.seen("toggle", {}, answer) for answer in ["on", "off", "on", "off"]] == [
        "new",
        "new",
        "first",
        "again",
    ]


def test_two_calls_in_turn_stop_at_the_third_of_the_first() -> None:
    calls = Repetition()
    assert [
        calls.seen("list_rows", {}, "x"),
        calls.seen("add_note", {"text": "x"}, "ok"),
        calls.seen("list_rows", {}, "x"),
        calls.seen("add_note", {"text": "x"}, "ok"),
        calls.seen("list_rows", {}, "x"),
    ] == ["new", "new", "first", "first", "again"]


def test_an_error_answer_counts() -> None:
    calls = Repetition()
    assert [calls.seen("water", {}, "Error [failed]: dry") for _ in range(3)] == [
        "new",
        "first",
        "again",
    ]


@given(st.text(), objects, st.text())
def test_any_call_repeats_itself(name: str, args: dict[str, JsonValue], answer: str) -> None:
    calls = Repetition()
    backwards = dict(reversed(args.items()))
    assert [calls.seen(name, given, answer) for given in (args, backwards, args)] == [
        "new",
        "first",
        "again",
    ]
