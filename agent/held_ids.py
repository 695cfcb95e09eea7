"""Decoding held to ids that were said: an argument that names a thing by its id takes no other.

A small model makes ids up. Before any was said, when another tool can be asked for one, an argument
that needs an id is left out, and a tool that can do nothing without waits. While one waits, none
that needs nothing acts on the same thing, unless the person speaks of it. Only decoding is
narrowed: a call that comes some other way is checked by the page's own schema alone. Where nothing
looks like an id, nothing is narrowed.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from webmcp_agent.agent.identifiers import NAMED, SAYS_ID, Kind, KnownIds, stems
from webmcp_agent.agent.words import STOP_WORDS, spaced
from webmcp_agent.browser.tools import JsonObject, PageTool
from webmcp_agent.providers.base import ToolConstraint

MOST = 300
"""Ids that a grammar lists; with more of them the argument is left free."""
DEEPEST = 8
"""Levels of an argument that are looked through."""

_SAYS_MORE = re.compile(r"\b(?:name|title|text|new)\b", re.IGNORECASE)
_BOUNDS: dict[Kind, tuple[str, str]] = {
    "string": ("minLength", "maxLength"),
    "integer": ("minimum", "maximum"),
}
_PLAIN = frozenset(
    "type title description default deprecated minLength maxLength minimum maximum".split()
)
"""Keywords of an argument that is narrowed; one that says more of itself is left as it is."""
_ASKS = frozenset(
    "all browse check discover explore fetch find get index list locate look lookup my overview "
    "query read search seek show status view".split()
)
"""Words in the names of tools that can be asked what there is."""


def held_to_known(
    tools: Sequence[PageTool], constraints: Sequence[ToolConstraint], known: KnownIds
) -> tuple[ToolConstraint, ...]:
    """The constraints with ids narrowed to known ones; without tools whose turn cannot be yet."""
    asking = {tool.name for tool in tools if may_tell(tool)}
    held = {one.name: _narrowed("", one.schema, known) for one in constraints}
    if not known.answered and not known.speaks_of_ids:
        possible = {one.name: _possible("", held[one.name], known) for one in constraints}
        for name, schema in possible.items():
            if schema is not None and name not in asking and _lost_all(held[name], schema, known):
                possible[name] = held[name]
        if any(possible[name] is not None for name in asking & possible.keys()):
            waiting = [name for name, schema in possible.items() if schema is None]
            held = {
                name: schema
                for name, schema in possible.items()
                if schema is not None
                and (name in asking or not _steps_in(name, schema, waiting, known))
            }
    return tuple(
        # The fingerprint stands for the page's schema, not for a narrower one.
        one if held[one.name] is one.schema else replace(one, schema=held[one.name], fingerprint="")
        for one in constraints
        if one.name in held
    )


def _narrowed(name: str, schema: JsonObject, known: KnownIds, depth: int = 0) -> JsonObject:
    """The schema of an argument with its ids narrowed; the very schema when there are none."""
    if (kind := _kind_of_id(name, schema)) is not None:
        fitting = [one for one in known.of(kind, depth) if _fits(one, kind, schema)]
        return _one_of(kind, fitting) if fitting and len(fitting) <= MOST else schema
    if depth > DEEPEST:
        return schema
    if isinstance(properties := schema.get("properties"), dict):
        members = {
            key: _narrowed(key, member, known, depth + 1) if isinstance(member, dict) else member
            for key, member in properties.items()
        }
        if any(members[key] is not member for key, member in properties.items()):
            schema = {**schema, "properties": members}
    if isinstance(items := schema.get("items"), dict):
        held = _narrowed(name.removesuffix("s"), items, known, depth + 1)
        if held is not items:
            schema = {**schema, "items": held}
    return schema


def _possible(name: str, schema: JsonObject, known: KnownIds, depth: int = 0) -> JsonObject | None:
    """What can be written of an argument while no further id is known; None when nothing can.

    The very schema when nothing has to be left out."""
    if (kind := _kind_of_id(name, schema)) is not None:
        return schema if known.of(kind, depth) else None
    if depth > DEEPEST:
        return schema
    if isinstance(properties := schema.get("properties"), dict):
        required = schema.get("required")
        always = required if isinstance(required, list) else ()
        members: JsonObject = {}
        for key, member in properties.items():
            left = _possible(key, member, known, depth + 1) if isinstance(member, dict) else member
            if left is None and key in always:
                return None
            if left is not None or not isinstance(member, dict):
                members[key] = left
        if any(members.get(key) is not member for key, member in properties.items()):
            schema = {**schema, "properties": members}
    if isinstance(items := schema.get("items"), dict):
        left = _possible(name.removesuffix("s"), items, known, depth + 1)
        if left is None:
            return None
        if left is not items:
            schema = {**schema, "items": left}
    return schema


def _lost_all(before: JsonObject, after: JsonObject, known: KnownIds) -> bool:
    """Whether things that the tool works on were left out, and nothing is left that was asked for.

    Such a tool stays whole: without it a model calls a worse one, and the page refuses a made-up
    id. An optional id by itself is no such thing: what is open may be meant."""
    if not _lost_things(before, after):
        return False
    return known.said.isdisjoint(_names_in(after))


def _steps_in(name: str, schema: JsonObject, waiting: Sequence[str], known: KnownIds) -> bool:
    """Whether a tool without arguments acts on what a waiting one works on, and is not spoken of.

    `cancel_cart` would be called in the place of `update_cart`, whatever was asked."""
    if schema.get("properties"):
        return False
    own = stems(spaced(name)) - STOP_WORDS
    shared = own & {word for each in waiting for word in stems(spaced(each))}
    return bool(shared) and known.said.isdisjoint(own - shared)


def _lost_things(before: JsonObject, after: JsonObject) -> bool:
    """Whether an object or a list is gone, at any level."""
    if before is after:
        return False
    one, other = before.get("properties"), after.get("properties")
    if not isinstance(one, dict) or not isinstance(other, dict):
        return False
    for key, member in one.items():
        if not isinstance(member, dict):
            continue
        left = other.get(key)
        if left is None and member.get("type") in {"object", "array"}:
            return True
        if isinstance(left, dict) and _lost_things(member, left):
            return True
    return False


def _names_in(schema: JsonObject, depth: int = 0) -> set[str]:
    """The words in the names of all its properties."""
    found: set[str] = set()
    if depth > DEEPEST:
        return found
    if isinstance(properties := schema.get("properties"), dict):
        for key, member in properties.items():
            found |= stems(spaced(key))
            if isinstance(member, dict):
                found |= _names_in(member, depth + 1)
    if isinstance(items := schema.get("items"), dict):
        found |= _names_in(items, depth + 1)
    return found


def may_tell(tool: PageTool) -> bool:
    """Whether the tool may say what there is."""
    return tool.read_only or not _ASKS.isdisjoint(spaced(tool.name).lower().split())


def _kind_of_id(name: str, schema: JsonObject) -> Kind | None:
    if not schema.keys() <= _PLAIN:
        return None
    said = schema.get("description")
    says = isinstance(said, str) and SAYS_ID.search(said) and not _SAYS_MORE.search(said)
    last = spaced(name).lower().split()[-1:] or [""]
    if last[0] not in NAMED and not says:
        return None
    match schema.get("type"):
        case "string" | "integer" as kind:
            return kind
        case _:
            return None


def _fits(value: str, kind: Kind, schema: JsonObject) -> bool:
    """Whether the page's schema allows it: what is offered instead must never be more."""
    least, most = _BOUNDS[kind]
    size = len(value) if kind == "string" else int(value)
    low, high = schema.get(least), schema.get(most)
    above = not isinstance(low, int | float) or size >= low
    return above and (not isinstance(high, int | float) or size <= high)


def _one_of(kind: Kind, values: list[str]) -> JsonObject:
    listed = [int(one) for one in values] if kind == "integer" else values
    return {"type": kind, "enum": [*dict.fromkeys(listed)]}
