from dataclasses import dataclass, field
from typing import Literal

import pytest
from pydantic import JsonValue

from webmcp_agent.agent.tool_calls import ParsedCall, ParsedReply, parse_tool_calls
from webmcp_agent.browser.tools import PageTool

JsonObject = dict[str, JsonValue]


def tool(name: str, properties: JsonObject, *required: str) -> PageTool:
    schema: JsonObject = {"type": "object", "properties": properties, "required": [*required]}
    return PageTool(name, f"The tool {name}", schema)


TOOLS = [
    tool("search", {"query": {"type": "string"}, "max_price": {"type": "number"}}, "query"),
    tool("open", {"id": {"type": "integer"}}, "id"),
    tool(
        "add",
        {
            "quantity": {"type": "integer"},
            "code": {"type": "string"},
            "gift": {"type": "boolean"},
            "note": {"type": ["string", "null"]},
        },
    ),
    tool("opening-hours", {}),
]


@dataclass(frozen=True, slots=True)
class Vector:
    id: str
    reply: str
    finish: Literal["stop", "length"] = "stop"
    calls: list[tuple[str, JsonObject]] = field(default_factory=list[tuple[str, JsonObject]])
    text: str = ""
    errors: list[str] = field(default_factory=list[str])
    repairs: list[str] = field(default_factory=list[str])


def outcome(vector: Vector) -> tuple[object, ...]:
    calls = [ParsedCall(name, args) for name, args in vector.calls]
    return vector.text, calls, vector.errors, vector.repairs


def parsed(reply: ParsedReply) -> tuple[object, ...]:
    return reply.text, reply.calls, reply.errors, reply.repairs


CUT_OFF = "your reply was cut off, make it shorter"

VECTORS: list[Vector] = [
    Vector(
        "a call",
        '<tool_call>\n{"name": "search", "arguments": {"query": "mug"}}\n</tool_call>',
        calls=[("search", {"query": "mug"})],
    ),
    Vector(
        "prose and two calls",
        (
            'Sure!\n<tool_call>{"name":"search","arguments":{"query":"mug"}}</tool_call>\n'
            '<tool_call>{"name":"opening-hours","arguments":{}}</tool_call>'
        ),
        calls=[("search", {"query": "mug"}), ("opening-hours", {})],
        text="Sure!",
    ),
    Vector(
        "two objects in one marker",
        (
            '<tool_call>{"name":"opening-hours","arguments":{}}\n'
            '{"name":"open","arguments":{"id":7}}</tool_call>'
        ),
        calls=[("opening-hours", {}), ("open", {"id": 7})],
        repairs=["several calls in one marker"],
    ),
    Vector(
        "a closing marker inside a text",
        '<tool_call>{"name":"search","arguments":{"query":"a </tool_call> tag"}}</tool_call>',
        calls=[("search", {"query": "a </tool_call> tag"})],
    ),
    Vector(
        "no end marker",
        '<tool_call>{"name":"search","arguments":{"query":"mug"}}',
        calls=[("search", {"query": "mug"})],
        repairs=["missing end marker"],
    ),
    Vector(
        "no end marker and the token limit",
        '<tool_call>{"name":"search","arguments":{"query":"mug"}}',
        finish="length",
        errors=["your reply was cut off, make it shorter"],
        repairs=["missing end marker"],
    ),
    Vector(
        "one bracket short before the end marker",
        '<tool_call>{"name":"search","arguments":{"query":"mug"}\n</tool_call>',
        calls=[("search", {"query": "mug"})],
        repairs=["missing } added"],
    ),
    Vector(
        "one bracket short and no end marker",
        '<tool_call>{"name":"search","arguments":{"query":"mug"}',
        errors=[
            (
                'search cannot be read at character 45, near «uery":"mug"}»: a closing bracket is '
                "missing"
            )
        ],
    ),
    Vector(
        "one bracket too many",
        '<tool_call>{"name":"search","arguments":{"query":"mug"}}}\n</tool_call>',
        calls=[("search", {"query": "mug"})],
        repairs=["extra closing brackets left out"],
    ),
    Vector(
        "cut off inside a value",
        '<tool_call>{"name":"open","arguments":{"id":1',
        finish="length",
        errors=["your reply was cut off, make it shorter"],
    ),
    Vector(
        "cut off in prose after whole calls",
        '<tool_call>{"name":"opening-hours","arguments":{}}</tool_call>\nI will now',
        finish="length",
        calls=[("opening-hours", {})],
        text="I will now",
    ),
    Vector(
        "single quotes and a trailing comma",
        ("<tool_call>{'name': 'search', 'arguments': {'query': \"Nina's mug\"},}</tool_call>"),
        calls=[("search", {"query": "Nina's mug"})],
        repairs=["single quotes read", "trailing comma removed"],
    ),
    Vector(
        "Python literals",
        '<tool_call>{"name":"add","arguments":{"gift":True,"note":None}}</tool_call>',
        calls=[("add", {"gift": True, "note": None})],
        repairs=["Python literal read"],
    ),
    Vector(
        "a raw line break in a text",
        '<tool_call>{"name":"add","arguments":{"note":"line one\nline two"}}</tool_call>',
        calls=[("add", {"note": "line one\nline two"})],
        repairs=["raw line break in a text read"],
    ),
    Vector(
        "an unescaped quote",
        '<tool_call>{"name":"add","arguments":{"note":"say "hi" to Ann"}}</tool_call>',
        errors=[
            (
                'add cannot be read at character 41, near «note":"say "hi" to Ann"}»: write '
                "a quote "
                r"inside a text as \""
            )
        ],
    ),
    Vector(
        "an unknown escape",
        r'<tool_call>{"name":"add","arguments":{"note":"C:\dir"}}</tool_call>',
        errors=[
            (
                r'add cannot be read at character 38, near «:{"note":"C:\dir"}}</too»: \d is no '
                "escape; write a backslash as \\\\"
            )
        ],
    ),
    Vector(
        "arguments as a JSON text",
        r'<tool_call>{"name":"search","arguments":"{\"query\": \"mug\"}"}</tool_call>',
        calls=[("search", {"query": "mug"})],
        repairs=["arguments read from a JSON text"],
    ),
    Vector(
        "arguments as another text",
        '<tool_call>{"name":"search","arguments":"blue mug"}</tool_call>',
        errors=["search: arguments must be an object"],
    ),
    Vector(
        "another word for arguments",
        '<tool_call>{"name":"search","parameters":{"query":"mug"}}</tool_call>',
        calls=[("search", {"query": "mug"})],
        repairs=['"parameters" read as "arguments"'],
    ),
    Vector(
        "the call inside a function member",
        '<tool_call>{"function":{"name":"search","arguments":{"query":"mug"}}}</tool_call>',
        calls=[("search", {"query": "mug"})],
    ),
    Vector(
        "two argument lists that differ",
        '<tool_call>{"name":"open","args":{"id":1},"input":{"id":2}}</tool_call>',
        errors=["open: two different argument lists (args, input)"],
    ),
    Vector(
        "no arguments, none required",
        '<tool_call>{"name":"opening-hours"}</tool_call>',
        calls=[("opening-hours", {})],
    ),
    Vector(
        "no arguments, one required",
        '<tool_call>{"name":"open","id":7}</tool_call>',
        errors=['open: put the arguments into "arguments"; it takes id (required)'],
    ),
    Vector(
        "an argument beside the name",
        '<tool_call>{"name":"add","quantity":2}</tool_call>',
        errors=['add: put the arguments into "arguments"; it takes quantity, code, gift, note'],
    ),
    Vector(
        "a key given twice",
        '<tool_call>{"name":"open","arguments":{"id":1,"id":2}}</tool_call>',
        errors=[
            (
                'open cannot be read at character 42, near «id":1,"id":2}}</tool_cal»: "id" '
                "is given "
                "twice"
            )
        ],
    ),
    Vector(
        "no call between the markers",
        "<tool_call>look for a mug</tool_call>",
        errors=[
            "the call cannot be read at character 1, near «look for a m»: there is no call in it"
        ],
    ),
    Vector(
        "the XML form",
        (
            "<tool_call>\n<function=search>\n<parameter=query>\nblue mug\n</parameter>\n"
            "</function>\n</tool_call>"
        ),
        calls=[("search", {"query": "blue mug"})],
    ),
    Vector(
        "the pythonic form and an end of turn",
        '<|tool_call_start|>[search(query="blue mug")]<|tool_call_end|>Searching now.<|im_end|>',
        calls=[("search", {"query": "blue mug"})],
        text="Searching now.",
    ),
    Vector(
        "hyphens, a negative number and literals",
        (
            "<|tool_call_start|>[opening-hours(), add(quantity=-1, gift=true, "
            "note=None,)]<|tool_call_end|>"
        ),
        calls=[("opening-hours", {}), ("add", {"quantity": -1, "gift": True, "note": None})],
        repairs=["trailing comma removed"],
    ),
    Vector(
        "leading zeros for a text",
        "<|tool_call_start|>[add(code=007)]<|tool_call_end|>",
        calls=[("add", {"code": "007"})],
        repairs=["code: digits kept as text"],
    ),
    Vector(
        "leading zeros for a number",
        "<|tool_call_start|>[open(id=007)]<|tool_call_end|>",
        errors=[
            (
                "open cannot be read at character 13, near «[open(id=007)]<|tool_cal»: a "
                "number must "
                "not start with 0"
            )
        ],
    ),
    Vector(
        "a positional argument",
        '<|tool_call_start|>[search("mug")]<|tool_call_end|>',
        errors=["search: write arguments as name=value; it takes query, max_price"],
    ),
    Vector(
        "a bare word",
        "<|tool_call_start|>[open(id=ID)]<|tool_call_end|>",
        errors=[
            (
                "open cannot be read at character 10, near «[open(id=ID)]<|tool_c»: ID is no "
                "value; "
                "put text in quotes"
            )
        ],
    ),
    Vector(
        "an expression",
        "<|tool_call_start|>[open(id=1 + 1)]<|tool_call_end|>",
        errors=[
            (
                "open cannot be read at character 12, near «[open(id=1 + 1)]<|tool_»: only plain "
                "values are allowed here"
            )
        ],
    ),
    Vector(
        "an apostrophe in single quotes",
        "<|tool_call_start|>[search(query='it's')]<|tool_call_end|>",
        errors=[
            (
                "search cannot be read at character 19, near «h(query='it's')]<|tool_c»: write a "
                r"quote inside a text as \""
            )
        ],
    ),
    Vector(
        "two brackets short before the end marker",
        "<|tool_call_start|>[open(id=3<|tool_call_end|>",
        calls=[("open", {"id": 3})],
        repairs=["missing ) added", "missing ] added"],
    ),
    Vector(
        "JSON between the pythonic markers",
        '<|tool_call_start|>[{"name":"open","arguments":{"id":3}}]<|tool_call_end|>',
        calls=[("open", {"id": 3})],
    ),
    Vector(
        "one good call and one unreadable",
        (
            '<tool_call>{"name":"opening-hours","arguments":{}}</tool_call>\n'
            "<tool_call>open the mug</tool_call>"
        ),
        errors=[
            "the call cannot be read at character 1, near «open the mug»: there is no call in it"
        ],
    ),
    Vector(
        "a call in reasoning",
        (
            '<think>I could <tool_call>{"name":"open","arguments":{"id":1}}</tool_call></think>\n'
            "It costs 8 euros."
        ),
        text="It costs 8 euros.",
    ),
    Vector(
        "a call in reasoning without an opener",
        (
            'maybe <tool_call>{"name":"open","arguments":{"id":1}}</tool_call>\n</think>\n'
            "It costs 8 euros."
        ),
        text="It costs 8 euros.",
    ),
    Vector(
        "a call in reasoning that never closes",
        '<think>then <tool_call>{"name":"open","arguments":{"id":1}}</tool_call>',
        errors=["close your reasoning, then call"],
    ),
    Vector(
        "reasoning cut off",
        "<think>so many mugs",
        finish="length",
        errors=["your reply was cut off, make it shorter"],
    ),
    Vector(
        "a prefixed name",
        '<tool_call>{"name":"functions.open","arguments":{"id":1}}</tool_call>',
        calls=[("open", {"id": 1})],
        repairs=["functions. removed"],
    ),
    Vector(
        "a bare call",
        '{"name": "open", "arguments": {"id": 7}}',
        calls=[("open", {"id": 7})],
        repairs=["bare call read"],
    ),
    Vector(
        "two bare calls",
        '{"name": "opening-hours", "arguments": {}}\n{"name": "open", "arguments": {"id": 7}}',
        calls=[("opening-hours", {}), ("open", {"id": 7})],
        repairs=["bare call read"],
    ),
    Vector(
        "a fenced bare call",
        '```json\n{"name": "open", "arguments": {"id": 7}}\n```',
        calls=[("open", {"id": 7})],
        repairs=["bare call read"],
    ),
    Vector(
        "a bare call and an end marker",
        '{"name": "open", "arguments": {"id": 7}}\n</tool_call>',
        calls=[("open", {"id": 7})],
        repairs=["bare call read", "missing start marker"],
    ),
    Vector(
        "a call quoted in prose",
        'You can send {"name": "open", "arguments": {"id": 7}} yourself.',
        text='You can send {"name": "open", "arguments": {"id": 7}} yourself.',
    ),
    Vector(
        "data that is no call",
        '{"name": "Blue mug", "price": 8}',
        text='{"name": "Blue mug", "price": 8}',
    ),
    Vector(
        "a bare call of an unknown tool",
        '{"name": "fly", "arguments": {}}',
        calls=[("fly", {})],
        repairs=["bare call read"],
    ),
    Vector(
        "a bare call one bracket short",
        '{"name": "open", "arguments": {"id": 7}',
        errors=[
            (
                'open cannot be read at character 40, near «": {"id": 7}»: a closing bracket is '
                "missing"
            )
        ],
    ),
    Vector(
        "a bare pythonic call",
        "open(id=7)",
        calls=[("open", {"id": 7})],
        repairs=["bare call read"],
    ),
    Vector(
        "a bare positional argument",
        "open(7)",
        errors=["open: write arguments as name=value; it takes id"],
    ),
    Vector(
        "brackets in prose",
        "See [2, 5] and open() for details.",
        text="See [2, 5] and open() for details.",
    ),
    Vector(
        "a stray end marker",
        "5 < 6 and </tool_call> stray",
        errors=["there is a call marker without a call"],
    ),
    Vector("an answer as JSON", '{"reply": "It costs 8 euros."}', text="It costs 8 euros."),
]

INLINE = [
    Vector(
        "the form that was asked for",
        '{"tool": "search", "args": {"query": "mug"}}',
        calls=[("search", {"query": "mug"})],
    ),
    Vector("an unknown tool in that form", '{"tool": "fly", "args": {}}', calls=[("fly", {})]),
    Vector("an unknown tool with nothing else", '{"tool": "fly"}', calls=[("fly", {})]),
    Vector(
        "the other form",
        '{"name": "open", "arguments": {"id": 7}}',
        calls=[("open", {"id": 7})],
        repairs=["bare call read"],
    ),
    Vector(
        "a call between markers",
        '<tool_call>{"name": "open", "args": {"id": 7}}</tool_call>',
        calls=[("open", {"id": 7})],
        repairs=['"args" read as "arguments"'],
    ),
    Vector("an answer", '{"reply": "It costs 8 euros."}', text="It costs 8 euros."),
    Vector("plain prose", "It costs 8 euros.", text="It costs 8 euros."),
    Vector("other data", '{"price": 8}', text='{"price": 8}'),
    Vector("an answer cut off", '{"reply": "It co', finish="length", errors=[CUT_OFF]),
    Vector(
        "an unreadable answer",
        '{"reply": It costs 8}',
        errors=[
            'the call cannot be read at character 11, near «{"reply": It costs 8}»: '
            "It is no value; put text in quotes"
        ],
    ),
    Vector(
        "an answer and more",
        '{"reply": "Hi."} Bye.',
        errors=[
            'the call cannot be read at character 18, near «ly": "Hi."} Bye.»: '
            "there is something after the call"
        ],
    ),
]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.id)
def test_each_reply_is_read_as_the_table_says(vector: Vector) -> None:
    """C-17 C-18 C-19 C-20 C-21 C-22 C-23 C-24 C-25 C-26 C-27 C-29 C-31"""
    reply = parse_tool_calls(vector.reply, TOOLS, finish_reason=vector.finish)

    assert parsed(reply) == outcome(vector)


@pytest.mark.parametrize("vector", INLINE, ids=lambda vector: vector.id)
def test_a_prompt_that_lists_the_tools_gets_its_own_form_read(vector: Vector) -> None:
    """C-17"""
    reply = parse_tool_calls(vector.reply, TOOLS, tools_inline=True, finish_reason=vector.finish)

    assert parsed(reply) == outcome(vector)


def test_without_tools_the_markers_still_make_calls() -> None:
    marked = parse_tool_calls('<tool_call>{"name": "open", "arguments": {}}</tool_call>')

    assert parsed(marked) == ("", [ParsedCall("open", {})], [], [])
    assert parse_tool_calls("open(id=7)").text == "open(id=7)"
