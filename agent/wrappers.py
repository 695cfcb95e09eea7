"""Tools whose parameters are one required object: shown without it, called with it.

`search({"catalog": {"query": …}})` is shown, and written by the model, as `search({"query": …})`;
what is sent is the page's own form again. Only where that loses nothing: both forms hold the same
members, and nothing in the schema speaks of the object as a whole. Beside what such a tool needs,
objects and what has a default are offered only when the request has a word of theirs. Other tools
are not touched.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from pydantic import JsonValue

from webmcp_agent.agent.references import follow, local_pointer
from webmcp_agent.agent.schema import read_schema
from webmcp_agent.agent.words import terms
from webmcp_agent.browser.tools import JsonObject, PageTool

LARGEST = 100_000
"""Characters of a schema that is looked at."""
LEVELS = 6
"""Objects inside one another in which optional parts are left out."""

_WHOLE = frozenset(
    "$ref $dynamicRef $recursiveRef $anchor $dynamicAnchor allOf anyOf oneOf not if then else "
    "dependentRequired dependentSchemas dependencies patternProperties propertyNames minProperties "
    "maxProperties unevaluatedProperties enum const nullable".split()
)
"""Keywords that say something of an object as a whole, or of names that it does not list."""
_ANNOTATIONS = frozenset(("$comment", "default", "deprecated", "description", "examples", "title"))
_SHELVES = ("$defs", "definitions")

_SIGNS = {"€": "price", "$": "price", "£": "price", "¥": "price"}
_CALLED: tuple[tuple[frozenset[str], frozenset[str]], ...] = tuple(
    (frozenset(terms(said)), frozenset(terms(names)))
    for said, names in (
        (
            "under below over above between less more than most least cheap cheaper cheapest "
            "expensive budget price cost afford maximum minimum max min euro dollar pound eur usd "
            "gbp",
            "price cost amount budget",
        ),
        ("coupon voucher promo promotion discount", "discount coupon code promo voucher"),
        ("page next further", "pagination cursor page"),
    )
)
"""What people say, and what a parameter for it may be called."""


@dataclass(frozen=True, slots=True)
class Wrapper:
    """The one required object of a tool."""

    name: str
    beside: frozenset[str]
    """Names of the optional parameters that stand beside the object."""
    schema: JsonObject
    """The tool's schema without the wrapper, an object schema of its own."""


def wrapper_of(schema: JsonObject | str | None) -> Wrapper | None:
    """The wrapper of a tool's parameters; None when there is none that can be left out."""
    if not schema:
        return None
    try:
        key = json.dumps(schema)
        return _wrapper(key) if len(key) <= LARGEST else None
    except (TypeError, ValueError, RecursionError):
        return None


def flatten(args: JsonObject, wrapper: Wrapper | None) -> JsonObject:
    """Arguments in the page's form as the model writes them; unchanged where that would not do.

    For all arguments that have the wrapper, `restore(flatten(args, w), w) == args`."""
    if wrapper is None or not isinstance(inner := args.get(wrapper.name), dict):
        return args
    beside = {name: value for name, value in args.items() if name != wrapper.name}
    clash = inner.keys() & (wrapper.beside | {wrapper.name})
    return args if clash or not beside.keys() <= wrapper.beside else {**beside, **inner}


def restore(args: JsonObject, wrapper: Wrapper | None) -> JsonObject:
    """Arguments as the model wrote them in the page's form; with the wrapper they are already."""
    if wrapper is None or wrapper.name in args:
        return args
    beside = {name: value for name, value in args.items() if name in wrapper.beside}
    inner = {name: value for name, value in args.items() if name not in wrapper.beside}
    return {**beside, wrapper.name: inner}


def flat_tool(tool: PageTool) -> PageTool:
    """The tool with the schema of what the model writes; the tool itself without a wrapper."""
    wrapper = wrapper_of(tool.input_schema)
    return tool if wrapper is None else replace(tool, input_schema=wrapper.schema)


def written_args(tool: PageTool | None, args: JsonObject) -> JsonObject:
    """Arguments that were sent to a tool, as the model writes them; None for an unknown tool."""
    return args if tool is None else flatten(args, wrapper_of(tool.input_schema))


def sent_args(tool: PageTool, args: JsonObject) -> JsonObject:
    """Arguments that the model wrote, as the page takes them."""
    return restore(args, wrapper_of(tool.input_schema))


def shown_schema(tool: PageTool, ask: str) -> JsonObject:
    """The schema of what a model is offered for a request, as an object schema of its own."""
    wrapper = wrapper_of(tool.input_schema)
    if wrapper is None:
        return read_schema(tool.input_schema)[0]
    return _Offer(wrapper.schema, _words_of(ask)).reduced(wrapper.schema, 0)


@lru_cache(maxsize=256)
def _wrapper(schema_text: str) -> Wrapper | None:
    root, warnings = read_schema(json.loads(schema_text))
    properties, required = root.get("properties"), root.get("required")
    if warnings or not isinstance(properties, dict) or _speaks_of_whole(root):
        return None
    if not isinstance(required, list) or len(required) != 1 or not _can_move(root):
        return None
    name = required[0]
    if not isinstance(name, str):
        return None
    inner = _resolved(properties.get(name), root)
    members = inner.get("properties") if inner else None
    if inner is None or not isinstance(members, dict) or not members or _speaks_of_whole(inner):
        return None
    if inner.get("type", "object") != "object" or not _is_name_list(inner.get("required", [])):
        return None
    beside = {other: value for other, value in properties.items() if other != name}
    if members.keys() & properties.keys():
        return None
    flat: JsonObject = {"type": "object", "properties": {**members, **beside}}
    flat |= {key: inner[key] for key in ("required", "additionalProperties") if key in inner}
    flat |= {key: root[key] for key in ("$schema", *_SHELVES) if key in root}
    return Wrapper(name, frozenset(beside), flat)


def _speaks_of_whole(schema: JsonObject) -> bool:
    return not _WHOLE.isdisjoint(schema)


def _can_move(root: JsonObject) -> bool:
    """Whether every reference leads to a shelf of the root, which moves along."""
    return all(
        isinstance(value, str) and value.startswith(tuple(f"#/{shelf}/" for shelf in _SHELVES))
        for value in _references(root)
    )


def _references(schema: JsonValue) -> Iterator[JsonValue]:
    waiting: list[JsonValue] = [schema]
    while waiting:
        here = waiting.pop()
        if isinstance(here, dict):
            yield from (here[key] for key in ("$ref", "$dynamicRef") if key in here)
            waiting += here.values()
        elif isinstance(here, list):
            waiting += here


def _resolved(schema: JsonValue, root: JsonObject) -> JsonObject | None:
    """The schema, or what it refers to with its own annotations; None when it says more."""
    for _ in range(LEVELS):
        if not isinstance(schema, dict):
            return None
        if "$ref" not in schema:
            return schema
        own = {key: value for key, value in schema.items() if key != "$ref"}
        pointer = local_pointer(schema["$ref"])
        target = None if pointer is None else follow(root, pointer)
        if not own.keys() <= _ANNOTATIONS or not isinstance(target, dict):
            return None
        schema = {**target, **own}
    return None


def _is_name_list(value: JsonValue) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _words_of(ask: str) -> frozenset[str]:
    """The words of a request, and what a parameter for them may be called."""
    words = frozenset((*terms(ask), *(meant for sign, meant in _SIGNS.items() if sign in ask)))
    return words.union(*(names for said, names in _CALLED if not said.isdisjoint(words)))


@dataclass(frozen=True, slots=True)
class _Offer:
    """What of a schema is offered to the words of a request."""

    root: JsonObject
    words: frozenset[str]

    def reduced(self, schema: JsonObject, level: int) -> JsonObject:
        """An object schema without the extras that no word asks for.

        One that needs nothing keeps all that it has. What is left takes no other names where the
        page leaves that open."""
        properties, required = schema.get("properties"), schema.get("required")
        if not isinstance(properties, dict) or level >= LEVELS:
            return schema
        needed = required if isinstance(required, list) else []
        kept = {
            name: value
            for name, value in properties.items()
            if not needed
            or name in needed
            or not self._is_extra(value)
            or self._is_asked_for(name, value)
        }
        reduced = {key: value for key, value in schema.items() if key != "properties"}
        if reduced.get("additionalProperties") is True:
            del reduced["additionalProperties"]
        shown = {name: self._inside(value, level + 1) for name, value in kept.items()}
        return {**reduced, "properties": shown}

    def _inside(self, value: JsonValue, level: int) -> JsonValue:
        schema = _resolved(value, self.root)
        if schema is None or _speaks_of_whole(schema):
            return value
        if isinstance(schema.get("properties"), dict):
            return self.reduced(schema, level)
        if "items" in schema and level < LEVELS:
            return {**schema, "items": self._inside(schema["items"], level + 1)}
        return value

    def _is_extra(self, value: JsonValue) -> bool:
        """An object, or what the page has a default for."""
        schema = _resolved(value, self.root)
        return schema is not None and (_is_object(schema) or "default" in schema)

    def _is_asked_for(self, name: str, value: JsonValue) -> bool:
        names = [name, *self._names(value, 0)]
        return any(not self.words.isdisjoint(terms(each)) for each in names)

    def _names(self, value: JsonValue, level: int) -> Iterator[str]:
        """The names inside a schema, and the values that it lists."""
        schema = _resolved(value, self.root)
        if schema is None or level >= LEVELS // 2:
            return
        yield from (each for each in _list(schema.get("enum")) if isinstance(each, str))
        properties = schema.get("properties")
        for name, member in properties.items() if isinstance(properties, dict) else ():
            yield name
            yield from self._names(member, level + 1)
        for part in (schema.get("items"), *_list(schema.get("allOf"))):
            yield from self._names(part, level + 1)


def _is_object(schema: JsonObject) -> bool:
    kinds = schema.get("type")
    named = kinds == "object" or (isinstance(kinds, list) and "object" in kinds)
    return named or "properties" in schema or (kinds is None and "allOf" in schema)


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []
