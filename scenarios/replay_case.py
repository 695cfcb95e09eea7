"""The calls that a scenario or eval file expects, as calls to be made: in the order of the file.

Optional calls are left out, and of a group in any order the file's own order is taken. Of a file
without an exact list the calls that have to be among those made are taken. Values that a file says
an earlier call answers, as its result or its mock output, are linked to what the page answers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from webmcp_agent.agent.request import message_text
from webmcp_agent.scenarios.checks import Checks
from webmcp_agent.scenarios.expected_calls import ExpectedCall, flat
from webmcp_agent.scenarios.replay import ReplayCall
from webmcp_agent.scenarios.replay_links import links_of
from webmcp_agent.scenarios.scenario import Case


@dataclass(frozen=True, slots=True)
class Segment:
    """Some calls, and the checks whose part about the page is judged after them."""

    calls: tuple[ReplayCall, ...]
    checks: Checks | None


def segments_of(case: Case) -> list[Segment] | None:
    """The calls of a case, request by request where its requests have checks of their own.

    None when the file names no calls; an empty list of calls is one, too."""
    told = _Told(case)
    segments = [
        Segment(tuple(map(told.call, _expected(checks) or ())), checks)
        for checks in case.turn_checks
        if checks is not None
    ]
    named = [_expected(checks) for checks in case.turn_checks if checks is not None]
    last = case.checks
    if last is not None:
        # The whole conversation's calls are those of its requests, where these name theirs.
        own = None if any(calls is not None for calls in named) else _expected(last)
        segments.append(Segment(tuple(map(told.call, own or ())), last))
        named.append(own)
    return segments if any(calls is not None for calls in named) else None


def _expected(checks: Checks) -> Sequence[ExpectedCall] | None:
    if checks.calls is not None:
        return [call for call in flat(checks.calls) if not call.optional]
    return checks.called or None


@dataclass(slots=True)
class _Told:
    """What a file says that its calls answer, as far as it has been gone through."""

    case: Case
    answers: list[JsonValue] = field(default_factory=list[JsonValue])
    used: set[int] = field(default_factory=set[int])

    def call(self, expected: ExpectedCall) -> ReplayCall:
        """The next call."""
        args = dict(expected.args or {})
        said = "\n".join(
            message_text(message)
            for turn in self.case.turns
            for message in turn
            if message.role == "user"
        )
        links = tuple(links_of(args, self.answers, said))
        self.answers.append(self._answer(expected))
        return ReplayCall(tool=expected.tool, args=args, links=links, expected=expected)

    def _answer(self, expected: ExpectedCall) -> JsonValue:
        for at, (call, answer) in enumerate(self.case.mocks):
            if at not in self.used and call == expected:
                self.used.add(at)
                return answer
        return expected.result
