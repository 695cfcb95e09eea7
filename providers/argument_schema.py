"""A tool's schema made ready for decoding: closed, in order, and free of what cannot be written.

Pure. Whether the engine takes the result is for `grammar.py` to find out.
"""

import json
from collections.abc import Sequence
from typing import TypeGuard, cast

from pydantic import JsonValue

from webmcp_agent.providers.base import JsonObject

OPEN_ENDED = (
    "$ref",
    "additionalProperties",
    "allOf",
    "anyOf",
    "dependentSchemas",
    "if",
    "minProperties",
    "oneOf",
    "patternProperties",
    "propertyNames",
    "unevaluatedProperties",
)
"""Keywords with which an object says itself, or elsewhere, what else it may hold."""


def decoding_schema(schema: JsonObject) -> JsonObject:
    """`schema` as an object that is closed where it does not say otherwise.

    A schema is open by default, and a small model fills open places with invented keys. So an
    object that declares its properties takes no others, and one without any is exactly `{}`.
    Required properties come first, as the model sees them in the prompt."""
    root: JsonObject = {"type": "object"}
    for key, value in schema.items():
        if key not in ("$schema", "type", "x-guidance"):
            root[key] = value
    properties = root.get("properties")
    if properties is None and not root.get("required"):
        properties = root["properties"] = {}
    if isinstance(properties, dict):
        required = root.get("required")
        first = [name for name in required if name in properties] if is_text_list(required) else []
        rest = [name for name in properties if name not in first]
        root["properties"] = {str(name): properties[str(name)] for name in [*first, *rest]}
    return cast("JsonObject", _closed(root))


def _closed(schema: JsonValue) -> JsonValue:
    if not isinstance(schema, dict):
        return schema
    closed = dict(schema)
    if "items" in closed:
        closed["items"] = _closed(closed["items"])
    properties = closed.get("properties")
    if isinstance(properties, dict):
        closed["properties"] = {name: _closed(value) for name, value in properties.items()}
        required = closed.get("required", [])
        declared = is_text_list(required) and all(name in properties for name in required)
        if declared and not any(keyword in closed for keyword in OPEN_ENDED):
            closed["additionalProperties"] = False
    return closed


def without_texts(schema: JsonObject, texts: Sequence[str]) -> JsonObject | None:
    """`schema` without the values that hold one of `texts`; None when a key does.

    The engine (1.9) neither spells such a text nor takes its token, so that a grammar which
    demands it would have no way on."""

    def holds(value: JsonValue) -> bool:
        spelled = json.dumps(value, ensure_ascii=False)
        return any(text in spelled for text in texts)

    def cleaned(value: JsonValue) -> JsonValue:
        if isinstance(value, list):
            return [cleaned(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {
            key: cleaned(item)
            for key, item in value.items()
            if not (key in ("const", "enum") and holds(item))
        }

    result = cleaned(schema)
    assert isinstance(result, dict)
    return None if holds(_keys(result)) else result


def _keys(value: JsonValue) -> list[JsonValue]:
    inner = list(value.values()) if isinstance(value, dict) else value
    below = [key for item in inner for key in _keys(item)] if isinstance(inner, list) else []
    return [*value, *below] if isinstance(value, dict) else below


def is_text_list(value: JsonValue) -> TypeGuard[list[str]]:
    """Whether `value` is a list of texts, as `required` has to be."""
    return isinstance(value, list) and all(isinstance(item, str) for item in value)
