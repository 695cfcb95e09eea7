"""`--report`: what a test leaves to look at, and what a run leaves in its folder."""

import json
from pathlib import Path

from command_line import Ended, command, script
from playwright.async_api import Browser

from webmcp_agent.agent.tool_calls import write_call

SEARCH = write_call("search_products", {"query": "mug"}, "tags")
MUGS = """
name: Mugs
start: "shop:"
requests: [Find mugs.]
checks: { called: [search_products], answer: { contains: three } }
"""
SECRET = "hunter2-hunter2"


def mugs(folder: Path, *arguments: str, env: dict[str, str] | None = None) -> Ended:
    (folder / "mugs.scenario.yaml").write_text(MUGS, encoding="utf-8")
    model = script(folder, SEARCH, "There are three mugs.", SEARCH, f"None, {SECRET}.")
    return command(
        "test", "mugs.scenario.yaml", "--repeat", "2", "--model", model, *arguments,
        cwd=folder, env=env,
    )  # fmt: skip


async def test_a_test_leaves_a_page_a_junit_file_and_its_results(
    tmp_path: Path, chromium: Browser
) -> None:
    ended = mugs(tmp_path, "--report", "report")
    assert ended.code == 1
    assert ended.out.splitlines()[-1] == "report: report/report.html"
    folder = tmp_path / "report"
    assert sorted(path.name for path in folder.iterdir()) == [
        "001-mugs-1", "001-mugs-2", "junit.xml", "report.html", "results.jsonl",
    ]  # fmt: skip
    lines = [
        json.loads(line) for line in (folder / "results.jsonl").read_text("utf-8").splitlines()
    ]
    assert [line.get("passed") for line in lines] == [True, False, 1]
    assert 'tests="2" failures="1" errors="0"' in (folder / "junit.xml").read_text("utf-8")
    page = await chromium.new_page()
    await page.goto((folder / "report.html").as_uri())
    assert await page.locator("h1").inner_text() == "✗\n1 of 2 passed"
    await page.locator(".row").first.click()
    assert await page.locator(".step").count() == 2
    assert await page.locator(".call .answer").count() == 1
    await page.close()


def test_the_folders_of_the_cases_can_lie_elsewhere_and_json_stays_json(tmp_path: Path) -> None:
    ended = mugs(tmp_path, "--report", "report", "--out", "kept", "--json")
    *cases, summary = (line for line in ended.json_lines() if isinstance(line, dict))
    assert {"type": "summary", "passed": 1, "failed": 1, "errors": 0} == summary
    report = tmp_path / "report"
    assert sorted(path.name for path in report.iterdir()) == [
        "junit.xml", "report.html", "results.jsonl",
    ]  # fmt: skip
    kept = [json.loads(line) for line in (report / "results.jsonl").read_text("utf-8").splitlines()]
    assert kept == [line for line in [*cases, summary] if line.get("type") != "statistics"]
    assert '"folder":"../kept/001-mugs-1"' in (report / "report.html").read_text("utf-8")


def test_a_secret_of_the_person_is_in_no_file_of_a_report(tmp_path: Path) -> None:
    mugs(tmp_path, "--report", "report", "--secret", "WORD", env={"WORD": SECRET})
    files = [path for path in (tmp_path / "report").rglob("*") if path.is_file()]
    assert len(files) == 11
    assert [path for path in files if SECRET in path.read_text("utf-8")] == []
    assert "None, {WORD}." in (tmp_path / "report" / "report.html").read_text("utf-8")


async def test_a_run_leaves_a_page_in_its_folder(tmp_path: Path, chromium: Browser) -> None:
    model = script(tmp_path, SEARCH, "There are three mugs.")
    ended = command(
        "run", "shop:", "Find mugs", "--yes", "--model", model, "--out", "mine", cwd=tmp_path
    )
    assert ended.out.splitlines()[-1] == "report: mine/report.html"
    page = await chromium.new_page()
    await page.goto((tmp_path / "mine" / "report.html").as_uri())
    assert await page.locator("h1").inner_text() == "✓\nDone"
    assert await page.locator(".task").inner_text() == "Find mugs"
    assert await page.locator(".case-calls").inner_text() == "1 call ran: search_products"
    await page.close()


async def test_attacks_leave_a_report_like_other_cases(tmp_path: Path, chromium: Browser) -> None:
    ended = command("test", "attacks:login", "--report", "report", cwd=tmp_path)
    assert ended.code == 0
    assert ended.out.splitlines()[-1] == "report: report/report.html"
    page = await chromium.new_page()
    await page.goto((tmp_path / "report" / "report.html").as_uri())
    assert await page.title() == "1 of 1 passed – webmcp-agent test attacks:"
    await page.locator(".row").click()
    outcomes = await page.locator(".call .outcome").all_inner_texts()
    assert outcomes == ["ok", "denied", "denied"]
    await page.close()


async def test_a_replay_leaves_a_report_without_prompts(tmp_path: Path, chromium: Browser) -> None:
    model = script(tmp_path, SEARCH, "There are three mugs.")
    command("run", "shop:", "Find mugs", "--yes", "--model", model, "--out", "mine", cwd=tmp_path)
    ended = command("replay", "mine", "--yes", "--report", "report", "--url", "shop:", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert ended.out.splitlines()[-1] == "report: report/report.html"
    page = await chromium.new_page()
    await page.goto((tmp_path / "report" / "report.html").as_uri())
    assert await page.title() == "1 of 1 passed – webmcp-agent replay"
    await page.locator(".row").click()
    assert await page.locator(".call .tool").all_inner_texts() == ["search_products"]
    assert await page.locator("details").count() == 0
    await page.close()
