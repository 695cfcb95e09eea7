"""webmcp-evals files: read as they are, held with stand-ins for their tools, and strict."""

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from webmcp_agent.agent.request import CallPart, ChatMessage, TextPart
from webmcp_agent.agent.tool_calls import write_call
from webmcp_agent.browser.tools import JsonObject, PageTool, ToolOk
from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.scripted import ScriptedProvider
from webmcp_agent.scenarios.case_run import CaseResult, CaseRunner
from webmcp_agent.scenarios.errors import BadFile
from webmcp_agent.scenarios.evals import read_evals
from webmcp_agent.scenarios.expected_calls import ExpectedCall
from webmcp_agent.scenarios.runner import RunSettings
from webmcp_agent.scenarios.stand_ins import StandIn, StandInTools

SCHEMA: JsonObject = {
    "tools": [
        {
            "name": "findBooks",
            "description": "Find books.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "words": {"type": "string"},
                    "most": {"type": "number"},
                    "genres": {"type": "array", "items": {"type": "string"}},
                },
            },
            "outputSchema": {"type": "string"},
            "annotations": {"readOnlyHint": True},
        },
        {"name": "lend", "description": "Lend a book.", "inputSchema": {"type": "object"}},
        {"name": "myBooks", "description": "What you have.", "inputSchema": None},
    ]
}


def said(text: str, role: str = "user") -> JsonValue:
    return {"role": role, "type": "message", "content": text}


def called(name: str, args: JsonObject) -> JsonValue:
    return {"role": "model", "type": "functioncall", "name": name, "arguments": args}


def answered(name: str, response: JsonObject) -> JsonValue:
    return {"role": "user", "type": "functionresponse", "name": name, "response": response}


def case(expected: JsonValue, *messages: JsonValue) -> JsonValue:
    return {"name": "a case", "messages": [*(messages or (said("Go."),))], "expectedCall": expected}


def write(folder: Path, cases: JsonValue, schema: JsonValue = SCHEMA) -> Path:
    if schema is not None:
        (folder / "schema.json").write_text(json.dumps(schema), encoding="utf-8")
    path = folder / "evals.json"
    path.write_text(json.dumps(cases, indent=1), encoding="utf-8")
    return path


def call(name: str, **args: JsonValue) -> str:
    return write_call(name, dict(args), "tags")


async def held(path: Path, *replies: str) -> CaseResult:
    """The first case of a file, with these replies as model."""
    provider = ScriptedProvider(list(replies))
    runner = CaseRunner(provider, RunSettings())
    result = await runner.run(read_evals(path)[0], AbortSignal())
    provider.assert_complete()
    return result


def test_messages_become_the_conversation_up_to_its_open_end(tmp_path: Path) -> None:
    messages = [
        said("Hello"),
        said("Hello yourself", "model"),
        said("Find a book, and what do I have?"),
        called("findBooks", {"words": "sea"}),
        called("myBooks", {}),
        answered("findBooks", {"result": [1]}),
        answered("myBooks", {"books": []}),
    ]
    (read,) = read_evals(write(tmp_path, [case(None, *messages)]))
    assert read.turns == (
        (
            ChatMessage("u1", "user", (TextPart("Hello"),)),
            ChatMessage("m2", "assistant", (TextPart("Hello yourself"),)),
            ChatMessage("u3", "user", (TextPart("Find a book, and what do I have?"),)),
            ChatMessage(
                "m4",
                "assistant",
                (CallPart("c4.1", "findBooks", {"words": "sea"}, "done", "[1]", [1]),),
            ),
            ChatMessage(
                "m5",
                "assistant",
                (CallPart("c5.1", "myBooks", {}, "done", '{"books": []}', {"books": []}),),
            ),
        ),
    )


def test_tools_are_read_with_what_a_page_would_say_of_them(tmp_path: Path) -> None:
    (read,) = read_evals(write(tmp_path, [case([])]))
    assert read.stand_ins is not None
    tools = [stand_in.tool for stand_in in read.stand_ins]
    assert [(tool.name, tool.read_only, tool.input_schema is None) for tool in tools] == [
        ("findBooks", True, False),
        ("lend", False, False),
        ("myBooks", False, True),
    ]


STEPS: list[tuple[JsonValue, int]] = [
    (None, 1),
    ([], 1),
    ([{"functionName": "lend"}], 1),
    ([{"functionName": "lend", "mockOutput": "Lent."}], 2),
    ([{"functionName": "lend"}, {"functionName": "myBooks", "mockOutput": []}], 2),
    ([{"unordered": [{"functionName": "lend"}, {"functionName": "myBooks"}]}], 2),
]


@pytest.mark.parametrize(("expected", "steps"), STEPS)
def test_a_case_gets_a_step_for_each_call_and_one_to_stop_after_real_answers(
    expected: JsonValue, steps: int, tmp_path: Path
) -> None:
    (read,) = read_evals(write(tmp_path, [case(expected)]))
    assert read.stand_in_steps == steps


async def test_the_tools_of_a_case_are_asked_for_in_the_agents_own_prompt(tmp_path: Path) -> None:
    path = write(tmp_path, [case([{"functionName": "lend"}], said("Lend me the first one"))])
    provider = ScriptedProvider([call("lend")])
    result = await CaseRunner(provider, RunSettings()).run(read_evals(path)[0], AbortSignal())
    assert result.passed
    (request,) = provider.requests
    assert sorted(tool.name for tool in request.tools) == ["findBooks", "lend", "myBooks"]
    assert [(turn.role, turn.content) for turn in request.messages] == [
        ("user", "Lend me the first one")
    ]


async def test_a_case_without_a_wanted_call_passes_on_prose_and_fails_on_any_call(
    tmp_path: Path,
) -> None:
    path = write(tmp_path, [case(None, said("How are you?"))])
    assert (await held(path, "Fine, thank you.")).passed
    failed = await held(path, call("myBooks"))
    assert [failure.kind for failure in failed.failures] == ["extra-call"]


NO_CALL = ["Which book do you mean?", "There is none by that name.", "Do you have more to say?"]


@pytest.mark.parametrize("reply", NO_CALL)
async def test_an_order_that_wants_no_call_passes_on_an_answer(reply: str, tmp_path: Path) -> None:
    path = write(tmp_path, [case(None, said("Lend me the book of sea stories for three weeks"))])
    assert (await held(path, reply)).passed


async def test_a_claim_is_asked_about_once_before_it_passes_as_no_call(tmp_path: Path) -> None:
    path = write(tmp_path, [case(None, said("Lend me the book of sea stories"))])
    assert (await held(path, "Done.", "I did not lend it: which one is it?")).passed
    failed = await held(path, "Done.", call("lend"))
    assert [failure.kind for failure in failed.failures] == ["extra-call"]


async def test_a_model_that_says_nothing_has_not_decided_against_a_call(tmp_path: Path) -> None:
    path = write(tmp_path, [case(None, said("Lend me the book"))])
    for nothing in ("", '<tool_call>{"name": "lend", "arguments": {'):
        failed = await held(path, nothing, nothing)
        assert [failure.kind for failure in failed.failures] == ["wrong-finish"]


async def test_a_conversation_that_ends_on_an_answer_is_gone_on_with(tmp_path: Path) -> None:
    messages = (said("Find a book and lend it"), called("findBooks", {}), answered("findBooks", {}))
    path = write(tmp_path, [case([{"functionName": "lend"}], *messages)])
    assert (await held(path, call("lend"))).passed
    assert not (await held(path, call("myBooks"))).passed


async def test_mock_outputs_are_given_to_the_calls_that_they_belong_to() -> None:
    lend = PageTool("lend", "")
    answers: list[tuple[ExpectedCall, JsonValue]] = [
        (ExpectedCall(tool="lend", args={"id": 2}), "second"),
        (ExpectedCall(tool="lend"), {"n": 1}),
    ]
    tools = StandInTools([StandIn(lend, tuple(answers)), StandIn(PageTool("other", ""))])

    async def answer(name: str, **args: JsonValue) -> ToolOk:
        return await tools.call_tool(name, dict(args), call_id="c1.1", signal=AbortSignal())

    assert [await answer("lend", id=1), await answer("lend", id=2), await answer("lend", id=2)] == [
        ToolOk('{"n": 1}', {"n": 1}),
        ToolOk("second", "second"),
        ToolOk("{}", {}),
    ]
    assert await answer("other") == ToolOk("{}", {})


async def test_with_mock_outputs_a_call_too_many_after_them_fails(tmp_path: Path) -> None:
    path = write(tmp_path, [case([{"functionName": "lend", "mockOutput": "Lent."}])])
    assert (await held(path, call("lend"), "It is yours.")).passed
    failed = await held(path, call("lend"), call("myBooks"))
    assert [failure.kind for failure in failed.failures] == ["extra-call"]


MATCHED: list[tuple[str, JsonValue, JsonObject]] = [
    ("$pattern", {"words": {"$pattern": "(?i)^SEA"}}, {"words": "sea stories"}),
    ("$contains", {"words": {"$contains": "sea"}}, {"words": "deep sea"}),
    ("$gt", {"most": {"$gt": 4}}, {"most": 5}),
    ("$gte", {"most": {"$gte": 5}}, {"most": 5}),
    ("$lt", {"most": {"$lt": 6}}, {"most": 5}),
    ("$lte", {"most": {"$lte": 5}}, {"most": 5}),
    ("$type", {"words": {"$type": "string"}}, {"words": "sea"}),
    ("$any", {"words": {"$any": True}}, {"words": "sea"}),
    ("literal", {"words": "sea"}, {"words": "sea"}),
    ("subset", {"words": "sea"}, {"words": "sea", "most": 5}),
    ("array", {"genres": ["a", "b"]}, {"genres": ["a", "b"]}),
]
MUTATED: list[JsonObject] = [
    {"words": {"$pattern": "(?i)^STORIES"}},
    {"words": {"$contains": "Sea"}},
    {"most": {"$gt": 5}},
    {"most": {"$gte": 5.5}},
    {"most": {"$lt": 5}},
    {"most": {"$lte": 4}},
    {"words": {"$type": "number"}},
    {"genres": {"$any": True}},
    {"words": "Sea"},
    {"words": "sea", "most": 4},
    {"genres": ["b", "a"]},
]


@pytest.mark.parametrize(
    ("arguments", "args", "mutated"),
    [(row[1], row[2], other) for row, other in zip(MATCHED, MUTATED, strict=True)],
    ids=[row[0] for row in MATCHED],
)
async def test_each_matcher_passes_and_its_mutated_copy_fails(
    arguments: JsonValue, args: JsonObject, mutated: JsonObject, tmp_path: Path
) -> None:
    expected: JsonObject = {"functionName": "findBooks", "arguments": arguments}
    path = write(tmp_path, [case([expected])])
    assert (await held(path, call("findBooks", **args))).passed
    changed: JsonObject = {**expected, "arguments": mutated}
    failed = await held(write(tmp_path, [case([changed])]), call("findBooks", **args))
    kind = "missing-argument" if set(mutated) - set(args) else "wrong-argument"
    assert [failure.kind for failure in failed.failures] == [kind]


UNREACHABLE: list[tuple[JsonValue, str]] = [
    ([{"functionName": "buy"}], "there is no tool 'buy' in schema.json"),
    ([{"unordered": [{"functionName": "buy"}]}], "there is no tool 'buy' in schema.json"),
    (
        [{"functionName": "findBooks", "arguments": {"title": "sea"}}],
        "the tool findBooks has no argument 'title' in schema.json",
    ),
    (
        [{"functionName": "myBooks", "arguments": {"n": 1}}],
        "the tool myBooks has no argument 'n' in schema.json",
    ),
    (
        [{"functionName": "lend", "result": "Lent."}],
        "the result of lend can be judged on a page only; give one with --url",
    ),
]


@pytest.mark.parametrize(("expected", "told"), UNREACHABLE)
async def test_a_case_that_no_model_could_pass_is_an_error(
    expected: JsonValue, told: str, tmp_path: Path
) -> None:
    result = await held(write(tmp_path, [case(expected)]))
    assert (result.passed, result.is_error) == (False, True)
    assert [failure.message for failure in result.failures] == [told]


async def test_a_case_without_schema_and_without_page_is_an_error(tmp_path: Path) -> None:
    result = await held(write(tmp_path, [case(None)], schema=None))
    assert (result.passed, result.is_error) == (False, True)
    assert result.failures[0].message == "it names no page; give one with --url"


async def test_a_model_that_fails_is_an_error_and_no_verdict(tmp_path: Path) -> None:
    result = await held(write(tmp_path, [case(None)]))
    assert (result.passed, result.is_error) == (False, True)
    assert result.failures[0].message.startswith("the model could not go on: ")


BAD: list[tuple[JsonValue, str]] = [
    ({}, ":1: input should be a valid list"),
    ([{"messages": [], "expectedCall": None}], ":3: 1.messages: list should have at least 1"),
    ([{"messages": [said("x")]}], ":2: 1: 'expectedCall' is missing"),
    ([case([], {"role": "user", "type": "image"})], ":5: 1.messages.1: "),
    ([case([], said("x", "system"))], ":6: 1.messages.1.role: input should be 'user' or 'model'"),
    ([case([{"functionName": "a", "args": {}}])], ": 1.expectedCall.1.args: there is no such key"),
    (
        [case([{"functionName": "a", "arguments": {"n": {"$near": 1}}}])],
        ": 1.expectedCall.1.arguments: there is no operator '$near'",
    ),
    (
        [case([{"functionName": "a", "result": {"$pattern": "("}}])],
        ": 1.expectedCall.1.result: the pattern '(' cannot be used",
    ),
    ([case([{"unordered": []}])], ": 1.expectedCall.1.unordered: list should have at least 1"),
    ([case([{"unordered": [], "functionName": "a"}])], ": 1.expectedCall.1.unordered: list"),
    ([case([{"optional": True}])], ": 1.expectedCall.1: 'functionName' is missing"),
    ([case(None, said("x", "model"))], ": 1.messages: the user says nothing"),
    ([case(None, said("x"), said("y", "model"))], ": 1.messages: the last message is the model's"),
    ([case(None, said("x"), called("a", {}))], ": 1.messages: the call of a is never answered"),
    ([case(None, said("x"), answered("a", {}))], ": 1.messages: message 2 answers no call of a"),
]


@pytest.mark.parametrize(("cases", "told"), BAD, ids=[told for _, told in BAD])
def test_a_file_that_is_not_as_it_should_be_is_refused_with_its_place(
    cases: JsonValue, told: str, tmp_path: Path
) -> None:
    path = write(tmp_path, cases)
    with pytest.raises(BadFile) as refused:
        read_evals(path)
    place, _, rest = told.partition(": ")
    assert str(refused.value).startswith(f"{path}{place}:")
    assert rest in str(refused.value)


TEXTS = [
    ("[", ":1: this is no JSON: "),
    ('[\n{"messages": 1, "messages": 2}]', ": this is no JSON: the key 'messages' stands in one"),
    ("[NaN]", ": this is no JSON: NaN is no number in JSON"),
    ("[" * 100_000, ": this is no JSON: "),
]


@pytest.mark.parametrize(("text", "told"), TEXTS, ids=[told for _, told in TEXTS])
def test_a_file_that_is_no_json_is_refused(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "evals.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadFile) as refused:
        read_evals(path)
    assert str(refused.value).startswith(f"{path}{told}")


BAD_SCHEMAS: list[tuple[JsonValue, str]] = [
    ({"tools": []}, "schema.json:2: tools: list should have at least 1 item"),
    ({"tools": [{"name": "a b"}]}, "schema.json:4: tools.1.name: string should match"),
    ({"tools": [{"name": "a", "inputSchema": "{}"}]}, "tools.1.inputSchema: input should be"),
]


@pytest.mark.parametrize(("schema", "told"), BAD_SCHEMAS)
def test_a_schema_file_that_is_not_as_it_should_be_is_refused(
    schema: JsonValue, told: str, tmp_path: Path
) -> None:
    path = write(tmp_path, [case(None)])
    (tmp_path / "schema.json").write_text(json.dumps(schema, indent=1), encoding="utf-8")
    with pytest.raises(BadFile) as refused:
        read_evals(path)
    assert told in str(refused.value)
