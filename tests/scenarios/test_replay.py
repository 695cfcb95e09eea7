"""Replays on a page in memory: the parts that they give, what fails them, and what is a note."""

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace

import pytest
from page_double import PageDouble, tool
from pydantic import JsonValue

from webmcp_agent.agent.stream import (
    AgentStreamPart,
    Finish,
    MessageStart,
    RunError,
    ToolCall,
    ToolError,
    ToolResult,
)
from webmcp_agent.browser.tools import PageTool, ToolFail, ToolOk
from webmcp_agent.providers.abort import AbortController, AbortSignal
from webmcp_agent.scenarios.expected_calls import ExpectedCall
from webmcp_agent.scenarios.offered import OfferedTool, WatchedTools
from webmcp_agent.scenarios.replay import Recorded, Replay, ReplayCall
from webmcp_agent.scenarios.replay_links import Link
from webmcp_agent.scenarios.replay_prose import reading_of

SEARCH = tool("search", "Search", query_required={"type": "string"})
OPEN = tool("open", "Open", id_required={"type": "string"})
FOUND: JsonValue = {"results": [{"id": "blue-mug"}]}
TO_FIRST = Link(("id",), 0, ("results", 0, "id"))


def page(**answers: ToolOk | ToolFail | str) -> PageDouble:
    given = {"search": ToolOk("…", FOUND), "open": "Opened."}
    return PageDouble([SEARCH, OPEN], {**given, **answers})


def offered(tool: PageTool, **changed: JsonValue) -> OfferedTool:
    said: dict[str, JsonValue] = {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.input_schema,
    }
    return OfferedTool.model_validate(said | changed)


def recorded(
    name: str, links: Sequence[Link] = (), /, value: JsonValue = FOUND, **args: JsonValue
) -> ReplayCall:
    return ReplayCall(
        tool=name, args=dict(args), links=tuple(links), recorded=Recorded(value=value)
    )


def expected(name: str, /, result: JsonValue = None, **args: JsonValue) -> ReplayCall:
    given: dict[str, JsonValue] = {"tool": name, "args": dict(args)}
    call = ExpectedCall.model_validate(given if result is None else {**given, "result": result})
    return ReplayCall(tool=name, args=dict(args), expected=call)


async def replayed(
    source: PageDouble, *calls: ReplayCall, signal: AbortSignal | None = None
) -> tuple[list[AgentStreamPart], Replay]:
    replay = Replay(calls, WatchedTools(source), signal or AbortSignal())
    async with aclosing(replay.parts()) as parts:
        return [part async for part in parts], replay


def failed(replay: Replay) -> list[str]:
    return [f"{failure.kind}: {failure.message}" for failure in replay.failures]


async def test_a_replay_gives_the_parts_of_a_run_with_values_taken_from_the_new_answers() -> None:
    source = page(search=ToolOk("…", {"results": [{"id": "mug-2"}]}))
    first = recorded("search", query="mug")
    second = recorded("open", [TO_FIRST], value="Opened.", id="blue-mug")
    parts, replay = await replayed(source, first, second)
    assert parts == [
        MessageStart("m1"),
        ToolCall("c1.1", "search", {"query": "mug"}),
        ToolResult("c1.1", "search", {"results": [{"id": "mug-2"}]}, "…"),
        MessageStart("m2"),
        ToolCall("c2.1", "open", {"id": "mug-2"}),
        ToolResult("c2.1", "open", None, "Opened."),
        Finish("stop"),
    ]
    assert (replay.failures, replay.notes) == ([], [])
    assert source.calls == [("search", {"query": "mug"}), ("open", {"id": "mug-2"})]


async def test_a_linked_value_that_is_gone_ends_the_replay() -> None:
    source = page(search=ToolOk("…", {"results": []}))
    calls = [recorded("search", query="mug"), recorded("open", [TO_FIRST], id="blue-mug")]
    parts, replay = await replayed(source, *calls)
    told = "call 2: open: id came from results[0].id of call 1, which is gone"
    assert parts[-1] == RunError("unavailable", told)
    assert failed(replay) == [f"value-gone: {told}"]
    assert source.calls == [("search", {"query": "mug"})]


async def test_a_tool_that_is_gone_ends_the_replay_with_the_nearest_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("webmcp_agent.scenarios.replay.LATE_MS", 0)
    parts, replay = await replayed(page(), recorded("serch", query="mug"))
    told = "call 1: the page offers no tool 'serch' here; did you mean 'search'?"
    assert parts == [MessageStart("m1"), RunError("unavailable", told)]
    assert failed(replay) == [f"tool-gone: {told}"]


async def test_a_tool_that_comes_late_is_waited_for_and_noted() -> None:
    source = page()
    source.tools = []
    looks = 0

    class Late(WatchedTools):
        async def list_tools(self) -> Sequence[PageTool]:
            nonlocal looks
            looks += 1
            source.tools = [SEARCH] if looks > 1 else []
            return await super().list_tools()

    replay = Replay([recorded("search", query="mug")], Late(source), AbortSignal())
    async with aclosing(replay.parts()) as parts:
        assert [part async for part in parts][-1] == Finish("stop")
    assert replay.failures == []
    assert [note.message for note in replay.notes] == ["call 1: search was not there at once"]


DRIFTED: list[tuple[str, ToolOk | ToolFail, Recorded, list[str], list[str]]] = [
    ("as it was", ToolOk("…", {"results": [{"id": "x"}]}), Recorded(value=FOUND), [], []),
    (
        "another shape",
        ToolOk("…", {"items": []}),
        Recorded(value=FOUND),
        [
            "result-drift: call 1: the answer of search has another shape: results is gone",
        ],
        ["call 1: the answer of search: items is new"],
    ),
    (
        "prose where data were",
        ToolOk("1 found"),
        Recorded(value=FOUND),
        ["result-drift: call 1: the answer of search has another shape: it is string, was object"],
        [],
    ),
    (
        "a new key",
        ToolOk("…", {"results": [{"id": "x"}], "total": 1}),
        Recorded(value=FOUND),
        [],
        ["call 1: the answer of search: total is new"],
    ),
    (
        "a failure now",
        ToolFail("failed", "No."),
        Recorded(value=FOUND),
        ["call-failed: call 1: search ended with failed: No."],
        [],
    ),
    (
        "a form that waits now",
        ToolFail("needs-user", "Filled in."),
        Recorded(value=FOUND),
        ["call-failed: call 1: search ended with needs-user: Filled in."],
        [],
    ),
    ("as it failed before", ToolFail("failed", "No."), Recorded(outcome="failed"), [], []),
    (
        "no failure any more",
        ToolOk("…", FOUND),
        Recorded(outcome="failed"),
        [],
        ["call 1: search ended with ok, before with failed"],
    ),
    (
        "another schema and description",
        ToolOk("…", FOUND),
        Recorded(value=FOUND, tool=offered(SEARCH, description="Find", input_schema={})),
        [],
        ["call 1: search has another input schema", "call 1: search has another description"],
    ),
    (
        "a schema as text",
        ToolOk("…", FOUND),
        Recorded(
            value=FOUND,
            tool=offered(
                SEARCH,
                input_schema='{"type":"object","properties":{"query":{"type":"string"}},'
                '"required":["query"]}',
            ),
        ),
        [],
        [],
    ),
]


@pytest.mark.parametrize(
    ("answer", "before", "wrong", "notes"), [r[1:] for r in DRIFTED], ids=[r[0] for r in DRIFTED]
)
async def test_what_is_not_as_it_was_fails_or_is_noted(
    answer: ToolOk | ToolFail, before: Recorded, wrong: list[str], notes: list[str]
) -> None:
    call = ReplayCall(tool="search", args={"query": "mug"}, recorded=before)
    _, replay = await replayed(page(search=answer), call)
    assert failed(replay) == wrong
    assert [note.message for note in replay.notes] == notes


async def test_a_failed_call_ends_the_replay_and_a_changed_shape_does_not() -> None:
    call = recorded("search", query="mug")
    parts, _ = await replayed(page(search=ToolFail("failed", "No.")), call, call)
    assert parts == [
        MessageStart("m1"),
        ToolCall("c1.1", "search", {"query": "mug"}),
        ToolError("c1.1", "search", "failed", "No.", False),
        RunError("unavailable", "call 1: search ended with failed: No."),
    ]
    parts, _ = await replayed(page(search="1 found"), call, call)
    assert parts[-1] == Finish("stop")


EXPECTED: list[tuple[str, ReplayCall, list[str]]] = [
    ("values", expected("search", query="mug"), []),
    ("an operator", expected("search", query={"$contains": "mug"}), []),
    ("the right result", expected("search", query="mug", result={"results": [{"$any": True}]}), []),
    (
        "a wrong result",
        expected("search", query="mug", result={"results": []}),
        ['wrong-result: call 1: search: the result.results is [{"id": "blue-mug"}], not []'],
    ),
    (
        "no value to be had",
        expected("search", query={"$pattern": "(?=x)y"}),
        [
            "error: call 1: search: there is no value to be made up for query: "
            '{"$pattern": "(?=x)y"}'
        ],
    ),
    (
        "a required argument is not said",
        expected("search"),
        ["error: call 1: search needs query, and the file does not say what"],
    ),
    (
        "an argument that the tool does not have",
        expected("search", query="mug", words="mug"),
        ["error: call 1: the tool search has no argument 'words' on this page"],
    ),
]


@pytest.mark.parametrize(
    ("call", "wrong"), [row[1:] for row in EXPECTED], ids=[row[0] for row in EXPECTED]
)
async def test_expected_calls_are_made_with_values_that_match(
    call: ReplayCall, wrong: list[str]
) -> None:
    source = page()
    _, replay = await replayed(source, call)
    assert failed(replay) == wrong
    made = [("search", {"query": "mug"})]
    assert source.calls == ([] if wrong and wrong[0].startswith("error") else made)


PAY = tool("pay", "Pay", order={"type": "integer"}, kind={"enum": ["A-1"]})
BEHIND = Link(("order",), 0, (), reading_of("4711", "Added as order 4711."))


async def test_expected_values_from_an_earlier_answer_are_those_of_the_page() -> None:
    pay = replace(expected("pay", order=4711), links=(BEHIND,))
    source = PageDouble([SEARCH, PAY], {"search": "Added as order 4712.", "pay": "Paid."})
    _, replay = await replayed(source, expected("search", query="mug"), pay)
    assert source.calls[1] == ("pay", {"order": 4712})
    assert (failed(replay), replay.notes) == ([], [])


async def test_an_answer_without_what_the_file_says_of_it_is_noted() -> None:
    pay = replace(expected("pay", order=4711), links=(BEHIND,))
    source = PageDouble([SEARCH, PAY], {"search": "Added.", "pay": "Paid."})
    _, replay = await replayed(source, expected("search", query="mug"), pay)
    assert source.calls[1] == ("pay", {"order": 4711})
    assert failed(replay) == []
    assert [note.message for note in replay.notes] == [
        "call 2: pay: order came from what follows `order` in the answer of call 1, which is gone"
    ]


async def test_a_choice_of_the_tool_is_not_taken_from_an_answer() -> None:
    link = Link(("kind",), 0, (), reading_of("A-1", "Kind A-1."))
    pay = replace(expected("pay", kind="A-1"), links=(link,))
    source = PageDouble([SEARCH, PAY], {"search": "Kind B-2.", "pay": "Paid."})
    await replayed(source, expected("search", query="mug"), pay)
    assert source.calls[1] == ("pay", {"kind": "A-1"})


async def test_a_reference_that_a_file_only_describes_is_taken_from_the_latest_answer() -> None:
    found: JsonValue = {"results": [{"id": "red-mug"}, {"id": "blue-mug"}]}
    source = page(search=ToolOk("…", found))
    given: list[tuple[JsonValue, str]] = [
        ({"$any": True}, "red-mug"),
        ({"$contains": "blue"}, "blue-mug"),
        ({"$pattern": "^green-mug$"}, "green-mug"),
    ]
    for matcher, taken in given:
        calls = [expected("search", query="mug"), expected("open", id=matcher)]
        _, replay = await replayed(source, *calls)
        assert (failed(replay), source.calls[-1]) == ([], ("open", {"id": taken}))


async def test_a_form_that_waits_for_the_person_is_what_its_file_expects() -> None:
    waits = ToolFail("needs-user", "The form is filled in.")
    plain = expected("search", query="mug")
    named = expected("search", query="mug", result="pending form submission")
    other = expected("search", query="mug", result="Booked.")
    for call, wrong in (
        (plain, []),
        (named, []),
        (
            other,
            [
                'wrong-result: call 1: search: the result is "pending form submission", '
                'not "Booked."'
            ],
        ),
    ):
        _, replay = await replayed(page(search=waits), call)
        assert failed(replay) == wrong


async def test_stop_ends_a_replay_without_a_failure() -> None:
    stop = AbortController()

    def answer(_: object) -> ToolOk:
        stop.abort("enough")
        return ToolOk("…", FOUND)

    source = PageDouble([SEARCH], {"search": answer})
    call = recorded("search", query="mug")
    parts, replay = await replayed(source, call, call, signal=stop.signal)
    assert parts[-1] == Finish("aborted")
    assert (len(source.calls), replay.failures) == (1, [])


async def test_without_calls_there_is_nothing_but_the_end() -> None:
    parts, replay = await replayed(page())
    assert (parts, replay.failures) == ([Finish("stop")], [])
