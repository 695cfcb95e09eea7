"""Calls that are held to the tools' schemas: every one is a valid call, however random the model.

The model here is a real one that knows nothing; where a test says so it wants to write a text.
"""

import json
import socket
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from pydantic import JsonValue

from webmcp_agent.agent.tool_calls import parse_tool_calls
from webmcp_agent.browser.tools import PageTool
from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.argument_schema import decoding_schema
from webmcp_agent.providers.base import JsonObject, ToolConstraint
from webmcp_agent.providers.generation import Budget, Engine, Reply
from webmcp_agent.providers.grammar import Grammars
from webmcp_agent.providers.triggers import CallStart

pytestmark = pytest.mark.model

Lead = Callable[[Engine, int, str], None]

PROMPT = [1, 40, 41, 42]

SEARCH: JsonObject = {
    "type": "object",
    "properties": {
        "size": {"enum": ["S", "M", 'say "hi"', "<b>"]},
        "query": {"type": "string", "maxLength": 6},
        "limit": {"type": "integer", "minimum": 1, "maximum": 20},
    },
    "required": ["query"],
}
FILL: JsonObject = {
    "type": "object",
    "properties": {
        "first-name": {"$ref": "#/$defs/name"},
        "tags": {"type": "array", "items": {"const": "x"}, "maxItems": 2},
        "address": {"type": "object", "properties": {"zip": {"enum": [1, 2]}}, "required": ["zip"]},
    },
    "required": ["first-name", "address"],
    "$defs": {"name": {"type": "string", "enum": ["Ada", "Zoë"]}},
}
NO_PARAMETERS: JsonObject = {"type": "object"}


def constraints(**schemas: JsonObject) -> tuple[ToolConstraint, ...]:
    return tuple(
        ToolConstraint(name.replace("_", "-"), schema, f"{name}-1")
        for name, schema in schemas.items()
    )


TOOLS = constraints(search=SEARCH, fill_form=FILL, view_cart=NO_PARAMETERS)


class Bench:
    """An engine with grammars, and what they warned about."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self.warnings: list[str] = []
        backend = tokenizer.backend_tokenizer
        self.grammars = Grammars(
            backend.to_str(),
            end_ids=[0, 1, 2],
            added=tokenizer.get_added_vocab(),
            warn=self.warnings.append,
        )
        self.engine = Engine(
            model, backend, end_ids=[0, 1, 2], grammars=self.grammars, reuse_prefix=False
        )

    def reply(
        self,
        tools: Sequence[ToolConstraint],
        *,
        prompt: Sequence[int] = PROMPT,
        inline: bool = False,
        answer: int = 300,
        reasoning: bool = False,
    ) -> Reply:
        return self.engine.reply(
            prompt,
            Budget(answer=answer, reasoning=20, total=2000),
            AbortSignal(),
            constraints=tools,
            inline=inline,
            reasoning=reasoning,
        )


@pytest.fixture
def bench(new_model: Callable[..., Any], tiny_tokenizer: Any) -> Bench:
    return Bench(new_model(len(tiny_tokenizer)), tiny_tokenizer)


def page_tools(tools: Sequence[ToolConstraint]) -> list[PageTool]:
    return [PageTool(tool.name, "", tool.schema) for tool in tools]


BEGINNINGS = [
    pytest.param("<tool_call>", False, id="tags"),
    pytest.param("I look. <tool_call>\n", False, id="tags behind prose"),
    pytest.param("<|tool_call_start|>", False, id="pythonic"),
    pytest.param('{"name"', False, id="bare"),
    pytest.param('```json\n{\n  "name"', False, id="bare in a code fence"),
    pytest.param('[{"name"', False, id="bare in a list"),
    pytest.param('{"tool"', True, id="inline"),
]


@pytest.mark.parametrize(("beginning", "inline"), BEGINNINGS)
@pytest.mark.parametrize("only", range(3), ids=["search", "fill-form", "view-cart"])
def test_a_model_that_knows_nothing_makes_a_valid_call_once_it_begins_one(
    bench: Bench, lead: Lead, beginning: str, inline: bool, only: int
) -> None:
    """`C-70`, `C-71`."""
    tools = [TOOLS[only]]
    for seed in range(40, 46):
        prompt = [seed, *PROMPT]
        lead(bench.engine, len(prompt), beginning)
        reply = bench.reply(tools, prompt=prompt, inline=inline)
        assert reply.finish_reason == "stop"
        parsed = parse_tool_calls(reply.text, page_tools(tools), tools_inline=inline)
        assert parsed.errors == []
        assert 1 <= len(parsed.calls) <= (8 if "start" in beginning else 1)
        for call in parsed.calls:
            assert call.name == tools[0].name
            jsonschema.validate(call.args, tools[0].schema)
            assert call.args == {} or only != 2


@pytest.mark.parametrize(
    ("text", "inline"),
    [
        (
            'Ah.\n<tool_call>\n{"name": "search", "arguments": {"query": "mug", "limit": 3}}\n'
            "</tool_call>",
            False,
        ),
        ('Here.\n<tool_call>\n{"name": "view-cart", "arguments": {}}\n</tool_call>\nDone.', False),
        ('<|tool_call_start|>[search(query="mug", size="M"), view-cart()]<|tool_call_end|>', False),
        (
            '<|tool_call_start|>[{"name": "fill-form", "arguments": {"first-name": "Zoë", '
            '"address": {"zip": 2}, "tags": ["x", "x"]}}]<|tool_call_end|>',
            False,
        ),
        ('{"name": "search", "arguments": {"query": "mug"}}', False),
        ('{"tool": "search", "args": {"query": "mug"}}', True),
    ],
)
def test_what_a_model_writes_rightly_is_not_touched(
    bench: Bench, lead: Lead, text: str, inline: bool
) -> None:
    """`C-70`."""
    lead(bench.engine, len(PROMPT), text)
    reply = bench.reply(TOOLS, inline=inline)
    assert (reply.text, reply.finish_reason) == (text, "stop")


@pytest.mark.parametrize(
    "text",
    [
        "The mug costs 8 euros, and <b>not</b> 9.",
        'The answer is {"name": "mug", "price": 8}.',
        '{"reply": "It costs 8 euros."}',
        '{"title": "Blue mug"}',
    ],
)
def test_prose_stays_free(bench: Bench, lead: Lead, text: str) -> None:
    """`C-70`."""
    lead(bench.engine, len(PROMPT), text)
    assert bench.reply(TOOLS).text == text
    assert bench.grammars.compiled == 0


def test_nothing_is_held_inside_reasoning(bench: Bench, lead: Lead) -> None:
    """`C-70`: and a call behind it is."""
    text = 'so <tool_call>{"name": 1}</think>\n<tool_call>\n{"name": "view-cart"'
    lead(bench.engine, len(PROMPT), text)
    reply = bench.reply(TOOLS, reasoning=True)
    assert reply.text.startswith(text + ', "arguments": {}}\n</tool_call>')


def test_a_token_that_begins_a_call_wrongly_is_cut_to_its_beginning(
    new_model: Callable[..., Any], tiny_tokenizer: Any, lead: Lead
) -> None:
    """`C-70`: one token may hold the end of the marker and what no call goes on with."""
    tokenizers: Any = import_module("tokenizers")
    tiny = json.loads(tiny_tokenizer.backend_tokenizer.to_str())
    added = [token for token in tiny["added_tokens"] if token["content"] != "<tool_call>"]
    tiny["added_tokens"] = [*added, {**added[-1], "content": "call>[[", "id": added[-1]["id"]}]
    backend = tokenizers.Tokenizer.from_str(json.dumps(tiny))
    names = {token.content: id for id, token in backend.get_added_tokens_decoder().items()}
    warnings: list[str] = []
    grammars = Grammars(backend.to_str(), end_ids=[0, 1, 2], added=names, warn=warnings.append)
    engine = Engine(
        new_model(len(tiny_tokenizer)),
        backend,
        end_ids=[0, 1, 2],
        grammars=grammars,
        reuse_prefix=True,
    )
    lead(engine, len(PROMPT), "<tool_call>[[")
    reply = engine.reply(PROMPT, Budget(60, 5, 500), AbortSignal(), constraints=TOOLS[2:])
    expected = '<tool_call>\n{"name": "view-cart", "arguments": {}}\n</tool_call>'
    assert reply.text.startswith(expected)


def test_after_a_bare_call_the_reply_ends(bench: Bench, lead: Lead) -> None:
    """`C-70`: further calls would be made without having seen the first result."""
    call = '{"name": "view-cart", "arguments": {}}'
    lead(bench.engine, len(PROMPT), f"{call}\n{call}")
    reply = bench.reply(TOOLS)
    assert (reply.text, reply.finish_reason) == (call, "stop")


def test_a_call_longer_than_the_limit_ends_by_length(bench: Bench, lead: Lead) -> None:
    """`C-70`: the limit holds for forced tokens, too."""
    lead(bench.engine, len(PROMPT), "<tool_call>")
    reply = bench.reply(TOOLS, answer=4)
    assert (reply.finish_reason, reply.completion_tokens) == ("length", 4)


def test_names_are_those_of_the_tools_shown_now(bench: Bench, lead: Lead) -> None:
    """`C-71`: one step with one tool, the next with another, and the first again."""
    called: list[str] = []
    for tools in (TOOLS[:1], TOOLS[2:], TOOLS[:1]):
        lead(bench.engine, len(PROMPT), '{"name"')
        [call] = parse_tool_calls(bench.reply(tools).text, page_tools(tools)).calls
        called.append(call.name)
    assert (called, bench.grammars.compiled) == (["search", "view-cart", "search"], 2)


def test_a_tool_that_changes_gets_a_new_grammar(bench: Bench, lead: Lead) -> None:
    """`C-71`: the fingerprint tells; the name is the same."""
    answers: list[JsonObject] = []
    for number in (1, 2):
        schema: JsonObject = {
            "type": "object",
            "properties": {"id": {"const": number}},
            "required": ["id"],
        }
        tool = ToolConstraint("open", schema, f"open-{number}")
        lead(bench.engine, len(PROMPT), '{"name"')
        [call] = parse_tool_calls(bench.reply([tool]).text, page_tools([tool])).calls
        answers.append(call.args)
    assert (answers, bench.grammars.compiled) == ([{"id": 1}, {"id": 2}], 2)


REFUSED: list[tuple[str, JsonObject, str]] = [
    ("remote reference", {"properties": {"a": {"$ref": "http://127.0.0.1:9/x"}}}, "refused"),
    ("look-around", {"properties": {"a": {"type": "string", "pattern": "^(?=x)"}}}, "refused"),
    ("wrong kinds", {"properties": [], "required": 3}, "refused"),
    ("nothing fits", {"properties": {"a": {"enum": []}}, "required": ["a"]}, "refused"),
    ("too deep", json.loads('{"properties": {"a": ' * 300 + "{}" + "}}" * 300), "too deep"),
    ("too long", {"properties": {"a": {"enum": ["x" * 200_001]}}}, "refused"),
    ("control token as a key", {"properties": {"<|im_end|>": {}}}, "any arguments"),
    ("control token as a value", {"properties": {"a": {"const": "<think>"}}}, "not held"),
    ("unknown keyword", {"properties": {"a": {"not": {"type": "string"}}}}, "not held"),
]


@pytest.mark.parametrize(
    ("schema", "warning"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_a_schema_that_the_engine_refuses_frees_that_tool_alone_and_is_told(
    bench: Bench, lead: Lead, schema: JsonObject, warning: str
) -> None:
    """`C-72`."""
    tools = (ToolConstraint("odd", schema, "odd-1"), *TOOLS)
    wanted = '{"name": "odd", "arguments": {}}'
    if warning != "not held":
        wanted = '{"name": "odd", "arguments": {"free": ["as", 1]}}'
    lead(bench.engine, len(PROMPT), wanted)
    assert bench.reply(tools).text == wanted
    good = '{"name": "search", "arguments": {"query": '
    lead(bench.engine, len(PROMPT), good)
    [call] = parse_tool_calls(bench.reply(tools).text, page_tools(tools)).calls
    jsonschema.validate(call.args, SEARCH)
    assert len(bench.warnings) == 1
    assert bench.warnings[0].startswith("odd: ")
    assert warning in bench.warnings[0]


def test_no_schema_that_names_an_address_opens_a_connection(
    bench: Bench, lead: Lead, unused_port: "Listener"
) -> None:
    """`C-72`."""
    address = f"http://127.0.0.1:{unused_port.port}/schema.json"
    schemas: list[JsonObject] = [
        {"$schema": address, "properties": {"a": {"const": 1}}},
        {"$id": address, "properties": {"a": {"$ref": f"{address}#/properties/b"}}},
        {"properties": {"a": {"$ref": address}}},
        {"$ref": address},
        {"properties": {"a": {"$dynamicRef": f"{address}#x"}}},
    ]
    for number, schema in enumerate(schemas):
        lead(bench.engine, len(PROMPT), '{"name": "odd", "arguments": {}}')
        bench.reply([ToolConstraint("odd", schema, f"odd-{number}")])
    assert unused_port.connections() == 0


def test_texts_of_a_schema_are_literals(bench: Bench, lead: Lead) -> None:
    """`C-71`: what reads like a rule of the grammar, or like the engine's own options, is text."""
    value = '"} <tool> %json {"x-guidance": 1} | /.*/ \\ \n'
    schema: JsonObject = {
        "type": "object",
        "properties": {"a": {"const": value}},
        "required": ["a"],
        "x-guidance": {"whitespace_flexible": True, "lenient": True},
    }
    tool = ToolConstraint("odd", schema, "odd-1")
    for beginning in ('{"name"', "<|tool_call_start|>", "<tool_call>"):
        lead(bench.engine, len(PROMPT), beginning)
        reply = bench.reply([tool], answer=900)
        calls = parse_tool_calls(reply.text, page_tools([tool])).calls
        assert [call.args for call in calls[:1]] == [{"a": value}]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        pytest.param(
            {},
            {"type": "object", "properties": {}, "additionalProperties": False},
            id="no parameters",
        ),
        pytest.param(
            {"type": "text", "properties": {"b": {}, "a": {}}, "required": ["a"]},
            {
                "type": "object",
                "properties": {"a": {}, "b": {}},
                "required": ["a"],
                "additionalProperties": False,
            },
            id="required first, closed, an object",
        ),
        pytest.param(
            {"properties": {"a": {}}, "additionalProperties": {"type": "string"}},
            {
                "type": "object",
                "properties": {"a": {}},
                "additionalProperties": {"type": "string"},
            },
            id="open where it says so",
        ),
        pytest.param(
            {"properties": {"a": {}}, "anyOf": [{"required": ["a"]}]},
            {"type": "object", "properties": {"a": {}}, "anyOf": [{"required": ["a"]}]},
            id="composed of others",
        ),
        pytest.param(
            {"properties": {"a": {"type": "object"}}, "required": ["b"]},
            {"type": "object", "properties": {"a": {"type": "object"}}, "required": ["b"]},
            id="a required name that is not declared",
        ),
        pytest.param(
            {"properties": {"a": {"items": {"properties": {"b": True}}}}},
            {
                "type": "object",
                "properties": {
                    "a": {
                        "items": {"properties": {"b": True}, "additionalProperties": False},
                    }
                },
                "additionalProperties": False,
            },
            id="closed inside a list",
        ),
    ],
)
def test_objects_are_closed_where_they_do_not_say_otherwise(
    schema: JsonObject, expected: JsonObject
) -> None:
    """`C-71`."""
    before = json.dumps(schema)
    result = decoding_schema(schema)
    assert json.dumps(result, sort_keys=True) == json.dumps(expected, sort_keys=True)
    properties, wanted = result["properties"], expected["properties"]
    assert isinstance(properties, dict)
    assert isinstance(wanted, dict)
    assert list(properties) == list(wanted)
    assert json.dumps(schema) == before


NAMES = st.from_regex(r"[A-Za-z_.-]{1,8}", fullmatch=True)
PLAIN_VALUES: list[JsonObject] = [
    {"type": "string", "maxLength": 3},
    {"type": "integer", "minimum": -3, "maximum": 12},
    {"type": "boolean"},
    {"enum": ["a", "b ", 3, None]},
    {"type": ["null", "boolean"]},
    {"type": "string", "format": "date"},
    {"type": "number", "minimum": 0, "maximum": 1, "multipleOf": 0.5},
]


def array_of(items: JsonObject, most: int) -> JsonObject:
    return {"type": "array", "items": items, "maxItems": most}


def object_of(properties: dict[str, JsonObject], required: int) -> JsonObject:
    schema: JsonObject = {"type": "object", "properties": {**properties}}
    names: JsonValue = []
    names += [*properties][:required]
    schema["required"] = names
    return schema


def deeper(inner: st.SearchStrategy[JsonObject]) -> st.SearchStrategy[JsonObject]:
    return st.builds(array_of, inner, st.integers(0, 2)) | st.builds(
        object_of, st.dictionaries(NAMES, inner, max_size=2), st.integers(0, 2)
    )


VALUES = st.recursive(st.sampled_from(PLAIN_VALUES), deeper, max_leaves=4)
SCHEMAS = st.builds(object_of, st.dictionaries(NAMES, VALUES, max_size=4), st.integers(0, 4))


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    schema=SCHEMAS,
    name=NAMES,
    how=st.sampled_from(["tags", "pythonic", "bare", "spread", "list", "inline"]),
    seed=st.integers(0, 10_000),
)
def test_every_text_that_a_grammar_accepts_is_read_back_as_a_valid_call(
    bench: Bench, schema: JsonObject, name: str, how: CallStart, seed: int
) -> None:
    """`C-70`, `C-71`: any schema, any form, tokens drawn at random from those allowed."""
    torch: Any = import_module("torch")
    torch.manual_seed(seed)
    tool = ToolConstraint(name, schema, "")
    guide = bench.grammars.begin(how, [tool])
    tokens: list[int] = []
    while not guide.done:
        tokens += guide.forced()
        if guide.done:
            break
        token = guide.choose(torch.randn(bench.engine.vocabulary))
        assert token is not None
        tokens.append(token)
        assert len(tokens) < 2000
    begun = {
        "tags": "<tool_call>",
        "pythonic": "<|tool_call_start|>",
        "bare": '{"name"',
        "spread": '{\n  "name"',
        "list": '[{"name"',
        "inline": '{"tool"',
    }[how]
    text = begun + bench.engine.tokenizer.decode(tokens, skip_special_tokens=False)
    parsed = parse_tool_calls(text, page_tools([tool]), tools_inline=how == "inline")
    assert (parsed.errors, parsed.text) == ([], "")
    for call in parsed.calls:
        assert call.name == name
        jsonschema.validate(call.args, schema)
    assert parsed.calls
    assert bench.warnings == []


class Listener:
    """A port that counts who connects."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.setblocking(False)
        self.port = int(self._socket.getsockname()[1])

    def connections(self) -> int:
        """How many connections wait to be accepted."""
        count = 0
        while True:
            try:
                self._socket.accept()[0].close()
            except BlockingIOError:
                return count
            count += 1

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def unused_port() -> "Iterator[Listener]":
    listener = Listener()
    yield listener
    listener.close()
