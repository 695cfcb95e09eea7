"""What happened in a run, read back from its folder."""

from contextlib import closing
from pathlib import Path

from pydantic import JsonValue
from run_folders import Story

from webmcp_agent.agent.stream import Finish, MessageStart, RunError, TextDelta, ToolCall, ToolError
from webmcp_agent.agent.tool_calls import write_call
from webmcp_agent.agent.trace import TraceEvent
from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.report import RunFolder
from webmcp_agent.scenarios.timeline import read_timeline


def told(value: JsonValue) -> JsonValue:
    """The same without the times since the beginning, which no test can know."""
    match value:
        case dict():
            return {key: told(item) for key, item in value.items() if key != "at"}
        case list():
            return [told(item) for item in value]
        case _:
            return value


def kinds(request: JsonObject) -> list[list[tuple[JsonValue, JsonValue]]]:
    steps = request["steps"]
    assert isinstance(steps, list)
    shown: list[list[tuple[JsonValue, JsonValue]]] = []
    for step in steps:
        assert isinstance(step, dict)
        entries = step["entries"]
        assert isinstance(entries, list)
        shown.append([(e["kind"], e.get("text")) for e in entries if isinstance(e, dict)])
    return shown


def test_a_step_has_its_page_prompt_reply_and_its_call_with_the_answer(tmp_path: Path) -> None:
    with closing(RunFolder(tmp_path)) as folder:
        story = Story(folder, "Find mugs.")
        story.call("search", {"query": "mug"}, '{"total":3}')
        story.answer("There are three mugs.")
    (request,) = read_timeline(tmp_path)
    usage: JsonObject = {"prompt_tokens": 900, "cached_tokens": 700, "completion_tokens": 30}
    steps = request.pop("steps")
    assert request == {"ask": "Find mugs.", "end": {"finish": "stop"}}
    assert isinstance(steps, list)
    assert isinstance(first := steps[0], dict)
    assert isinstance(entries := first["entries"], list)
    assert isinstance(prompt := entries.pop(1), dict)
    assert list(prompt) == ["kind", "system", "turns", "tools", "not_shown", "at"]
    assert told(first) == {
        "step": 1,
        "entries": [
            {"kind": "page", "tools": 1, "ms": 8.5},
            {
                "kind": "reply",
                "text": write_call("search", {"query": "mug"}, "tags"),
                "finish_reason": "stop",
                "usage": usage,
                "ms": 640.25,
            },
            {
                "kind": "call", "name": "search", "args": '{"query":"mug"}', "outcome": "ok",
                "number": 1, "may_have_happened": True, "text": '{"total":3}', "ms": 71.5,
            },
        ],
    }  # fmt: skip


def test_requests_of_a_conversation_are_told_apart_and_calls_counted_through(
    tmp_path: Path,
) -> None:
    with closing(RunFolder(tmp_path)) as folder:
        Story(folder, "Hello.").answer("Hi!")
        story = Story(folder, "Find mugs.")
        story.call("search", {}, "none")
        story.answer("There are none.")
        story = Story(folder, "And pens?")
        story.trace("warning", text="search: a schema without types")
        story.call("search", {"query": "pen"}, ToolError("c1.1", "search", "failed", "No.", False))
        story.part(RunError("timeout", "Too slow."))
    first, second, third = read_timeline(tmp_path)
    assert [r["ask"] for r in (first, second, third)] == ["Hello.", "Find mugs.", "And pens?"]
    assert kinds(first) == [[("page", None), ("prompt", None), ("reply", "Hi!")]]
    assert [kind for kind, _ in kinds(second)[0]] == ["page", "prompt", "reply", "call"]
    assert third["end"] == {"finish": "timeout", "message": "Too slow."}
    assert kinds(third)[0][0] == ("note", "search: a schema without types")
    assert isinstance(steps := third["steps"], list)
    assert isinstance(step := steps[0], dict)
    assert isinstance(entries := step["entries"], list)
    assert isinstance(call := entries[-1], dict)
    assert (call["number"], call["outcome"], call["text"]) == (2, "failed", "No.")


def test_what_was_mended_sent_back_or_said_otherwise_is_told(tmp_path: Path) -> None:
    with closing(RunFolder(tmp_path)) as folder:
        story = Story(folder, "Find mugs.")
        story.step("search(mug)")
        story.trace("parsed", calls=[], errors=[], repairs=["bare call read"])
        story.trace("args", tool="search", changes=["limit: '3' became 3"], warnings=[])
        story.trace("repair", kind="unknown-tool", text="There is no such tool.", used=False)
        story.trace("correction", kind="d", text="You have not called a tool.")
        story.trace("repeat", name="search", args={}, count=1)
        story.part(TextDelta("I found them."))
        story.part(MessageStart("m2"))
        story.part(TextDelta("I stopped."))
        story.part(Finish("loop"))
    (request,) = read_timeline(tmp_path)
    assert kinds(request) == [
        [
            ("page", None),
            ("prompt", None),
            ("reply", "search(mug)"),
            ("note", "bare call read"),
            ("note", "search: limit: '3' became 3"),
            ("note", "unknown-tool: There is no such tool."),
            ("note", "You have not called a tool."),
            ("note", "search: same arguments, same answer, again"),
            ("said", "I found them."),
        ],
        [("said", "I stopped.")],
    ]


def test_a_sub_agents_steps_keep_its_name_and_are_no_calls_of_the_run(tmp_path: Path) -> None:
    with closing(RunFolder(tmp_path)) as folder:
        story = Story(folder, "Compare them.")
        story.step("")
        story.part(ToolCall("c1.1", "ask_scout", {"task": "Look."}))
        folder.trace(TraceEvent("page", 1, {"ms": 1.0, "tools": 1}, "scout"))
        look: JsonObject = {"name": "look", "args": {}, "outcome": "ok", "ms": 2.0}
        folder.trace(TraceEvent("call", 1, look, "scout"))
        story.trace("call", name="ask_scout", args={"task": "Look."}, outcome="cancelled", ms=9.0)
    (request,) = read_timeline(tmp_path)
    assert isinstance(steps := request["steps"], list)
    assert isinstance(step := steps[0], dict)
    assert isinstance(entries := step["entries"], list)
    assert [
        (e["kind"], e.get("agent"), e.get("number"), e.get("outcome"))
        for e in entries[3:]
        if isinstance(e, dict)
    ] == [
        ("page", "scout", None, None),
        ("call", "scout", None, "ok"),
        ("call", None, 1, "no-answer"),
    ]


def test_a_run_that_was_killed_is_told_as_far_as_its_files_go(tmp_path: Path) -> None:
    with closing(RunFolder(tmp_path)) as folder:
        story = Story(folder, "Find mugs.")
        story.step("…")
        story.part(ToolCall("c1.1", "search", {"query": "mug"}))
    for name in ("parts.jsonl", "trace.jsonl"):
        with (tmp_path / name).open("a", encoding="utf-8") as file:
            file.write('{"type": "tool-res')
    (request,) = read_timeline(tmp_path)
    assert request["end"] is None
    assert [kind for kind, _ in kinds(request)[0]] == ["page", "prompt", "reply", "call"]
    assert read_timeline(tmp_path / "nowhere") == []


def test_parts_without_a_trace_are_steps_with_calls(tmp_path: Path) -> None:
    with closing(RunFolder(tmp_path)) as folder:
        Story(folder, "Find mugs.").call("search", {}, "three")
    (tmp_path / "trace.jsonl").unlink()
    (request,) = read_timeline(tmp_path)
    assert request["ask"] is None
    assert kinds(request) == [[("call", "three")]]
