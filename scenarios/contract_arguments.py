"""What changed in the arguments of a tool, place by place, in words for people.

Whether a change can break a call is decided by proof (`contract_inclusion.py`); the words here only
tell which part of the schema it is. What cannot be told in such words is told as a whole.
"""

import json
from collections.abc import Sequence

from pydantic import JsonValue

from webmcp_agent.agent.references import SchemaTooLarge
from webmcp_agent.browser.tools import PageTool
from webmcp_agent.scenarios.contract_facets import (
    Finding,
    Level,
    bound_changes,
    calls_with,
    kind_changes,
    rule_changes,
    subject,
    text_changes,
    written_rule_changes,
)
from webmcp_agent.scenarios.contract_inclusion import Inclusion, Side, TooHard
from webmcp_agent.scenarios.contract_shapes import (
    NOTHING,
    Node,
    Shape,
    ordered_names,
    refusing,
)

_DEPTH = 8
"""Places inside one another that are told apart."""


def argument_changes(old: PageTool, new: PageTool) -> list[Finding]:
    """What changed between the arguments of two tools; empty when nothing did."""
    if _text(old.input_schema) == _text(new.input_schema) and old.declarative == new.declarative:
        return []
    try:
        sides = Side.of(old), Side.of(new)
    except (SchemaTooLarge, RecursionError):
        text = "the input schema changed, and is too large to be compared"
        return [Finding("breaking", "schema-changed", "", text, "any call")]
    comparison = _Comparison(*sides)
    comparison.compare("", sides[0].node, sides[1].node)
    found = comparison.found
    for odd in sides[1].left_out:
        if odd not in sides[0].left_out:
            text = f"a part of the input schema cannot be used: {odd}"
            found.append(Finding("breaking", "schema-unusable", "", text, "any call"))
    if not found and _text(old.input_schema) != _text(new.input_schema):
        text = "the input schema is written in another way, and takes the same"
        found.append(Finding("cosmetic", "schema-rewritten", "", text))
    return found


def _text(schema: JsonValue) -> str:
    return json.dumps(schema)


class _Comparison:
    def __init__(self, old: Side, new: Side) -> None:
        self.found: list[Finding] = []
        self._old = old
        self._new = new
        self._proof = Inclusion(old, new)
        self._above: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
        """The places that are being compared, the whole schema first."""
        self._again: set[tuple[tuple[int, ...], tuple[int, ...]]] = set()
        """Those of them that were met again inside themselves."""

    def compare(self, at: str, old: Node, new: Node) -> None:
        """Add what changed at a place and inside it."""
        key = (_identities(self._old, old), _identities(self._new, new))
        if key in self._above or len(self._above) > _DEPTH:
            self._again |= {key} & {*self._above}
            return
        self._above.append(key)
        beside, self._again = self._again, set()
        first = len(self.found)
        try:
            before, after = self._old.alternatives(old), self._new.alternatives(new)
        except (TooHard, RecursionError):
            before, after = [], []
        if before and after:
            self.found += text_changes(at, before, after)
            self._facets(at, before, after)
        self._above.pop()
        self._again.discard(key)
        self._as_a_whole(at, old, new, first)
        self._again |= beside

    def _as_a_whole(self, at: str, old: Node, new: Node, first: int) -> None:
        """Hold what was found at and below a place, from `first` on, against the proof."""
        holds = self._proof.holds(old, new)
        here = self.found[first:]
        if holds:
            self.found[first:] = [f for f in here if f.level != "breaking" or f.told]
        if self._again:  # whether it holds is told by the place that it is again
            return
        if not holds and not any(
            f.level == "breaking" and f.kind != "default-changed" for f in here
        ):
            text = f"{subject(at)} may take less than before: its rules changed"
            self.found.append(Finding("breaking", "narrowed", at, text, calls_with(at)))
        if not here and holds and not Inclusion(self._new, self._old).holds(new, old):
            text = f"{subject(at)} takes more than before"
            self.found.append(Finding("compatible", "widened", at, text))

    def _add(self, level: Level, kind: str, at: str, text: str, affects: str = "") -> None:
        self.found.append(Finding(level, kind, at, text, affects))

    def _facets(self, at: str, before: list[Shape], after: list[Shape]) -> None:
        self.found += kind_changes(at, before, after)
        # A choice between one thing and null is that thing.
        mains = [[shape for shape in each if shape.kinds != NOTHING] for each in (before, after)]
        if len(mains[0]) == 1 and len(mains[1]) == 1:
            old, new = mains[0][0], mains[1][0]
            self.found += bound_changes(at, old, new)
            self.found += rule_changes(at, old, new)
            self.found += written_rule_changes(at, old, new)
            if "array" in old.kinds & new.kinds and not old.prefix and not new.prefix:
                self.compare(f"{at}[]", old.item(0), new.item(0))
        if any("object" in s.kinds for s in before) and any("object" in s.kinds for s in after):
            self._parameters(at, before, after)

    def _parameters(self, at: str, before: list[Shape], after: list[Shape]) -> None:
        before = [shape for shape in before if "object" in shape.kinds]
        after = [shape for shape in after if "object" in shape.kinds]
        names = [ordered_names(each) for each in (before, after)]
        needs = [_always_required(each) for each in (before, after)]
        gone = [n for n in names[0] if not any(shape.may_have(n) for shape in after)]
        new = [n for n in names[1] if n not in names[0]]
        for name in gone:
            self._gone(_join(at, name), name, new, before[0], after[0])
        for name in new:
            path = _join(at, name)
            if name in needs[1]:
                text = f"{path} is new and required"
                self._add("breaking", "required-parameter-new", path, text, f"calls without {path}")
            else:
                self._add("compatible", "parameter-new", path, f"{path} is new and optional")
        for name in names[0]:
            path = _join(at, name)
            if name in needs[1] - needs[0]:
                text = f"{path} is required now"
                self._add("breaking", "parameter-required", path, text, f"calls without {path}")
            elif name in needs[0] - needs[1] and name not in gone:
                self._add("compatible", "parameter-optional", path, f"{path} is optional now")
        closed = [all(shape.is_closed for shape in each) for each in (before, after)]
        if closed[1] and not closed[0]:
            text = f"{subject(at)}: names that are not described are refused now"
            affects = "calls with other names"
            self.found.append(Finding("breaking", "closed", at, text, affects, told=True))
        elif closed[0] and not closed[1]:
            text = f"{subject(at)}: names that are not described are taken now"
            self._add("compatible", "opened", at, text)
        if len(before) == 1 and len(after) == 1:
            for name in names[0]:
                if name not in gone:
                    pair = before[0].member(name), after[0].member(name)
                    self.compare(_join(at, name), *pair)
        if [n for n in names[0] if n in names[1]] != [n for n in names[1] if n in names[0]]:
            where = f" of {at}" if at else ""
            self._add(
                "cosmetic", "order-changed", at, f"the parameters{where} stand in another order"
            )

    def _gone(self, path: str, name: str, new: list[str], before: Shape, after: Shape) -> None:
        def is_twin(other: str) -> bool:
            return self._proof.alike(before.member(name), after.member(other))

        twin = next((other for other in new if is_twin(other)), None)
        hint = f"; renamed to {twin}?" if twin else ""
        text, affects = f"{path} is gone{hint}", f"calls that send {path}"
        self.found.append(Finding("breaking", "parameter-gone", path, text, affects, told=True))


def _identities(side: Side, node: Node) -> tuple[int, ...]:
    """What a place is, however often it is referred to."""
    targets = (
        side.target(each) if isinstance(each, dict) and refusing(each).keys() == {"$ref"} else each
        for each in node
    )
    return tuple(map(id, targets))


def _join(at: str, name: str) -> str:
    return f"{at}.{name}" if at else name


def _always_required(shapes: Sequence[Shape]) -> set[str]:
    return {n for n in shapes[0].required if all(n in shape.required for shape in shapes)}
