"""The fixtures of the pytest plugin: beside pytest-playwright's own page, and without it."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest
from processes import HAS_PROC, descendants, is_chromium, wait_until_gone
from stranger import LIMIT_S, REPLIES, change, run, stranger_project, write

pytest_plugins = ["pytester"]

HOME = str(Path.home())
BROWSERS = os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or f"{HOME}/.cache/ms-playwright"
ENCODERS = [*Path(BROWSERS).glob("ffmpeg-*/ffmpeg-*")]

BESIDE = """
import pytest

from webmcp_agent.scenarios.sync_page import ToolFailed

SITE = "site/index.html"


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args):
    viewport = {"width": 400, "height": 300}
    return {**browser_context_args, "color_scheme": "dark", "viewport": viewport}


@pytest.mark.webmcp_model("scripted:replies.json")
def test_an_agent_works_on_the_page_that_the_test_holds(page, page_tools, agent):
    page_tools.goto(SITE)
    report = agent.run("Book a table for six.")
    assert report.called == ["find_tables", "book_table"]
    assert report.calls[0].value == {"tables": [7]}
    assert (report.answer, report.finish, report.steps) == ("Table 7 is booked for you.", "stop", 3)
    assert page.locator("#booked").inner_text() == "table 7 is booked"


def test_what_the_test_set_for_its_page_stays(page, page_tools):
    page_tools.goto(SITE)
    look = "[matchMedia('(prefers-color-scheme: dark)').matches, innerWidth]"
    assert page_tools.evaluate(look) == page.evaluate(look) == [True, 400]


def test_the_tests_own_handlers_run_while_a_tool_waits(page, page_tools):
    page.route("**/free.json", lambda route: route.fulfill(json=[3, 4]))
    page_tools.goto(SITE)
    page.evaluate('''document.modelContext.registerTool({
        name: "ask", description: "Ask.",
        execute: async () => (await fetch("free.json")).json(),
    })''')
    assert page_tools.call("ask") == [3, 4]


def test_the_test_goes_where_it_likes_between_two_calls(page, page_tools):
    here = page_tools.goto(SITE)
    assert page_tools.page_context().h1 == "Book a table"
    elsewhere = page_tools.goto(SITE)
    assert page.url == elsewhere != here
    for address in (here, elsewhere, here):
        page.goto(address)
        assert page_tools.evaluate("location.href") == address
        page.reload()
        assert page_tools.url == page.url == address
    assert page_tools.call("find_tables", guests=2) == {"tables": [3, 7]}
    page.close()


def test_a_call_that_fails_says_why(page, page_tools):
    page_tools.goto(SITE)
    with pytest.raises(ToolFailed, match="seek_tables failed with 'not-found'"):
        page_tools.call("seek_tables")
    assert page_tools.call_tool("seek_tables").code == "not-found"


class TestPolicies:
    @pytest.fixture
    def webmcp_policy(self):
        from webmcp_agent.browser.policy import Policy

        return Policy(mode="yes", deny=("book_*",))

    @pytest.fixture
    def webmcp_model(self):
        from webmcp_agent.agent.tool_calls import write_call
        from webmcp_agent.providers import ScriptedProvider

        book = write_call("book_table", {"table": 7}, "tags")
        no = "I may not book it."
        # Said twice: a model that gives up after a failed call is asked once whether it means it.
        return ScriptedProvider([book, no, no, "You are welcome."])

    def test_a_policy_of_the_test_holds(self, page_tools, agent):
        page_tools.goto(SITE)
        report = agent.run("Book table 7.")
        assert [call.outcome for call in report.calls] == ["blocked"]
        assert page_tools.call_tool("book_table", {"table": 7}).code == "blocked"
        assert agent.follow_up("Thanks.").answer == "You are welcome."
        assert page_tools.evaluate("bookings") == []
        assert report.answer == "and this fails"
"""

ALONE = """
import pytest


@pytest.mark.webmcp_model("scripted:replies.json")
def test_an_agent_works_on_a_page_of_the_tests_own(page_tools, agent):
    page_tools.goto("site/index.html")
    assert sorted(page_tools.names) == ["book_table", "find_tables"]
    assert agent.run("Book a table for six.").called == ["find_tables", "book_table"]
    assert page_tools.evaluate("bookings") == [7]


def test_each_test_has_a_fresh_page(page_tools):
    assert page_tools.url == "about:blank"
"""

UNUSED = """
def test_the_browser_is_as_always(browser_type_launch_args):
    assert browser_type_launch_args == {"headless": False}
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    # Pytester moves the home, and with it the place where Playwright keeps its browsers.
    monkeypatch.setenv("HOME", HOME)
    stranger_project(pytester.path, page_tests=False)
    write(pytester.path / "tests/replies.json", [*REPLIES])
    return pytester


def test_plain_tests_use_tools_and_an_agent_on_the_page_of_pytest_playwright(
    project: pytest.Pytester,
) -> None:
    write(project.path / "tests/test_beside.py", BESIDE)
    result = run(project, "--tracing=retain-on-failure", "--output=kept", "--junitxml=junit.xml")
    result.assert_outcomes(passed=9, failed=1)
    result.stdout.fnmatch_lines(
        [
            "E * 'and this fails'",
            "*Captured agent call*",
            "request: Book table 7.",
            "  1. book_table(table=7) → blocked: The tool book_table is *",
            "answer: I may not book it.",
            "ended with stop after * steps, at http://127.0.0.1:*/index.html",
        ]
    )
    kept = [
        path.relative_to(project.path / "kept").as_posix()
        for path in sorted(project.path.glob("kept/*/*"))
    ]
    assert kept == [
        "tests-test-beside-py-testpolicies-test-a-policy-of-the-test-holds-chromium/trace.zip"
    ]
    junit = (project.path / "junit.xml").read_text("utf-8")
    assert '<property name="webmcp_calls" value="2" />' in junit


def test_without_pytest_playwright_a_test_has_a_page_of_our_own(project: pytest.Pytester) -> None:
    write(project.path / "tests/test_alone.py", ALONE)
    result = run(project, "-p", "no:playwright")
    result.assert_outcomes(passed=6)


def test_a_browser_is_left_alone_when_no_test_uses_the_fixtures(project: pytest.Pytester) -> None:
    write(project.path / "tests/test_unused.py", UNUSED)
    run(project, "tests", "--headed").assert_outcomes(passed=3)


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("--headed", "a window needs a display"),
        ("--browser-channel=msedge-dev", "There is no browser 'msedge-dev'"),
    ],
    ids=["headed", "channel"],
)
def test_scenario_files_heed_the_options_of_pytest_playwright(
    option: str, told: str, project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    result = run(project, "scenarios/six.scenario.yaml", option)
    result.assert_outcomes(failed=1)
    assert told in result.stdout.str()


def test_the_pages_of_a_scenario_are_traced_as_the_options_say(project: pytest.Pytester) -> None:
    write(project.path / "scenarios/seven.json", ["No."])
    text = (project.path / "scenarios/six.scenario.yaml").read_text("utf-8")
    write(project.path / "scenarios/seven.scenario.yaml", text.replace("six.json", "seven.json"))
    result = run(project, "scenarios", "--tracing=retain-on-failure", "--junitxml=junit.xml")
    result.assert_outcomes(passed=2, failed=1)
    kept = project.path / "test-results/scenarios-seven-scenario-yaml-seven/trace.zip"
    assert sorted(project.path.glob("test-results/*/*")) == [kept]
    junit = (project.path / "junit.xml").read_text("utf-8")
    assert f'<property name="playwright_trace" value="{kept}" />' in junit


@pytest.mark.skipif(not any(ENCODERS), reason="Playwright has no ffmpeg of its own here")
def test_the_pages_of_a_scenario_are_filmed_as_the_options_say(project: pytest.Pytester) -> None:
    run(project, "scenarios", "--video=on", "--output=kept").assert_outcomes(passed=2)
    films = [path.name for path in project.path.glob("kept/scenarios-six-*/*")]
    assert films == ["video.webm"]


@pytest.mark.parametrize(
    ("option", "kept"),
    [
        ("on", {"seven": "test-failed-1.png", "six": "test-finished-1.png"}),
        ("only-on-failure", {"seven": "test-failed-1.png"}),
        ("off", {}),
    ],
)
def test_the_pages_of_a_scenario_leave_pictures_as_the_options_say(
    option: str, kept: dict[str, str], project: pytest.Pytester
) -> None:
    write(project.path / "scenarios/seven.json", ["No."])
    text = (project.path / "scenarios/six.scenario.yaml").read_text("utf-8")
    write(project.path / "scenarios/seven.scenario.yaml", text.replace("six.json", "seven.json"))
    scenarios = ["scenarios/six.scenario.yaml", "scenarios/seven.scenario.yaml"]
    result = run(project, *scenarios, f"--screenshot={option}", "--junitxml=junit.xml")
    result.assert_outcomes(passed=1, failed=1)
    pictures = sorted(project.path.glob("test-results/*/*"))
    assert {path.parent.name.rpartition("-")[2]: path.name for path in pictures} == kept
    junit = (project.path / "junit.xml").read_text("utf-8")
    for path in pictures:
        assert path.read_bytes().startswith(b"\x89PNG")
        assert f'<property name="playwright_screenshot" value="{path}" />' in junit


SLOW = """
def test_the_person_can_follow(page_tools):
    page_tools.goto("site/index.html")
    opened = page_tools.evaluate("performance.now()")
    page_tools.call("find_tables", guests=2)
    assert page_tools.evaluate("performance.now()") - opened >= 300
"""
SLOW_SCENARIO = """
start: ../site/index.html
model: scripted:six.json
requests: [Book a table for six.]
checks: { page: [{ js: performance.now() >= 600, equals: true }] }
"""


@pytest.mark.parametrize("option", [[], ["-p", "no:playwright"]], ids=["beside", "alone"])
def test_slowmo_lets_people_follow_the_calls(option: list[str], project: pytest.Pytester) -> None:
    write(project.path / "tests/test_slow.py", SLOW)
    write(project.path / "scenarios/slow.scenario.yaml", SLOW_SCENARIO)
    if option:  # somebody else's option of the same name
        own = "def pytest_addoption(parser):\n    parser.addoption('--slowmo', type=int)\n"
        write(project.path / "conftest.py", own)
    files = ["tests/test_slow.py", "scenarios/slow.scenario.yaml"]
    run(project, *files, "--slowmo=300", *option).assert_outcomes(passed=2)


def test_a_launch_without_our_arguments_is_explained(project: pytest.Pytester) -> None:
    write(project.path / "tests/test_alone.py", ALONE)
    write(
        project.path / "tests/conftest.py",
        """
import pytest
from webmcp_agent.browser.launch import find_chromium

@pytest.fixture(scope="session")
def browser_type_launch_args():
    return {"executable_path": find_chromium()}
""",
    )
    result = run(project, "tests/test_alone.py", "-k", "fresh")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*Return {[*][*]browser_type_launch_args, …}*"])


@pytest.mark.skipif(not HAS_PROC, reason="reads /proc")
async def test_ctrl_c_leaves_no_browser(tmp_path: Path) -> None:
    stranger_project(tmp_path, page_tests=False)
    answer = "({ tables: guests > 4 ? [7] : [3, 7] })"
    change(tmp_path / "site/index.html", answer, "new Promise(() => {})")
    running = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "scenarios/six.scenario.yaml",
        "-o", "log_cli=true", "--log-cli-level=DEBUG",
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )  # fmt: skip
    assert running.stdout is not None
    try:
        async with asyncio.timeout(LIMIT_S):
            while b"call c1.1: find_tables" not in (line := await running.stdout.readline()):
                assert line, "it ended before the call"
            started = descendants(running.pid)
            assert any(is_chromium(pid) for pid in started)
            os.killpg(running.pid, signal.SIGINT)
            said = await running.stdout.read()
            assert await running.wait() == pytest.ExitCode.INTERRUPTED
            assert b"KeyboardInterrupt" in said
            await wait_until_gone(started)
    finally:
        if running.returncode is None:
            os.killpg(running.pid, signal.SIGKILL)
            await running.wait()
