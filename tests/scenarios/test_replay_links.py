"""Values that came from an earlier answer: found when recorded, taken anew when replayed."""

import pytest
from pydantic import JsonValue

from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.replay_links import LinkBroken, answer_value, links_of, with_links

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
    ("prose", {"id": "blue-mug"}, ["Opened blue-mug."], "", []),
]
SCHEMA: JsonValue = {"properties": {"category": {"enum": ["kitchen", "garden"]}}}


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
