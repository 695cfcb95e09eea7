"""What a schema says about one place: its own keywords, references, `allOf` and branches as one.

Reading is tolerant (a keyword of a wrong kind says nothing) and lazy: properties and items are kept
unread until somebody asks, so that a schema that holds itself costs nothing.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import reduce

from pydantic import JsonValue

from webmcp_agent.agent.kinds import Kind, identity, is_kind
from webmcp_agent.agent.references import follow, local_pointer

JsonObject = dict[str, JsonValue]

LEVELS = 32
"""References, `allOf` and branches inside one another, at one place."""


@dataclass(frozen=True, slots=True)
class Part:
    """A schema that applies to a place, unread."""

    schema: JsonValue
    path: frozenset[int] = frozenset()
    """Identities of the schemas that it is inside of, by nesting or by reference."""


Node = tuple[Part, ...]
"""All parts that apply to one place."""


@dataclass(frozen=True, slots=True)
class SchemaView:
    """The parts of one place put together; of several texts, defaults or examples the first counts.

    None stands for "says nothing"."""

    kinds: tuple[Kind, ...] | None = None
    descriptions: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    values: tuple[JsonValue, ...] | None = None
    value_titles: tuple[tuple[JsonValue, str], ...] = ()
    format: str | None = None
    minimum: int | float | None = None
    maximum: int | float | None = None
    whole: bool = False
    """`multipleOf` is a whole number."""
    defaults: tuple[JsonValue, ...] = ()
    examples: tuple[JsonValue, ...] = ()
    properties: dict[str, Node] = field(default_factory=dict[str, Node])
    required: tuple[str, ...] = ()
    items: Node = ()
    deprecated: bool = False
    never: bool = False
    """Nothing is allowed here."""
    again: bool = False
    """The place has the shape of something that it is a part of."""


class SchemaReader:
    """Reads places of one schema, at most `budget` parts; `spent` when there were more."""

    def __init__(self, root: JsonObject, budget: int) -> None:
        self.root = root
        self.root_node: Node = (Part(root),)
        self.spent = False
        self._left = budget

    def view(self, node: Node, level: int = 0) -> SchemaView:
        """All parts of a place put together."""
        return reduce(_merge, (self._view(part, level) for part in node))

    def _view(self, part: Part, level: int) -> SchemaView:
        self._left -= 1
        self.spent = self.spent or self._left < 0
        schema = part.schema
        if self.spent or level > LEVELS or not isinstance(schema, dict):
            return SchemaView(never=schema is False)
        path = part.path | {id(schema)}
        views = [_own_view(schema, path)]
        if "$ref" in schema:
            views.append(self._referred(schema["$ref"], path, level))
        views += [self._view(Part(each, path), level + 1) for each in _list(schema, "allOf")]
        for keyword in ("anyOf", "oneOf"):
            branches = [Part(each, path) for each in _list(schema, keyword)]
            if branches:
                views.append(_choice([self._view(branch, level + 1) for branch in branches]))
        return reduce(_merge, views)

    def _referred(self, reference: JsonValue, path: frozenset[int], level: int) -> SchemaView:
        pointer = local_pointer(reference)
        if pointer is None:
            return SchemaView()
        target = follow(self.root, pointer)
        if isinstance(target, dict) and id(target) in path:
            return SchemaView(kinds=_kinds(target.get("type")), again=True)
        return self._view(Part(target, path), level + 1)


def _own_view(schema: JsonObject, path: frozenset[int]) -> SchemaView:
    """What the schema's own keywords say."""
    properties = schema.get("properties")
    items = schema.get("items")
    format = schema.get("format")
    multiple = _number(schema.get("multipleOf"))
    return SchemaView(
        kinds=_kinds(schema.get("type")),
        descriptions=_texts(schema.get("description")),
        titles=_texts(schema.get("title")),
        values=_values(schema),
        format=format if isinstance(format, str) else None,
        minimum=_number(schema.get("minimum")),
        maximum=_number(schema.get("maximum")),
        whole=multiple is not None and multiple > 0 and multiple == int(multiple),
        defaults=(schema["default"],) if "default" in schema else (),
        examples=tuple(_list(schema, "examples")[:1]),
        properties={
            name: (Part(each, path),)
            for name, each in (properties if isinstance(properties, dict) else {}).items()
        },
        required=tuple(name for name in _list(schema, "required") if isinstance(name, str)),
        items=(Part(items, path),) if isinstance(items, dict | bool) else (),
        deprecated=schema.get("deprecated") is True,
    )


def _merge(first: SchemaView, second: SchemaView) -> SchemaView:
    """Both at once, as `allOf` means it."""
    properties = dict(first.properties)
    for name, node in second.properties.items():
        properties[name] = (*properties.get(name, ()), *node)
    return SchemaView(
        kinds=_common_kinds(first.kinds, second.kinds),
        descriptions=first.descriptions + second.descriptions,
        titles=first.titles + second.titles,
        values=_common_values(first.values, second.values),
        value_titles=first.value_titles + second.value_titles,
        format=first.format or second.format,
        minimum=_of_two(max, first.minimum, second.minimum),
        maximum=_of_two(min, first.maximum, second.maximum),
        whole=first.whole or second.whole,
        defaults=first.defaults + second.defaults,
        examples=first.examples + second.examples,
        properties=properties,
        required=tuple(dict.fromkeys(first.required + second.required)),
        items=first.items + second.items,
        deprecated=first.deprecated or second.deprecated,
        never=first.never or second.never,
        again=first.again or second.again,
    )


def _choice(branches: list[SchemaView]) -> SchemaView:
    """One of the branches: all their values when each is constant, else the first; null beside."""
    possible = [branch for branch in branches if not branch.never]
    rest = [branch for branch in possible if not _is_null(branch)]
    nullable = len(rest) < len(possible)
    if not possible:
        return SchemaView(never=True)
    if not rest:
        return SchemaView(kinds=("null",))
    if all(branch.values is not None for branch in rest):
        values = [value for branch in rest for value in branch.values or ()]
        return SchemaView(
            values=_unique([*values, None] if nullable else values),
            value_titles=tuple(
                (branch.values[0], branch.titles[0])
                for branch in rest
                if branch.values and len(branch.values) == 1 and branch.titles
            ),
        )
    first = rest[0]
    if not nullable:
        return first
    return replace(
        first,
        kinds=None if first.kinds is None else tuple(dict.fromkeys((*first.kinds, "null"))),
        values=None if first.values is None else _unique([*first.values, None]),
    )


def _is_null(view: SchemaView) -> bool:
    return view.kinds == ("null",) or view.values == (None,)


def _common_kinds(
    first: tuple[Kind, ...] | None, second: tuple[Kind, ...] | None
) -> tuple[Kind, ...] | None:
    if first is None or second is None:
        return second if first is None else first
    common: list[Kind] = []
    for kind in first:
        if kind in second or (kind == "integer" and "number" in second):
            common.append(kind)
        elif kind == "number" and "integer" in second:
            common.append("integer")
    return tuple(dict.fromkeys(common)) or first


def _common_values(
    first: tuple[JsonValue, ...] | None, second: tuple[JsonValue, ...] | None
) -> tuple[JsonValue, ...] | None:
    if first is None or second is None:
        return second if first is None else first
    allowed = {identity(value) for value in second}
    return tuple(value for value in first if identity(value) in allowed) or first


def _of_two(
    choose: Callable[[float, float], float], first: float | None, second: float | None
) -> float | None:
    if first is None or second is None:
        return second if first is None else first
    return choose(first, second)


def _kinds(names: JsonValue) -> tuple[Kind, ...] | None:
    listed = names if isinstance(names, list) else [names]
    return tuple(dict.fromkeys(name for name in listed if is_kind(name))) or None


def _values(schema: JsonObject) -> tuple[JsonValue, ...] | None:
    if "const" in schema:
        return _unique([schema["const"]])
    return _unique(_list(schema, "enum"))


def _unique(values: Iterable[JsonValue]) -> tuple[JsonValue, ...] | None:
    """The values, each once and None for none; values too deep to be written say nothing."""
    try:
        return tuple({identity(value): value for value in values}.values()) or None
    except RecursionError:
        return None


def _list(schema: JsonObject, keyword: str) -> list[JsonValue]:
    value = schema.get(keyword)
    return value if isinstance(value, list) else []


def _texts(value: JsonValue) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) and value.strip() else ()


def _number(value: JsonValue) -> int | float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if isinstance(value, int) or math.isfinite(value) else None
