"""What a whole reply may be when tools are listed in the prompt text: one call, or one answer.

For engines that hold a reply to a JSON schema of their own accord. Pure.
"""

import json
from collections.abc import Sequence

from webmcp_agent.providers.argument_schema import decoding_schema
from webmcp_agent.providers.base import JsonObject, ToolConstraint


def reply_schema(constraints: Sequence[ToolConstraint]) -> JsonObject:
    """`{"tool": NAME, "args": {…}}` for each tool, or `{"reply": TEXT}`.

    The form is the one that the system prompt asks for when it lists the tools itself. A tool
    whose schema refers to parts of itself takes any object: the reference counts from the root of
    the whole document, where that part is not."""
    calls = [_object({"tool": {"enum": [tool.name]}, "args": _args(tool)}) for tool in constraints]
    return {"anyOf": [*calls, _object({"reply": {"type": "string"}})]}


def _args(tool: ToolConstraint) -> JsonObject:
    schema = decoding_schema(tool.schema)
    refers = any(f'"{key}"' in json.dumps(schema) for key in ("$ref", "$dynamicRef"))
    return {"type": "object"} if refers else schema


def _object(properties: JsonObject) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }
