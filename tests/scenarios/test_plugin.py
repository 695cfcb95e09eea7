"""The pytest plugin in a stranger's project: which tests there are, and what a failure says."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from stranger import change, run, stranger_project, write

from webmcp_agent.browser.tools import JsonObject

pytest_plugins = ["pytester"]

HOME = str(Path.home())


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    # Pytester moves the home, and with it the place where Playwright keeps its browsers.
    monkeypatch.setenv("HOME", HOME)
    stranger_project(pytester.path)
    return pytester


def properties(path: Path) -> dict[str, dict[str, str]]:
    """The properties of each test of a JUnit file, by its name."""
    return {
        case.attrib["name"]: {
            one.attrib["name"]: one.attrib["value"] for one in case.iter("property")
        }
        for case in ElementTree.parse(path).iter("testcase")
    }


def section(result: pytest.RunResult, name: str) -> list[str]:
    """The lines of one failure."""
    lines = result.outlines
    begin = next(at for at, line in enumerate(lines) if line.strip("_ ") == name) + 1
    rest = lines[begin:]
    end = next(at for at, line in enumerate(rest) if line.startswith(("___", "---", "===", "- g")))
    return rest[:end]


def test_a_project_adds_a_scenario_and_a_contract_and_pytest_runs_both(
    project: pytest.Pytester,
) -> None:
    result = run(project, "-v", "--junitxml=junit.xml", "--webmcp-report=runs")
    result.assert_outcomes(passed=5)
    result.stdout.fnmatch_lines_random(
        [
            "scenarios/six.scenario.yaml::six PASSED*",
            "scenarios/tables.contract.json::page[[].[]] PASSED*",
            "tests/test_own.py::test_their_own_module_is_theirs PASSED*",
            "tests/test_page.py::test_a_tool_changes_the_very_page* PASSED*",
        ]
    )
    told = properties(project.path / "junit.xml")
    scenario, contract = told["six"], told["page[.]"]
    assert int(scenario.pop("webmcp_ms")) >= int(scenario.pop("webmcp_page_ms")) > 0
    assert int(scenario.pop("webmcp_model_ms")) >= 0
    kept = project.path / "runs" / "scenarios-six-scenario-yaml-six"
    assert scenario == {
        "webmcp_out": str(kept),
        "webmcp_model": "Script six.json",
        "webmcp_calls": "2",
        "webmcp_steps": "3",
        "webmcp_prompt_tokens": "0",
        "webmcp_completion_tokens": "0",
    }
    assert contract == {"webmcp_breaking": "0", "webmcp_compatible": "0", "webmcp_cosmetic": "0"}
    assert {"parts.jsonl", "trace.jsonl", "summary.json"} <= {file.name for file in kept.iterdir()}
    assert json.loads((kept / "summary.json").read_text("utf-8"))["passed"] is True
    result.stdout.fnmatch_lines([f"webmcp report: {project.path}/runs/report.html"])


def test_a_renamed_tool_fails_and_says_what_broke_and_for_whom(project: pytest.Pytester) -> None:
    change(project.path / "site/index.html", '"find_tables"', '"search_tables"')
    result = run(project, "--junitxml=junit.xml")
    result.assert_outcomes(passed=2, failed=3)
    assert section(result, "page[.]") == [
        "tables.contract.json, page .: the contract is broken",
        "  breaking: find_tables: is gone; renamed to search_tables?",
        "    breaks whoever calls find_tables",
        "    called by scenarios/six.scenario.yaml (Book a table for six)",
        "    called by tests/test_page.py::"
        "test_a_tool_changes_the_very_page_that_the_test_holds[chromium]",
    ]
    assert properties(project.path / "junit.xml")["page[.]"]["webmcp_breaking"] == "1"


def test_a_failing_case_tells_the_check_the_request_and_the_calls(
    project: pytest.Pytester,
) -> None:
    change(project.path / "site/index.html", "bookings.push(table)", "bookings.push(0)")
    result = run(project, "scenarios/six.scenario.yaml", "--junitxml=junit.xml")
    result.assert_outcomes(failed=1)
    told = section(result, "six")
    assert told[7].startswith("ended with stop after 3 steps, ")
    assert told[:7] + told[8:] == [
        "Book a table for six: wrong-page",
        "  page: bookings is [0], not [7]",
        "for 'Book a table for six.'",
        "calls made:",
        '  1. find_tables(guests=6) → ok: {"tables":[7]}',
        "  2. book_table(table=7) → ok: Table 7 is booked.",
        "answer: Table 7 is booked for you.",
        "model: Script six.json",
    ]
    assert properties(project.path / "junit.xml")["six"]["webmcp_why"] == "wrong-page"


def test_a_file_that_cannot_be_read_fails_alone_with_line_and_key(
    project: pytest.Pytester,
) -> None:
    write(project.path / "scenarios/odd.scenario.yaml", "requests: [x]\nchecks:\n  pages: []\n")
    write(project.path / "scenarios/odd.contract.json", '{"contract": 1,\n "tool": []}')
    write(project.path / "scenarios/pact.contract.json", '{"consumer": "somebody else\'s"}')
    result = run(project, "scenarios")
    result.assert_outcomes(passed=2, failed=2)
    assert section(result, "odd") == [
        f"{project.path}/scenarios/odd.scenario.yaml:3: checks.pages: there is no such key"
    ]
    file = f"{project.path}/scenarios/odd.contract.json"
    assert section(result, "page[.]") == [
        f"{file}:1: 'tools' is missing; {file}:2: tool: there is no such key"
    ]


def test_an_eval_file_is_run_when_it_is_named(project: pytest.Pytester) -> None:
    call: JsonObject = {"functionName": "book_table", "arguments": {"table": 3}}
    said: JsonObject = {"role": "user", "type": "message", "content": "Table 3"}
    case: JsonObject = {"name": "Three.", "messages": [said], "expectedCall": [call]}
    write(project.path / "scenarios/evals.json", [case, {**case, "expectedCall": None}])
    schema: JsonObject = {
        "name": "book_table",
        "description": "Book.",
        "inputSchema": {"type": "object"},
    }
    write(project.path / "scenarios/schema.json", {"tools": [schema]})
    write(project.path / "replies.json", ['<tool_call>{"name": "book_table"}</tool_call>'])
    without = run(project, "scenarios", "--collect-only", "-q")
    assert without.outlines[:2] == [
        "scenarios/six.scenario.yaml::six",
        "scenarios/tables.contract.json::page[.]",
    ]
    result = run(project, "scenarios/evals.json", "-v", "--webmcp-model=scripted:replies.json")
    result.assert_outcomes(failed=2)
    assert section(result, "case[Three.]")[0] == "Three.: missing-argument"
    assert section(result, "case[Three. (2)]")[0] == "Three.: extra-call"


def test_a_projects_own_fixtures_hold_for_its_files(project: pytest.Pytester) -> None:
    change(project.path / "scenarios/six.scenario.yaml", "start: ../site/index.html\n", "")
    change(project.path / "scenarios/six.scenario.yaml", "model: scripted:six.json\n", "")
    change(
        project.path / "scenarios/six.scenario.yaml",
        "[Book a table for six.]",
        "['Book a table for {MANY}.']",
    )
    change(project.path / "scenarios/six.scenario.yaml", "requests:", "vars: {MANY: ~}\nrequests:")
    change(project.path / "scenarios/tables.contract.json", '"url": "../site", ', "")
    write(
        project.path / "conftest.py",
        """
import functools, http.server, json, pathlib, threading
import pytest

@pytest.fixture(scope="session", autouse=True)
def server():
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory="site")
    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{running.server_port}"
    running.shutdown()

@pytest.fixture(scope="session")
def base_url(server):
    return server

@pytest.fixture
def webmcp_model():
    from webmcp_agent.providers import ScriptedProvider
    return ScriptedProvider(json.loads(pathlib.Path("scenarios/six.json").read_text()))

@pytest.fixture(scope="session")
def webmcp_variables():
    return {"MANY": "seven"}
""",
    )
    change(project.path / "site/index.html", "bookings.push(table)", "bookings.push(0)")
    result = run(project, "scenarios")
    result.assert_outcomes(passed=1, failed=1)
    assert section(result, "six")[2] == "for 'Book a table for seven.'"
    assert section(result, "six")[-1] == "model: Scripted replies"


def test_scenarios_are_replayed_without_a_model(project: pytest.Pytester) -> None:
    change(project.path / "scenarios/six.scenario.yaml", "scripted:six.json", "nobody/has-it")
    text = (project.path / "scenarios/six.scenario.yaml").read_text("utf-8")
    checks = text.index("checks:")
    asked = f"{text[:checks]}checks: {{ answer: {{ contains: '7' }} }}\n"
    write(project.path / "scenarios/asked.scenario.yaml", asked)
    result = run(project, "scenarios", "--webmcp-replay", "-rs")
    result.assert_outcomes(passed=2, skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*names no calls that could be made without a model"])
    change(project.path / "site/index.html", "bookings.push(table)", "bookings.shift()")
    result = run(project, "scenarios/six.scenario.yaml", "--webmcp-replay")
    result.assert_outcomes(failed=1)
    told = section(result, "six")
    assert told[1] == "  page: bookings is [], not [7]"
    assert told[-1] == "model: none, the calls stand in the file"


def test_tests_of_all_kinds_run_on_several_workers(project: pytest.Pytester) -> None:
    result = run(project, "-n", "2", "--webmcp-report=runs")
    result.assert_outcomes(passed=5)
    lines = (project.path / "runs/results.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["passed"] for line in lines] == [True, 1]


def test_nothing_heavy_is_imported_until_a_test_needs_it(project: pytest.Pytester) -> None:
    write(
        project.path / "conftest.py",
        """
import sys

def pytest_collection_finish(session):
    heavy = ("playwright", "torch", "transformers", "pydantic", "yaml", "typer", "rich")
    print("collected", len(session.items), [name for name in heavy if name in sys.modules])
""",
    )
    # Other plugins import what they like.
    others = [f"-pno:{name}" for name in ("playwright", "hypothesispytest", "inline_snapshot")]
    result = run(project, "--collect-only", "-q", "-s", *others)
    result.stdout.fnmatch_lines(["*collected 5 []"])


CODE = "hunter2-4711"
TOLD = """
import pytest
from webmcp_agent.providers import ScriptedProvider


@pytest.fixture
def webmcp_model():
    return ScriptedProvider(["Your code is hunter2-4711."])


def test_an_agent_is_told_a_secret(page, page_tools, agent, record_property):
    page_tools.goto("site/index.html")
    report = agent.run("Book with {CODE}.")
    said = agent.provider.requests[0].messages[-1].content
    assert "Book with hunter2-4711." in said
    print("printed:", report.answer)
    record_property("code", report.answer)
    assert report.answer == "another"


def test_it_is_skipped(webmcp_secrets):
    pytest.skip("because of " + webmcp_secrets["CODE"])
"""
GIVES = """
import pytest

@pytest.fixture(scope="session")
def webmcp_secrets():
    return {"CODE": "hunter2-4711"}
"""


@pytest.mark.parametrize("given", ["by an option", "by a fixture"])
def test_a_secret_is_in_nothing_that_pytest_tells_or_writes(
    given: str, project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = (project.path / "scenarios/six.scenario.yaml").read_text("utf-8")
    write(
        project.path / "scenarios/six.scenario.yaml",
        scenario.replace("[Book a table for six.]", '["Book a table, my code is {CODE}."]'),
    )
    write(project.path / "scenarios/six.json", [f"The code {CODE} is wrong."])
    write(project.path / "tests/test_told.py", TOLD)
    options = ["--webmcp-report=runs", "--junitxml=junit.xml", "--screenshot=on", "-rA", "-l"]
    if given == "by an option":
        monkeypatch.setenv("CODE", CODE)
        options.append("--webmcp-secret=CODE")
    else:
        write(project.path / "conftest.py", GIVES)
    result = run(project, "scenarios/six.scenario.yaml", "tests/test_told.py", *options)
    result.assert_outcomes(failed=2, skipped=1)
    told = result.stdout.str() + result.stderr.str()
    for line in (
        "for 'Book a table, my code is {CODE}.'",
        "answer: The code {CODE} is wrong.",
        "printed: Your code is {CODE}.",
        "because of {CODE}",
        "Nothing is recorded of a page in a test that has secrets",
    ):
        assert line in told
    junit = (project.path / "junit.xml").read_text("utf-8")
    assert '<property name="code" value="Your code is {CODE}." />' in junit
    kept = [path for path in (project.path / "runs").rglob("*") if path.is_file()]
    assert {"parts.jsonl", "trace.jsonl", "summary.json", "report.html"} <= {p.name for p in kept}
    texts = {"told": told, "junit": junit, **{str(p): p.read_text("utf-8") for p in kept}}
    assert [name for name, text in texts.items() if CODE in text] == []
    # Of the page that pytest-playwright holds itself it keeps what it always does.
    pictures = [path.parent.name for path in (project.path / "test-results").glob("*/*.png")]
    assert pictures == ["tests-test-told-py-test-an-agent-is-told-a-secret-chromium"]


def test_a_secret_that_the_environment_does_not_have_is_a_mistake(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CODE", raising=False)
    result = run(project, "tests/test_own.py", "--webmcp-secret=CODE")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--webmcp-secret CODE: there is no value in the environment*"])
