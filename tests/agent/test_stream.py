"""The parts of a run: to JSON and back, their grammar, and the report that is made of them."""

import inspect
import json
from collections.abc import Sequence
from typing import get_args

import pytest
from hypothesis import given, strategies as st
from page_double import PageDouble, check_grammar, collect, request
from pydantic import JsonValue
from shop_run import (
    FIND_MUG,
    MUGS,
    add,
    open_,
    opened,
    refused,
    search,
    searched,
    start,
    text,
)

from webmcp_agent.agent.loop import run_local_agent
from webmcp_agent.agent.stream import (
    AgentStreamPart,
    CallReport,
    Finish,
    FinishReason,
    MessageStart,
    RunError,
    RunErrorCode,
    RunReport,
    TextDelta,
    ToolCall,
    ToolError,
    ToolResult,
    part_from_json,
    report_of,
)
from webmcp_agent.browser.tools import ToolErrorCode
from webmcp_agent.providers.scripted import ScriptedProvider

CUT_SHORT = ToolError("c1.1", "open_product", "cancelled", "Stop.", may_have_happened=True)


@pytest.mark.parametrize(
    ("part", "plain"),
    [
        (MessageStart("m1"), {"type": "message-start", "id": "m1"}),
        (TextDelta("Hello!"), {"type": "text-delta", "delta": "Hello!"}),
        (
            ToolCall("c1.1", "open_product", {"id": 7}),
            {"type": "tool-call", "id": "c1.1", "name": "open_product", "args": {"id": 7}},
        ),
        (
            ToolResult("c1.1", "open_product", {"ok": True}, "Opened."),
            {
                "type": "tool-result",
                "id": "c1.1",
                "name": "open_product",
                "result": {"ok": True},
                "text": "Opened.",
            },
        ),
        (
            CUT_SHORT,
            {
                "type": "tool-error",
                "id": "c1.1",
                "name": "open_product",
                "code": "cancelled",
                "error": "Stop.",
                "may_have_happened": True,
            },
        ),
        (Finish("max-steps"), {"type": "finish", "reason": "max-steps"}),
        (
            RunError("timeout", "Too slow."),
            {"type": "error", "code": "timeout", "message": "Too slow."},
        ),
    ],
    ids=lambda value: value.type if isinstance(value, get_args(AgentStreamPart)) else "",
)
def test_a_part_has_these_members_in_json(
    part: AgentStreamPart, plain: dict[str, JsonValue]
) -> None:
    assert part.to_json() == plain
    assert part_from_json(json.dumps(plain)) == part


TEXTS = st.text(max_size=30)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e9, 1e9) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
PARTS = st.one_of(
    st.builds(MessageStart, id=TEXTS),
    st.builds(TextDelta, delta=TEXTS),
    st.builds(ToolCall, id=TEXTS, name=TEXTS, args=st.dictionaries(TEXTS, VALUES, max_size=2)),
    st.builds(ToolResult, id=TEXTS, name=TEXTS, result=VALUES, text=TEXTS),
    st.builds(
        ToolError,
        id=TEXTS,
        name=TEXTS,
        code=st.sampled_from(get_args(ToolErrorCode)),
        error=TEXTS,
        may_have_happened=st.booleans(),
    ),
    st.builds(Finish, reason=st.sampled_from(get_args(FinishReason))),
    st.builds(RunError, code=st.sampled_from(get_args(RunErrorCode)), message=TEXTS),
)


@given(PARTS)
def test_a_part_reads_back_from_one_line(part: AgentStreamPart) -> None:
    """C-11: the lines of a run are the run."""
    line = json.dumps(part.to_json(), ensure_ascii=False)
    assert "\n" not in line
    assert part_from_json(line) == part


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{}",
        "[]",
        '{"type": "delta"}',
        '{"type": "finish"}',
        '{"type": "finish", "reason": "bored"}',
        '{"type": "tool-error", "id": "c1.1", "name": "x", "code": "odd", "error": "", '
        '"may_have_happened": false}',
    ],
)
def test_another_line_is_no_part(line: str) -> None:
    with pytest.raises(ValueError, match="."):
        part_from_json(line)


async def test_a_run_is_an_async_generator_of_parts() -> None:
    """A-032."""
    run = run_local_agent(ScriptedProvider(["Hello!"]), request(PageDouble(), "hello"))
    returned: object = run
    assert inspect.isasyncgen(returned)
    parts = [part async for part in run]
    assert [type(part) for part in parts] == [MessageStart, TextDelta, Finish]


async def test_two_runs_are_the_same_run_line_by_line() -> None:
    """C-11."""

    async def lines() -> list[str]:
        provider = ScriptedProvider([f"I look.\n{search()}", add(), "Sorry, out of stock."])
        parts = await collect(provider, request(PageDouble(), FIND_MUG))
        return [json.dumps(part.to_json()) for part in parts]

    first = await lines()
    assert len(first) == 10
    assert await lines() == first


@pytest.mark.parametrize(
    ("parts", "fault"),
    [
        ([], "at least one part"),
        ([start(1)], "MessageStart"),
        ([Finish("stop"), Finish("stop")], "only the last part"),
        ([text("Hi"), Finish("stop")], "prose comes once"),
        ([start(1), text("a"), text("b"), Finish("stop")], "prose comes once"),
        ([start(1), *opened("c1.1"), text("b"), Finish("stop")], "prose comes once"),
        ([*opened("c1.1"), Finish("stop")], "belongs to a message"),
        ([start(1), opened("c1.1")[0], Finish("aborted")], "has no answer"),
        ([start(1), opened("c1.1")[0], *opened("c1.2"), Finish("stop")], "has no answer"),
        ([start(1), opened("c1.1")[1], Finish("stop")], "answers no call"),
        ([start(1), *opened("c1.1"), *opened("c1.1"), Finish("stop")], "used twice"),
        ([start(1), start(1), Finish("stop")], "used twice"),
        ([start(1), opened("c1.1")[0], searched("c1.1")[1], Finish("stop")], "has no answer"),
    ],
)
def test_the_grammar_check_finds_each_fault(parts: list[AgentStreamPart], fault: str) -> None:
    """A-033, A-078: the check that every run of these tests goes through can fail."""
    with pytest.raises(AssertionError, match=fault):
        check_grammar(parts)


@pytest.mark.parametrize(
    ("parts", "report"),
    [
        pytest.param([Finish("stop")], RunReport(0, "", "stop"), id="nobody asked"),
        pytest.param([Finish("aborted")], RunReport(0, "", "aborted"), id="stopped at once"),
        pytest.param(
            [start(1), text("Hello!"), Finish("stop")],
            RunReport(1, "Hello!", "stop"),
            id="plain",
        ),
        pytest.param(
            [start(1), text("I look."), *searched("c1.1"), start(2), text("1."), Finish("stop")],
            RunReport(
                2,
                "1.",
                "stop",
                (CallReport("search_products", {"query": "mug"}, "ok", True, MUGS),),
            ),
            id="a call",
        ),
        pytest.param(
            [start(1), opened("c1.1")[0], CUT_SHORT, Finish("aborted")],
            RunReport(
                1,
                "",
                "aborted",
                (CallReport("open_product", {"id": 7}, "cancelled", True, "Stop."),),
            ),
            id="stopped in a call",
        ),
        pytest.param(
            [start(1), *opened("c1.1"), start(2), Finish("aborted")],
            RunReport(
                1,
                "",
                "aborted",
                (CallReport("open_product", {"id": 7}, "ok", True, "Opened Blue mug."),),
            ),
            id="stopped before the second reply",
        ),
        pytest.param(
            [start(1), *refused("c1.1"), start(2), text("I stopped."), Finish("max-steps")],
            RunReport(
                1,
                "I stopped.",
                "max-steps",
                (CallReport("add_to_cart", {}, "failed", False, "Out of stock"),),
            ),
            id="out of steps",
        ),
        pytest.param(
            [start(1), RunError("timeout", "Too slow.")],
            RunReport(1, "", "timeout", error="Too slow."),
            id="an error",
        ),
    ],
)
def test_the_report_says_what_happened(parts: Sequence[AgentStreamPart], report: RunReport) -> None:
    """C-44."""
    assert report_of(parts) == report


@pytest.mark.parametrize(
    ("parts", "succeeded"),
    [
        ([start(1), text("Hello!"), Finish("stop")], True),
        ([start(1), *opened("c1.1"), start(2), text("It is open."), Finish("stop")], True),
        ([start(1), *refused("c1.1"), start(2), text("Done!"), Finish("stop")], False),
        ([start(1), *opened("c1.1"), start(2), text("Sorry"), Finish("repair-failed")], False),
        ([start(1), RunError("timeout", "Too slow.")], False),
    ],
)
def test_a_run_succeeded_when_it_ended_by_itself_after_a_call_that_worked(
    parts: Sequence[AgentStreamPart], succeeded: bool
) -> None:
    """C-44: whatever the model says."""
    assert report_of(parts).succeeded == succeeded


async def test_ids_count_messages_and_calls() -> None:
    """A-089, C-11."""
    provider = ScriptedProvider([f"{search()}\n{open_()}", add(), "Sorry, it failed."])
    parts = await collect(provider, request(PageDouble(), FIND_MUG))
    assert [part.id for part in parts if isinstance(part, MessageStart)] == ["m1", "m2", "m3"]
    assert [part.id for part in parts if isinstance(part, ToolCall)] == ["c1.1", "c1.2", "c2.1"]
