"""Lint rules for the arguments of a tool: what models leave out, and what refuses every call."""

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from webmcp_agent.agent.conformance import CheckTooLong, Conformance
from webmcp_agent.agent.kinds import shown
from webmcp_agent.agent.patterns import PatternTooSlow
from webmcp_agent.agent.references import SchemaTooLarge
from webmcp_agent.agent.schema import LISTED_VALUES, compact_schema, read_schema
from webmcp_agent.browser.tools import JsonObject, PageTool
from webmcp_agent.scenarios.contract_inclusion import Side, TooHard
from webmcp_agent.scenarios.contract_shapes import (
    ALL_KINDS,
    NOTHING,
    NUMBERS,
    Node,
    Shape,
    first_of,
    ordered_names,
)

DEEPEST = 4
"""Names and list items that lead to a parameter: what lies deeper is not shown to models."""
_PLACES = 400
"""Places of one schema that are looked at."""

Found = tuple[str, str]
"""A rule and a message."""


@dataclass(frozen=True, slots=True)
class _Place:
    at: str
    node: Node
    shapes: list[Shape]
    depth: int


def argument_findings(tool: PageTool) -> Iterator[Found]:
    """What is wrong with the arguments of a tool."""
    try:
        side = Side.of(tool)
    except (SchemaTooLarge, RecursionError):
        yield "schema-unusable", "the input schema is too large to be checked"
        return
    for left_out in side.left_out:
        yield "schema-unusable", left_out
    deepest = ""
    for place in _places(side):
        yield from _of_place(place, side)
        if place.depth > DEEPEST:
            deepest = deepest or place.at
    if deepest:
        yield "schema-too-deep", f"{deepest} lies so deep that models are not shown it"
    yield from _not_shown(tool)


def _places(side: Side) -> Iterator[_Place]:
    """The root, then every parameter and list item, those near the root first."""
    waiting: list[tuple[str, Node, int, frozenset[tuple[int, ...]]]] = [
        ("", side.node, 0, frozenset())
    ]
    for _ in range(_PLACES):
        if not waiting:
            return
        at, node, depth, above = waiting.pop(0)
        key = tuple(map(id, node))
        try:
            shapes = side.alternatives(node)
        except (TooHard, RecursionError):
            continue
        yield _Place(at, node, shapes, depth)
        if key in above:
            continue
        for shape in shapes[:1]:
            for name in _described(shape) if "object" in shape.kinds else ():
                path = f"{at}.{name}" if at else name
                waiting.append((path, shape.member(name), depth + 1, above | {key}))
            if "array" in shape.kinds and (item := shape.item(0)):
                waiting.append((f"{at}[]", item, depth + 1, above | {key}))


def _of_place(place: _Place, side: Side) -> Iterator[Found]:
    at, shapes = place.at or "the arguments", place.shapes
    if not shapes or any(_is_crossed(shape) for shape in shapes):
        yield "schema-unusable", f"{at} can have no value: its rules exclude one another"
        return
    for shape in shapes[:1]:
        for name in sorted(shape.required - {*_described(shape)}):
            yield "required-unknown", f"{name!r} is required and not described"
    if not place.at:
        return
    texts = [*first_of(shapes, "description"), *first_of(shapes, "title")]
    if not place.at.endswith("[]") and not any(isinstance(t, str) and t.strip() for t in texts):
        yield "no-parameter-description", f"{at} has no description"
    values = [value for shape in shapes for value in shape.values or ()]
    if any(shape.kinds == ALL_KINDS for shape in shapes):
        yield "no-parameter-type", f"{at} does not say what kind of value it takes"
    elif len(values) > LISTED_VALUES:
        text = f"{at} has {len(values)} values; models are shown up to {LISTED_VALUES}"
        yield "enum-too-long", text
    forms = [shape for shape in shapes if shape.kinds != NOTHING and shape.values is None]
    if len(forms) > 1:
        yield "several-forms", f"{at} has {len(forms)} forms; small models are shown the first"
    if (default := first_of(shapes, "default")) and not _fits(side, place.node, default[0]):
        yield "default-unfit", f"the default of {at}, {shown(default[0])}, is not allowed there"


def _described(shape: Shape) -> list[str]:
    return ordered_names([shape], required=False)


def _is_crossed(shape: Shape) -> bool:
    """Whether a lower bound lies above the upper one, for the only kind that is allowed."""
    is_number = shape.kinds <= NUMBERS
    if shape.values is not None or (len(shape.kinds) > 1 and not is_number):
        return False
    low, high = shape.bound(1), shape.bound(-1)
    if low and high and is_number:
        return low[0] > high[0] or (low[0] == high[0] and (low[1] or high[1]))
    for kind, least, most in (
        ("string", "minLength", "maxLength"),
        ("array", "minItems", "maxItems"),
    ):
        limit = shape.most(most)
        if kind in shape.kinds and limit is not None and shape.least(least) > limit:
            return True
    return False


def _fits(side: Side, node: Node, value: JsonValue) -> bool:
    members: JsonObject = {f"v{at}": schema for at, schema in enumerate(node)}
    holder: JsonObject = {"properties": members, "$defs": side.root.get("$defs", {})}
    try:
        # A reference to the whole schema would lead to the holder: it says nothing then.
        return not Conformance(holder, "2020-12").errors(dict.fromkeys(members, value))[0]
    except (CheckTooLong, PatternTooSlow, RecursionError):
        return True


def _not_shown(tool: PageTool) -> Iterator[Found]:
    schema, _ = read_schema(tool.input_schema)
    properties, shown_ones = schema.get("properties"), compact_schema(schema).get("properties")
    if not isinstance(properties, dict) or not isinstance(shown_ones, dict):
        return
    hidden = [
        name
        for name, each in properties.items()
        if name not in shown_ones and isinstance(each, dict) and each.get("deprecated") is not True
    ]
    if hidden:
        names = ", ".join(hidden[:6]) + (" …" if len(hidden) > 6 else "")
        yield "too-many-parameters", f"small models are not shown {names}: the schema is too long"
