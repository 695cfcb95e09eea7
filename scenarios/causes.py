"""Why a case failed, in one word, so that many cases can be counted.

Of several failures the first one in the order of what happened counts: a wrong call before the
answer that it led to, and a fault of the page before what the model did after it.
"""

from collections.abc import Sequence
from typing import Literal

from webmcp_agent.scenarios.outcome import Failure, FailureKind, Outcome

Cause = Literal[
    "wrong-tool",
    "missing-argument",
    "wrong-argument",
    "extra-call",
    "no-call",
    "missing-call",
    "no-stop",
    "unusable-reply",
    "other-finish",
    "page-fault",
    "wrong-answer",
    "wrong-page",
    "drift",
    "not-judged",
]

_OF_KIND: dict[FailureKind, Cause] = {
    "error": "not-judged",
    "wrong-tool": "wrong-tool",
    "missing-argument": "missing-argument",
    "wrong-argument": "wrong-argument",
    "extra-call": "extra-call",
    "forbidden-call": "extra-call",
    "no-call": "no-call",
    "wrong-result": "page-fault",
    "timeout": "no-stop",
    "too-many-steps": "no-stop",
    "wrong-finish": "other-finish",
    "missing-call": "missing-call",
    "wrong-answer": "wrong-answer",
    "wrong-page": "wrong-page",
    "wrong-url": "wrong-page",
    "call-failed": "page-fault",
    "tool-gone": "drift",
    "value-gone": "drift",
    "result-drift": "drift",
    "page-drift": "drift",
    "tool-drift": "drift",
}
"""Every kind of failure, the most telling first."""

_NO_STOP = {"max-steps", "loop", "timeout"}
_PAGE_FAULTS = {"failed", "timeout", "no-answer", "unavailable", "changed", "not-found"}
"""Codes of calls that the page could not do, whatever the model had asked for."""


def cause_of(failures: Sequence[Failure], outcome: Outcome) -> Cause | None:
    """The cause of the failures of one case; None when there are none."""
    if not failures:
        return None
    kinds = list(_OF_KIND)
    first = min(failures, key=lambda failure: kinds.index(failure.kind))
    cause = _OF_KIND[first.kind]
    if cause == "not-judged":
        return cause
    fault = _fault(outcome)
    decided = first.kind in kinds[: kinds.index("no-call") + 1]
    if fault is not None and (not decided or (first.call is not None and fault < first.call)):
        return "page-fault"
    if cause == "other-finish" and _NO_STOP & set(outcome.finishes):
        return "no-stop"
    if cause == "other-finish" and "repair-failed" in outcome.finishes:
        return "unusable-reply"
    return cause


def _fault(outcome: Outcome) -> int | None:
    """The first call, from 1, that the page could not do and that nobody made good later."""
    for number, call in enumerate(outcome.calls, 1):
        later = outcome.calls[number:]
        made_good = any(other.tool == call.tool and other.outcome == "ok" for other in later)
        if call.outcome in _PAGE_FAULTS and not made_good:
            return number
    return None
