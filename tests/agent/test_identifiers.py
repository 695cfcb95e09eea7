"""What counts as an id that a model can know, and what its decoding is held to."""

import json

import pytest
from hypothesis import given, settings, strategies as st

from webmcp_agent.agent.arguments import constraint_of
from webmcp_agent.agent.held_ids import MOST, held_to_known
from webmcp_agent.agent.identifiers import known_ids
from webmcp_agent.agent.validation import InvalidArgs, validate_args
from webmcp_agent.agent.wrappers import written_args
from webmcp_agent.browser.tools import JsonObject, PageTool
from webmcp_agent.providers.base import ChatTurn, ToolConstraint
from webmcp_agent.scenarios.curriculum import BROAD, SHOPS, UNSEEN, Curriculum


def tool(name: str, properties: JsonObject, *required: str, read_only: bool = False) -> PageTool:
    schema: JsonObject = {"type": "object", "properties": properties, "required": [*required]}
    return PageTool(name, "", schema, read_only=read_only)


SEARCH = tool("search", {"query": {"type": "string"}}, "query", read_only=True)
OPEN = tool("open_product", {"id": {"type": "string"}}, "id")
MOVE = tool("move", {"bookingId": {"type": "integer"}, "time": {"type": "string"}}, "bookingId")


def user(text: str) -> ChatTurn:
    return ChatTurn("user", text)


def result(text: str) -> ChatTurn:
    return ChatTurn("tool", text, name="search")


def held(tools: list[PageTool], *turns: ChatTurn, path: str = "") -> dict[str, JsonObject]:
    constraints = [constraint_of(each, "") for each in tools]
    return {
        one.name: one.schema for one in held_to_known(tools, constraints, known_ids(turns, path))
    }


def ids(tools: list[PageTool], *turns: ChatTurn, path: str = "", of: str = "id") -> object:
    properties = held(tools, *turns, path=path)[tools[-1].name]["properties"]
    assert isinstance(properties, dict)
    schema = properties[of]
    assert isinstance(schema, dict)
    return schema.get("enum")


@pytest.mark.parametrize(
    ("answer", "known"),
    [
        pytest.param('[{"id": "red-mug", "title": "Red Mug"}]', ["red-mug"], id="a JSON list"),
        pytest.param('{"productId":"p3","price":"9.99"}', ["p3"], id="a key with more words"),
        pytest.param('{"product_id": 17, "left": 4}', ["17"], id="a number"),
        pytest.param("2 found:\n- Red Mug (id: m_1, price: 4)", ["m_1"], id="a line of text"),
        pytest.param("Order ID: 4711.", ["4711"], id="prose"),
        pytest.param('{"id":"gid://x/Variant/41"}', ["gid://x/Variant/41"], id="an address"),
        pytest.param("m-1 | Red Mug | 2030-01-02 | 9.99", ["m-1"], id="no label, a date, a price"),
        pytest.param("Red Mug and Blue Mug", None, id="nothing that looks like one"),
    ],
)
def test_an_id_is_one_that_the_page_has_said(answer: str, known: list[str] | None) -> None:
    assert ids([SEARCH, OPEN], user("open the red mug"), result(answer)) == known


@pytest.mark.parametrize(
    ("said", "known"),
    [
        pytest.param("move booking 7 to 18:30", [7], id="a number by itself"),
        pytest.param("move it to 18:30 on 2030-01-02", None, id="times and dates are none"),
        pytest.param("3 people, 40 euros", None, id="what counts something is none"),
        pytest.param("Which is better, 501 or 502?", [501, 502], id="several"),
    ],
)
def test_a_number_that_the_person_says_may_be_an_id(said: str, known: list[int] | None) -> None:
    schemas = held([SEARCH, MOVE], user(said), result("Nothing found."))
    booking = schemas["move"]["properties"]
    assert isinstance(booking, dict)
    assert booking["bookingId"] == (
        {"type": "integer", "enum": known} if known else {"type": "integer"}
    )


def test_what_the_agent_told_earlier_counts_and_what_it_called_does_not() -> None:
    told = ChatTurn("assistant", "I found the Contour Dress (ID 502).")
    called = ChatTurn("assistant", '<tool_call>\n{"name": "open", "arguments": {"id": "x9"}}')
    assert ids([SEARCH, OPEN], user("dresses"), called, told, user("open it")) == ["502"]


def test_the_path_of_the_page_may_hold_an_id() -> None:
    assert ids([SEARCH, OPEN], user("what is this?"), path="/products/mug_41") == ["mug_41"]


def test_a_tool_that_needs_an_id_waits_until_one_was_said() -> None:
    assert [*held([SEARCH, OPEN], user("open the red mug"))] == ["search"]
    assert [*held([SEARCH, OPEN], user("red mug"), result("Red Mug"))] == ["search", "open_product"]


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        pytest.param([OPEN], "open the red mug", id="nothing else can be asked"),
        pytest.param([tool("pay", {}), OPEN], "open it", id="the others do not say what there is"),
        pytest.param([SEARCH, OPEN], "open the one with the id red", id="the person names it"),
        pytest.param([SEARCH, OPEN], "open red_mug", id="the person writes it"),
    ],
)
def test_a_tool_is_not_held_back_when_that_helps_nobody(tools: list[PageTool], said: str) -> None:
    assert [*held(tools, user(said))] == [each.name for each in tools]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "enum": ["a", "b"]},
        {"type": "string", "pattern": "^x"},
        {"type": "string", "format": "uuid"},
        {"type": ["string", "null"]},
        {"type": "array"},
        {"type": "string", "description": "Name or id of the product"},
    ],
)
def test_what_says_more_of_itself_is_left_as_it_is(schema: JsonObject) -> None:
    name = "id" if "description" not in schema else "product"
    one = tool("open_product", {name: schema}, name)
    turns = [user("open m_1"), result('{"id": "m_1"}')]
    assert held([SEARCH, one], *turns)["open_product"] == constraint_of(one, "").schema


@pytest.mark.parametrize(
    ("schema", "known"),
    [
        ({"type": "integer", "minimum": 10, "maximum": 99}, [17]),
        ({"type": "integer", "maximum": 3}, None),
        ({"type": "string", "minLength": 3}, ["400"]),
        ({"type": "string", "maxLength": 2}, ["4", "17"]),
    ],
)
def test_no_id_is_offered_that_the_page_would_refuse(schema: JsonObject, known: object) -> None:
    one = tool("open_product", {"id": schema}, "id")
    turns = [user("open it"), result('[{"id": 4}, {"id": 17}, {"id": 400}]')]
    assert ids([SEARCH, one], *turns) == known


LINES: JsonObject = {
    "type": "object",
    "properties": {
        "lines": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {"item": {"type": "object", "properties": {
                    "id": {"type": "string"}}, "required": ["id"]}, "count": {"type": "integer"}},
                "required": ["item"],
            },
        },
    },
    "required": ["lines"],
}  # fmt: skip
NESTED = tool("update_cart", {"cart": LINES}, "cart")
SEVERAL = tool("look_up", {"productIds": {"type": "array", "items": {"type": "string"}}})


def test_an_id_deep_in_an_argument_is_held_and_waited_for_as_well() -> None:
    assert list(held([SEARCH, NESTED], user("put mugs in the cart"))) == ["search"]
    schemas = held([SEARCH, NESTED, SEVERAL], user("mugs"), result('{"id":"x/1"} {"id":"x/2"}'))
    known: JsonObject = {"type": "string", "enum": ["x/1", "x/2"]}
    expected = json.loads(json.dumps(constraint_of(NESTED, "").schema))
    lines = expected["properties"]["lines"]["items"]["properties"]
    lines["item"]["properties"]["id"] = known
    assert schemas["update_cart"] == expected
    assert schemas["look_up"]["properties"] == {"productIds": {"type": "array", "items": known}}


CODES: JsonObject = {"type": "array", "items": {"type": "string"}}
OPTIONAL: JsonObject = {
    "type": "object",
    "properties": {**LINES["properties"], "discount_codes": CODES},  # type: ignore[dict-item]
}
CHANGE = tool("update_cart", {"cart": OPTIONAL}, "cart")
LIST = tool("list_tasks", {"projectId": {"type": "string"}, "state": {"type": "string"}})
ADD = tool("add_to_cart", {"id": {"type": "string"}, "count": {"type": "integer"}})


def test_an_optional_id_is_left_out_until_one_was_said() -> None:
    assert held([SEARCH, LIST], user("what is there to do?"))["list_tasks"]["properties"] == {
        "state": {"type": "string"}
    }
    assert held([SEARCH, ADD], user("two of this, please"))["add_to_cart"]["properties"] == {
        "count": {"type": "integer"}
    }
    assert held([ADD], user("two of this, please")) == {
        "add_to_cart": constraint_of(ADD, "").schema
    }


def test_things_by_id_are_left_out_only_where_something_else_of_the_tool_is_asked_for() -> None:
    whole = held([SEARCH, CHANGE], user("two red mugs instead of one"))["update_cart"]
    assert whole == constraint_of(CHANGE, "").schema
    for said in ("use the discount code SAVE10", "I have a coupon: SAVE10"):
        schema = held([SEARCH, CHANGE], user(said))["update_cart"]
        assert schema["properties"] == {"discount_codes": CODES}


@pytest.mark.parametrize(
    ("said", "offered"),
    [
        ("two red mugs in my cart instead of one", ["search", "start_checkout"]),
        ("cancel my cart", ["search", "cancel_cart", "start_checkout"]),
        ("add the mug with the id 4", ["search", "update_cart", "cancel_cart", "start_checkout"]),
    ],
)
def test_no_other_tool_acts_in_the_place_of_one_that_waits(said: str, offered: list[str]) -> None:
    others = [tool("cancel_cart", {}), tool("start_checkout", {})]
    assert list(held([SEARCH, NESTED, *others], user(said))) == offered


@pytest.mark.parametrize(
    ("said", "known"),
    [
        pytest.param("use my coupon SAVE10 for p_1", ["p_1"], id="a coupon"),
        pytest.param("redeem the code SAVE10 for p_1", ["p_1"], id="a code"),
        pytest.param("add the Trail Runner 2 in size 42 to p_1", ["p_1"], id="a name, a size"),
        pytest.param("add Order 17 and 18", ["17", "18"], id="numbers of things"),
    ],
)
def test_what_names_something_else_is_no_id_of_a_thing(said: str, known: list[str]) -> None:
    schema = json.loads(json.dumps(held([SEARCH, NESTED], user(said))["update_cart"]))
    line = schema["properties"]["lines"]["items"]["properties"]
    assert line["item"]["properties"]["id"]["enum"] == known


def test_a_coupon_may_be_named_by_the_id_of_a_tool_itself() -> None:
    redeem = tool("redeem", {"voucherId": {"type": "string"}}, "voucherId")
    assert ids([SEARCH, redeem], user("redeem the voucher AB12"), of="voucherId") == ["AB12"]


def test_a_description_makes_an_id_of_any_name() -> None:
    one = tool("open", {"ref": {"type": "string", "description": "Id from the results"}}, "ref")
    assert ids([SEARCH, one], user("open"), result('{"id": "m_1"}'), of="ref") == ["m_1"]


def test_narrowed_constraints_do_not_pass_for_the_pages_own() -> None:
    before = constraint_of(OPEN, "")
    known = known_ids([user("open"), result('{"id": "m_1"}')])
    (after,) = held_to_known([OPEN], [before], known)
    schema: JsonObject = {
        "type": "object",
        "properties": {"id": {"type": "string", "enum": ["m_1"]}},
        "required": ["id"],
    }
    assert after == ToolConstraint(OPEN.name, schema, "")


def test_more_ids_than_a_grammar_should_list_narrow_nothing() -> None:
    many = json.dumps([{"id": f"m_{number}"} for number in range(MOST + 1)])
    assert ids([SEARCH, OPEN], user("open"), result(many)) is None
    said = " ".join(f"m_{number}" for number in range(MOST + 1))
    assert [*held([SEARCH, OPEN], user(said))] == ["search", "open_product"]


@given(st.text(), st.text(), st.text())
@settings(max_examples=200)
def test_any_text_can_be_read(said: str, answer: str, path: str) -> None:
    known = known_ids([user(said), result(answer)], path)
    text = f"{said}\n{answer}\n{path}"
    assert all(one in text for one in known.found)


@pytest.mark.parametrize("piece", ["a_", "1,", "x:1-", "id: ", "aA1#", "A-", "1 "])
def test_long_texts_of_one_kind_are_read(piece: str) -> None:
    """These would take minutes where a pattern could match in many ways."""
    text = piece * (200_000 // len(piece))
    assert known_ids([user(text), result(text)]).answered


def test_right_calls_of_every_kind_of_site_stay_writable() -> None:
    """The teacher's call is allowed by what the model would be held to."""
    refused: list[str] = []
    calls = 0
    for mix, unseen in ((BROAD, False), (SHOPS, False), (UNSEEN, True)):
        for conversation in Curriculum(5, mix, unseen).conversations(60):
            for example in conversation:
                held_to = {one.name: one.schema for one in example.constraints}
                if example.call is None or example.call[0] not in held_to:
                    continue
                calls += 1
                name, args = example.call
                page_tool = next(one for one in example.page_tools if one.name == name)
                written = written_args(page_tool, json.loads(args))
                checked = validate_args(PageTool(name, "", held_to[name]), written)
                if isinstance(checked, InvalidArgs):
                    refused.append(checked.message)
    assert (refused, calls > 100) == ([], True)
