"""Schemas as pages write them, read and made compact."""

import pytest
from pydantic import JsonValue

from webmcp_agent.agent.schema import JsonObject, read_schema

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
