"""Values that came from an earlier answer: found when recorded, taken anew when replayed."""

import pytest
from hypothesis import given, strategies as st
from pydantic import JsonValue

from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.replay_links import (
    LinkBroken,
    answer_value,
    links_of,
    referred,
    with_links,
)

FOUND: JsonValue = {
    "results": [{"id": "blue-mug", "n": 7, "title": "Blue Mug"}, {"id": "red-mug", "n": 8}],
    "category": "kitchen",
}

LINKED: list[tuple[str, JsonObject, list[JsonValue], str, list[str]]] = [
    ("an id", {"id": "blue-mug"}, [FOUND], "Add a mug", ["id ← results[0].id of call 1 (t)"]),
    ("another name", {"sku": "red-mug"}, [FOUND], "", ["sku ← results[1].id of call 1 (t)"]),
    (
        "a number of the same name",
        {"item_n": 8},
        [FOUND],
        "",
        ["item_n ← results[1].n of call 1 (t)"],
    ),
    (
        "camel case",
        {"productId": "blue-mug"},
        [FOUND],
        "",
        ["productId ← results[0].id of call 1 (t)"],
    ),
    ("plural", {"ids": ["blue-mug"]}, [FOUND], "", ["ids[0] ← results[0].id of call 1 (t)"]),
    (
        "the latest answer",
        {"id": "blue-mug"},
        [FOUND, {"id": "blue-mug"}],
        "",
        ["id ← id of call 2 (t)"],
    ),
    (
        "the place that is called alike",
        {"id": "blue-mug"},
        [FOUND, {"name": "blue-mug"}],
        "",
        ["id ← results[0].id of call 1 (t)"],
    ),
    (
        "deep in the arguments",
        {"line": {"id": "red-mug", "n": 1}},
        [FOUND],
        "",
        ["line.id ← results[1].id of call 1 (t)"],
    ),
    ("what was said", {"query": "Blue Mug"}, [FOUND], "Find the blue mug!", []),
    ("a number that was said", {"n": 7}, [FOUND], "I want 7.", []),
    ("a number of another name", {"quantity": 7}, [FOUND], "", []),
    (
        "a part of a word is not said",
        {"id": "red-mug"},
        [FOUND],
        "I hired-muggers",
        ["id ← results[1].id of call 1 (t)"],
    ),
    ("a choice of the schema", {"category": "kitchen"}, [FOUND], "", []),
    (
        "truth and nothing",
        {"a": True, "b": None, "c": ""},
        [{"a": True, "b": None, "c": ""}],
        "",
        [],
    ),
    ("nothing came before", {"id": "blue-mug"}, [], "", []),
    (
        "a reference in prose",
        {"id": "blue-mug"},
        ["Opened blue-mug."],
        "",
        ["id ← what follows `Opened` in the answer of call 1 (t)"],
    ),
    (
        "a number in prose that is called alike",
        {"order": 4711},
        ["Added as order 4711."],
        "",
        ["order ← what follows `order` in the answer of call 1 (t)"],
    ),
    (
        "a number in prose for what refers to something",
        {"id": 4711},
        ["Your order: #4711"],
        "",
        ["id ← what follows `order: #` in the answer of call 1 (t)"],
    ),
    (
        "prose within data",
        {"id": "Z-17/3"},
        [FOUND, {"content": [{"text": "Done.\nZ-17/3 is yours."}]}],
        "",
        ["id ← what content[0].text of call 2 begins with (t)"],
    ),
    (
        "the fewest words that lead to it alone",
        {"order": "4712"},
        ["The order 4711 is sent, order 4712 is not, order B-1 lost."],
        "",
        ["order ← what follows `sent, order` in the answer of call 1 (t)"],
    ),
    ("prose of two answers", {"id": "4711"}, ["Order 4711.", "Order 4711 is sent."], "", []),
    ("prose that the person said", {"id": "4711"}, ["Order 4711."], "Send 4711!", []),
    ("a part of a token in prose", {"id": "4711"}, ["Order 4711-B, x/4711, v4711."], "", []),
    ("a word of prose", {"id": "mug"}, ["Opened mug."], "", []),
    ("a number of prose for a number", {"quantity": 250}, ["There are 250 of it."], "", []),
    ("a choice in prose", {"category": "home-1"}, ["Shown: home-1"], "", []),
    ("a condition", {"id": {"$pattern": "blue-mug"}}, [FOUND], "", []),
]
SCHEMA: JsonValue = {"properties": {"category": {"enum": ["kitchen", "home-1"]}}}


@pytest.mark.parametrize(
    ("args", "answers", "said", "told"), [row[1:] for row in LINKED], ids=[row[0] for row in LINKED]
)
def test_a_value_is_linked_to_the_answer_that_it_came_from(
    args: JsonObject, answers: list[JsonValue], said: str, told: list[str]
) -> None:
    links = links_of(args, answers, said, SCHEMA)
    assert [link.text("t") for link in links] == told
    # The same answers give the same arguments.
    assert with_links(args, links, answers) == args


def test_a_linked_value_is_the_one_that_stands_there_now() -> None:
    args: JsonObject = {"id": "blue-mug", "quantity": 2}
    links = links_of(args, [FOUND], "")
    now: JsonValue = {"results": [{"id": "mug-2"}]}
    assert with_links(args, links, [now]) == {"id": "mug-2", "quantity": 2}


NOW: list[tuple[str, str, str]] = [
    ("another number", "Added as order 4712.", "4712"),
    ("other spaces", "Added as\norder  5.", "5"),
    ("twice the same", "Order: order 4712, order 4712", "4712"),
    ("other words, and still there", "Order number 4711 was added.", "4711"),
    ("of two only the old one is known", "Added as order 4712, before: order 4711.", "4711"),
]


@pytest.mark.parametrize(("text", "value"), [row[1:] for row in NOW], ids=[row[0] for row in NOW])
def test_a_reference_in_prose_is_the_one_behind_the_same_words(text: str, value: str) -> None:
    for was, now in (("4711", value), (4711, int(value))):
        args: JsonObject = {"order": was}
        links = links_of(args, ["Added as order 4711."], "")
        assert with_links(args, links, [text]) == {"order": now}


def test_numbers_before_a_reference_may_be_others() -> None:
    args: JsonObject = {"order": "B-2"}
    links = links_of(args, ["Orders: A-1, B-2"], "")
    assert with_links(args, links, ["Orders: C-3, D-4"]) == {"order": "D-4"}


@pytest.mark.parametrize(
    "answer", ["Order number two was added.", "Added as order 4712 or order 4713.", {"order": 4711}]
)
def test_a_reference_that_no_words_lead_to_any_more_is_gone(answer: JsonValue) -> None:
    args: JsonObject = {"order": "4711"}
    links = links_of(args, ["Added as order 4711."], "")
    with pytest.raises(LinkBroken) as broken:
        with_links(args, links, [answer])
    told = "order came from what follows `order` in the answer of call 1, which is gone"
    assert str(broken.value) == told


@given(st.text(max_size=60), st.from_regex(r"[a-z]{0,3}[-_]?[0-9]{1,4}", fullmatch=True))
def test_the_text_in_which_a_reference_was_found_gives_it_again(text: str, value: str) -> None:
    args: JsonObject = {"id": value}
    links = links_of(args, [f"{text} {value}", text[::-1]], "")
    assert with_links(args, links, [f"{text} {value}", text[::-1]]) == args


def test_an_answer_says_only_what_refers_to_something() -> None:
    answers: list[JsonValue] = [FOUND, {"order": {"id": 5}, "date": "2026-01-02"}]
    assert list(referred("order_id", answers)) == [5, "blue-mug", "red-mug"]
    assert list(referred("ids[0]", answers)) == [5, "blue-mug", "red-mug"]
    assert list(referred("date", answers)) == []


GONE: list[tuple[list[JsonValue], str]] = [
    ([{"results": []}], "id came from results[1].id of call 1, which is gone"),
    ([{"items": [1, {"id": "x"}]}], "id came from results[1].id of call 1, which is gone"),
    (["none"], "id came from results[1].id of call 1, which is gone"),
    ([], "id came from results[1].id of call 1, which was not made"),
]


@pytest.mark.parametrize(("answers", "told"), GONE)
def test_a_value_that_is_gone_is_told(answers: list[JsonValue], told: str) -> None:
    args: JsonObject = {"id": "red-mug"}
    with pytest.raises(LinkBroken) as broken:
        with_links(args, links_of(args, [FOUND], ""), answers)
    assert str(broken.value) == told


ANSWERS: list[tuple[JsonValue, str, JsonValue]] = [
    ({"a": 1}, '{"a":1}', {"a": 1}),
    (None, '{"a":1}', {"a": 1}),
    ('{"a":1}', '{"a":1}', {"a": 1}),
    ("Opened.", "Opened.\nThe page is now /x.", "Opened.\nThe page is now /x."),
    (None, "12", "12"),
    (None, "(no result)", "(no result)"),
]


@pytest.mark.parametrize(("value", "text", "read"), ANSWERS)
def test_an_answer_is_read_as_data_where_it_is_some(
    value: JsonValue, text: str, read: JsonValue
) -> None:
    assert answer_value(value, text) == read
