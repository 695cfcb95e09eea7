"""A case of a scenario or eval file, held as a pytest test: its properties, and why it failed."""

from collections.abc import Callable
from contextlib import nullcontext

import pytest

from webmcp_agent.agent.request import TextPart
from webmcp_agent.browser.errors import BrowserError
from webmcp_agent.providers.abort import AbortController
from webmcp_agent.providers.base import LocalProvider
from webmcp_agent.providers.errors import ProviderError
from webmcp_agent.scenarios.case_run import CaseResult, CaseRunner
from webmcp_agent.scenarios.console import call_text, printable, seconds, shortened
from webmcp_agent.scenarios.errors import ScenarioError
from webmcp_agent.scenarios.given import Given
from webmcp_agent.scenarios.outcome import MadeCall
from webmcp_agent.scenarios.plugin_report import OUT
from webmcp_agent.scenarios.plugin_rig import Rig
from webmcp_agent.scenarios.replay_run import ReplayJob, ReplayRunner
from webmcp_agent.scenarios.runner import PageSettings, RunSettings, Spent
from webmcp_agent.scenarios.scenario import Case

LENGTH = 300
"""Characters of each answer in the text of a failure."""

NOT_RECORDED = "Nothing is recorded of a page in a test that has secrets: they could be seen there."


def hold_case(
    request: pytest.FixtureRequest,
    rig: Rig,
    model: str | LocalProvider | None,
    read: Callable[[], Case],
    base_url: str | None,
    given: Given,
) -> None:
    """Hold and judge a case; it fails with what is wrong, for which request, after which calls."""
    node, option = request.node, request.config.getoption
    replays = bool(option("--webmcp-replay"))
    try:
        case = read()
        # The command line goes before the file, and the file before what holds for all.
        named = option("--webmcp-model") is not None
        provider = None if replays else rig.model(model if named else case.model or model)
        browser = rig.browser() if case.start or base_url else None
    except (ScenarioError, ProviderError, BrowserError) as exc:
        raise pytest.fail.Exception(str(exc), pytrace=False) from None
    signal, folder = AbortController().signal, rig.kept_in(node)
    # Who runs the tests wants the files' own policies to count.
    page = PageSettings(approval="all", given=given, pause_ms=rig.slow_mo_ms)
    if provider is None:
        replay = ReplayJob.of(case)
        if replay.segments is None:
            pytest.skip("the file names no calls that could be made without a model")
        replayer = ReplayRunner(page, base_url, browser=browser)
        work = replayer.run(replay, signal, folder=folder)
    else:
        settings = RunSettings(page=page)
        runner = CaseRunner(given.guard(provider), settings, url=base_url, browser=browser)
        work = runner.run(case, signal, folder=folder)
    artifacts = rig.artifacts(node)
    if given.secrets and artifacts.wanted:
        node.add_report_section("call", "webmcp", NOT_RECORDED)
    with nullcontext() if browser is None or given.secrets else artifacts.of(browser):
        result = rig.thread.run(work)
        artifacts.failed = not result.passed
    for kind, path in artifacts.kept:
        node.user_properties.append((f"playwright_{kind}", str(path)))
    node.user_properties.extend(properties(result).items())
    if not result.passed:
        pytest.fail(failure_text(result), pytrace=False)
    if result.notes:
        drift = "\n".join(printable(note.message) for note in result.notes)
        node.add_report_section("call", "drift", drift)


def properties(result: CaseResult) -> dict[str, str | int]:
    """What a JUnit file says of a case."""
    costs = cost(len(result.calls), result.outcome.steps, result.total_ms, result.spent)
    texts = {"webmcp_model": result.model, "webmcp_why": result.why, OUT: result.folder}
    return {**costs, **{name: str(text) for name, text in texts.items() if text is not None}}


def cost(calls: int, steps: int, total_ms: float, spent: Spent) -> dict[str, int]:
    """Calls, steps, times in ms and tokens as a JUnit file names them."""
    return {
        "webmcp_calls": calls,
        "webmcp_steps": steps,
        "webmcp_ms": round(total_ms),
        "webmcp_model_ms": round(spent.model_ms),
        "webmcp_page_ms": round(spent.page_ms),
        "webmcp_prompt_tokens": spent.prompt_tokens,
        "webmcp_completion_tokens": spent.completion_tokens,
    }


def failure_text(result: CaseResult) -> str:
    """What is wrong, for whom, and what was done, for people."""
    case, outcome = result.case, result.outcome
    wrong = [
        failure.message if failure.kind == "error" else f"{failure.check}: {failure.message}"
        for failure in result.failures
    ]
    ended = outcome.finishes[-1] if outcome.finishes else "no answer"
    lines = [
        f"{case.name}: {'could not be judged' if result.is_error else result.why}",
        *(f"  {line}" for line in wrong),
        f"for {_requests(case)}",
        f"calls made: {'' if outcome.calls else 'none'}",
        *(f"  {number}. {call_line(call)}" for number, call in enumerate(outcome.calls, 1)),
        f"answer: {shortened(outcome.answer, LENGTH) or 'none'}",
        f"ended with {ended} after {_counted(outcome.steps, 'step')}, {seconds(result.total_ms)}"
        + (f", at {outcome.url}" if outcome.url else ""),
        f"model: {result.model or 'none, the calls stand in the file'}",
        *([] if result.folder is None else [f"kept in {result.folder}"]),
    ]
    if any("ffmpeg" in line for line in wrong):
        lines.append("--video needs Playwright's own encoder: playwright install ffmpeg")
    return "\n".join(printable(line.rstrip()) for line in lines)


def _requests(case: Case) -> str:
    """What the person said."""
    said = [
        part.text
        for turn in case.turns
        for message in turn
        if message.role == "user"
        for part in message.parts
        if isinstance(part, TextPart)
    ]
    return "; ".join(repr(text) for text in said)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def call_line(call: MadeCall) -> str:
    """A call, how it ended, and what came back."""
    text = " ".join(call.text.split())
    made = f"{call_text(call.tool, call.args)} → {call.outcome}"
    return f"{made}: {shortened(text, LENGTH)}" if text else made
