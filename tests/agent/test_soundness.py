"""Broken schemas: what is left out, with which note, and that no call is refused because of it."""

import pytest
from pydantic import JsonValue

from webmcp_agent.agent.ranking import rank_tools
from webmcp_agent.agent.soundness import Draft, draft_of, sound_schema
from webmcp_agent.agent.validation import InvalidArgs, ValidArgs, validate_args
from webmcp_agent.browser.tools import JsonObject, PageTool

REMOTE: JsonObject = {"$ref": "https://example.com/other.json"}
OUTSIDE = '$ref left out: "https://example.com/other.json" leads outside the schema'

BROKEN: dict[str, tuple[JsonObject, JsonObject, list[str]]] = {
    "wrong kinds": (
        {
            "required": 3,
            "properties": {
                "a": {"type": "text", "minLength": "1"},
                "b": {"type": ["string", "word"]},
                "c": {"items": "x", "enum": "x", "minimum": True},
                "d": 4,
            },
        },
        {"properties": {"a": {}, "b": {}, "c": {}, "d": {}}},
        [
            "required left out: no list of names",
            'properties.a.type left out: unknown type "text"',
            "properties.a.minLength left out: no whole number from 0",
            'properties.b.type left out: unknown type ["string", "word"]',
            "properties.c.items left out: no schema",
            "properties.c.enum left out: no list of values",
            "properties.c.minimum left out: no number",
            "properties.d left out: no schema",
        ],
    ),
    "more wrong kinds": (
        {
            "allOf": [],
            "patternProperties": [],
            "additionalProperties": False,
            "dependentRequired": {"a": "b"},
            "uniqueItems": "yes",
            "multipleOf": 0,
            "pattern": 1,
            "exclusiveMinimum": True,
            "if": "x",
        },
        {},
        [
            "allOf left out: no list of schemas",
            "patternProperties left out: no object",
            "dependentRequired left out: no lists of names",
            "uniqueItems left out: neither true nor false",
            "multipleOf left out: no number above 0",
            "pattern left out: no text",
            "exclusiveMinimum left out: no number",
            "if left out: no schema",
        ],
    ),
    "references": (
        {
            "properties": {
                "a": REMOTE,
                "b": {"$ref": "#/$defs/none"},
                "c": {"$ref": "#/$defs/loop"},
                "d": {"$ref": "#/$defs/good~1name", "description": "kept"},
                "e": {"$recursiveRef": "#"},
                "f": {"$ref": "#"},
            },
            "$defs": {
                "loop": {"anyOf": [{"$ref": "#/$defs/pool"}]},
                "pool": {"not": {"$ref": "#/$defs/loop"}},
                "good/name": {"type": "string", "default": "x", "x-note": 1},
            },
        },
        {
            "properties": {
                "a": {},
                "b": {},
                "c": {},
                "d": {"$ref": "#/$defs/0", "description": "kept"},
                "e": {},
                "f": {"$ref": "#"},
            },
            "$defs": {"0": {"type": "string", "default": "x"}},
        },
        [
            f"properties.a.{OUTSIDE}",
            'properties.b.$ref left out: "#/$defs/none" leads nowhere',
            'properties.c.$ref left out: "#/$defs/loop" leads back to itself',
            "properties.e.$recursiveRef left out: not followed",
        ],
    ),
    "patterns": (
        {
            "properties": {"a": {"pattern": "("}, "b": {"pattern": "x" * 201}},
            "patternProperties": {"^x-": {"type": "string"}, "(?i)y": {}},
            "additionalProperties": False,
        },
        {
            "properties": {"a": {}, "b": {}},
            "patternProperties": {"^x-": {"type": "string"}},
        },
        [
            'properties.a.pattern left out: the pattern "(" cannot be run',
            "properties.b.pattern left out: the pattern is longer than 200",
            'patternProperties.(?i)y left out: the pattern "(?i)y" cannot be run',
        ],
    ),
    "what hangs on a part that was left out": (
        {
            "properties": {
                "a": {"oneOf": [REMOTE, {"type": "null"}]},
                "b": {"not": {"items": REMOTE}},
                "c": {"if": {"$ref": "#/$defs/R"}, "then": False},
                "e": False,
                "list": {"contains": REMOTE, "maxContains": 1, "minContains": 1},
                "not": {"type": "integer"},
                "oneOf": REMOTE,
            },
            "$defs": {"R": {"properties": {"x": REMOTE}}},
        },
        {
            "properties": {
                "a": {"anyOf": [{}, {"type": "null"}]},
                "b": {},
                "c": {},
                "e": {"not": {}},
                "list": {"contains": {}, "minContains": 1},
                "not": {"type": "integer"},
                "oneOf": {},
            },
            "$defs": {"0": {"properties": {"x": {}}}},
        },
        [
            f"properties.a.oneOf.0.{OUTSIDE}",
            f"properties.b.not.items.{OUTSIDE}",
            f"properties.list.contains.{OUTSIDE}",
            f"properties.oneOf.{OUTSIDE}",
            f"#/$defs/R.properties.x.{OUTSIDE}",
        ],
    ),
}


@pytest.mark.parametrize(("schema", "sound", "warnings"), BROKEN.values(), ids=BROKEN.keys())
def test_what_cannot_be_used_is_left_out_with_a_note(
    schema: JsonObject, sound: JsonObject, warnings: list[str]
) -> None:
    """C-38, C-39"""
    assert sound_schema(schema, "2020-12") == (sound, warnings)


@pytest.mark.parametrize(("schema", "sound", "warnings"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_schema_lets_a_call_pass(
    schema: JsonObject, sound: JsonObject, warnings: list[str]
) -> None:
    """C-38"""
    args: JsonObject = {"a": None, "b": 1, "c": 2, "d": "text", "list": [1, 2], "x-b": "c"}
    outcome = validate_args(PageTool(name="t", description="", input_schema=schema), args)

    assert isinstance(outcome, ValidArgs)
    assert outcome.args == args
    assert outcome.warnings == warnings


def test_a_sound_schema_stays_as_it_is() -> None:
    schema: JsonObject = {
        "type": "object",
        "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
        "not": {"required": ["c"]},
        "dependencies": {"a": ["d"], "b": {"minProperties": 2}},
    }

    assert sound_schema(schema, "2020-12") == (schema, [])


ODD: list[JsonObject | str | None] = [
    {"type": "object", "properties": {"q": {"type": "string"}}, "required": 3},
    {"type": "text"},
    None,
    '{"properties": {"q": {"type": "integer"}}}',
    "no JSON",
]


def test_odd_schemas_hide_no_tool() -> None:
    """C-38"""
    good = PageTool(name="good", description="d", input_schema={"properties": {"q": {}}})
    odd = [PageTool(name=f"odd-{n}", description="d", input_schema=s) for n, s in enumerate(ODD)]
    shown = rank_tools([*odd, good], "", max_tools=9)

    assert [tool.name for tool in shown] == ["odd-0", "odd-1", "odd-2", "odd-3", "odd-4", "good"]
    assert [list(validate_args(tool, {"q": "1"}).warnings) for tool in odd] == [
        ["required left out: no list of names"],
        ["the input schema's type allows no object"],
        [],
        [],
        ["the input schema is a text that is no JSON"],
    ]


def test_a_part_beside_a_broken_one_is_still_checked() -> None:
    """C-38"""
    schema: JsonObject = {"properties": {"a": REMOTE, "b": {"type": "integer"}}}
    tool = PageTool(name="t", description="", input_schema=schema)

    assert validate_args(tool, {"a": 1, "b": "x"}) == InvalidArgs(
        't: "b" must be a whole number, not the text "x"', [], [f"properties.a.{OUTSIDE}"]
    )


DRAFTS: dict[str, Draft] = {
    "http://json-schema.org/draft-04/schema#": "4",
    "http://json-schema.org/draft-06/schema#": "6",
    "https://json-schema.org/draft-07/schema": "7",
    "https://json-schema.org/draft/2019-09/schema": "2019-09",
    "https://json-schema.org/draft/2020-12/schema": "2020-12",
    "http://json-schema.org/draft-03/schema#": "2020-12",
    "urn:something": "2020-12",
}


@pytest.mark.parametrize(("address", "draft"), DRAFTS.items())
def test_the_draft_is_the_one_that_the_schema_names(address: str, draft: Draft) -> None:
    assert draft_of({"$schema": address}) == draft


@pytest.mark.parametrize("value", [None, 3, ["x"]])
def test_a_schema_that_names_no_draft_is_of_the_newest(value: JsonValue) -> None:
    assert draft_of({"$schema": value}) == "2020-12"


def test_a_list_of_items_belongs_to_the_older_drafts() -> None:
    schema: JsonObject = {"items": [{"type": "string"}], "additionalItems": False}

    assert sound_schema(schema, "7") == (schema, [])
    assert sound_schema(schema, "2020-12")[1] == ["items left out: no schema"]
