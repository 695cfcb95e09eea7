"""Which calls should have been made: single ones, optional ones, in order or in any order.

The calls of a run match as a whole: each one that was made must be expected, and each one that was
expected must have been made, optional ones aside. A group in any order is one piece: no call from
outside of it falls in between.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, JsonValue, Tag

from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.matching import Matcher, Matchers, OrText, mismatch, shown
from webmcp_agent.scenarios.outcome import Failure, FailureKind, MadeCall

PENDING_FORM = "pending form submission"
"""What webmcp-evals files call the result of a form that waits for the person."""

MOST_IN_ANY_ORDER = 12
"""Members of a group in any order: all their orders are tried."""


class _Expected(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True
    )


class ExpectedCall(_Expected):
    """One call of a tool."""

    tool: str = Field(min_length=1)
    args: Matchers | None = None
    """None for any arguments."""
    result: Matcher = None
    """Judged only when it is given."""
    optional: bool = False

    def wrong(self, call: MadeCall) -> tuple[FailureKind, str] | None:
        """Why a call is not this one; None when it is."""
        if call.tool != self.tool:
            return "wrong-tool", f"{call.tool} was called instead of {self.tool}"
        if (wrong := self._wrong_args(call.args)) is not None:
            return wrong
        if "result" in self.model_fields_set and call.outcome not in ("ok", "needs-user"):
            return "wrong-result", f"{self.tool} ended with {call.outcome}: {call.text}"
        if "result" in self.model_fields_set:
            wrongs = [mismatch(self.result, value, "the result") for value in _readings(call)]
            if None not in wrongs:
                return "wrong-result", f"{self.tool}: {wrongs[0]}"
        return None

    def _wrong_args(self, args: JsonObject) -> tuple[FailureKind, str] | None:
        expected = dict(self.args or {})
        named = [name for name in expected if not name.startswith("$")]
        missing = next((name for name in named if name not in args), None)
        if missing is not None:
            return "missing-argument", f"{self.tool}: {missing} is missing"
        wrong = mismatch(expected, args)
        return None if wrong is None else ("wrong-argument", f"{self.tool}: {wrong}")

    def text(self) -> str:
        """The call in one line."""
        return f"{self.tool}({'' if self.args is None else shown(dict(self.args))})"


class Ordered(_Expected):
    """Calls in this order."""

    ordered: "list[Node]" = Field(min_length=1)


class Unordered(_Expected):
    """Calls in any order."""

    unordered: "list[Node]" = Field(min_length=1, max_length=MOST_IN_ANY_ORDER)


def _by_name(value: Any) -> Any:
    """A bare text is the name of a tool that may be called with anything."""
    return {"tool": value} if isinstance(value, str) else value


def _kind(value: Any) -> str:
    if isinstance(value, Ordered) or (isinstance(value, dict) and "ordered" in value):
        return "ordered"
    if isinstance(value, Unordered) or (isinstance(value, dict) and "unordered" in value):
        return "unordered"
    return "call"


NamedCall = Annotated[ExpectedCall, BeforeValidator(_by_name), OrText()]
Node = Annotated[
    Annotated[NamedCall, Tag("call")]
    | Annotated[Ordered, Tag("ordered")]
    | Annotated[Unordered, Tag("unordered")],
    Discriminator(_kind),
]
Ordered.model_rebuild()
Unordered.model_rebuild()


def flat(nodes: Sequence[Node]) -> list[ExpectedCall]:
    """The single calls of a list, whatever their groups."""
    found: list[ExpectedCall] = []
    for node in nodes:
        match node:
            case Ordered():
                found += flat(node.ordered)
            case Unordered():
                found += flat(node.unordered)
            case _:
                found.append(node)
    return found


def match_calls(expected: Sequence[Node], made: Sequence[MadeCall]) -> Failure | None:
    """How the calls that were made differ from what was expected; None when they do not."""
    matching = _Matching(made)
    if len(made) in matching.sequence(tuple(expected), 0):
        return None
    return matching.failure(expected)


def awaited(expected: Sequence[Node], made: Sequence[MadeCall]) -> tuple[int, list[str]]:
    """Where calls that do not match went wrong, and the tools that would have been right there.

    The place is the index of a call that was made, or their number when they ended too early."""
    matching = _Matching(made)
    matching.sequence(tuple(expected), 0)
    missing = [call.tool for call in matching.awaited if not call.optional]
    if missing:
        return len(made), missing
    at = max((place for place, *_ in matching.misfits), default=0)
    wanted = (node for place, node, *_ in matching.misfits if place == at)
    return at, [node.tool for node in wanted if not node.optional]


@dataclass(slots=True)
class _Matching:
    """Where each piece of an expectation can end, and what stood in the way where it could not."""

    made: Sequence[MadeCall]
    misfits: list[tuple[int, ExpectedCall, FailureKind, str]] = field(
        default_factory=list[tuple[int, ExpectedCall, FailureKind, str]]
    )
    """A call that was made, by its place, and why it is not one that could stand there."""
    awaited: list[ExpectedCall] = field(default_factory=list[ExpectedCall])
    """What could have come next where the calls end."""

    def sequence(self, nodes: Sequence[Node], start: int) -> set[int]:
        ends = {start}
        for node in nodes:
            ends = {after for end in ends for after in self._one(node, end)}
        return ends

    def _one(self, node: Node, start: int) -> set[int]:
        match node:
            case Ordered():
                return self.sequence(node.ordered, start)
            case Unordered():
                return self._any_order(node.unordered, start)
            case _:
                ends = {start} if node.optional else set[int]()
                return ends | {start + 1} if self._fits(node, start) else ends

    def _any_order(self, nodes: Sequence[Node], start: int) -> set[int]:
        # By what is left and where: as many states as there are subsets, not orders.
        states = {(frozenset(range(len(nodes))), start)}
        for _ in nodes:
            states = {
                (left - {one}, end)
                for left, at in states
                for one in left
                for end in self._one(nodes[one], at)
            }
        return {end for _, end in states}

    def _fits(self, node: ExpectedCall, at: int) -> bool:
        if at >= len(self.made):
            self.awaited.append(node)
            return False
        wrong = node.wrong(self.made[at])
        if wrong is not None:
            self.misfits.append((at, node, *wrong))
        return wrong is None

    def failure(self, expected: Sequence[Node]) -> Failure:
        """What to say when nothing matched: the reason that came furthest."""
        missing = next((call for call in self.awaited if not call.optional), None)
        count = len(self.made)
        if missing is not None and not count:
            text = f"no call was made, {missing.text()} was expected"
            return Failure("calls", "no-call", text)
        if missing is not None:
            calls = "1 call" if count == 1 else f"{count} calls"
            text = f"{missing.text()} was expected after {calls} and not made"
            return Failure("calls", "missing-call", text)
        # When all that was expected has come, whatever follows is one too many.
        end = max(self.sequence(expected, 0), default=None)
        if end is not None:
            extra = self.made[end]
            text = f"call {end + 1}: {extra.tool}({shown(extra.args)}) was not expected"
            return Failure("calls", "extra-call", text, end + 1)
        at, _, kind, text = max(self.misfits, key=_telling)
        return Failure("calls", kind, f"call {at + 1}: {text}", at + 1)


def _telling(misfit: tuple[int, ExpectedCall, FailureKind, str]) -> tuple[int, int, bool]:
    """A later call tells more, then one of the right tool, then one that had to be made."""
    at, node, kind, _ = misfit
    return at, _NEARER.index(kind), not node.optional


_NEARER: tuple[FailureKind, ...] = (
    "wrong-tool",
    "missing-argument",
    "wrong-argument",
    "wrong-result",
)
"""How near a call is to the expected one, farthest first."""


def _readings(call: MadeCall) -> list[JsonValue]:
    """A result as value, as text, and as what the text is in JSON: a page may give any of them."""
    if call.outcome == "needs-user":
        return [PENDING_FORM, call.text]
    readings: list[JsonValue] = [call.value, call.text]
    try:
        readings.append(json.loads(call.text))
    except (ValueError, RecursionError):
        pass
    return readings
