"""Schemas as pages write them, read and made compact."""

import pytest
from pydantic import JsonValue

from webmcp_agent.agent.ranking import rank_tools
from webmcp_agent.agent.schema import JsonObject, compact_schema, example_args, read_schema
from webmcp_agent.browser.tools import PageTool

NO_PARAMETERS: JsonObject = {"type": "object", "properties": {}}
ASKS_FOR_Q: JsonObject = {
    "type": "object",
    "properties": {"q": {"type": "string"}},
    "required": ["q"],
}


ODD = "the input schema is a text that is no JSON"
READ: dict[str, tuple[JsonValue, JsonObject, list[str]]] = {
    "none": (None, NO_PARAMETERS, []),
    "empty text": ("", NO_PARAMETERS, []),
    "blank text": ("  ", NO_PARAMETERS, []),
    "empty object": ({}, NO_PARAMETERS, []),
    "text of an empty object": ("{}", NO_PARAMETERS, []),
    "text of null": ("null", NO_PARAMETERS, []),
    "empty list": ([], NO_PARAMETERS, []),
    "an object": (ASKS_FOR_Q, ASKS_FOR_Q, []),
    "text of an object": (
        '{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}',
        ASKS_FOR_Q,
        [],
    ),
    "no type": ({"properties": {"q": {"type": "string"}}, "required": ["q"]}, ASKS_FOR_Q, []),
    "object or null": ({"type": ["object", "null"]}, {"type": ["object", "null"]}, []),
    "text that is no JSON": ("not json", NO_PARAMETERS, [ODD]),
    "text with NaN": ('{"default": NaN}', NO_PARAMETERS, [ODD]),
    "text nested too deep": ("[" * 100_000, NO_PARAMETERS, [ODD]),
    "true": (True, NO_PARAMETERS, ["the input schema is true or false, not an object"]),
    "a number": ("3", NO_PARAMETERS, ["the input schema is a number, not an object"]),
    "a text in a text": ('"{}"', NO_PARAMETERS, ["the input schema is a text, not an object"]),
    "a list": ([1], NO_PARAMETERS, ["the input schema is a list, not an object"]),
    "a type that does not exist": (
        {"type": "text"},
        {"type": "object"},
        ["the input schema's type allows no object"],
    ),
}


@pytest.mark.parametrize(("schema", "read", "warnings"), READ.values(), ids=READ.keys())
def test_a_schema_is_read_in_each_form_that_browsers_give(
    schema: JsonValue, read: JsonObject, warnings: list[str]
) -> None:
    """C-38"""
    assert read_schema(schema) == (read, warnings)


def test_reading_changes_nothing_in_the_pages_own_schema() -> None:
    schema: JsonObject = {"properties": {"q": {"type": "string"}}}

    read_schema(schema)

    assert schema == {"properties": {"q": {"type": "string"}}}


@pytest.mark.parametrize(("schema", "read", "warnings"), READ.values(), ids=READ.keys())
def test_a_compact_schema_has_properties_whatever_was_read(
    schema: JsonValue, read: JsonObject, warnings: list[str]
) -> None:
    """C-38, C-40"""
    assert compact_schema(schema) == (ASKS_FOR_Q if read == ASKS_FOR_Q else NO_PARAMETERS)


STOPS: list[JsonValue] = [f"stop-{number:02}" for number in range(60)]
COMPACT: dict[str, tuple[JsonObject, JsonObject]] = {
    "null in a branch": (
        {"age": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
        {"age": {"type": ["integer", "null"]}},
    ),
    "null in a list of types": (
        {"nick": {"type": ["string", "null"]}},
        {"nick": {"type": ["string", "null"]}},
    ),
    "constant branches and null": (
        {"code": {"oneOf": [{"const": 1}, {"const": "one"}, {"type": "null"}]}},
        {"code": {"enum": [1, "one", None]}},
    ),
    "a branch of values and null": (
        {"unit": {"anyOf": [{"type": "string", "enum": ["cm", "in"]}, {"type": "null"}]}},
        {"unit": {"type": ["string", "null"], "enum": ["cm", "in", None]}},
    ),
    "null as a default where null is allowed": (
        {"age": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}},
        {"age": {"type": ["integer", "null"], "default": None}},
    ),
    "null as a default where it is not": (
        {"note": {"type": "string", "default": None}},
        {"note": {"type": "string"}},
    ),
    "mixed values, true and false": (
        {"size": {"enum": ["S", "M", 42, None]}, "any": {}, "yes": True, "no": False},
        {"size": {"enum": ["S", "M", 42, None]}, "any": {}, "yes": {}},
    ),
    "a constant": ({"v": {"const": 2}}, {"v": {"type": "integer", "enum": [2]}}),
    "60 values": (
        {"s": {"type": "string", "enum": STOPS, "description": "Where to start"}},
        {
            "s": {
                "type": "string",
                "description": "Where to start; one of 60 values, e.g. stop-00",
            }
        },
    ),
    "60 values and a long description": (
        {"s": {"enum": STOPS, "description": "far " * 100}},
        {
            "s": {
                "type": "string",
                "description": ("far " * 100)[:87] + "…; one of 60 values, e.g. stop-00",
            }
        },
    ),
    "21 long values": (
        {"s": {"enum": ["x" * 31 + str(number) for number in range(21)]}},
        {"s": {"type": "string", "description": "one of 21 values"}},
    ),
    "titles of branches": (
        {
            "d": {
                "enum": ["std", "exp"],
                "anyOf": [
                    {"const": "std", "title": "Standard"},
                    {"const": "exp", "title": "Express"},
                ],
                "description": "Delivery",
            }
        },
        {
            "d": {
                "type": "string",
                "description": "Delivery; std = Standard, exp = Express",
                "enum": ["std", "exp"],
            }
        },
    ),
    "an example": (
        {"who": {"type": "string", "description": "Guest", "examples": ["Nina", "Ali"]}},
        {"who": {"type": "string", "description": "Guest; e.g. Nina"}},
    ),
    "a title serves without a description": (
        {"a": {"title": "Day", "type": "string"}, "b": {"title": "X", "description": "Room"}},
        {"a": {"type": "string", "description": "Day"}, "b": {"description": "Room"}},
    ),
    "whole steps": (
        {"n": {"type": "number", "multipleOf": 5}, "half": {"type": "number", "multipleOf": 0.5}},
        {"n": {"type": "integer"}, "half": {"type": "number"}},
    ),
    "keywords that stay and keywords that go": (
        {
            "day": {
                "$id": "day",
                "type": "string",
                "format": "date",
                "pattern": "^2",
                "minLength": 3,
                "default": "2030-01-31",
            },
            "n": {"type": "integer", "minimum": 1, "maximum": 6, "exclusiveMaximum": 7},
            "list": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
            "code": {"type": "string", "format": "iban"},
        },
        {
            "day": {"type": "string", "format": "date", "default": "2030-01-31"},
            "n": {"type": "integer", "minimum": 1, "maximum": 6},
            "list": {"type": "array", "items": {"type": "string"}},
            "code": {"type": "string"},
        },
    ),
    "keywords of a wrong kind": (
        {
            "a": {"type": "text", "description": {"en": "A"}, "items": "x", "minimum": "1"},
            "b": {"type": ["string", "word"], "enum": 3, "required": "c", "properties": []},
            "c": 4,
        },
        {"a": {}, "b": {"type": "string"}, "c": {}},
    ),
    "allOf is put together": (
        {
            "n": {
                "allOf": [
                    {"type": "number", "minimum": 1, "description": "Guests"},
                    {"type": "integer", "minimum": 0, "maximum": 9},
                ]
            }
        },
        {"n": {"type": "integer", "description": "Guests", "minimum": 1, "maximum": 9}},
    ),
    "the first of other branches": (
        {"v": {"oneOf": [{"type": "string", "format": "date"}, {"type": "integer"}]}},
        {"v": {"type": "string", "format": "date"}},
    ),
    "a reference to itself": (
        {"a": {"$ref": "#/properties/a"}},
        {"a": {"description": "same shape again"}},
    ),
    "a reference to elsewhere": (
        {"q": {"$ref": "http://127.0.0.1/x", "description": "Query"}, "r": {"$ref": "#/nowhere"}},
        {"q": {"description": "Query"}, "r": {}},
    ),
    "deprecated": ({"old": {"type": "string", "deprecated": True}, "new": {}}, {"new": {}}),
    "blanks": ({"a": {"description": " a\n  b\t"}}, {"a": {"description": "a b"}}),
    "a long description": (
        {"a": {"description": "x" * 121}, "b": {"description": "x" * 120}},
        {"a": {"description": "x" * 119 + "…"}, "b": {"description": "x" * 120}},
    ),
    "five levels": (
        {"a": {"properties": {"b": {"properties": {"c": {"properties": {"d": {"items": {}}}}}}}}},
        {"a": {"properties": {"b": {"properties": {"c": {"properties": {"d": {}}}}}}}},
    ),
}


@pytest.mark.parametrize(("properties", "compact"), COMPACT.values(), ids=COMPACT.keys())
def test_a_property_is_made_compact(properties: JsonObject, compact: JsonObject) -> None:
    """C-40"""
    schema: JsonObject = {"type": "object", "properties": properties}

    assert compact_schema(schema) == {"type": "object", "properties": compact}
    assert compact_schema(compact_schema(schema)) == compact_schema(schema)


def test_references_are_read_with_their_escapes_and_keep_their_own_description() -> None:
    """C-40"""
    stop: JsonObject = {"type": "string", "enum": ["harbour", "mill", "abbey"]}
    schema: JsonObject = {
        "type": "object",
        "required": ["from", "to"],
        "properties": {
            "from": {"$ref": "#/$defs/Stop"},
            "to": {"$ref": "#/properties/from", "description": "Where to get off"},
            "via": {"type": "array", "items": {"$ref": "#/definitions/a~1b%20c"}},
        },
        "$defs": {"Stop": stop},
        "definitions": {"a/b c": {"type": "integer", "minimum": 1}},
    }

    assert compact_schema(schema) == {
        "type": "object",
        "properties": {
            "from": stop,
            "to": {**stop, "description": "Where to get off"},
            "via": {"type": "array", "items": {"type": "integer", "minimum": 1}},
        },
        "required": ["from", "to"],
    }


AGAIN: JsonObject = {"description": "same shape again"}
RECURSIVE: dict[str, tuple[JsonObject, JsonObject]] = {
    "a filter of filters": (
        {
            "properties": {"filter": {"$ref": "#/$defs/F"}},
            "$defs": {
                "F": {
                    "type": "object",
                    "required": ["op"],
                    "properties": {
                        "op": {"enum": ["and", "or"]},
                        "parts": {"type": "array", "items": {"$ref": "#/$defs/F"}},
                    },
                }
            },
        },
        {
            "filter": {
                "type": "object",
                "properties": {
                    "op": {"type": "string", "enum": ["and", "or"]},
                    "parts": {"type": "array", "items": AGAIN},
                },
                "required": ["op"],
            }
        },
    ),
    "nodes with nodes": (
        {
            "properties": {
                "nodes": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "kids": {
                                "type": "array",
                                "items": {"$ref": "#/properties/nodes/items"},
                            }
                        },
                    },
                }
            }
        },
        {
            "nodes": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"kids": {"type": "array", "items": AGAIN}},
                },
            }
        },
    ),
    "a list that ends in null": (
        {
            "properties": {"list": {"$ref": "#/$defs/L"}},
            "$defs": {
                "L": {
                    "type": "object",
                    "properties": {"next": {"anyOf": [{"$ref": "#/$defs/L"}, {"type": "null"}]}},
                }
            },
        },
        {
            "list": {
                "type": "object",
                "properties": {"next": {"type": ["object", "null"], **AGAIN}},
            }
        },
    ),
    "two that lead to each other": (
        {
            "properties": {"a": {"$ref": "#/$defs/A"}},
            "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}},
        },
        {"a": AGAIN},
    ),
    "the whole schema": ({"$ref": "#", "properties": {"a": {"$ref": "#"}}}, {"a": AGAIN}),
    "nothing but itself": ({"$ref": "#"}, {}),
}


@pytest.mark.parametrize(("schema", "properties"), RECURSIVE.values(), ids=RECURSIVE.keys())
def test_a_shape_that_holds_itself_is_shown_once(
    schema: JsonObject, properties: JsonObject
) -> None:
    """C-40"""
    compact = compact_schema(schema)

    assert compact == {"type": "object", "properties": properties}
    assert compact_schema(compact) == compact


def test_required_properties_come_first_and_twelve_are_shown() -> None:
    """C-40"""
    schema: JsonObject = {
        "properties": {
            f"field_{number}": {"type": "string", "description": "x" * 300} for number in range(40)
        },
        "required": ["field_39", "field_40"],
    }
    shown = ["field_39", *(f"field_{number}" for number in range(11))]

    compact = compact_schema(schema)

    assert compact == {
        "type": "object",
        "properties": {name: {"type": "string"} for name in shown},
        "required": ["field_39"],
    }
    assert list(_properties(compact)) == shown


def test_required_properties_stay_when_there_are_many() -> None:
    """C-40"""
    names = [f"field_{number}" for number in range(30)]
    schema: JsonObject = {
        "properties": {"extra": {}, **{name: {"type": "string"} for name in names}},
        "required": [*names],
    }

    assert list(_properties(compact_schema(schema))) == names
    assert list(_properties(compact_schema(schema, limit=10))) == names


SHRINKING: dict[int, JsonObject] = {
    400: {
        "a": {
            "description": "y" * 100,
            "type": "object",
            "properties": {
                "b": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}}
            },
        },
        "c": {"type": "string"},
        "d": {"type": "string"},
    },
    300: {
        "a": {
            "description": "y" * 59 + "…",
            "type": "object",
            "properties": {"b": {"type": "array", "items": {"type": "array"}}},
        },
        "c": {"type": "string"},
        "d": {"type": "string"},
    },
    220: {
        "a": {
            "type": "object",
            "properties": {"b": {"type": "array", "items": {"type": "array"}}},
        },
        "c": {"type": "string"},
        "d": {"type": "string"},
    },
    175: {
        "a": {"type": "object", "properties": {"b": {"type": "array"}}},
        "c": {"type": "string"},
        "d": {"type": "string"},
    },
    150: {
        "a": {"type": "object", "properties": {"b": {"type": "array"}}},
        "d": {"type": "string"},
    },
    100: {"d": {"type": "string"}},
    1: {"d": {"type": "string"}},
}


@pytest.mark.parametrize(("limit", "properties"), SHRINKING.items())
def test_a_long_schema_loses_depth_then_words_then_optional_properties(
    limit: int, properties: JsonObject
) -> None:
    """C-40"""
    schema: JsonObject = {
        "properties": {
            "a": {**SHRINKING[400]["a"]} if isinstance(SHRINKING[400]["a"], dict) else {},
            "c": {"type": "string"},
            "d": {"type": "string"},
        },
        "required": ["d"],
    }

    compact = compact_schema(schema, limit)

    assert compact == {"type": "object", "properties": properties, "required": ["d"]}
    assert compact_schema(compact, limit) == compact


EXAMPLES: dict[str, tuple[JsonObject, JsonValue]] = {
    "a default": ({"type": "string", "enum": ["cm", "in"], "default": "in"}, "in"),
    "a value": ({"type": "string", "enum": ["cm", "in"]}, "cm"),
    "what the description names": (
        {"type": "string", "description": "Stop; one of 60 values, e.g. stop-00; a = A"},
        "stop-00",
    ),
    "a named number": ({"type": "integer", "description": "Row, e.g. 12"}, 12),
    "a named number out of range": (
        {"type": "integer", "description": "Row, e.g. 12", "maximum": 9},
        1,
    ),
    "named words for a number": ({"type": "integer", "description": "e.g. many"}, 1),
    "a minimum": ({"type": "integer", "minimum": 2.5}, 3),
    "a minimum of a number": ({"type": "number", "minimum": 2.5}, 2.5),
    "a low maximum": ({"type": "integer", "maximum": -0.5}, -1),
    "a high maximum": ({"type": "integer", "maximum": 9}, 1),
    "true or false": ({"type": "boolean"}, True),
    "null": ({"type": "null"}, None),
    "text or null": ({"type": ["null", "string"]}, "first name"),
    "a list": ({"type": "array", "items": {"type": "integer"}}, [1]),
    "an object": (
        {
            "type": "object",
            "properties": {"city": {"type": "string"}, "zip": {"type": "string"}},
            "required": ["city"],
        },
        {"city": "city"},
    ),
    "a date": ({"type": "string", "format": "date"}, "2030-01-31"),
    "a time": ({"type": "string", "format": "time"}, "18:30"),
    "a date and time": ({"type": "string", "format": "date-time"}, "2030-01-31T18:30:00Z"),
    "an email": ({"type": "string", "format": "email"}, "name@example.com"),
    "an address": ({"type": "string", "format": "uri"}, "https://example.com/"),
    "anything": ({}, "first name"),
}


@pytest.mark.parametrize(("schema", "example"), EXAMPLES.values(), ids=EXAMPLES.keys())
def test_an_example_shows_what_the_schema_says(schema: JsonObject, example: JsonValue) -> None:
    parameters: JsonObject = {
        "type": "object",
        "properties": {"other": {}, "first-name": schema},
        "required": ["first-name"],
    }

    assert example_args(parameters) == {"first-name": example}


def test_the_first_property_serves_as_example_when_none_is_required() -> None:
    assert example_args({"type": "object", "properties": {"firstName": {}, "b": {}}}) == {
        "firstName": "first name"
    }
    assert example_args({"type": "object", "properties": {}}) == {}


def test_a_shown_tool_carries_the_compact_schema() -> None:
    """A-048, B-037, C-37"""
    schema: JsonObject = {"properties": {"s": {"enum": STOPS, "pattern": "^s"}}, "required": ["s"]}
    tool = PageTool(name="ride", description="Ride a tram", input_schema=schema)

    (shown,) = rank_tools([tool], "ride")

    assert shown.parameters == compact_schema(schema)
    assert "stop-59" not in str(shown.parameters)


@pytest.mark.parametrize("length", [399, 400, 401])
def test_the_description_of_a_shown_tool_has_400_characters_at_most(length: int) -> None:
    """B-036"""
    (shown,) = rank_tools([PageTool(name="ride", description="x" * length)], "ride")

    assert shown.description[:399] == "x" * 399
    assert len(shown.description) == min(length, 400)


def _properties(compact: JsonObject) -> JsonObject:
    properties = compact["properties"]
    assert isinstance(properties, dict)
    return properties
