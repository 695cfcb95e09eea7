"""What a written call means: which tool, which arguments.

Nothing is guessed: a name is a tool's own, arguments are an object in its place, and what would be
lost is an error. Schemas are read only for tools that a reply names.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from webmcp_agent.agent.call_values import Unreadable, ValueReader, shown
from webmcp_agent.agent.schema import read_schema
from webmcp_agent.browser.tools import PageTool
from webmcp_agent.providers.base import JsonObject

NAME_KEYS = ("name", "tool", "tool_name", "function")
ARGUMENT_KEYS = ("arguments", "args", "parameters", "input")
_NO_PARAMETERS = "no arguments"
_LISTED_LIMIT = 20
"""Parameters that an error lists; more are left to the tool's own description."""


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """A call as it was written, in any of the forms."""

    names: Sequence[tuple[str, JsonValue]]
    """Each key that names the tool, with its value."""
    arguments: Sequence[tuple[str, JsonValue]]
    """Each key that holds arguments, with its value."""
    others: JsonObject
    """All other members."""


class Refused(Exception):
    """A call could be read but means nothing; the text says why and names the tool."""


class KnownTools:
    """The tools that a reply may name, and what their schemas say of their parameters."""

    def __init__(self, tools: Sequence[PageTool]) -> None:
        self._tools: dict[str, PageTool] = {}
        for tool in tools:
            self._tools.setdefault(tool.name, tool)
        self._schemas: dict[str, JsonObject] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def exact(self, name: str, repairs: list[str] | None = None) -> str:
        """`name`, or the tool's name it becomes without blanks and `functions.`.

        What was removed is added to `repairs`. Any other name stays as it is."""
        if name in self._tools:
            return name
        bare = name.strip()
        inner = bare.removeprefix("functions.")
        if inner not in self._tools:
            return name
        if repairs is not None:
            repairs.extend(["blanks around the name removed"] if bare != name else [])
            repairs.extend(["functions. removed"] if inner != bare else [])
        return inner

    def parameters(self, name: str) -> list[str]:
        """The tool's parameters in the page's order; empty for an unknown tool."""
        properties = self._schema(name).get("properties")
        required = self.required(name)
        names = list(properties) if isinstance(properties, dict) else []
        return names + [name for name in required if name not in names]

    def required(self, name: str) -> list[str]:
        """The tool's required parameters."""
        required = self._schema(name).get("required")
        return (
            [key for key in required if isinstance(key, str)] if isinstance(required, list) else []
        )

    def takes(self, name: str, *, mark_required: bool = True) -> str:
        """The tool's parameters as an error lists them."""
        required = self.required(name) if mark_required else []
        listed = [
            shown(key) + (" (required)" if key in required else "") for key in self.parameters(name)
        ]
        more = ["…"] if len(listed) > _LISTED_LIMIT else []
        return ", ".join(listed[:_LISTED_LIMIT] + more) or _NO_PARAMETERS

    def allows_text(self, name: str, parameter: str) -> bool:
        """Whether the schema says that a parameter may be a text."""
        schema = self._schema(name)
        properties = schema.get("properties")
        found = properties.get(parameter) if isinstance(properties, dict) else None
        return _says_text(found, schema)

    def _schema(self, name: str) -> JsonObject:
        if name not in self._schemas:
            tool = self._tools.get(name)
            self._schemas[name] = read_schema(tool.input_schema)[0] if tool else {}
        return self._schemas[name]


def meaning_of(
    call: WrittenCall, known: KnownTools, repairs: list[str], *, asked_form: bool = False
) -> tuple[str, JsonObject]:
    """The tool's name and the arguments; what was mended is added to `repairs`.

    `asked_form`: the prompt asked for `args`, so that word is no repair. The name is a tool's own
    or one that no tool has.

    Raises: `Refused`."""
    name = known.exact(_name_of(call), repairs)
    args = _arguments_of(call, name, known, repairs, asked_form)
    if args is None:
        lost = any(key in call.others for key in known.parameters(name))
        if lost or known.required(name):
            raise _misplaced(name, known)
        return name, {}
    strays = set(call.others) - {"id", "type"}
    if any(key in strays for key in known.parameters(name)):
        raise _misplaced(name, known)
    if _is_schema(args, known.parameters(name)):
        raise Refused(
            f"{shown(name)}: that is a schema, not arguments; it takes {known.takes(name)}"
        )
    return name, args


def _name_of(call: WrittenCall) -> str:
    values = [value for _, value in call.names]
    names = [value for value in values if isinstance(value, str)]
    if len(names) < len(values):
        raise Refused("the call: its name must be a text")
    if not names or not names[0].strip():
        raise Refused("the call has no name")
    if len(set(names)) > 1:
        keys = ", ".join(key for key, _ in call.names)
        raise Refused(f"the call: two different names ({keys})")
    return names[0]


def _arguments_of(
    call: WrittenCall, name: str, known: KnownTools, repairs: list[str], asked_form: bool
) -> JsonObject | None:
    """The arguments; None when there are none."""
    if not call.arguments:
        return None
    key, value = call.arguments[0]
    if any(_canonical(other) != _canonical(value) for _, other in call.arguments[1:]):
        keys = ", ".join(key for key, _ in call.arguments)
        raise Refused(f"{shown(name)}: two different argument lists ({keys})")
    keys = [key for key, _ in call.arguments]
    if "arguments" not in keys and not (asked_form and key == "args"):
        repairs.append(f'"{key}" read as "arguments"')
    if value is None or value == "":
        return None
    if isinstance(value, str):
        value = _decoded(value, repairs)
    if not isinstance(value, dict):
        raise Refused(f"{shown(name)}: arguments must be an object")
    return value


def _decoded(text: str, repairs: list[str]) -> JsonValue:
    """Arguments from a JSON text, also one that was encoded twice; None from any other."""
    value: JsonValue = text
    found: list[str] = []
    for _ in range(2):
        if not isinstance(value, str):
            break
        reader = ValueReader(value)
        try:
            value = reader.value()
        except Unreadable:
            return None
        reader.blanks()
        if reader.peek():
            return None
        found += reader.repairs
    repairs += [*found, "arguments read from a JSON text"]
    return value


def _misplaced(name: str, known: KnownTools) -> Refused:
    return Refused(
        f'{shown(name)}: put the arguments into "arguments"; it takes {known.takes(name)}'
    )


def _is_schema(args: JsonObject, parameters: Sequence[str]) -> bool:
    """Small models copy a tool's schema in place of its arguments."""
    looks_like_one = args.get("type") == "object" and isinstance(args.get("properties"), dict)
    return looks_like_one and not {"type", "properties"} & set(parameters)


def _canonical(value: JsonValue) -> str:
    """Equal for equal JSON only: 1, 1.0 and true differ."""
    return json.dumps(value, sort_keys=True)


def _says_text(schema: JsonValue, root: JsonObject) -> bool:
    """Whether the schema, what it refers to, or one of its branches says `string`."""
    pending = [schema]
    followed: set[str] = set()
    while pending:
        part = pending.pop()
        if not isinstance(part, dict):
            continue
        reference = part.get("$ref")
        kinds, values = part.get("type"), part.get("enum")
        if isinstance(reference, str) and reference not in followed:
            followed.add(reference)
            pending.append(_at_pointer(reference, root))
        elif kinds is not None:
            if kinds == "string" or (isinstance(kinds, list) and "string" in kinds):
                return True
        elif isinstance(values, list) or "const" in part:
            values = values if isinstance(values, list) else [part.get("const")]
            if any(isinstance(value, str) for value in values):
                return True
        else:
            branches = [part.get(key) for key in ("anyOf", "oneOf", "allOf")]
            pending += [one for some in branches if isinstance(some, list) for one in some]
    return False


def _at_pointer(reference: str, root: JsonObject) -> JsonValue:
    """What a plain local reference points to; None for any other."""
    if not reference.startswith("#/"):
        return None
    place: JsonValue = root
    for step in reference[2:].split("/"):
        if not isinstance(place, dict):
            return None
        place = place.get(step.replace("~1", "/").replace("~0", "~"))
    return place
