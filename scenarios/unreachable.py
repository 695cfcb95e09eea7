"""Whether a live page lets a model do what a case expects: tools and arguments that do not exist.

A case that no model could pass is wrong itself, and no verdict on the model.
"""

from difflib import get_close_matches

from pydantic import JsonValue, TypeAdapter, ValidationError

from webmcp_agent.browser.tools import PageTool
from webmcp_agent.scenarios.checks import Checks
from webmcp_agent.scenarios.expected_calls import ExpectedCall, awaited, flat, match_calls
from webmcp_agent.scenarios.offered import WatchedTools
from webmcp_agent.scenarios.outcome import Outcome
from webmcp_agent.scenarios.scenario import Case

_SCHEMA: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue])
_OPEN = ("$ref", "allOf", "anyOf", "oneOf", "patternProperties", "if")
"""Keywords with which a schema may name arguments elsewhere."""


async def why_unreachable(case: Case, outcome: Outcome, watched: WatchedTools) -> str | None:
    """Why the calls of a case cannot be made on this page; None when they can, or are not judged.

    A tool is held to be missing when the conversation had come to its call and the page did not
    offer it, so that a model that lost its way is not excused."""
    checks = case.checks
    if checks is None:
        return None
    known = {tool.name: tool for listing in watched.listings for tool in listing.tools}
    for call in _named(checks):
        if call.tool in known and (why := unknown_argument(call, known[call.tool])):
            return f"{why} on this page"
    if checks.calls is None or match_calls(checks.calls, outcome.calls) is None:
        return None
    at, wanted = awaited(checks.calls, outcome.calls)
    if not wanted:
        return None
    offered = await watched.list_tools() if at == len(outcome.calls) else watched.before_call(at)
    names = [tool.name for tool in offered]
    if any(name in names for name in wanted):
        return None
    return no_such_tool(wanted[0], names)


def with_script_error(text: str, error: str | None) -> str:
    """What is wrong with a page's tools, and the error of its script that may be the reason."""
    return text if error is None else f"{text}; a script of the page failed: {error}"


def no_such_tool(name: str, names: list[str]) -> str:
    """That a page does not offer a tool, with the nearest name that it does offer."""
    near = get_close_matches(name, names, 1)
    hint = f"; did you mean {near[0]!r}?" if near else f"; it offers {', '.join(names) or 'none'}"
    return f"the page offers no tool {name!r} here{hint}"


def unknown_argument(call: ExpectedCall, tool: PageTool) -> str | None:
    """That a tool does not know an argument of a call; None when it knows all, or may."""
    names = [name for name in call.args or () if not name.startswith("$")]
    unknown = [name for name in names if not _takes(tool, name)]
    return f"the tool {tool.name} has no argument {unknown[0]!r}" if unknown else None


def _takes(tool: PageTool, name: str) -> bool:
    schema = tool.input_schema
    if isinstance(schema, str):
        try:
            schema = _SCHEMA.validate_json(schema)
        except ValidationError:
            return True
    if schema is None:
        return False
    properties = schema.get("properties")
    if not isinstance(properties, dict) or any(keyword in schema for keyword in _OPEN):
        return True
    return name in properties or schema.get("additionalProperties") not in (None, False)


def _named(checks: Checks) -> list[ExpectedCall]:
    return [*flat(checks.calls or ()), *checks.called]
