"""The one cause of a case that failed: what went wrong first, and whether it was the page."""

from typing import get_args

import pytest

from webmcp_agent.scenarios.causes import Cause, cause_of
from webmcp_agent.scenarios.outcome import Failure, FailureKind, MadeCall, Outcome

FOUND = MadeCall("search", {})
THREW = MadeCall("add", {}, "failed", "Out of stock")
SLOW = MadeCall("add", {}, "timeout")
DENIED = MadeCall("buy", {}, "denied")


def failure(kind: FailureKind, call: int | None = None) -> Failure:
    return Failure("calls", kind, "…", call)


CASES: list[tuple[list[Failure], Outcome, Cause | None]] = [
    ([], Outcome(calls=(THREW,)), None),
    ([failure("wrong-tool", 1)], Outcome(calls=(FOUND,)), "wrong-tool"),
    ([failure("missing-argument", 1)], Outcome(calls=(FOUND,)), "missing-argument"),
    ([failure("wrong-argument", 1)], Outcome(calls=(FOUND,)), "wrong-argument"),
    ([failure("extra-call", 2)], Outcome(calls=(FOUND, FOUND)), "extra-call"),
    ([failure("forbidden-call", 1)], Outcome(calls=(FOUND,)), "extra-call"),
    ([failure("no-call")], Outcome(), "no-call"),
    ([failure("missing-call")], Outcome(calls=(FOUND,)), "missing-call"),
    ([failure("wrong-answer")], Outcome(finishes=("stop",)), "wrong-answer"),
    ([failure("wrong-page"), failure("wrong-answer")], Outcome(), "wrong-answer"),
    ([failure("wrong-url")], Outcome(), "wrong-page"),
    ([failure("error")], Outcome(calls=(THREW,)), "not-judged"),
    # It never stopped, and what it said is the consequence.
    ([failure("wrong-answer"), failure("wrong-finish")], Outcome(finishes=("loop",)), "no-stop"),
    ([failure("wrong-finish")], Outcome(finishes=("stop", "max-steps")), "no-stop"),
    ([failure("too-many-steps")], Outcome(finishes=("stop",)), "no-stop"),
    ([failure("timeout")], Outcome(), "no-stop"),
    ([failure("wrong-finish")], Outcome(finishes=("repair-failed",)), "unusable-reply"),
    ([failure("wrong-finish")], Outcome(finishes=("aborted",)), "other-finish"),
    # The page broke first: what the model tried next is not its fault.
    ([failure("wrong-tool", 2)], Outcome(calls=(THREW, FOUND)), "page-fault"),
    ([failure("missing-call")], Outcome(calls=(SLOW,)), "page-fault"),
    ([failure("wrong-page")], Outcome(calls=(FOUND, THREW)), "page-fault"),
    ([failure("wrong-result", 1)], Outcome(calls=(FOUND,)), "page-fault"),
    # The model was wrong first, or the page did it the second time, or a person said no.
    ([failure("wrong-argument", 1)], Outcome(calls=(THREW,)), "wrong-argument"),
    ([failure("wrong-tool", 1)], Outcome(calls=(FOUND, THREW)), "wrong-tool"),
    ([failure("wrong-page")], Outcome(calls=(THREW, MadeCall("add", {}))), "wrong-page"),
    ([failure("wrong-page")], Outcome(calls=(DENIED,)), "wrong-page"),
]


@pytest.mark.parametrize(("failures", "outcome", "cause"), CASES)
def test_a_case_has_the_cause_that_came_first(
    failures: list[Failure], outcome: Outcome, cause: Cause | None
) -> None:
    assert cause_of(failures, outcome) == cause


@pytest.mark.parametrize("kind", get_args(FailureKind))
def test_every_kind_of_failure_has_a_cause(kind: FailureKind) -> None:
    assert cause_of([failure(kind)], Outcome()) in get_args(Cause)
