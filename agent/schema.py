"""A tool's input schema, read whatever its form, and made small enough for a small model.

What is shown to a model is the compact schema; arguments are always checked against the page's own
(`validation.py`). Nothing here follows an address outside the schema.
"""

import json

from pydantic import JsonValue

JsonObject = dict[str, JsonValue]


def read_schema(schema: JsonValue) -> tuple[JsonObject, list[str]]:
    """The schema as an object schema, and what was odd about it.

    Takes an object, a JSON text (older browsers) or None. Nothing, an empty text, `{}` and `[]`
    mean no parameters; so does anything that is no schema of an object, with a warning. The result
    always has a `type` that allows an object; the input is not changed. Never raises."""
    value: JsonValue = schema
    if isinstance(value, str) and value.strip():
        try:
            value = json.loads(value, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            return _no_parameters(), ["the input schema is a text that is no JSON"]
    if isinstance(value, dict):
        return _as_object_schema(value)
    if value is None or value == [] or (isinstance(value, str) and not value.strip()):
        return _no_parameters(), []
    return _no_parameters(), [f"the input schema is {_noun(value)}, not an object"]


def _as_object_schema(schema: JsonObject) -> tuple[JsonObject, list[str]]:
    if not schema:
        return _no_parameters(), []
    kinds = schema.get("type")
    if kinds is None and "type" not in schema:
        return {"type": "object", **schema}, []
    if kinds == "object" or (isinstance(kinds, list) and "object" in kinds):
        return schema, []
    return {**schema, "type": "object"}, ["the input schema's type allows no object"]


def _no_parameters() -> JsonObject:
    return {"type": "object", "properties": {}}


def _refuse_constant(name: str) -> JsonValue:
    raise ValueError(f"{name} is no JSON")


def _noun(value: object) -> str:
    match value:
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case _:
            return "a list"
