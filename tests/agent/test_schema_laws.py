"""Laws that hold for any schema, however broken, and for any arguments.

Schemas are made from a seed, not drawn keyword by keyword: a law is tried on many more of them in
the same time. A failing test prints its schema.
"""

import json
from random import Random

from hypothesis import given, note, strategies as st
from pydantic import JsonValue

from webmcp_agent.agent.kinds import KINDS
from webmcp_agent.agent.schema import compact_schema, example_args, read_schema
from webmcp_agent.agent.validation import InvalidArgs, ValidArgs, validate_args
from webmcp_agent.browser.tools import JsonObject, PageTool

NAMES = ["a", "b", "c", "not", "$ref", "properties", "x y", "ä"]
TEXTS = ["", "1", "true", "null", "[1]", '{"a": 1}', "abc", "a; e.g. b", "x " * 90, "ü\n"]
NUMBERS: list[JsonValue] = [0, 1, -3, 2.5, 2.0, 7, 2**60, float("nan"), float("inf"), 1e300]
REFERENCES: list[JsonValue] = [
    *("#", "#/$defs/a", "#/$defs/b", "#/$defs/c", "#/properties/a", "#/properties/a/items"),
    *("#/nowhere", "#a", "http://127.0.0.1:9/x", "other.json", "", "#/$defs/a/allOf/0"),
]
PATTERNS = ["^a", "(", "b$", r"\d+", "(?i)x", "^(a+)+$", "x" * 201]
KEYWORDS = [
    *("type", "type", "type", "enum", "const", "default", "examples", "title", "description"),
    *("format", "deprecated", "minimum", "maximum", "exclusiveMinimum", "multipleOf", "minLength"),
    *("maxItems", "maxProperties", "uniqueItems", "pattern", "properties", "properties"),
    *("patternProperties", "additionalProperties", "unevaluatedProperties", "propertyNames"),
    *("required", "dependentRequired", "dependentSchemas", "items", "items", "prefixItems"),
    *("contains", "maxContains", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "$ref"),
    *("$ref", "$dynamicRef", "$defs", "$defs", "$id", "$schema", "dependencies", "unknown"),
]
DRAFTS: list[JsonValue] = [
    f"http://json-schema.org/{name}/schema#"
    for name in ("draft-04", "draft-06", "draft-07", "draft/2019-09", "draft/2020-12")
]
SEEDS = st.integers(0, 2**63)


class Maker:
    """Makes the same values and schemas from the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def value(self, depth: int = 2) -> JsonValue:
        match self.random.randrange(8 if depth else 6):
            case 0:
                return None
            case 1:
                return self.random.random() < 0.5
            case 2 | 3:
                return self.random.choice(NUMBERS)
            case 4 | 5:
                return self.random.choice(TEXTS)
            case 6:
                return self.values(depth - 1, 3)
            case _:
                return self.args(depth - 1)

    def values(self, depth: int, most: int) -> list[JsonValue]:
        return [self.value(depth) for _ in range(self.random.randint(0, most))]

    def args(self, depth: int = 2) -> JsonObject:
        return {name: self.value(depth) for name in self.names()}

    def names(self) -> list[str]:
        return self.random.sample(NAMES, self.random.randint(0, 3))

    def schema(self, depth: int = 3) -> JsonValue:
        if self.random.random() < 0.1:
            return self.random.random() < 0.5
        keywords = self.random.sample(KEYWORDS, self.random.randint(0, 4 + depth))
        return {keyword: self.keyword(keyword, depth - 1) for keyword in keywords}

    def keyword(self, keyword: str, depth: int) -> JsonValue:
        if self.random.random() < 0.05:
            return self.value()
        match keyword:
            case "type":
                kinds = self.random.sample(KINDS, 2)
                return [*kinds] if self.random.random() < 0.3 else kinds[0]
            case "enum" | "examples":
                return self.values(1, 25)
            case "title" | "description":
                return self.random.choice(TEXTS)
            case "format":
                return self.random.choice(["date", "time", "date-time", "email", "uri", "other"])
            case "deprecated" | "uniqueItems":
                return self.random.random() < 0.5
            case "minimum" | "maximum" | "exclusiveMinimum" | "multipleOf":
                return self.random.choice(NUMBERS)
            case "minLength" | "maxItems" | "maxProperties" | "maxContains":
                return self.random.randrange(4)
            case "pattern":
                return self.random.choice(PATTERNS)
            case "required":
                return [*self.names()]
            case "dependentRequired":
                return {name: [*self.names()] for name in self.names()}
            case "$ref" | "$dynamicRef" | "$id":
                return self.random.choice(REFERENCES)
            case "$schema":
                return self.random.choice(DRAFTS)
            case "const" | "default" | "unknown":
                return self.value()
            case _ if depth < 0:
                return {}
            case "properties" | "$defs" | "dependentSchemas" | "dependencies":
                return {name: self.schema(depth) for name in self.names()}
            case "patternProperties":
                return {self.random.choice(PATTERNS): self.schema(depth)}
            case "allOf" | "anyOf" | "oneOf" | "prefixItems":
                return [self.schema(depth) for _ in range(self.random.randint(1, 3))]
            case _:
                return self.schema(depth)


def tool_of(schema: JsonValue, *, declarative: bool = False) -> PageTool:
    """A tool with a schema that a browser gave: an object, a text or nothing."""
    given = schema if isinstance(schema, dict | str | None) else json.dumps(schema)
    return PageTool(name="t", description="", input_schema=given, declarative=declarative)


@given(SEEDS, st.integers(0, 400))
def test_a_compact_schema_holds_its_promises(seed: int, limit: int) -> None:
    """C-08, C-40"""
    schema = Maker(seed).schema()
    note(repr(schema))
    before = repr(schema)
    compact = compact_schema(schema, limit)
    text = json.dumps(compact, ensure_ascii=False)
    properties = compact["properties"]
    required = compact.get("required", [])

    assert repr(schema) == before
    assert isinstance(properties, dict)
    assert isinstance(required, list)
    assert compact["type"] == "object"
    assert set(compact) <= {"type", "properties", "required"}
    assert set(required) <= set(properties)
    assert "$ref" not in _keywords(compact)
    assert repr(compact_schema(compact, limit)) == repr(compact)
    assert set(properties) <= _names(read_schema(schema)[0])
    assert len(text) <= limit or set(properties) == set(required)
    assert isinstance(example_args(compact), dict)


@given(SEEDS, st.booleans())
def test_a_check_has_one_of_two_outcomes_and_changes_nothing_else(
    seed: int, declarative: bool
) -> None:
    """C-08, C-35, C-38"""
    maker = Maker(seed)
    tool, args = tool_of(maker.schema(), declarative=declarative), maker.args()
    note(f"{tool.input_schema!r} {args!r}")
    before = repr((tool, args))
    outcome = validate_args(tool, args)

    assert repr((tool, args)) == before
    if isinstance(outcome, ValidArgs):
        assert list(outcome.args)[: len(args)] == list(args)
    else:
        assert outcome.message.startswith("t: ")
        assert "\n" not in outcome.message


@given(SEEDS)
def test_arguments_that_were_accepted_are_accepted_as_they_are(seed: int) -> None:
    """C-33"""
    maker = Maker(seed)
    tool, args = tool_of(maker.schema()), maker.args()
    note(f"{tool.input_schema!r} {args!r}")
    first = validate_args(tool, args)

    if isinstance(first, ValidArgs):
        second = validate_args(tool, first.args)

        assert isinstance(second, ValidArgs)
        assert repr(second.args) == repr(first.args)


@st.composite
def leaves(draw: st.DrawFn) -> JsonObject:
    """A property of keywords that a compact schema keeps, which allows what it names."""
    word = draw(st.text("abc ;.", max_size=30))
    count = draw(st.sampled_from([0, 3, 25]))
    values = [*(f"{word}{number}" for number in range(count)), "plain"]
    low = draw(st.integers(-9, 9))
    high = low + draw(st.integers(0, 9))
    words: JsonValue = draw(st.text("abc ;.", max_size=20))
    kinds: list[JsonObject] = [
        {"type": "string", "description": words},
        {"type": "string", "format": draw(st.sampled_from(["date", "email", "uuid"]))},
        {"type": "integer", "minimum": low, "maximum": high},
        {"type": ["number", "null"], "maximum": low / 2},
        {"type": "string", "enum": [*values], "description": "pick"},
        {"enum": [*values], "default": values[-1]},
        {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
        {"const": low},
        {},
    ]
    return draw(st.sampled_from(kinds))


@st.composite
def honest_schemas(draw: st.DrawFn) -> JsonObject:
    """A schema of keywords that a compact schema keeps."""
    return {
        "type": "object",
        "properties": {
            "first": draw(leaves()),
            "list": {"type": "array", "items": draw(leaves())},
            "inner": {
                "type": "object",
                "properties": {"x": draw(leaves()), "y": draw(leaves())},
                "required": ["x"],
            },
        },
        "required": [*draw(st.lists(st.sampled_from(["first", "list", "inner"]), unique=True))],
    }


@given(honest_schemas())
def test_an_example_passes_the_check(schema: JsonObject) -> None:
    """C-37"""
    compact = compact_schema(schema)
    args = example_args(compact)
    tool = PageTool(name="t", description="", input_schema=schema)

    assert not isinstance(validate_args(tool, args), InvalidArgs)


def _keywords(schema: JsonValue) -> set[str]:
    """Keywords of a compact schema, without the names of properties."""
    if not isinstance(schema, dict):
        return set()
    found = set(schema)
    properties = schema.get("properties")
    if isinstance(properties, dict):
        for each in properties.values():
            found |= _keywords(each)
    return found | _keywords(schema.get("items"))


def _names(schema: JsonValue) -> set[str]:
    """Each name that stands anywhere in a schema."""
    found: set[str] = set()
    if isinstance(schema, dict):
        found.update(schema)
        for each in schema.values():
            found |= _names(each)
    elif isinstance(schema, list):
        for each in schema:
            found |= _names(each)
    return found
