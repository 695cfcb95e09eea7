"""What changed in a schema, in words; and the law: what is not breaking takes what was taken."""

import json
from collections.abc import Callable
from copy import deepcopy
from random import Random
from typing import Any

import pytest
from hypothesis import given, note, strategies as st
from jsonschema import Draft202012Validator, SchemaError
from pydantic import JsonValue

from webmcp_agent.browser.tools import JsonObject, PageTool
from webmcp_agent.scenarios.contract_arguments import argument_changes

BASE: JsonObject = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "Words to look for", "minLength": 2},
        "category": {"type": "string", "enum": ["shoes", "bags", "desk"]},
        "quantity": {"type": "integer", "minimum": 1, "maximum": 10, "default": 1},
        "tags": {"type": "array", "items": {"type": "string"}},
        "address": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "code": {"$ref": "#/$defs/code"}},
            "required": ["city"],
        },
        "note": {"anyOf": [{"type": "string", "maxLength": 80}, {"type": "null"}]},
        "pay": {
            "oneOf": [
                {
                    "type": "object",
                    "properties": {"by": {"const": "card"}, "number": {"type": "string"}},
                    "required": ["by", "number"],
                },
                {
                    "type": "object",
                    "properties": {"by": {"const": "bill"}},
                    "required": ["by"],
                },
            ]
        },
    },
    "required": ["query"],
    "$defs": {"code": {"type": "string", "pattern": "^[0-9]{5}$"}},
}
Told = list[tuple[str, str, str]]


def changed(edit: Callable[[Any], object]) -> JsonObject:
    schema = deepcopy(BASE)
    edit(schema)
    return schema


def told(old: JsonValue, new: JsonValue) -> Told:
    tools = (PageTool("t", "", schema) for schema in (old, new) if isinstance(schema, dict))
    return [(each.level, each.at, each.text) for each in argument_changes(*tools)]


def of(*path: str) -> Callable[[Any], Any]:
    def walk(schema: Any) -> Any:
        for name in path:
            schema = schema[name] if name in schema else schema["properties"][name]
        return schema

    return walk


QUERY, CATEGORY, QUANTITY = of("query"), of("category"), of("quantity")
TAGS, ADDRESS, NOTE, PAY = of("tags"), of("address"), of("note"), of("pay")

EDITS: list[tuple[str, Callable[[Any], object], Told]] = [
    ("required now", lambda s: s["required"].append("category"),
     [("breaking", "category", "category is required now")]),
    ("optional now", lambda s: s.update(required=[]),
     [("compatible", "query", "query is optional now")]),
    ("new and required",
     lambda s: (s["properties"].update(lang={"type": "string"}), s["required"].append("lang")),
     [("breaking", "lang", "lang is new and required")]),
    ("new and optional", lambda s: s["properties"].update(lang={"type": "string"}),
     [("compatible", "lang", "lang is new and optional")]),
    ("gone", lambda s: s["properties"].pop("tags"), [("breaking", "tags", "tags is gone")]),
    ("renamed", lambda s: s["properties"].update(amount=s["properties"].pop("quantity")),
     [("breaking", "quantity", "quantity is gone; renamed to amount?"),
      ("compatible", "amount", "amount is new and optional")]),
    ("nested and gone", lambda s: ADDRESS(s)["properties"].pop("code"),
     [("breaking", "address.code", "address.code is gone")]),
    ("nested and required", lambda s: ADDRESS(s)["required"].append("code"),
     [("breaking", "address.code", "address.code is required now")]),
    ("type list", lambda s: QUERY(s).update(type=["string", "null"]),
     [("compatible", "query", "query also takes null now")]),
    ("wider type", lambda s: QUANTITY(s).update(type="number"),
     [("compatible", "quantity", "quantity also takes a number now")]),
    ("other type", lambda s: QUANTITY(s).update(type="string"),
     [("breaking", "quantity", "quantity takes text now, it took a whole number")]),
    ("no null any more", lambda s: s["properties"].update(note={"type": "string", "maxLength": 80}),
     [("breaking", "note", "note takes text now, it took text or null")]),
    ("no type any more", lambda s: QUERY(s).pop("type"),
     [("compatible", "query",
       "query also takes a number, true or false, a list, an object or null now")]),
    ("enum narrower", lambda s: CATEGORY(s)["enum"].remove("desk"),
     [("breaking", "category", 'category no longer takes "desk"')]),
    ("enum wider", lambda s: CATEGORY(s)["enum"].append("kitchen"),
     [("compatible", "category", 'category also takes "kitchen" now')]),
    ("enum in another order", lambda s: CATEGORY(s)["enum"].reverse(),
     [("cosmetic", "category", "the values of category stand in another order")]),
    ("enum gone", lambda s: CATEGORY(s).pop("enum"),
     [("compatible", "category", "category takes other values too now")]),
    ("enum new", lambda s: QUERY(s).update(enum=["mug", "pen"]),
     [("breaking", "query", 'query takes only "mug", "pen" now')]),
    ("enum as titled choices",
     lambda s: s["properties"].update(category={
         "anyOf": [{"const": c, "title": c} for c in ("shoes", "bags", "desk")]}),
     [("cosmetic", "", "the input schema is written in another way, and takes the same")]),
    ("bound narrower", lambda s: QUANTITY(s).update(maximum=5),
     [("breaking", "quantity", "quantity: the highest number is 5, was 10")]),
    ("bound wider", lambda s: QUANTITY(s).update(minimum=0),
     [("compatible", "quantity", "quantity: the lowest number is 0, was 1")]),
    ("the same bound in another way", lambda s: QUANTITY(s).update(minimum=0.5),
     [("cosmetic", "", "the input schema is written in another way, and takes the same")]),
    ("longer", lambda s: QUERY(s).update(minLength=3),
     [("breaking", "query", "query: the shortest text is 3, was 2")]),
    ("items", lambda s: TAGS(s)["items"].update(type="integer"),
     [("breaking", "tags[]", "tags[] takes a whole number now, it took text")]),
    ("fewer items", lambda s: TAGS(s).update(maxItems=3),
     [("breaking", "tags", "tags: the most items is 3, was none")]),
    ("pattern new", lambda s: QUERY(s).update(pattern="^a"),
     [("breaking", "query", 'query: pattern is "^a", was none')]),
    ("pattern behind a reference", lambda s: s["$defs"]["code"].update(pattern="^[0-9]{4}$"),
     [("breaking", "address.code",
       'address.code: pattern is "^[0-9]{4}$", was "^[0-9]{5}$"')]),
    ("pattern gone", lambda s: s["$defs"]["code"].pop("pattern"),
     [("compatible", "address.code", 'address.code: pattern is none, was "^[0-9]{5}$"')]),
    ("format new", lambda s: QUERY(s).update(format="email"),
     [("breaking", "query", 'query: format is "email", was none')]),
    ("reference instead of a type", lambda s: (
        s["$defs"].update(text={"type": "string"}),
        ADDRESS(s)["properties"].update(city={"$ref": "#/$defs/text"})),
     [("cosmetic", "", "the input schema is written in another way, and takes the same")]),
    ("closed", lambda s: s.update(additionalProperties=False),
     [("breaking", "", "the arguments: names that are not described are refused now")]),
    ("default", lambda s: QUANTITY(s).update(default=2),
     [("breaking", "quantity", "quantity: default is 2, was 1")]),
    ("description", lambda s: QUERY(s).update(description="Words to look for here"),
     [("cosmetic", "query", "query: the description is reworded: "
       '"Words to look for here", was "Words to look for"')]),
    ("order of the parameters",
     lambda s: s.update(properties=dict(reversed(s["properties"].items()))),
     [("cosmetic", "", "the parameters stand in another order")]),
    ("order of the keywords", lambda s: s.update(type=s.pop("type")),
     [("cosmetic", "", "the input schema is written in another way, and takes the same")]),
    ("a further form", lambda s: PAY(s)["oneOf"].append({
        "type": "object", "properties": {"by": {"const": "gift"}}, "required": ["by"]}),
     [("compatible", "pay", "pay takes more than before")]),
    ("a form gone", lambda s: PAY(s)["oneOf"].pop(),
     [("breaking", "pay.number", "pay.number is required now")]),
    ("a form that overlaps", lambda s: PAY(s)["oneOf"].append({"type": "object"}),
     [("compatible", "pay.by", "pay.by is optional now"),
      ("breaking", "pay", "pay may take less than before: its rules changed")]),
    ("a rule", lambda s: s.update({"if": {"required": ["tags"]}, "then": {"required": ["note"]}}),
     [("breaking", "", "the arguments: the rule 'if' is new")]),
    ("a part that cannot be used", lambda s: QUERY(s).update(pattern="("),
     [("breaking", "", "a part of the input schema cannot be used: "
       "properties.query.pattern left out: the pattern \"(\" cannot be run")]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("edit", "expected"), [case[1:] for case in EDITS], ids=[case[0] for case in EDITS]
)
def test_a_change_of_the_schema_is_told_in_words(
    edit: Callable[[Any], object], expected: Told
) -> None:
    assert told(BASE, changed(edit)) == expected


def test_a_schema_that_holds_itself_is_compared() -> None:
    def tree(**more: JsonValue) -> JsonObject:
        node: JsonObject = {
            "type": "object",
            "properties": {"name": {"type": "string", **more}, "children": {"type": "array"}},
        }
        children = node["properties"]
        assert isinstance(children, dict)
        children["children"] = {"type": "array", "items": {"$ref": "#/$defs/node"}}
        return {
            "type": "object",
            "properties": {"root": {"$ref": "#/$defs/node"}},
            "$defs": {"node": node},
        }

    assert told(tree(), tree()) == []
    assert told(tree(), tree(maxLength=9)) == [
        ("breaking", "root.name", "root.name: the longest text is 9, was none")
    ]
    assert told(tree(maxLength=9), tree()) == [
        ("compatible", "root.name", "root.name: the longest text is none, was 9")
    ]


def test_a_free_object_may_have_held_anything() -> None:
    old: JsonObject = {"type": "object", "properties": {"meta": {"type": "object"}}}
    new = deepcopy(old)
    new["properties"] = {"meta": {"type": "object", "properties": {"a": {"type": "string"}}}}
    assert [level for level, _, _ in told(old, new)] == ["compatible", "breaking"]


def test_old_drafts_are_read_as_they_are_meant() -> None:
    draft = "http://json-schema.org/draft-04/schema#"
    number: JsonObject = {"type": "integer", "minimum": 0, "exclusiveMinimum": True}
    old: JsonObject = {"$schema": draft, "type": "object", "properties": {"n": number}}
    new: JsonObject = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}}
    assert [level for level, _, _ in told(old, new)] == ["cosmetic"]
    new["properties"] = {"n": {"type": "integer", "minimum": 2}}
    assert told(old, new) == [("breaking", "n", "n: the lowest number is 2, was 1")]


NAMES = ["a", "b"]
VALUES: list[JsonValue] = [
    *(None, True, False, 0, 1, 2, 3, 5, 10, -1, 2.5, 2.0, "", "a", "ab", "abc", "b", "x1"),
    *(
        [],
        [1],
        ["a"],
        [1, 2],
        ["a", "a"],
        [2.5],
        ["abc"],
        [["a"]],
        [{"a": 1}],
        [3, "ab"],
        {},
        {"a": 1},
        {"a": "a"},
        {"a": 1, "b": "x1"},
    ),
    *({"b": 2}, {"a": [1]}, {"a": None}, {"b": ["a", 2]}),
]
KINDS = ["string", "integer", "number", "boolean", "array", "object", "null"]


class Maker:
    """Makes sound schemas, changed ones and arguments from a seed.

    Every object schema with properties names all that arguments have, so that what is sent is
    what the old schema describes."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def root(self) -> JsonObject:
        return {
            "type": "object",
            "properties": {"a": self.schema(2), "b": {"type": "integer"}},
            **({"required": ["a"]} if self.random.random() < 0.3 else {}),
            **({"additionalProperties": False} if self.random.random() < 0.2 else {}),
            "$defs": {"x": self.schema(1), "y": self.schema(0)},
        }

    def names(self) -> list[JsonValue]:
        return [*self.random.sample(NAMES, self.random.randint(0, 2))]

    def schema(self, depth: int) -> JsonValue:
        """A schema that mostly says something about the kind that it takes."""
        random = self.random
        if random.random() < 0.05:
            return random.random() < 0.8
        kind = random.choice(["string", "integer", "number", "array", "array", "object", "object"])
        more: list[JsonValue] = [kind, random.choice(KINDS)]
        schema: JsonObject = {"type": more} if random.random() < 0.3 else {"type": kind}
        if random.random() < 0.1:
            del schema["type"]
        for keyword, make in OF_KIND[kind].items():
            if random.random() < 0.3:
                schema[keyword] = make(self, depth - 1)
        for keyword, make in OF_ANY.items():
            if random.random() < 0.06:
                schema[keyword] = make(self, depth - 1)
        return schema

    def below(self, depth: int) -> JsonValue:
        return self.schema(depth) if depth >= 0 else {"type": self.random.choice(KINDS)}

    def schemas(self, depth: int, most: int = 3) -> list[JsonValue]:
        return [self.below(depth) for _ in range(self.random.randint(1, most))]

    def changed(self, value: JsonValue) -> JsonValue:
        """The value with, now and then, a part another, gone or new."""
        random = self.random
        if isinstance(value, dict):
            found = {name: self.changed(member) for name, member in value.items()}
            if found and random.random() < 0.08:
                del found[random.choice(list(found))]
            if "type" in found and random.random() < 0.1 and isinstance(w := self.schema(1), dict):
                found = w | found
            return found
        if isinstance(value, list):
            items = [self.changed(item) for item in value]
            if len(items) > 1 and random.random() < 0.15:
                items.pop()
            elif items and random.random() < 0.1:
                items.append(random.choice(items))
            return items
        if isinstance(value, int | float) and not isinstance(value, bool):
            return max(0, value + random.choice([-1, 0, 0, 1]))
        return value


Make = Callable[[Maker, int], JsonValue]

NUMBER: dict[str, Make] = {
    "minimum": lambda m, d: m.random.choice([0, 1, 2, 2.5]),
    "maximum": lambda m, d: m.random.choice([1, 2, 5, 10]),
    "exclusiveMinimum": lambda m, d: m.random.choice([0, 1, 2]),
    "exclusiveMaximum": lambda m, d: m.random.choice([1, 2.5, 3, 5]),
    "multipleOf": lambda m, d: m.random.choice([0.5, 1, 2, 3]),
}
OF_KIND: dict[str, dict[str, Make]] = {
    "integer": NUMBER,
    "number": NUMBER,
    "string": {
        "minLength": lambda m, d: m.random.randint(0, 3),
        "maxLength": lambda m, d: m.random.randint(0, 3),
        "pattern": lambda m, d: m.random.choice(["^a", "b$", "^[a-z]"]),
    },
    "array": {
        "minItems": lambda m, d: m.random.randint(0, 2),
        "maxItems": lambda m, d: m.random.randint(0, 2),
        "uniqueItems": lambda m, d: m.random.random() < 0.5,
        "items": lambda m, d: m.below(d),
        "prefixItems": lambda m, d: m.schemas(d, 2),
        "contains": lambda m, d: m.below(d),
    },
    "object": {
        "minProperties": lambda m, d: m.random.randint(0, 2),
        "maxProperties": lambda m, d: m.random.randint(0, 2),
        "required": lambda m, d: m.names(),
        "properties": lambda m, d: {name: m.below(d) for name in NAMES},
        "additionalProperties": lambda m, d: m.below(d) if m.random.random() < 0.5 else False,
        "patternProperties": lambda m, d: {"^a": m.below(d)},
        "dependentRequired": lambda m, d: {"a": ["b"]},
        "dependentSchemas": lambda m, d: {"a": m.below(d)},
        "propertyNames": lambda m, d: {"pattern": "^a"},
    },
}
OF_ANY: dict[str, Make] = {
    "enum": lambda m, d: m.random.sample(VALUES, m.random.randint(2, 6)),
    "const": lambda m, d: m.random.choice(VALUES),
    "allOf": lambda m, d: m.schemas(d, 2),
    "anyOf": lambda m, d: m.schemas(d),
    "oneOf": lambda m, d: m.schemas(d),
    "not": lambda m, d: m.below(d),
    "if": lambda m, d: m.below(d),
    "then": lambda m, d: m.below(d),
    "$ref": lambda m, d: m.random.choice(["#/$defs/x", "#/$defs/y"]),
}
SEEDS = st.integers(0, 2**63)


def is_sound(schema: JsonValue) -> bool:
    try:
        Draft202012Validator.check_schema(schema)  # pyright: ignore[reportArgumentType]  # typed as a mapping of Any
    except SchemaError:
        return False
    return isinstance(schema, dict) and schema.get("type") == "object"


def takes(schema: JsonObject, args: JsonObject) -> bool:
    try:
        return Draft202012Validator(schema).is_valid(args)  # pyright: ignore[reportUnknownMemberType]  # untyped there
    except RecursionError:  # a reference that leads back to itself
        return False


@given(SEEDS)
def test_arguments_that_were_right_stay_right_when_nothing_is_called_breaking(seed: int) -> None:
    """Judged by `jsonschema`, which knows nothing of contracts."""
    maker = Maker(seed)
    old = maker.root()
    new = maker.changed(old)
    if not (is_sound(old) and is_sound(new) and isinstance(new, dict)):
        return
    if any(level == "breaking" for level, _, _ in told(old, new)):
        return
    for value in VALUES:
        args: JsonObject = {"a": value}
        if takes(old, args):
            note(f"{json.dumps(old)}\n{json.dumps(new)}\n{json.dumps(args)}")
            assert takes(new, args)


@given(SEEDS)
def test_no_schema_differs_from_itself(seed: int) -> None:
    schema = Maker(seed).root()
    assert told(schema, json.loads(json.dumps(schema))) == []


@given(SEEDS)
def test_any_two_schemas_can_be_compared_and_a_difference_is_always_told(seed: int) -> None:
    maker = Maker(seed)
    old = maker.root()
    new = maker.changed(old) if seed % 2 else maker.root()
    assert bool(told(old, new)) == (json.dumps(old) != json.dumps(new))
