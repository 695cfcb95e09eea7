"""The JSON Schema of scenario files, for editors: made from the models that read them."""

import json

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.scenario import Scenario


def scenario_schema() -> JsonObject:
    """The schema; what it cannot say (patterns, operators) is told when a file is read."""
    schema = TypeAdapter(Scenario).json_schema()
    return {"$schema": GenerateJsonSchema.schema_dialect, **schema}


def schema_text() -> str:
    """The schema as a file holds it, without the last line break."""
    return json.dumps(scenario_schema(), ensure_ascii=False, indent=2)
