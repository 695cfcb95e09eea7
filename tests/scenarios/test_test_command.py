"""`webmcp-agent test`: its lines, its exit codes, and one clear line for each mistake."""

import json
from pathlib import Path

import pytest
from command_line import command, script, terminal
from pydantic import JsonValue

from webmcp_agent.agent.tool_calls import write_call

SEARCH = write_call("search_products", {"query": "mug"}, "tags")

MUGS = """
name: Mugs
start: "shop:"
requests: [Find mugs.]
checks:
  called: [search_products]
  page:
    - js: shop.cart()
      equals: []
"""

SCHEMA = {"tools": [{"name": "search_products", "description": "Find.", "inputSchema": None}]}
HELLO: dict[str, JsonValue] = {
    "name": "Hello",
    "messages": [{"role": "user", "type": "message", "content": "Hello"}],
    "expectedCall": None,
}


def files(folder: Path, *, schema: bool = True) -> tuple[str, str]:
    """A scenario that needs a page, and an eval file that needs none when it has a schema."""
    (folder / "mugs.scenario.yaml").write_text(MUGS, encoding="utf-8")
    (folder / "evals.json").write_text(json.dumps([HELLO]), encoding="utf-8")
    if schema:
        (folder / "schema.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    return "mugs.scenario.yaml", "evals.json"


def test_each_case_is_a_line_of_json_and_the_counts_are_the_last(tmp_path: Path) -> None:
    files(tmp_path)
    model = script(tmp_path, "Hello!", SEARCH, "There are three mugs.")
    ended = command("test", "evals.json", ".", "--json", "--model", model, cwd=tmp_path)
    first, second, summary = ended.json_lines()
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    for line in (first, second):
        ms, tokens = line.pop("ms"), line.pop("tokens")
        assert isinstance(ms, dict)
        assert list(ms) == ["total", "model", "page", "own"]
        assert tokens == {"prompt": 0, "cached": 0, "completion": 0}
    assert str(second.pop("url")).startswith("http://127.0.0.1:")
    assert (first, second) == (
        {
            "file": "evals.json", "case": "Hello", "repeat": 1, "passed": True, "why": None,
            "model": "Script replies.json",
            "failures": [], "calls": [], "steps": 1, "finish": "stop", "answer": "Hello!",
            "url": None, "out": None,
        },
        {
            "file": "mugs.scenario.yaml", "case": "Mugs", "repeat": 1, "passed": True, "why": None,
            "model": "Script replies.json",
            "failures": [],
            "calls": [{"name": "search_products", "args": {"query": "mug"}, "outcome": "ok"}],
            "steps": 2, "finish": "stop", "answer": "There are three mugs.", "out": None,
        },
    )  # fmt: skip
    assert summary == {"type": "summary", "passed": 2, "failed": 0, "errors": 0}
    assert ended.code == 0


def test_a_case_that_fails_is_told_with_its_reason_and_exits_with_1(tmp_path: Path) -> None:
    scenario, _ = files(tmp_path)
    model = script(tmp_path, "I cannot find any.")
    ended = command("test", scenario, "--json", "--model", model, cwd=tmp_path)
    line, summary = ended.json_lines()
    assert isinstance(line, dict)
    assert (line["passed"], line["why"]) == (False, "no-call")
    assert line["failures"] == [
        {
            "check": "called",
            "kind": "no-call",
            "message": "search_products() was never called",
        }
    ]
    assert summary == {"type": "summary", "passed": 0, "failed": 1, "errors": 0}
    assert ended.code == 1


def test_a_case_that_cannot_be_judged_counts_as_an_error_and_not_as_passed(tmp_path: Path) -> None:
    files(tmp_path, schema=False)
    model = script(tmp_path, "Hello!")
    ended = command("test", "evals.json", "--json", "--model", model, cwd=tmp_path)
    line, summary = ended.json_lines()
    assert isinstance(line, dict)
    assert (line["passed"], line["why"]) == (False, "not-judged")
    assert line["failures"] == [
        {"check": "error", "kind": "error", "message": "it names no page; give one with --url"}
    ]
    assert summary == {"type": "summary", "passed": 0, "failed": 0, "errors": 1}
    assert ended.code == 1


def test_an_eval_file_runs_on_the_page_that_is_given(tmp_path: Path) -> None:
    case = {**HELLO, "expectedCall": [{"functionName": "search_products", "result": {"total": 3}}]}
    (tmp_path / "evals.json").write_text(json.dumps([case]), encoding="utf-8")
    model = script(tmp_path, SEARCH, "There are three mugs.")
    ended = command(
        "test", "evals.json", "--url", "shop:", "--json", "--model", model, cwd=tmp_path
    )
    assert ended.json_lines()[-1] == {"type": "summary", "passed": 1, "failed": 0, "errors": 0}
    assert ended.code == 0


def test_people_read_a_line_a_case_its_reasons_and_the_counts(tmp_path: Path) -> None:
    files(tmp_path)
    model = script(tmp_path, SEARCH, "I cannot find any.", "I cannot find any.")
    ended = command("test", "evals.json", "mugs.scenario.yaml", "--model", model, cwd=tmp_path)
    lines = ended.out.splitlines()
    assert [line.rpartition("  ")[0] for line in lines if line.startswith("  ✓ ")] == []
    assert lines[0] == "evals.json"
    assert lines[1].startswith("  ✗ Hello  ")
    assert lines[2:5] == [
        '      calls: call 1: search_products({"query": "mug"}) was not expected',
        '      calls made: search_products(query="mug")',
        ".",
    ]
    assert lines[5].startswith("  ✗ Mugs  ")
    assert lines[6:] == [
        "      called: search_products() was never called",
        "      calls made: none",
        "",
        "   0 of 1   evals.json",
        "   0 of 1   .",
        "0 of 2 passed, 2 failed",
    ]
    assert ended.code == 1


def test_each_case_can_be_repeated_and_leaves_its_parts_and_its_trace(tmp_path: Path) -> None:
    files(tmp_path)
    model = script(tmp_path, "Hello!", SEARCH)
    ended = command(
        "test", "evals.json", "--repeat", "2", "--out", "out", "--json", "--model", model,
        cwd=tmp_path,
    )  # fmt: skip
    lines = ended.json_lines()
    assert [
        (line["repeat"], line["passed"])
        for line in lines
        if isinstance(line, dict)
        if "case" in line
    ] == [(1, True), (2, False)]
    assert lines[-1] == {"type": "summary", "passed": 1, "failed": 1, "errors": 0}
    folders = sorted((tmp_path / "out").iterdir())
    assert [folder.name for folder in folders] == ["001-hello-1", "001-hello-2"]
    for folder, line in zip(folders, lines, strict=False):
        assert {file.name for file in folder.iterdir()} == {
            "parts.jsonl",
            "trace.jsonl",
            "page.jsonl",
            "summary.json",
        }
        assert json.loads((folder / "summary.json").read_text("utf-8")) == line


def test_a_case_without_a_page_needs_no_browser(tmp_path: Path) -> None:
    files(tmp_path)
    model = script(tmp_path, "Hello!")
    ended = command("test", "evals.json", "--browser", "./none", "--model", model, cwd=tmp_path)
    assert ended.code == 0


MISTAKES = [
    (["nowhere"], 2, "there is no file or folder nowhere"),
    (["replies.json"], 2, "replies.json:1: input should be a valid list"),
    (["bad.scenario.yaml"], 2, "bad.scenario.yaml:3: checks.pages: there is no such key"),
    (["mugs.scenario.yaml", "bad.scenario.yaml"], 2, "bad.scenario.yaml:3: checks.pages"),
    (["mugs.scenario.yaml", "--repeat", "0"], 2, "--repeat"),
    (["mugs.scenario.yaml", "--no-such-option"], 2, "--no-such-option"),
    (["mugs.scenario.yaml", "--browser", "./none"], 3, "./none"),
    (["mugs.scenario.yaml", "--model", "scripted:missing.json"], 3, "missing.json"),
]


@pytest.mark.parametrize(
    ("arguments", "code", "told"), MISTAKES, ids=[" ".join(row[0]) for row in MISTAKES]
)
def test_a_mistake_is_told_in_one_line_before_any_case_runs(
    arguments: list[str], code: int, told: str, tmp_path: Path
) -> None:
    files(tmp_path)
    (tmp_path / "replies.json").write_text('{"no": "list"}', encoding="utf-8")
    (tmp_path / "bad.scenario.yaml").write_text(
        "requests: [x]\nchecks:\n  pages: []\n", encoding="utf-8"
    )
    (other := tmp_path / "other").mkdir()
    model = [] if "--model" in arguments else ["--model", script(other, "Hello!")]
    ended = command("test", *arguments, *model, cwd=tmp_path)
    lines = [line for line in ended.err.splitlines() if line.startswith("Error: ")]
    assert len(lines) == 1, ended.err
    assert told in lines[0]
    assert (ended.code, ended.out) == (code, "")
    assert "Traceback" not in ended.err


def test_ctrl_c_ends_the_test_and_counts_what_was_judged(tmp_path: Path) -> None:
    files(tmp_path)
    (tmp_path / "slow.html").write_text(
        "<!doctype html><title>Slow</title><script>document.modelContext.registerTool({"
        "name: 'wait', description: 'Waits', execute: () => new Promise(() => {}) });</script>",
        encoding="utf-8",
    )
    (tmp_path / "slow.scenario.yaml").write_text(
        "start: slow.html\nrequests: [Wait.]\nchecks: { called: [wait] }\n", encoding="utf-8"
    )
    model = script(tmp_path, "Hello!", write_call("wait", {}, "tags"))
    with terminal(
        "test", "evals.json", "slow.scenario.yaml", "--model", model, cwd=tmp_path
    ) as shown:
        shown.wait_for("✓ Hello")
        shown.wait_for("2 of 2: slow")
        shown.interrupt()
        shown.wait_for("1 of 1 passed, 0 failed")
        assert shown.end() == 130
