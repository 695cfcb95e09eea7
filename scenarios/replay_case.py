"""The calls that a scenario or eval file expects, as calls to be made: in the order of the file.

Optional calls are left out, and of a group in any order the file's own order is taken. Of a file
without an exact list the calls that have to be among those made are taken.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from webmcp_agent.scenarios.checks import Checks
from webmcp_agent.scenarios.expected_calls import ExpectedCall, flat
from webmcp_agent.scenarios.replay import ReplayCall
from webmcp_agent.scenarios.scenario import Case


@dataclass(frozen=True, slots=True)
class Segment:
    """Some calls, and the checks whose part about the page is judged after them."""

    calls: tuple[ReplayCall, ...]
    checks: Checks | None


def segments_of(case: Case) -> list[Segment] | None:
    """The calls of a case, request by request where its requests have checks of their own.

    None when the file names no calls; an empty list of calls is one, too."""
    segments = [
        Segment(tuple(map(_call, _expected(checks) or ())), checks)
        for checks in case.turn_checks
        if checks is not None
    ]
    named = [_expected(checks) for checks in case.turn_checks if checks is not None]
    last = case.checks
    if last is not None:
        # The whole conversation's calls are those of its requests, where these name theirs.
        own = None if any(calls is not None for calls in named) else _expected(last)
        segments.append(Segment(tuple(map(_call, own or ())), last))
        named.append(own)
    return segments if any(calls is not None for calls in named) else None


def _expected(checks: Checks) -> Sequence[ExpectedCall] | None:
    if checks.calls is not None:
        return [call for call in flat(checks.calls) if not call.optional]
    return checks.called or None


def _call(expected: ExpectedCall) -> ReplayCall:
    return ReplayCall(tool=expected.tool, args=dict(expected.args or {}), expected=expected)
