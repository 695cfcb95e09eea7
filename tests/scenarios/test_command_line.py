"""The command line as a contract: exit codes, JSON, and one clear line for each mistake."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import COMMAND, command, script

from webmcp_agent.agent.tool_calls import write_call
from webmcp_agent.browser.launch import find_chromium

SEARCH = write_call("search_products", {"query": "mug"}, "tags")

SLOW_PAGE = """<!doctype html><title>Slow</title><main><h1>Slow</h1></main><script>
document.modelContext.registerTool({ name: 'wait', description: 'Waits for ever',
  execute: () => new Promise(() => { document.title = 'waiting'; }) });
</script>"""


def test_a_scripted_run_gives_its_parts_as_json_lines_and_ends_with_the_summary(
    tmp_path: Path,
) -> None:
    model = script(tmp_path, SEARCH, "There are three mugs.")
    ended = command(
        "run", "shop:", "Find a mug", "--yes", "--json", "--model", model, "--out", "out",
        cwd=tmp_path,
    )  # fmt: skip
    lines = ended.json_lines()
    summary = lines[-1]
    assert isinstance(summary, dict)
    assert [line["type"] for line in lines if isinstance(line, dict)] == [
        "message-start",
        "tool-call",
        "tool-result",
        "message-start",
        "text-delta",
        "finish",
        "summary",
    ]
    assert {key: summary[key] for key in ("finish", "answer", "calls", "steps", "out")} == {
        "finish": "stop",
        "answer": "There are three mugs.",
        "calls": [{"name": "search_products", "args": {"query": "mug"}, "outcome": "ok"}],
        "steps": 2,
        "out": "out",
    }
    assert set(summary) == {
        "type", "finish", "answer", "calls", "steps", "url", "model", "ms", "tokens", "out",
    }  # fmt: skip
    assert ended.code == 0


def test_a_run_leaves_its_parts_its_trace_and_its_summary_for_its_owner_only(
    tmp_path: Path,
) -> None:
    model = script(tmp_path, SEARCH, "There are three mugs.")
    ended = command("run", "shop:", "Find a mug", "--yes", "--json", "--model", model, cwd=tmp_path)
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name.endswith("-find-a-mug")
    assert folder.stat().st_mode & 0o777 == 0o700
    modes = {file.name: file.stat().st_mode & 0o777 for file in folder.iterdir()}
    assert modes == dict.fromkeys(
        ("parts.jsonl", "trace.jsonl", "page.jsonl", "summary.json", "report.html"), 0o600
    )
    parts = (folder / "parts.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line) for line in parts] == ended.json_lines()[:-1]
    assert json.loads((folder / "summary.json").read_text("utf-8")) == ended.json_lines()[-1]
    assert "There are three mugs." in (folder / "report.html").read_text("utf-8")
    trace = [json.loads(line) for line in (folder / "trace.jsonl").read_text("utf-8").splitlines()]
    assert [event["type"] for event in trace] == [
        "page", "fit", "request", "reply", "parsed", "call",
        "page", "fit", "request", "reply", "parsed",
    ]  # fmt: skip


def test_without_a_terminal_and_without_a_yes_a_call_is_denied(tmp_path: Path) -> None:
    """C-56: nobody can be asked, so nothing is done, and the answer says how to allow it."""
    model = script(tmp_path, SEARCH, "I was not allowed to.")
    ended = command("run", "shop:", "Find a mug", "--json", "--model", model, cwd=tmp_path)
    error = next(
        line
        for line in ended.json_lines()
        if isinstance(line, dict) and line["type"] == "tool-error"
    )
    assert (error["code"], error["may_have_happened"]) == ("denied", False)
    assert "--yes" in str(error["error"])
    assert ended.code == 1


def test_the_tools_of_the_shop_are_listed_in_the_shape_of_the_contract(tmp_path: Path) -> None:
    ended = command("tools", "shop:", "--json", cwd=tmp_path)
    (tools,) = ended.json_lines()
    assert isinstance(tools, list)
    search = next(
        tool for tool in tools if isinstance(tool, dict) and tool["name"] == "search_products"
    )
    assert isinstance(search, dict)
    assert set(search) == {
        "name", "title", "description", "input_schema", "origin", "frame", "annotations",
        "declarative",
    }  # fmt: skip
    assert search["annotations"] == {"read_only": True, "untrusted": False, "consequential": False}
    assert (search["frame"], search["declarative"]) == ("main", False)
    assert ended.code == 0


def test_a_call_by_name_gives_one_object(tmp_path: Path) -> None:
    ended = command(
        "call", "shop:", "search_products", "--args", '{"query": "mug"}', "--json", cwd=tmp_path
    )
    (answer,) = ended.json_lines()
    assert isinstance(answer, dict)
    assert set(answer) == {"outcome", "text", "value", "may_have_happened", "url", "tools", "ms"}
    assert answer["outcome"] == "ok"
    assert ended.code == 0


def test_a_call_that_the_tool_refuses_exits_with_1_and_its_reason(tmp_path: Path) -> None:
    ended = command("call", "shop:", "start_checkout", "--json", cwd=tmp_path)
    (answer,) = ended.json_lines()
    assert isinstance(answer, dict)
    assert answer["outcome"] == "failed"
    assert "empty" in str(answer["text"])
    assert ended.code == 1


MISTAKES = [
    (["run", "shop:", "x", "--no-such-option"], 2, "--no-such-option"),
    (["run", "shop:", "  "], 2, "the task is empty"),
    (["run", "shop:", "x", "--max-steps", "0"], 2, "--max-steps"),
    (["run", "no-such-folder", "x"], 2, "no-such-folder"),
    (["tools", "ftp://127.0.0.1/"], 2, "ftp"),
    (["call", "shop:", "nope"], 2, "search_products"),
    (["call", "shop:", "view_cart", "--args", "{oops"], 2, "--args is no JSON"),
    (["call", "shop:", "view_cart", "--args", "[1]"], 2, "must be a JSON object"),
    (["run", "shop:", "x", "--instructions", "@missing.txt"], 2, "missing.txt"),
    (["run", "shop:", "x", "--adapter", "missing"], 2, "adapter_config.json"),
    (["run", "shop:", "x", "--origin", "shop.example"], 2, "an origin has a scheme"),
    (["run", "shop:", "x", "--model", "scripted:missing.json"], 3, "missing.json"),
    (["run", "shop:", "x", "--model", "./no-such-model"], 3, "no-such-model"),
    (["run", "shop:", "x", "--browser", "./no-such-browser"], 3, "no-such-browser"),
    (["tools", "shop:", "--cdp", "http://127.0.0.1:9"], 3, "127.0.0.1:9"),
    (["models", "remove", "no/such-model"], 3, "no/such-model"),
]


@pytest.mark.parametrize(
    ("arguments", "code", "told"), MISTAKES, ids=[" ".join(row[0]) for row in MISTAKES]
)
def test_a_mistake_is_told_in_one_line_with_its_exit_code(
    arguments: list[str], code: int, told: str, tmp_path: Path
) -> None:
    ended = command(*arguments, cwd=tmp_path)
    lines = [line for line in ended.err.splitlines() if line.startswith("Error: ")]
    assert len(lines) == 1, ended.err
    assert told in lines[0]
    assert (ended.code, ended.out) == (code, "")
    assert "Traceback" not in ended.err


def test_an_address_where_nothing_answers_exits_with_3(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ended = command("tools", f"http://127.0.0.1:{port}/", cwd=tmp_path)
    assert ended.code == 3
    assert ended.err.strip().splitlines()[-1].startswith(f"Error: http://127.0.0.1:{port}/")


async def test_a_browser_without_webmcp_exits_with_3(tmp_path: Path) -> None:
    chromium = find_chromium()
    assert chromium is not None
    process = await asyncio.create_subprocess_exec(
        str(chromium),
        "--headless",
        "--no-sandbox",
        "--disable-background-networking",
        "--remote-debugging-port=0",
        f"--user-data-dir={tmp_path / 'profile'}",
        "about:blank",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stderr is not None
        async with asyncio.timeout(30):
            async for line in process.stderr:
                if b"DevTools listening on ws://" in line:
                    address = line.split(b"ws://")[1].split(b"/")[0].decode()
                    break
            else:
                raise AssertionError("the browser did not start")
        ended = await asyncio.to_thread(
            command, "tools", "shop:", "--cdp", f"http://{address}", cwd=tmp_path
        )
    finally:
        process.kill()
        await process.wait()
    assert ended.code == 3
    assert "WebMCP" in ended.err


def test_ctrl_c_in_a_call_stops_the_run_and_leaves_no_browser_behind(tmp_path: Path) -> None:
    (tmp_path / "slow.html").write_text(SLOW_PAGE, encoding="utf-8")
    model = script(tmp_path, write_call("wait", {}, "tags"))
    process = subprocess.Popen(
        [*COMMAND, "run", "slow.html", "Wait", "--yes", "--json", "--model", model],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    )
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if '"tool-call"' in line:
            break
    os.killpg(process.pid, signal.SIGINT)
    rest, err = process.communicate(timeout=60)
    lines += rest.splitlines()
    types = [json.loads(line)["type"] for line in lines]
    assert types == ["message-start", "tool-call", "tool-error", "finish", "summary"]
    assert json.loads(lines[-1])["finish"] == "aborted"
    assert (process.returncode, "Traceback" in err) == (130, False)
    assert _left_behind(process.pid) == []


def test_ctrl_c_while_the_page_opens_leaves_nothing_behind(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        process = subprocess.Popen(
            [*COMMAND, "tools", f"http://127.0.0.1:{port}/"],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        )
        silent.settimeout(60)
        connection, _ = silent.accept()  # the browser asks for the page and gets no answer
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)
        connection.close()
    assert (process.returncode, "Traceback" in err) == (130, False)
    assert _left_behind(process.pid) == []


def _left_behind(session: int) -> list[str]:
    """Commands that still run in a session, zombies aside."""
    listing = subprocess.run(
        ["ps", "-eo", "sess=,stat=,args="], capture_output=True, encoding="utf-8", check=True
    )
    rows = [line.split(None, 2) for line in listing.stdout.splitlines()]
    return [row[2] for row in rows if row[0] == str(session) and not row[1].startswith("Z")]


def test_the_shop_is_served_until_ctrl_c_and_tells_its_address_first(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "shop"], cwd=tmp_path, stdout=subprocess.PIPE, encoding="utf-8"
    )
    assert process.stdout is not None
    with process.stdout as out:
        assert out.readline().startswith("http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0


def test_help_loads_neither_a_model_library_nor_a_browser_library() -> None:
    code = (
        "import sys\n"
        "from webmcp_agent.scenarios.cli import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'transformers', 'playwright', 'pydantic', 'rich'} & set(sys.modules)\n"
        "print(sorted(heavy), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True
    )
    assert done.stderr == "[]\n"
    for name in ("run", "chat", "tools", "call", "shop", "models", "doctor"):
        assert f"  {name}" in done.stdout
