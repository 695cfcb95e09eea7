"""What a sound schema says about a place in the arguments: its kinds, properties and names.

For schemas that `soundness.py` has cleaned: references are local and end somewhere.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from webmcp_agent.agent.kinds import Kind, is_kind, kind_of
from webmcp_agent.agent.references import follow, local_pointer
from webmcp_agent.agent.schema import JsonObject

Path = tuple[str | int, ...]
"""Names and positions that lead to a place in the arguments."""

BRANCHES = ("anyOf", "oneOf")


@dataclass(frozen=True, slots=True)
class Outline:
    """Questions to one schema."""

    root: JsonObject

    def layers(self, schema: JsonValue, kind: Kind | None = None) -> list[JsonObject]:
        """All schemas that apply without a choice: itself, what it refers to, `allOf`.

        For a value of `kind` also the branch of that kind, when it is the only one."""
        found: list[JsonObject] = []
        seen: set[int] = set()
        waiting: list[JsonValue] = [schema]
        while waiting:
            each = waiting.pop()
            if not isinstance(each, dict) or id(each) in seen:
                continue
            seen.add(id(each))
            found.append(each)
            more = [self._target(each)] if "$ref" in each else []
            more += _list(each, "allOf")
            for keyword in BRANCHES if kind else ():
                fitting = [b for b in _list(each, keyword) if kind in (self.kinds(b) or ())]
                more += fitting if len(fitting) == 1 else []
            waiting += reversed(more)
        return found

    def kinds(self, schema: JsonValue) -> tuple[Kind, ...] | None:
        """The kinds that a value may have, None when the schema does not say."""
        return self._kinds(schema, {})

    def _kinds(
        self, schema: JsonValue, known: dict[int, tuple[Kind, ...] | None]
    ) -> tuple[Kind, ...] | None:
        if not isinstance(schema, dict):
            return None
        if id(schema) not in known:
            known[id(schema)] = None
            known[id(schema)] = self._read_kinds(schema, known)
        return known[id(schema)]

    def _read_kinds(
        self, schema: JsonObject, known: dict[int, tuple[Kind, ...] | None]
    ) -> tuple[Kind, ...] | None:
        names = schema.get("type")
        listed = names if isinstance(names, list) else [names]
        own: list[Kind] = [name for name in listed if is_kind(name)]
        if own:
            return _unique(own)
        if (values := own_values(schema)) is not None:
            return _unique([kind_of(value) for value in values])
        for keyword in BRANCHES:
            branches = [self._kinds(branch, known) for branch in _list(schema, keyword)]
            if branches and None not in branches:
                return _unique([kind for branch in branches for kind in branch or ()])
        further = [self._target(schema)] if "$ref" in schema else []
        for part in (*further, *_list(schema, "allOf")):
            if (kinds := self._kinds(part, known)) is not None:
                return kinds
        return None

    def values(self, schema: JsonValue) -> list[JsonValue] | None:
        """The only values that are allowed: of `const`, `enum` or all-constant branches."""
        for layer in self.layers(schema):
            if (values := own_values(layer)) is not None:
                return values
            for keyword in BRANCHES:
                branches = [self._constants(branch) for branch in _list(layer, keyword)]
                if branches and None not in branches:
                    return [value for branch in branches for value in branch or ()]
        return None

    def _constants(self, branch: JsonValue) -> list[JsonValue] | None:
        for layer in self.layers(branch):
            if (values := own_values(layer)) is not None:
                return values
            if layer.get("type") == "null":
                return [None]
        return None

    def names(self, schema: JsonValue) -> list[str]:
        """The properties that an object may have, in the schema's order."""
        return list(dict.fromkeys(n for each in self._properties(schema) for n in each))

    def takes_any_name(self, schema: JsonValue) -> bool:
        """Whether the schema describes properties that it does not name."""
        return any(
            "patternProperties" in layer or isinstance(layer.get("additionalProperties"), dict)
            for layer in self.layers(schema, "object")
        )

    def required(self, schema: JsonValue) -> list[str]:
        """The properties that an object must have."""
        layers = self.layers(schema, "object")
        names = [name for layer in layers for name in _list(layer, "required")]
        return list(dict.fromkeys(name for name in names if isinstance(name, str)))

    def member(self, schema: JsonValue, name: str) -> JsonValue:
        """The schema of a property; None when it is not described."""
        found = [each[name] for each in self._properties(schema) if name in each]
        return _together(found)

    def items(self, schema: JsonValue) -> JsonValue:
        """The schema of a list's items; None when they are not described."""
        layers = self.layers(schema, "array")
        return _together([layer["items"] for layer in layers if "items" in layer])

    def at(self, path: Path) -> JsonValue:
        """The schema at a place in the arguments; None when it is not described."""
        here: JsonValue = self.root
        for step in path:
            here = self.member(here, step) if isinstance(step, str) else self.items(here)
        return here

    def description(self, path: Path) -> str:
        """The page's words for a place, on one line of at most 120 characters; may be empty."""
        for layer in self.layers(self.at(path)):
            for keyword in ("description", "title"):
                text = layer.get(keyword)
                if isinstance(text, str) and text.strip():
                    line = " ".join(text.split())
                    return line if len(line) <= 120 else line[:119] + "…"
        return ""

    def _properties(self, schema: JsonValue) -> Iterator[JsonObject]:
        for layer in self.layers(schema, "object"):
            properties = layer.get("properties")
            if isinstance(properties, dict):
                yield properties

    def _target(self, schema: JsonObject) -> JsonValue:
        pointer = local_pointer(schema["$ref"])
        return None if pointer is None else follow(self.root, pointer)


def own_values(schema: JsonObject) -> list[JsonValue] | None:
    """The values of the schema's own `const` or `enum`."""
    if "const" in schema:
        return [schema["const"]]
    return _list(schema, "enum") or None


def _together(schemas: list[JsonValue]) -> JsonValue:
    if len(schemas) > 1:
        return {"allOf": schemas}
    return schemas[0] if schemas else None


def _list(schema: JsonObject, keyword: str) -> list[JsonValue]:
    value = schema.get(keyword)
    return value if isinstance(value, list) else []


def _unique(kinds: Sequence[Kind]) -> tuple[Kind, ...]:
    return tuple(dict.fromkeys(kinds))
