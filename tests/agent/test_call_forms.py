import json

import pytest
from pydantic import JsonValue

from webmcp_agent.agent.tool_calls import parse_tool_calls
from webmcp_agent.browser.tools import PageTool
from webmcp_agent.providers.base import CALL_MARKERS

JsonObject = dict[str, JsonValue]

START, END = CALL_MARKERS["pythonic"]
NOTHING: JsonObject = {}


def tool(name: str, properties: JsonObject, *required: str) -> PageTool:
    schema: JsonObject = {"type": "object", "properties": properties, "required": [*required]}
    return PageTool(name, f"The tool {name}", schema)


TOOLS = [
    tool("water_row", {"row": {"type": "integer"}, "litres": {"type": "number"}}, "row"),
    tool(
        "add_note",
        {
            "text": {"type": "string"},
            "pinned": {"type": "boolean"},
            "tag": {"type": ["string", "null"]},
        },
        "text",
    ),
    tool("list_rows", NOTHING),
    tool("open-valve", {"id": {"type": "string"}}, "id"),
    tool("garden.plan", {"from": {}, "cells": {"type": "array"}, "meta": {"type": "object"}}),
]
MEMBER: JsonObject = {
    "type": "object",
    "$defs": {"code": {"type": "string"}},
    "properties": {
        "code": {"$ref": "#/$defs/code"},
        "level": {"anyOf": [{"type": "integer"}, {"enum": ["00", None]}]},
        "door": {"const": "7"},
        "open": {},
    },
}
TOOLS.append(PageTool("member", "Look up a member", json.dumps(MEMBER)))


def calls(text: str) -> list[tuple[str, JsonObject]]:
    reply = parse_tool_calls(text, TOOLS)
    assert reply.errors == []
    return [(call.name, call.args) for call in reply.calls]


def error(text: str) -> str:
    reply = parse_tool_calls(text, TOOLS)
    assert (reply.calls, reply.text, len(reply.errors)) == ([], "", 1)
    return reply.errors[0]


def reason(text: str) -> str:
    return error(text).rpartition("»: ")[2]


def tags(body: str) -> str:
    return f"<tool_call>{body}</tool_call>"


def pythonic(body: str) -> str:
    return f"{START}{body}{END}"


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        pytest.param(
            tags('\n{"name": "add_note", "arguments": {"text": "</tool_call>", "pinned": true}}\n'),
            [("add_note", {"text": "</tool_call>", "pinned": True})],
            id="a closing marker in a text",
        ),
        pytest.param(
            tags(
                '[{"name": "list_rows", "arguments": {}}, {"name": "water_row", "arguments": '
                '{"row": 2}}]'
            ),
            [("list_rows", NOTHING), ("water_row", {"row": 2})],
            id="a list of calls",
        ),
        pytest.param(
            tags('{"name": "water_row", "arguments": "\\"{\\\\\\"row\\\\\\": 3}\\""}'),
            [("water_row", {"row": 3})],
            id="arguments encoded twice",
        ),
        pytest.param(
            tags('{"name": "list_rows", "arguments": null}')
            + tags('{"name": "list_rows", "args": ""}'),
            [("list_rows", NOTHING), ("list_rows", NOTHING)],
            id="null and empty arguments where none is required",
        ),
        pytest.param(
            tags(
                '{"id": "c1", "type": "function", "function": {"name": "open-valve", '
                '"arguments": {"id": "V2"}}}'
            ),
            [("open-valve", {"id": "V2"})],
            id="id and type around a function",
        ),
        pytest.param(
            tags('{"tool_name": "water_row", "input": {"row": 1}, "thought": "dry"}'),
            [("water_row", {"row": 1})],
            id="other words for name and arguments",
        ),
        pytest.param(
            tags(
                '{"name": "add_note", "arguments": {"text": "None of it is True, \'false\' '
                ',} alarm", "pinned": True}}'
            ),
            [("add_note", {"text": "None of it is True, 'false' ,} alarm", "pinned": True})],
            id="literals inside a text",
        ),
        pytest.param(
            tags(
                "{'name': 'add_note', 'arguments': {'text': \"Nina's tea isn't ripe\", "
                "'pinned': False, 'tag': None}}"
            ),
            [("add_note", {"text": "Nina's tea isn't ripe", "pinned": False, "tag": None})],
            id="Python literals and apostrophes",
        ),
        pytest.param(
            tags('{"name": "add_note", "arguments": {"text": "\\ud83d\\ude00\\u00e9\\/\\\'\\b"}}'),
            [("add_note", {"text": "😀é/'\b"})],
            id="escapes and surrogate pairs",
        ),
        pytest.param(
            pythonic("[water_row(row=-3, litres=1.5e1)]"),
            [("water_row", {"row": -3, "litres": 15.0})],
            id="negative and exponent",
        ),
        pytest.param(
            pythonic('[add_note(text="beds [a, b), then (c]", pinned=true, tag=null)]'),
            [("add_note", {"text": "beds [a, b), then (c]", "pinned": True, "tag": None})],
            id="brackets in a text",
        ),
        pytest.param(
            pythonic("[list_rows(), water_row(row=+7)]"),
            [("list_rows", NOTHING), ("water_row", {"row": 7})],
            id="two calls and a plus sign",
        ),
        pytest.param(
            pythonic(" [\n  water_row(\n    row=2,\n    litres=0.5,\n  ),\n]"),
            [("water_row", {"row": 2, "litres": 0.5})],
            id="laid out over lines",
        ),
        pytest.param(
            pythonic(
                '[garden.plan(from="2026-03-01", cells=[{"x": 1, "y": [-1, 2]}, (3, 4)], '
                'meta={"k": None})]'
            ),
            [
                (
                    "garden.plan",
                    {
                        "from": "2026-03-01",
                        "cells": [{"x": 1, "y": [-1, 2]}, [3, 4]],
                        "meta": {"k": None},
                    },
                )
            ],
            id="a dotted name, a keyword and a tuple",
        ),
        pytest.param(
            pythonic('[add_note(text="first\nsecond \\"q\\" C:\\\\tmp")]'),
            [("add_note", {"text": 'first\nsecond "q" C:\\tmp'})],
            id="a raw line break and escapes",
        ),
        pytest.param(
            pythonic("[member(code=007, level=00, door=07)]"),
            [("member", {"code": "007", "level": "00", "door": "07"})],
            id="leading zeros where the schema allows text",
        ),
        pytest.param(
            pythonic("open-valve(id='V2')"), [("open-valve", {"id": "V2"})], id="no list around it"
        ),
        pytest.param(
            f"{START}[list_rows()]</tool_call>", [("list_rows", NOTHING)], id="the other end marker"
        ),
        pytest.param(
            tags('\n```json\n{"name": "list_rows"}\n```\n'),
            [("list_rows", NOTHING)],
            id="a fence inside",
        ),
        pytest.param(
            tags(
                "<function=add_note>\n<parameter=text>\nif a < b:\n  "
                "</tool_call>\n\n</parameter>\n</function>"
            ),
            [("add_note", {"text": "if a < b:\n  </tool_call>\n"})],
            id="XML with a closing marker in it",
        ),
        pytest.param(
            f"<think>\nI could send {tags('[list_rows()]')}\n</think>\n"
            + tags('\n{"name": "open-valve", "arguments": {"id": "V2"}}\n'),
            [("open-valve", {"id": "V2"})],
            id="a draft in reasoning and the real call",
        ),
    ],
)
def test_calls_that_others_lost_are_read(
    reply: str, expected: list[tuple[str, JsonObject]]
) -> None:
    """C-18 C-19 C-20 C-21 C-24"""
    found = calls(reply)

    assert found == expected
    assert json.dumps(found) == json.dumps(expected)


@pytest.mark.parametrize(
    ("reply", "repairs"),
    [
        (
            tags('{"name": "water_row", "arguments": {"row": 4}}').removesuffix("</tool_call>")
            + "⚗",
            ["missing end marker"],
        ),
        (
            tags('{"name": "water_row", "arguments": {"row": 4}} ok'),
            ["text after the call left out"],
        ),
        (tags('{"name": "water_row", "arguments": {"row": 4'), ["missing } added"]),
        (
            tags('{"name": "water_row", "arguments": {"row": +4, "litres": .5}}'),
            ["loose number read"],
        ),
        (
            tags('{"name": "add_note", "arguments": {"text": "a\tb\r"}}'),
            ["raw control character in a text read", "raw line break in a text read"],
        ),
        (pythonic("[garden.plan(cells=(1, 2))]"), ["tuple read as a list"]),
        (tags("```\n[list_rows()]\n```"), ["code fence removed"]),
        (tags('{"name": " list_rows "}'), ["blanks around the name removed"]),
        (tags('{"name": "list_rows", "arguments": "{}"}'), ["arguments read from a JSON text"]),
        (
            tags('{"name": "list_rows"}') + "<|im_end|>\n<|im_start|>user",
            ["text after the end of the turn left out"],
        ),
        (tags('{"name": "list_rows"}') + "<|im_end|><|endoftext|>\n", []),
        ('{"name": "list_rows"}}', ["bare call read", "extra closing brackets left out"]),
    ],
)
def test_each_repair_is_told_once(reply: str, repairs: list[str]) -> None:
    """C-31"""
    parsed = parse_tool_calls(reply, TOOLS)

    assert (parsed.errors, parsed.repairs, len(parsed.calls), parsed.text) == ([], repairs, 1, "")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("[water_row(row={1, 2})]", "only plain values are allowed here"),
        ('[add_note(text=f"row {1}")]', "only plain values are allowed here"),
        ('[add_note(text=b"x")]', "only plain values are allowed here"),
        ('[add_note(text="a" + "b")]', "only plain values are allowed here"),
        ("[water_row(row=1 + 1)]", "only plain values are allowed here"),
        ('[water_row(row=open("x"))]', "only plain values are allowed here"),
        ("[water_row(row=0x1f)]", "only plain values are allowed here"),
        ("[water_row(row=1_000)]", "only plain values are allowed here"),
        ("[water_row(row=(1))]", "only plain values are allowed here"),
        ("[water_row(row=-ROW)]", "only plain values are allowed here"),
        ("[water_row(row=1); list_rows()]", "only plain values are allowed here"),
        ('[garden.plan(meta={"a", "b"})]', "only plain values are allowed here"),
        ("[water_row(row=1e999)]", "the number is too large"),
        ("[water_row(row=1" + "0" * 309 + ")]", "the number is too large"),
        ("[water_row(row=ROW)]", "ROW is no value; put text in quotes"),
        ("[water_row(row=NaN)]", "NaN is no value"),
        ("[water_row(row=-Infinity)]", "Infinity is no value"),
        ("[water_row(row=)]", "a value is missing"),
        ("[water_row(row=1, row=2)]", '"row" is given twice'),
        ("[add_note(text='it's')]", r"write a quote inside a text as \""),
        (r'[add_note(text="C:\qa")]', r"\q is no escape; write a backslash as \\"),
        (r'[add_note(text="\ud83d!")]', "half a character"),
        (r'[add_note(text="\ude00")]', "half a character"),
        ('[add_note(text="\ud83d")]', "half a character"),
        ('[add_note(text="a)]', "the text is not closed"),
        ("[member(open=007)]", "a number must not start with 0"),
        ("[water_row(row=-01)]", "a number must not start with 0"),
        ("[garden.plan(meta={k: 1})]", "an object needs names in quotes"),
        ("[water_row(row=[1)]", "a closing bracket is missing"),
        ("[water_row(", "a closing bracket is missing"),
        ("[water_row(row=1,", "a closing bracket is missing"),
        ("[garden.plan(cells=[[[1", "a closing bracket is missing"),
        ("[list_rows(), 5]", "there is no call in it"),
        ("[]", "there is no call in it"),
        ("", "there is no call in it"),
        ("list_rows() + water_row(row=1)", "there is something after the call"),
        ("list_rows()))))", "there is something after the call"),
        ('{"name": "water_rowwater_row", "arguments": {"row": 2}{"row": 3}}', "a comma is missing"),
        ('{"name": "list_rows", "arguments": {"a": (1, 2)}}', "only plain values are allowed here"),
        ('{name: "list_rows"}', "an object needs names in quotes"),
        ('{"name" "list_rows"}', r"write a quote inside a text as \""),
        ('[{"name": "list_rows"}, "x"]', "a list of calls holds objects only"),
        ("<function=list_rows>", "</function> is missing"),
        ("<function=add_note><parameter=text>a</function>", "the text is not closed"),
        (
            "<function=add_note><parameter=text>a<parameter=tag>b</parameter></function>",
            "the text is not closed",
        ),
        (
            "<function=add_note><parameter=tag>a</parameter><parameter=tag>b</parameter></function>",
            '"tag" is given twice',
        ),
    ],
)
def test_what_is_ambiguous_is_refused_with_the_reason(body: str, expected: str) -> None:
    """C-18 C-22 C-23 C-24"""
    marked = tags(body) if body.startswith(("{", "[{", "<")) else pythonic(body)

    assert reason(marked) == expected
    assert reason(tags('{"name": "list_rows"}') + marked) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('[open-valve("V9")]', "open-valve: write arguments as name=value; it takes id"),
        (
            '[water_row(**{"row": 1})]',
            "water_row: write arguments as name=value; it takes row, litres",
        ),
        (
            '[water_row({"row": 1})]',
            "water_row: write arguments as name=value; it takes row, litres",
        ),
        ("[list_rows(1)]", "list_rows: write arguments as name=value; it takes no arguments"),
        ("[fly(1)]", "fly: write arguments as name=value"),
        (
            '{"name": "water_row"}',
            'water_row: put the arguments into "arguments"; it takes row (required), litres',
        ),
        (
            '{"name": "water_row", "arguments": ""}',
            'water_row: put the arguments into "arguments"; it takes row (required), litres',
        ),
        (
            '{"name": "garden.plan", "from": 1, "arguments": {"cells": []}}',
            'garden.plan: put the arguments into "arguments"; it takes from, cells, meta',
        ),
        (
            '{"name": "water_row", "arguments": {"row": 5}, "parameters": {"row": 6}}',
            "water_row: two different argument lists (arguments, parameters)",
        ),
        (
            '{"name": "water_row", "arguments": {"row": 1}, "args": {"row": true}}',
            "water_row: two different argument lists (arguments, args)",
        ),
        ('{"name": "water_row", "arguments": "row 3"}', "water_row: arguments must be an object"),
        ('{"name": "water_row", "arguments": [3]}', "water_row: arguments must be an object"),
        (
            '{"name": "list_rows", "tool": "water_row"}',
            "the call: two different names (name, tool)",
        ),
        ('{"name": 5}', "the call: its name must be a text"),
        ('{"arguments": {}}', "the call has no name"),
        (
            '{"name": "list_rows", "arguments": {"type": "object", "properties": {}}}',
            "list_rows: that is a schema, not arguments; it takes no arguments",
        ),
        (
            '{"name": "open-valve", "arguments": {"type": "object", "properties": {"id": {}}}}',
            "open-valve: that is a schema, not arguments; it takes id (required)",
        ),
    ],
)
def test_arguments_out_of_place_are_refused_with_what_the_tool_takes(
    body: str, expected: str
) -> None:
    """C-19 C-20 C-21 C-25"""
    assert error(tags(body) if body.startswith("{") else pythonic(body)) == expected


def test_the_order_of_positional_arguments_never_decides() -> None:
    """C-25"""
    assert error(pythonic("[water_row(3, litres=2)]")).startswith("water_row: write arguments as")
    assert error(pythonic("[water_row(row=3, 2)]")).startswith("water_row: write arguments as")


def test_equal_argument_lists_under_two_names_are_one() -> None:
    """C-20"""
    body = (
        '{"name": "water_row", "args": {"row": 5, "litres": 1}, "input": {"litres": 1, "row": 5}}'
    )

    assert calls(tags(body)) == [("water_row", {"row": 5, "litres": 1})]
