"""Results of eval cases in the shape that webmcp-evals gives its own, for tools that read those.

`{"config", "results": {"results": [{"test", "response", "outcome", "trajectory", "runIndex",
"stepIndex"}], "testCount", "passCount", "failCount", "errorCount"}}`, from
GoogleChromeLabs/webmcp-tools (2026-08). Here a case is one result, with the whole case as `test`
and all its calls in the `trajectory`, where the original gives one result a call; so the counts are
of cases.
"""

import json
from collections.abc import Sequence

from pydantic import JsonValue

from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.case_run import CaseResult
from webmcp_agent.scenarios.evals import SCHEMA_FILE
from webmcp_agent.scenarios.outcome import MadeCall

REPORT_FILE = "webmcp-evals.json"


def evals_report(results: Sequence[CaseResult], url: str | None) -> JsonObject | None:
    """The results of those cases that came from eval files; None when there are none."""
    rows = [_row(result) for result in results if result.case.source is not None]
    if not rows:
        return None
    evals = [result for result in results if result.case.source is not None]
    files = list(dict.fromkeys(str(result.case.file) for result in evals))
    outcomes = [row["outcome"] for row in rows]
    config: JsonObject = {
        "evalsFile": ", ".join(files),
        "backend": "webmcp-agent",
        "model": evals[0].model,
        "runs": max(result.repeat for result in evals),
        **({"toolSchemaFile": SCHEMA_FILE} if url is None else {"url": url}),
    }
    return {
        "config": config,
        "results": {
            "results": [*rows],
            "testCount": len(rows),
            "passCount": outcomes.count("pass"),
            "failCount": outcomes.count("fail"),
            "errorCount": outcomes.count("error"),
        },
    }


def _row(result: CaseResult) -> JsonObject:
    outcome = "error" if result.is_error else "pass" if result.passed else "fail"
    return {
        "test": result.case.source,
        "response": _response(result),
        "outcome": outcome,
        "trajectory": [_step(result)],
        "runIndex": result.repeat,
        "stepIndex": 1,
    }


def _response(result: CaseResult) -> JsonValue:
    """The call that was wrong, else the last one; the answer where there was no call."""
    if result.is_error and not result.calls:
        return None
    at = next((failure.call for failure in result.failures if failure.call), len(result.calls))
    if not result.calls:
        return {"text": result.outcome.answer}
    call = result.calls[at - 1]
    return {"functionName": call.tool, "args": call.args, "result": _answer(call)}


def _step(result: CaseResult) -> JsonObject:
    return {
        "text": result.outcome.answer,
        "toolCalls": [{"toolName": call.tool, "input": call.args} for call in result.calls],
        "toolResults": [{"toolName": call.tool, "output": _answer(call)} for call in result.calls],
    }


def _answer(call: MadeCall) -> JsonValue:
    if call.outcome != "ok":
        return {"error": call.text, "code": call.outcome}
    try:
        return call.value if call.value is not None else json.loads(call.text)
    except ValueError:
        return call.text
