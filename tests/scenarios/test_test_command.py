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
    folders = sorted(path for path in (tmp_path / "out").iterdir() if path.is_dir())
    assert [folder.name for folder in folders] == ["001-hello-1", "001-hello-2"]
    for folder, line in zip(folders, lines, strict=False):
        assert {file.name for file in folder.iterdir()} == {
            "parts.jsonl",
            "trace.jsonl",
            "page.jsonl",
            "summary.json",
        }
        assert json.loads((folder / "summary.json").read_text("utf-8")) == line


def test_results_are_kept_and_can_be_counted_again_and_compared(tmp_path: Path) -> None:
    files(tmp_path)
    model = script(tmp_path, "Hello!", SEARCH, "Hi!", SEARCH)
    first = command(
        "test", "evals.json", "--repeat", "4", "--out", "old", "--model", model, cwd=tmp_path
    )
    assert (first.code, first.out.splitlines()[-5:-1]) == (
        1,
        [
            "2 of 4 passed, 2 failed",
            "  rate     50 % of 4; 95 % sure: 15 to 85 %",
            "  in a row 2 times 17 %, 3 times 0 %, 4 times 0 %",
            "  why      2 extra-call",
        ],
    )
    model = script(tmp_path, "Hello!")
    second = command(
        "test", "evals.json", "--against", "old", "--json", "--model", model, cwd=tmp_path
    )
    case, statistics, against, summary = second.json_lines()
    assert isinstance(case, dict)
    assert isinstance(statistics, dict)
    assert isinstance(against, dict)
    assert (statistics["type"], statistics["rate"]) == ("statistics", 1.0)
    assert (against["type"], against["verdict"]) == ("against", "undecided")
    assert summary == {"type": "summary", "passed": 1, "failed": 0, "errors": 0}
    (tmp_path / "new.jsonl").write_text(second.out, encoding="utf-8")
    again = command("test", "new.jsonl", "--against", "old", "--json", cwd=tmp_path)
    assert again.json_lines() == [statistics, against, summary]
    shown = command("test", "new.jsonl", "--against", "old/results.jsonl", cwd=tmp_path)
    assert (shown.code, shown.out.splitlines()[-1]) == (
        0,
        "undecided: +50 points, 95 % sure: -37 to +85 (1 case in both)",
    )


def test_the_results_of_eval_cases_are_also_kept_in_the_shape_of_their_field(
    tmp_path: Path,
) -> None:
    files(tmp_path)
    model = script(tmp_path, SEARCH)
    command("test", "evals.json", "--out", "out", "--model", model, cwd=tmp_path)
    report = json.loads((tmp_path / "out" / "webmcp-evals.json").read_text("utf-8"))
    # The loop's own closing words: it was out of steps.
    report["results"]["results"][0]["trajectory"][0].pop("text")
    assert report == {
        "config": {
            "evalsFile": "evals.json",
            "backend": "webmcp-agent",
            "model": "Script replies.json",
            "runs": 1,
            "toolSchemaFile": "schema.json",
        },
        "results": {
            "results": [
                {
                    "test": HELLO,
                    "response": {
                        "functionName": "search_products",
                        "args": {"query": "mug"},
                        "result": {},
                    },
                    "outcome": "fail",
                    "trajectory": [
                        {
                            "toolCalls": [
                                {"toolName": "search_products", "input": {"query": "mug"}}
                            ],
                            "toolResults": [{"toolName": "search_products", "output": {}}],
                        }
                    ],
                    "runIndex": 1,
                    "stepIndex": 1,
                }
            ],
            "testCount": 1,
            "passCount": 0,
            "failCount": 1,
            "errorCount": 0,
        },
    }


def test_several_workers_tell_the_same_lines_in_the_same_order(tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / f"{number}.json").write_text(
            json.dumps([SEARCH, f"There are {number} mugs."]), encoding="utf-8"
        )
        (tmp_path / f"{number}.scenario.yaml").write_text(
            f"model: scripted:{number}.json\n"
            + MUGS.replace("Mugs", f"Mugs {number}")
            + f"  answer: {{ contains: '{number}' }}\n",
            encoding="utf-8",
        )
    ended = command("test", ".", "--workers", "3", "--repeat", "2", "--json", cwd=tmp_path)
    lines = [line for line in ended.json_lines() if isinstance(line, dict)]
    assert [(line["case"], line["repeat"], line["passed"]) for line in lines if "case" in line] == [
        (f"Mugs {number}", repeat, True) for number in range(4) for repeat in (1, 2)
    ]
    assert ended.code == 0


def test_variables_and_a_model_of_its_own_reach_a_scenario(tmp_path: Path) -> None:
    (tmp_path / "replies.json").write_text(json.dumps([SEARCH, "Three."]), encoding="utf-8")
    (tmp_path / "a.scenario.yaml").write_text(
        'vars: { WHAT: cup }\nmodel: scripted:replies.json\nstart: "shop:"\n'
        'requests: ["Find {WHAT}s."]\nchecks: { called: [{ tool: search_products, '
        'args: { query: "{WHAT}" } }] }\n',
        encoding="utf-8",
    )
    assert command("test", ".", "--var", "WHAT=mug", cwd=tmp_path).code == 0
    refused = command("test", ".", "--var", "WAHT=mug", cwd=tmp_path)
    assert (refused.code, refused.err) == (
        2,
        "Error: --var WAHT: no scenario has a place for it\n",
    )


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
    (["mugs.scenario.yaml", "--workers", "0"], 2, "--workers"),
    (["mugs.scenario.yaml", "--against", "nowhere"], 2, "nowhere: it cannot be read: No such file"),
    (
        ["mugs.scenario.yaml", "--against", "replies.json"],
        2,
        "replies.json: there is no result in it",
    ),
    (["old.jsonl", "mugs.scenario.yaml"], 2, "results of an earlier test cannot be mixed"),
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
    (tmp_path / "old.jsonl").write_text("{}", encoding="utf-8")
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
