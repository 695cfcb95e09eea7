"""Whether one input schema takes all that another one takes: a proof, or no answer.

A caller is taken to send the properties that its schema describes, and no others; so a schema may
name a further optional property and still take what was sent before. What cannot be proved counts
as not so: `oneOf` whose branches overlap, and `not`, `if` or `dependent…` that are not the same.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from pydantic import JsonValue

from webmcp_agent.agent.kinds import identity
from webmcp_agent.agent.patterns import PatternTooSlow, occurs
from webmcp_agent.agent.references import follow, local_pointer
from webmcp_agent.agent.schema import read_schema
from webmcp_agent.agent.soundness import Draft, draft_of, sound_schema
from webmcp_agent.browser.tools import JsonObject, PageTool
from webmcp_agent.scenarios.contract_shapes import (
    ANNOTATIONS,
    Node,
    Shape,
    kinds_named,
    listed,
    refusing,
    shape_of,
    shape_of_value,
)

STEPS = 20_000
"""Pairs of parts that a proof may look at; a schema of a hundred parameters needs a few hundred."""
MOST_ALTERNATIVES = 64
"""Ways through the branches of one place."""

_READ_FIRST = frozenset({"$ref", "allOf", "anyOf", "oneOf"})
AS_WRITTEN = (
    ("not",),
    ("if", "then", "else"),
    ("contains", "minContains", "maxContains"),
    ("dependentRequired",),
    ("dependentSchemas",),
    ("dependencies",),
    ("propertyNames",),
)
"""Keywords that are only compared as they are written, in groups that mean something together."""
UNEVALUATED = {"unevaluatedProperties", "unevaluatedItems"}
_NAMED = {"properties", "patternProperties", "dependentSchemas", "dependencies", "$defs"}
_LISTS = {"allOf", "anyOf", "oneOf", "prefixItems", "items"}
_SCHEMAS = {
    *("items", "additionalItems", "additionalProperties", "contains", "propertyNames", "not", "if"),
    *("then", "else", *UNEVALUATED),
}


class TooHard(Exception):
    """The proof takes too many steps."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two schemas: sound, and in the spelling of draft 2020-12."""

    root: JsonObject
    left_out: tuple[str, ...] = ()
    """What was not sound."""

    @classmethod
    def of(cls, tool: PageTool) -> "Side":
        """The schema of a tool; a form takes no other names than those of its fields.

        Raises: `SchemaTooLarge`."""
        schema, odd = read_schema(tool.input_schema)
        if tool.declarative and "additionalProperties" not in schema:
            schema = {**schema, "additionalProperties": False}
        draft = draft_of(schema)
        sound, left_out = sound_schema(schema, draft)
        root = _modern(sound, draft)
        assert isinstance(root, dict)
        return cls(root, (*odd, *left_out))

    @property
    def node(self) -> Node:
        """The whole schema as a place."""
        return (self.root,)

    def target(self, schema: JsonObject) -> JsonValue:
        """What the schema's `$ref` leads to."""
        pointer = local_pointer(schema["$ref"])
        return True if pointer is None else follow(self.root, pointer)

    def alternatives(self, node: Node) -> list[Shape]:
        """What a place may be, one shape for each way through its branches.

        Together they take at least what the place takes. Raises: `TooHard`."""
        shapes = self._expanded(node)
        names = frozenset(name for shape in shapes for name in shape.names)
        is_free = (len(node) != 1 or node[0] is not self.root) and all(
            shape.describes_none for shape in shapes
        )
        return [
            replace(shape, names=names, is_free=is_free)
            for shape in shapes
            if not shape.is_impossible
        ]

    def _expanded(self, node: Node) -> list[Shape]:
        flats: list[JsonObject] = []
        choices: list[list[JsonValue]] = []
        waiting = [*reversed(node)]
        while waiting:
            schema = waiting.pop()
            if schema is False:
                return []
            if isinstance(schema, dict):
                flats.append(schema)
                waiting += [self.target(schema)] if "$ref" in schema else []
                waiting += reversed(listed(schema, "allOf"))
                for key in ("anyOf", "oneOf"):
                    if key in schema and (values := _only_values(listed(schema, key))):
                        flats.append({"enum": values})
                    elif key in schema:
                        choices.append(listed(schema, key))
        if not choices:
            return [shape_of(flats)]
        found: list[Shape] = []
        for chosen in product(*choices):
            found += [shape_of([*flats, *shape.flats]) for shape in self._expanded(chosen)]
            if len(found) > MOST_ALTERNATIVES:
                raise TooHard
        return found


def _only_values(branches: Sequence[JsonValue]) -> list[JsonValue]:
    """The values of branches that are a value each, as titled choices are written."""
    consts = [refusing(branch) for branch in branches if isinstance(branch, dict)]
    alone = len(consts) == len(branches) and all(const.keys() == {"const"} for const in consts)
    return [const["const"] for const in consts] if alone else []


def _modern(schema: JsonValue, draft: Draft) -> JsonValue:
    """A sound schema in the spelling of draft 2020-12."""
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema and draft in {"4", "6", "7"}:  # hides what stands beside it
        schema = {key: value for key, value in schema.items() if key in {"$ref", "$defs"}}
    modern: JsonObject = {}
    for keyword, value in schema.items():
        if keyword in _NAMED and isinstance(value, dict):
            modern[keyword] = {name: _modern(each, draft) for name, each in value.items()}
        elif keyword in _LISTS and isinstance(value, list):
            modern[keyword] = [_modern(each, draft) for each in value]
        else:
            modern[keyword] = _modern(value, draft) if keyword in _SCHEMAS else value
    if isinstance(modern.get("items"), list):
        modern["prefixItems"] = modern.pop("items")
        if "additionalItems" in modern:
            modern["items"] = modern["additionalItems"]
    modern.pop("additionalItems", None)
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(flag := modern.get(exclusive), bool):
            del modern[exclusive]
            if flag and bound in modern:
                modern[exclusive] = modern.pop(bound)
    return modern


@dataclass(slots=True)
class Inclusion:
    """Proofs that `new` takes what `old` takes."""

    old: Side
    new: Side
    _left: int = STEPS
    _open: set[tuple[tuple[int, ...], tuple[int, ...]]] = field(
        default_factory=set[tuple[tuple[int, ...], tuple[int, ...]]]
    )

    def holds(self, old: Node, new: Node) -> bool:
        """Whether all that a place takes in the old schema is taken in the new one."""
        if self.alike(old, new):
            return True
        self._left = STEPS
        try:
            return self._covers(old, new)
        except (TooHard, PatternTooSlow, RecursionError):
            return False
        finally:
            self._open.clear()

    def alike(self, old: Node, new: Node) -> bool:
        """Whether both are written alike, but for texts for people and the order of things."""
        self._left = STEPS
        try:
            return self._alike([*old], [*new])
        except (TooHard, RecursionError):
            return False

    def _step(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise TooHard

    def _covers(self, old: Node, new: Node) -> bool:
        # What is being proved counts as proved further inside: arguments end somewhere.
        key = (tuple(map(id, old)), tuple(map(id, new)))
        if key in self._open or not new:
            return True
        self._step()
        self._open.add(key)
        try:
            return all(self._takes(new, shape) for shape in self.old.alternatives(old))
        finally:
            self._open.discard(key)

    def _takes(self, schemas: Iterable[JsonValue], shape: Shape) -> bool:
        return all(self._takes_one(schema, shape) for schema in schemas)

    def _takes_one(self, schema: JsonValue, shape: Shape) -> bool:
        """Whether a schema of the new side takes everything of a shape of the old side."""
        self._step()
        if not isinstance(schema, dict):
            return schema is not False
        if any(self._alike(flat, schema) for flat in shape.flats):
            return True
        if shape.values and shape.kinds <= {"array", "object"}:
            return all(self._takes_one(schema, shape_of_value(value)) for value in shape.values)
        if shape.values and shape.kinds & {"array", "object"}:
            return self._takes_pieces([schema], shape)
        if "$ref" in schema and not self._takes_one(self.new.target(schema), shape):
            return False
        if "oneOf" in schema and not self._takes_one_of(listed(schema, "oneOf"), shape):
            return False
        return (
            self._takes(listed(schema, "allOf"), shape)
            and ("anyOf" not in schema or self._takes_any(listed(schema, "anyOf"), shape))
            and all(self._keyword(keyword, schema, shape) for keyword in schema)
        )

    def _takes_any(self, branches: Sequence[JsonValue], shape: Shape) -> bool:
        if any(self._takes_one(branch, shape) for branch in branches):
            return True
        return self._takes_pieces(branches, shape)

    def _takes_pieces(self, branches: Sequence[JsonValue], shape: Shape) -> bool:
        pieces = shape.pieces()
        return bool(pieces) and all(self._takes_any(branches, piece) for piece in pieces)

    def _takes_one_of(self, branches: Sequence[JsonValue], shape: Shape) -> bool:
        if any(self._alike(flat.get("oneOf"), [*branches]) for flat in shape.flats):
            return True
        return self._takes_any(branches, shape) and self._are_apart(branches)

    def _are_apart(self, branches: Sequence[JsonValue]) -> bool:
        """Whether no value fits two of the branches."""
        nodes: list[Node] = [(branch,) for branch in branches]
        return all(
            self._places_apart(one, other) for at, one in enumerate(nodes) for other in nodes[:at]
        )

    def _places_apart(self, one: Node, other: Node) -> bool:
        others = self.new.alternatives(other)
        return all(self._apart(a, b) for a in self.new.alternatives(one) for b in others)

    def _apart(self, one: Shape, other: Shape) -> bool:
        self._step()
        if one.values is not None and other.values is not None:
            mine = {identity(value) for value in one.values}
            return not any(identity(value) in mine for value in other.values)
        if not (common := one.kinds & other.kinds):
            return True
        return (
            len(common) == 1
            and "object" in common
            and any(
                self._places_apart(one.member(name), other.member(name))
                for name in one.required & other.required
            )
        )

    def _keyword(self, keyword: str, schema: JsonObject, shape: Shape) -> bool:
        """Whether one keyword of the new side refuses nothing of the shape."""
        value = schema[keyword]
        if keyword in ANNOTATIONS or keyword in _READ_FIRST:
            return True
        if (answer := shape.within(keyword, value)) is not None:
            return answer
        match keyword:
            case "properties" if isinstance(value, dict):
                return self._properties(value, shape)
            case "patternProperties" if isinstance(value, dict):
                return self._patterned(value, shape)
            case "additionalProperties":
                return self._additional(schema, shape)
            case "items":
                first = len(listed(schema, "prefixItems"))
                return self._items(range(first, max(first, shape.prefix) + 1), value, shape)
            case "prefixItems" if isinstance(value, list):
                return all(self._items((at,), each, shape) for at, each in enumerate(value))
            case _:
                return self._as_written(keyword, schema, shape)

    def _properties(self, properties: JsonObject, shape: Shape) -> bool:
        return "object" not in shape.kinds or all(
            self._covers(shape.member(name), (each,))
            for name, each in properties.items()
            if shape.may_have(name)
        )

    def _patterned(self, patterned: JsonObject, shape: Shape) -> bool:
        return "object" not in shape.kinds or all(
            self._covers(node, (each,))
            for pattern, each in patterned.items()
            for node in (
                *(shape.member(name) for name in shape.names if occurs(pattern, name)),
                *shape.unnamed(),
            )
        )

    def _additional(self, schema: JsonObject, shape: Shape) -> bool:
        value, properties = schema["additionalProperties"], schema.get("properties")
        if "object" not in shape.kinds or value is True:
            return True
        if value is False and not shape.is_closed:
            return False
        named = properties if isinstance(properties, dict) else {}
        patterned = schema.get("patternProperties")
        patterns = patterned if isinstance(patterned, dict) else {}
        rest = [
            shape.member(name)
            for name in shape.names
            if name not in named and not any(occurs(pattern, name) for pattern in patterns)
        ]
        return all(self._covers(node, (value,)) for node in (*rest, *shape.unnamed()))

    def _items(self, places: Iterable[int], schema: JsonValue, shape: Shape) -> bool:
        most = shape.most("maxItems")
        return "array" not in shape.kinds or all(
            self._covers(shape.item(at), (schema,)) for at in places if most is None or at < most
        )

    def _as_written(self, keyword: str, schema: JsonObject, shape: Shape) -> bool:
        group = next((group for group in AS_WRITTEN if keyword in group), None)
        if group is None:
            # Unevaluated… depend on all that stands around them; what is unknown refuses nothing.
            return keyword not in UNEVALUATED
        mine: JsonObject = {key: schema[key] for key in group if key in schema}
        return any(
            self._alike({key: flat[key] for key in group if key in flat}, mine)
            for flat in shape.flats
        )

    def _alike(
        self, old: JsonValue, new: JsonValue, seen: frozenset[tuple[int, int]] = frozenset()
    ) -> bool:
        """Whether two schemas, or two lists of them, refuse with the same keywords."""
        self._step()
        if isinstance(old, list) and isinstance(new, list):
            pairs = zip(old, new, strict=False)
            return len(old) == len(new) and all(self._alike(a, b, seen) for a, b in pairs)
        if not isinstance(old, dict) or not isinstance(new, dict):
            return isinstance(old, bool) and old is new
        if (id(old), id(new)) in seen:
            return True
        seen |= {(id(old), id(new))}
        mine, theirs = refusing(old), refusing(new)
        return mine.keys() == theirs.keys() and all(
            self._alike(self.old.target(old), self.new.target(new), seen)
            if keyword == "$ref"
            else self._keyword_alike(keyword, mine[keyword], theirs[keyword], seen)
            for keyword in mine
        )

    def _keyword_alike(
        self, keyword: str, old: JsonValue, new: JsonValue, seen: frozenset[tuple[int, int]]
    ) -> bool:
        if keyword == "type":
            return kinds_named(old) == kinds_named(new)
        if keyword in {"enum", "required"} and isinstance(old, list) and isinstance(new, list):
            return {identity(each) for each in old} == {identity(each) for each in new}
        if keyword in _NAMED and isinstance(old, dict) and isinstance(new, dict):
            return old.keys() == new.keys() and all(
                self._alike(old[name], new[name], seen)
                if isinstance(old[name], dict | bool)
                else identity(old[name]) == identity(new[name])
                for name in old
            )
        if keyword in _SCHEMAS or keyword in _LISTS:
            return self._alike(old, new, seen)
        return identity(old) == identity(new)
