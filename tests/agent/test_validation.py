"""Arguments held against a schema: what is sent, and what is refused in which words."""

import math
import socket

import pytest
from pydantic import JsonValue

from webmcp_agent.agent.ranking import rank_tools
from webmcp_agent.agent.schema import compact_schema, example_args
from webmcp_agent.agent.validation import InvalidArgs, ValidArgs, validate_args
from webmcp_agent.browser.tools import JsonObject, PageTool

STOPS: list[JsonValue] = [f"stop-{number:02}" for number in range(60)]
ROW: JsonObject = {
    "type": "object",
    "properties": {"row": {"type": "integer"}, "litres": {"type": "number"}},
    "required": ["row"],
    "additionalProperties": False,
}
NOTE: JsonObject = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "pinned": {"type": "boolean"},
        "tag": {"type": ["string", "null"]},
    },
    "required": ["text"],
}


def check(
    schema: JsonObject | str | None, args: JsonObject, *, declarative: bool = False
) -> ValidArgs | InvalidArgs:
    tool = PageTool(name="t", description="", input_schema=schema, declarative=declarative)
    return validate_args(tool, args)


def of(schema: JsonValue) -> JsonObject:
    """An object schema with one property."""
    return {"type": "object", "properties": {"v": schema}}


WHOLE: JsonObject = {"type": "integer"}
DECIMAL: JsonObject = {"type": "number"}
TEXT: JsonObject = {"type": "string"}
YES_NO: JsonObject = {"type": "boolean"}
WHOLE_OR_NULL: JsonObject = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
ONE: JsonObject = {"oneOf": [{"const": 1}, {"const": "one"}, {"type": "null"}]}
MIXED: JsonObject = {"enum": [1, "1", True, None]}

SENT: dict[str, tuple[JsonObject, JsonValue, JsonValue]] = {
    "text of an integer": (WHOLE, "2", 2),
    "a float without fraction": (WHOLE, 2.0, 2),
    "the largest integer": (WHOLE, 2**53 - 1, 2**53 - 1),
    "text false": (YES_NO, "false", False),
    "text False": (YES_NO, "False", False),
    "text TRUE": (YES_NO, "TRUE", True),
    "an integer for text": (TEXT, 12, "12"),
    "a list in a text": (TEXT, '{"a": 1}', '{"a": 1}'),
    "text where both are allowed": ({"type": ["string", "integer"]}, "7", "7"),
    "an integer where both are allowed": ({"type": ["string", "integer"]}, 7, 7),
    "an integer too large where text is allowed": (
        {"type": ["integer", "string"]},
        2**53 + 1,
        "9007199254740993",
    ),
    "a float where numbers are allowed": ({"type": ["integer", "number"]}, 2.0, 2.0),
    "text of a number": (DECIMAL, "-1.5", -1.5),
    "text of a number with an exponent": (DECIMAL, "1e3", 1000.0),
    "text of an integer for a number": (DECIMAL, "3", 3),
    "null": (WHOLE_OR_NULL, None, None),
    "text null": (WHOLE_OR_NULL, "null", None),
    "text of a number where null is allowed": (WHOLE_OR_NULL, "41", 41),
    "null where text is allowed": ({"type": ["string", "null"]}, None, None),
    "text null where text is allowed": ({"type": ["string", "null"]}, "null", "null"),
    "null among constants": (ONE, None, None),
    "a value that is listed": (MIXED, "1", "1"),
    "a float among whole values": ({"enum": [1, 2]}, 1.0, 1),
    "text of a list": ({"type": "array", "items": {"type": "integer"}}, "[3, 4]", [3, 4]),
    "text of a list of texts": ({"type": "array", "items": WHOLE}, '["3"]', [3]),
    "texts in a list": ({"type": "array", "items": WHOLE}, ["3", 4], [3, 4]),
    "text of an object": ({"type": "object", "properties": {"n": WHOLE}}, '{"n": "1"}', {"n": 1}),
    "the only branch of a kind": (
        {"anyOf": [{"type": "object", "properties": {"n": WHOLE}}, {"type": "null"}]},
        {"n": "1"},
        {"n": 1},
    ),
    "behind a reference": ({"$ref": "#/$defs/W"}, "5", 5),
    "the first part that says": ({"allOf": [{}, {"type": "integer"}]}, "5", 5),
    "nothing said": ({}, "5", "5"),
    "a price": ({"type": "number", "multipleOf": 0.01}, 19.99, 19.99),
}
REFUSED: dict[str, tuple[JsonObject, JsonValue, str]] = {
    "a fraction": (WHOLE, "2.5", '"v" must be a whole number, not the text "2.5"'),
    "words": (WHOLE, "2 rows", '"v" must be a whole number, not the text "2 rows"'),
    "a leading zero": (WHOLE, "007", '"v" must be a whole number, not the text "007"'),
    "true for a number": (WHOLE, True, '"v" must be a whole number, not true'),
    "text no": (YES_NO, "no", '"v" must be true or false, not the text "no"'),
    "text 0": (YES_NO, "0", '"v" must be true or false, not the text "0"'),
    "0": (YES_NO, 0, '"v" must be true or false, not 0'),
    "empty text": (YES_NO, "", '"v" must be true or false, not the text ""'),
    "true for text": (TEXT, True, '"v" must be text, not true'),
    "a fraction for text": (TEXT, 1.5, '"v" must be text, not 1.5'),
    "a value for a list": (
        {"type": "array", "items": {"type": "string"}},
        "a",
        '"v" must be a list, not the text "a"',
    ),
    "a list for a value": (TEXT, ["a"], '"v" must be text, not ["a"]'),
    "text NaN": (DECIMAL, "NaN", '"v" must be a number, not the text "NaN"'),
    "a number too large for text": (
        {**DECIMAL},
        "1e400",
        '"v" must be a number, not the text "1e400"',
    ),
    "infinity": (DECIMAL, math.inf, '"v" must be a finite number, not Infinity'),
    "empty text for a number or null": (
        WHOLE_OR_NULL,
        "",
        '"v" must be a whole number or null, not the text ""',
    ),
    "a text that is no constant": (ONE, "1", '"v" must be one of 1, "one", null, not "1"'),
    "a text that looks like a value": (
        MIXED,
        "true",
        '"v" must be one of 1, "1", true, null, not "true"',
    ),
    "true among numbers": ({"enum": [1, 2]}, True, '"v" must be one of 1, 2, not true'),
    "another spelling": (
        {"enum": ["Main", "Terrace"]},
        "main",
        '"v" must be one of "Main", "Terrace", not "main"',
    ),
    "an integer too large": (
        {**WHOLE},
        2**53 + 1,
        '"v" is too large a number to be passed exactly',
    ),
    "an integer too large in a list": (
        {},
        [{"a": -(2**53)}],
        '"v.0.a" is too large a number to be passed exactly',
    ),
    "a name given twice": (
        {"type": "object"},
        '{"a": 1, "a": 2}',
        '"v" must be an object, not the text "{\\"a\\": 1, \\"a\\": 2}"',
    ),
    "too many": ({**WHOLE, "maximum": 6}, 9, '"v" must be at most 6, not 9'),
    "too few": ({**WHOLE, "minimum": 1}, 0, '"v" must be at least 1, not 0'),
    "not more": ({**DECIMAL, "exclusiveMinimum": 0}, 0, '"v" must be more than 0, not 0'),
    "not less": ({**DECIMAL, "exclusiveMaximum": 1}, 1, '"v" must be less than 1, not 1'),
    "a wrong step": (
        {**DECIMAL, "multipleOf": 0.01},
        0.015,
        '"v" does not fit the tool (multipleOf)',
    ),
    "a constant": ({"const": "yes"}, "no", '"v" must be "yes", not "no"'),
    "a value that is not among many": (
        {"enum": STOPS},
        "stop-99",
        '"v" must be one of 60 values such as "stop-59", "stop-49", "stop-39", "stop-29", '
        '"stop-19", not "stop-99"',
    ),
    "a value that is like none": (
        {"enum": STOPS},
        "?",
        '"v" must be one of 60 values such as "stop-00", "stop-01", "stop-02", "stop-03", '
        '"stop-04", not "?"',
    ),
    "a wrong form": (
        {"pattern": r"^\d{4}-\d\d-\d\d$", "description": "Day, YYYY-MM-DD"},
        "tomorrow",
        '"v" has the wrong form: "tomorrow" (Day, YYYY-MM-DD)',
    ),
    "a wrong form without a description": (
        {"pattern": "^[a-z]+$"},
        "ABC",
        '"v" has the wrong form: "ABC" (it must match ^[a-z]+$)',
    ),
    "a line break at the end": (
        {"pattern": "^[a-z]+$"},
        "abc\n",
        '"v" has the wrong form: "abc\\n" (it must match ^[a-z]+$)',
    ),
    "a branch": (
        {"anyOf": [{"type": "integer", "maximum": 5}, {"type": "string", "pattern": "^all$"}]},
        "none",
        '"v" has the wrong form: "none" (it must match ^all$)',
    ),
    "two branches at once": (
        {"oneOf": [{"minimum": 1}, {"maximum": 5}]},
        3,
        '"v" does not fit the tool (oneOf)',
    ),
    "too short": ({"type": "string", "minLength": 3}, "a", '"v" does not fit the tool (minLength)'),
    "null for text": (TEXT, None, 'leave "v" out, or give text'),
    "a place in a list": (
        {"type": "array", "items": {"type": "integer"}},
        [1, "x"],
        '"v.1" must be a whole number, not the text "x"',
    ),
    "a long value": (
        {**WHOLE},
        "x" * 50,
        '"v" must be a whole number, not the text "' + "x" * 38 + "…",
    ),
}


@pytest.mark.parametrize(("schema", "given", "sent"), SENT.values(), ids=SENT.keys())
def test_a_value_is_sent_as_the_kind_that_the_schema_wants(
    schema: JsonObject, given: JsonValue, sent: JsonValue
) -> None:
    """C-33, C-34"""
    outcome = check({**of(schema), "$defs": {"W": {"type": "integer"}}}, {"v": given})

    assert isinstance(outcome, ValidArgs)
    assert (outcome.args, type(outcome.args["v"])) == ({"v": sent}, type(sent))
    assert bool(outcome.changes) == (repr(sent) != repr(given))
    assert outcome.warnings == []


@pytest.mark.parametrize(("schema", "given", "problem"), REFUSED.values(), ids=REFUSED.keys())
def test_a_value_that_does_not_fit_is_refused_in_plain_words(
    schema: JsonObject, given: JsonValue, problem: str
) -> None:
    """C-33, C-34, C-37, C-41"""
    assert check(of(schema), {"v": given}) == InvalidArgs(f"t: {problem}", [], [])


def test_each_change_is_recorded() -> None:
    """C-33, C-36"""
    schema: JsonObject = {
        "properties": {
            "n": {"type": "integer"},
            "ids": {"type": "array", "items": {"type": "integer"}},
            "size": {"enum": ["M"]},
            "kind": {"const": "tea"},
            "cups": {"type": "integer", "default": 1},
            "milk": {"type": "boolean", "default": False},
        },
        "required": ["n", "size", "kind", "cups"],
    }

    assert check(schema, {"n": "2", "ids": '["7"]', "note": "hot"}) == ValidArgs(
        {"n": 2, "ids": [7], "note": "hot", "size": "M", "kind": "tea", "cups": 1},
        [
            'size: missing, filled with "M"',
            'kind: missing, filled with "tea"',
            "cups: missing, filled with 1",
            'n: "2" sent as 2',
            'ids: "[\\"7\\"]" sent as ["7"]',
            'ids.0: "7" sent as 7',
            "note: unknown, sent unchanged",
        ],
        [],
    )


def test_a_missing_property_is_filled_by_constant_before_value_before_default() -> None:
    """C-36"""
    schema: JsonObject = {
        "properties": {
            "a": {"const": 1, "default": 3},
            "b": {"enum": [2], "default": 3},
            "c": {"enum": [2, 3], "default": 3},
            "d": {"type": "object", "properties": {"e": {"default": 4}}, "required": ["e"]},
        },
        "required": ["a", "b", "c"],
    }
    outcome = check(schema, {"d": {}})

    assert isinstance(outcome, ValidArgs)
    assert outcome.args == {"d": {"e": 4}, "a": 1, "b": 2, "c": 3}


def test_a_default_of_a_wrong_kind_fills_nothing() -> None:
    """C-36"""
    schema: JsonObject = {
        "properties": {"note": {"type": "string", "default": None}},
        "required": ["note"],
    }

    assert check(schema, {}) == InvalidArgs('t: missing "note" (text)', [], [])


def test_an_optional_default_is_left_to_the_page() -> None:
    """C-36"""
    schema: JsonObject = {
        "properties": {"unit": {"enum": ["cm", "in"], "default": "cm"}, "one": {"const": 1}}
    }

    assert check(schema, {}) == ValidArgs({}, [], [])


UNKNOWN: dict[str, tuple[JsonObject, JsonObject, str]] = {
    "a near name": (ROW, {"row": 2, "liters": 3}, 'unknown "liters" (did you mean "litres"?)'),
    "another name": (ROW, {"row": 2, "foo": 3}, 'unknown "foo"; it takes "row", "litres"'),
    "no names at all": (
        {"properties": {}, "additionalProperties": False},
        {"foo": 3},
        'unknown "foo"; it takes nothing',
    ),
    "another case": (ROW, {"ROW": 2}, 'missing "row" (a whole number), you wrote "ROW"'),
    "a property that is never allowed": (
        {"properties": {"a": {}, "no": False}},
        {"no": 1},
        'unknown "no"; it takes "a"',
    ),
    "names by a pattern": (
        {"properties": {"a": {}}, "propertyNames": {"pattern": "^[a-z]$"}},
        {"foo": 1},
        'unknown "foo"; it takes "a"',
    ),
    "unevaluated names": (
        {"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": False},
        {"a": 1, "foo": 1},
        'unknown "foo"; it takes "a"',
    ),
    "inside": (
        {"properties": {"o": {"properties": {"a": {}}, "additionalProperties": False}}},
        {"o": {"b": 1}},
        'unknown "o.b"; it takes "a"',
    ),
}


@pytest.mark.parametrize(("schema", "args", "problem"), UNKNOWN.values(), ids=UNKNOWN.keys())
def test_an_unknown_name_is_refused_where_the_schema_is_closed(
    schema: JsonObject, args: JsonObject, problem: str
) -> None:
    """C-35, C-41"""
    assert check(schema, args) == InvalidArgs(f"t: {problem}", [], [])


def test_an_unknown_name_is_sent_unchanged_where_the_schema_is_open() -> None:
    """C-35"""
    args: JsonObject = {"text": "a", "colour": {"red": 1}}

    assert check(NOTE, args) == ValidArgs(args, ["colour: unknown, sent unchanged"], [])
    assert check(None, {"a": 1}) == ValidArgs({"a": 1}, ["a: unknown, sent unchanged"], [])


def test_a_form_takes_no_unknown_name() -> None:
    """C-35"""
    args: JsonObject = {"text": "a", "txt": "b"}

    assert check(NOTE, args, declarative=True) == InvalidArgs(
        't: unknown "txt" (did you mean "text"?)', [], []
    )


def test_at_most_three_problems_are_told_missing_names_first() -> None:
    """C-41"""
    schema: JsonObject = {
        "properties": {
            "date": {"type": "string", "title": "Day", "description": "Day, YYYY-MM-DD"},
            "guests": {"type": "integer"},
            "seat": {"enum": ["Main", "Terrace"], "type": "string"},
            "room": {},
        },
        "required": ["date", "room"],
        "additionalProperties": False,
    }

    assert check(schema, {"x": 1, "seat": 5, "guests": "two"}) == InvalidArgs(
        't: missing "date" (Day, YYYY-MM-DD); missing "room"; '
        '"guests" must be a whole number, not the text "two"',
        ['seat: 5 sent as "5"'],
        [],
    )
    assert check(schema, {"x": 1, "seat": True, "date": "d", "room": 1}) == InvalidArgs(
        't: "seat" must be one of "Main", "Terrace", not true; '
        'unknown "x"; it takes "date", "guests", "seat", "room"',
        [],
        [],
    )


def test_null_for_a_required_property_is_no_reason_to_leave_it_out() -> None:
    """C-41"""
    assert check(ROW, {"row": None}) == InvalidArgs(
        't: "row" must be a whole number, not null', [], []
    )


def test_the_nearest_branch_tells_what_is_missing() -> None:
    """C-41"""
    schema: JsonObject = {
        "properties": {"name": {"type": "string"}, "id": {"type": "integer"}},
        "anyOf": [{"required": ["name"]}, {"required": ["id"]}],
    }

    assert check(schema, {}) == InvalidArgs('t: missing "name" (text)', [], [])
    assert check(schema, {"id": 1}) == ValidArgs({"id": 1}, [], [])


def test_values_that_the_prompt_does_not_show_are_accepted() -> None:
    """C-37"""
    schema = of({"type": "string", "enum": STOPS})

    assert "stop-41" not in str(compact_schema(schema))
    assert check(schema, {"v": "stop-41"}) == ValidArgs({"v": "stop-41"}, [], [])


def test_values_behind_references_are_named_when_another_is_given() -> None:
    """C-40, C-41"""
    schema: JsonObject = {
        "required": ["from", "to"],
        "properties": {
            "from": {"$ref": "#/$defs/Stop"},
            "to": {"$ref": "#/properties/from", "description": "Where to get off"},
        },
        "$defs": {"Stop": {"type": "string", "enum": ["harbour", "mill", "abbey"]}},
    }

    assert check(schema, {"from": "mill", "to": "sea"}) == InvalidArgs(
        't: "to" must be one of "harbour", "mill", "abbey", not "sea"', [], []
    )


def test_a_recursive_schema_is_checked_three_levels_deep() -> None:
    """C-40"""
    schema: JsonObject = {
        "properties": {"filter": {"$ref": "#/$defs/F"}},
        "$defs": {
            "F": {
                "type": "object",
                "required": ["op"],
                "properties": {
                    "op": {"enum": ["and", "or", "is"]},
                    "parts": {"type": "array", "items": {"$ref": "#/$defs/F"}},
                },
            }
        },
    }

    def nested(op: str) -> JsonObject:
        return {"filter": {"op": "and", "parts": [{"op": "or", "parts": [{"op": op}]}]}}

    assert check(schema, nested("is")) == ValidArgs(nested("is"), [], [])
    assert check(schema, nested("not")) == InvalidArgs(
        't: "filter.parts.0.parts.0.op" must be one of "and", "or", "is", not "not"', [], []
    )


def test_a_date_that_is_none_is_sent_with_a_warning() -> None:
    """C-37"""
    schema: JsonObject = {
        "properties": {
            "day": {"type": "string", "format": "date"},
            "time": {"format": "time"},
            "start": {"format": "date-time"},
            "mail": {"format": "email"},
        }
    }
    good: JsonObject = {
        "day": "2030-01-31",
        "time": "18:30",
        "start": "2030-01-31T18:30:00Z",
        "mail": "name@example.com",
    }
    odd: JsonObject = {"day": "31/12/2026", "time": "6pm", "start": "2030-02-30T18:30", "mail": "x"}

    assert check(schema, good) == ValidArgs(good, [], [])
    assert check(schema, odd) == ValidArgs(
        odd,
        [],
        [
            '"31/12/2026" does not look like format date',
            '"6pm" does not look like format time',
            '"2030-02-30T18:30" does not look like format date-time',
            '"x" does not look like format email',
        ],
    )


def test_a_draft_4_schema_keeps_its_own_meaning() -> None:
    """C-37"""
    schema: JsonObject = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "properties": {"v": {"minimum": 0, "exclusiveMinimum": True}},
    }

    assert check(schema, {"v": 0}) == InvalidArgs('t: "v" must be more than 0, not 0', [], [])


def test_no_address_of_a_schema_is_ever_asked() -> None:
    """C-07"""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        base = f"http://127.0.0.1:{server.getsockname()[1]}"
        schemas: list[JsonObject] = [
            {"properties": {"q": {"$ref": f"{base}/internal"}}},
            {"$id": f"{base}/base/", "properties": {"q": {"$ref": "other.json"}}},
            {"properties": {"q": {"$ref": "file:///etc/hostname"}}},
            {"$schema": f"{base}/draft", "properties": {"q": {"$dynamicRef": f"{base}/x#a"}}},
            {"$id": f"{base}/base/", "allOf": [{"$ref": "#"}, {"$ref": "other.json#/a"}]},
        ]
        for schema in schemas:
            tool = PageTool(name="t", description="d", input_schema=schema)
            (shown,) = rank_tools([tool], "q")
            example_args(shown.parameters)
            outcome = validate_args(tool, {"q": 1})

            assert isinstance(outcome, ValidArgs)
            assert outcome.args == {"q": 1}
            assert outcome.warnings != []
            with pytest.raises(BlockingIOError):
                server.accept()


def test_a_pattern_without_end_is_skipped_with_a_warning() -> None:
    """C-07, C-39"""
    pattern = "^(x+x+)+y$"
    schema: JsonObject = {
        "properties": {
            "v": {"type": "string", "pattern": pattern},
            "n": {"type": "integer"},
        }
    }
    args: JsonObject = {"v": "x" * 5000, "n": "1"}

    assert check(schema, args) == ValidArgs(
        {**args, "n": 1},
        ['n: "1" sent as 1'],
        [f'properties.v.pattern left out: the pattern "{pattern}" takes too long'],
    )
    assert check(schema, {**args, "n": "one"}) == InvalidArgs(
        't: "n" must be a whole number, not the text "one"',
        [],
        [f'properties.v.pattern left out: the pattern "{pattern}" takes too long'],
    )


def test_many_patterns_without_end_end_the_check() -> None:
    """C-07, C-39"""
    names = [f"v{number}" for number in range(20)]
    schema: JsonObject = {"properties": {name: {"pattern": f"^(x+x+)+{name}$"} for name in names}}
    args: JsonObject = dict.fromkeys(names, "x" * 5000)
    outcome = check(schema, args)

    assert isinstance(outcome, ValidArgs)
    assert outcome.args == args
    assert outcome.warnings[-1] == "the arguments were not checked: too many slow patterns"


def test_a_check_that_would_never_end_is_skipped_with_a_warning() -> None:
    """C-07"""
    doubling: JsonObject = {}
    for number in range(40):
        further: JsonObject = {"$ref": f"#/$defs/A{number + 1}"}
        doubling[f"A{number}"] = {"allOf": [further, further]}
    schema: JsonObject = {
        "properties": {"v": {"$ref": "#/$defs/A0"}},
        "$defs": {**doubling, "A40": {"type": "integer"}},
    }

    assert check(schema, {"v": "1"}) == ValidArgs(
        {"v": 1},
        ['v: "1" sent as 1'],
        ["the arguments were not checked: the check takes more than 5000 steps"],
    )


def test_a_number_that_cannot_be_passed_is_refused_even_without_a_check() -> None:
    """C-34"""
    schema: JsonObject = {"properties": {str(number): {} for number in range(20_001)}}

    assert check(schema, {"v": 2**53}) == InvalidArgs(
        't: "v" is too large a number to be passed exactly',
        [],
        ["the arguments were not checked: the input schema has more than 20000 parts"],
    )
    assert check(schema, {"v": 1}) == ValidArgs(
        {"v": 1}, [], ["the arguments were not checked: the input schema has more than 20000 parts"]
    )


def test_arguments_nested_without_end_are_judged_by_the_page() -> None:
    deep: JsonObject = {}
    for _ in range(5000):
        deep = {"a": deep}
    schema: JsonObject = {"properties": {"a": {"$ref": "#"}}}

    assert isinstance(check({}, deep), ValidArgs)
    assert isinstance(check(schema, deep), ValidArgs)


def test_checking_changes_nothing_in_its_input() -> None:
    schema: JsonObject = {"properties": {"ids": {"items": {"type": "integer"}}}, "required": ["n"]}
    args: JsonObject = {"ids": ["1"]}

    check(schema, args)

    assert args == {"ids": ["1"]}
    assert schema == {"properties": {"ids": {"items": {"type": "integer"}}}, "required": ["n"]}
