"""What changed in the arguments of a tool, place by place, in words for people.

Whether a change can break a call is decided by proof (`contract_inclusion.py`); the words here only
tell which part of the schema it is. What cannot be told in such words is told as a whole.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from pydantic import JsonValue

from webmcp_agent.agent.kinds import Kind, identity, kind_words, shown
from webmcp_agent.agent.references import SchemaTooLarge
from webmcp_agent.agent.words import words
from webmcp_agent.browser.tools import PageTool
from webmcp_agent.scenarios.contract_inclusion import (
    AS_WRITTEN,
    UNEVALUATED,
    Inclusion,
    Side,
    TooHard,
)
from webmcp_agent.scenarios.contract_shapes import (
    ALL_KINDS,
    NOTHING,
    NUMBERS,
    Node,
    Shape,
    ShapeKind,
    first_of,
    ordered_names,
    refusing,
)

Level = Literal["breaking", "compatible", "cosmetic"]
LEVELS: tuple[Level, ...] = ("breaking", "compatible", "cosmetic")

SAME_TEXT = 0.5
"""Share of words in order from which a changed description counts as reworded, not rewritten."""
_DEPTH = 8
"""Places inside one another that are told apart."""
_SHOWN_VALUES = 6


@dataclass(frozen=True, slots=True)
class Finding:
    """One change in the arguments."""

    level: Level
    kind: str
    at: str
    """The parameter, such as `address.city` or `tags[]`; empty for the arguments as a whole."""
    text: str
    affects: str = ""
    """Which calls break, of a breaking change."""
    told: bool = False
    """Breaking although the schema may still take what it took: a caller's argument lost its
    meaning."""


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


def text_change(kind: str, at: str, old: str, new: str) -> Finding | None:
    """How a text for people and models changed."""
    subject = f"{at}: the {kind}" if at else f"the {kind}"
    if " ".join(old.split()) == " ".join(new.split()):
        return None
    if not old or not new:
        verb = "added" if new else "gone"
        return Finding(
            "cosmetic", f"{kind}-{verb}", at, f"{subject} is {verb}: {shown(new or old, 80)}"
        )
    ratio = SequenceMatcher(None, words(old), words(new), autojunk=False).ratio()
    rewritten = ratio < SAME_TEXT
    how = "rewritten; a model may read it differently" if rewritten else "reworded"
    text = f"{subject} is {how}: {shown(new, 160)}, was {shown(old, 160)}"
    return Finding("cosmetic", f"{kind}-{'rewritten' if rewritten else 'changed'}", at, text)


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
            self._texts(at, before, after)
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
            text = f"{_subject(at)} may take less than before: its rules changed"
            self.found.append(Finding("breaking", "narrowed", at, text, _calls_with(at)))
        if not here and holds and not Inclusion(self._new, self._old).holds(new, old):
            text = f"{_subject(at)} takes more than before"
            self.found.append(Finding("compatible", "widened", at, text))

    def _add(self, level: Level, kind: str, at: str, text: str, affects: str = "") -> None:
        self.found.append(Finding(level, kind, at, text, affects))

    def _facets(self, at: str, before: list[Shape], after: list[Shape]) -> None:
        self._kinds(at, before, after)
        # A choice between one thing and null is that thing.
        mains = [[shape for shape in each if shape.kinds != NOTHING] for each in (before, after)]
        if len(mains[0]) == 1 and len(mains[1]) == 1:
            old, new = mains[0][0], mains[1][0]
            self._bounds(at, old, new)
            self._rules(at, old, new)
            self._written_rules(at, old, new)
            if "array" in old.kinds & new.kinds and not old.prefix and not new.prefix:
                self.compare(f"{at}[]", old.item(0), new.item(0))
        if any("object" in s.kinds for s in before) and any("object" in s.kinds for s in after):
            self._parameters(at, before, after)

    def _kinds(self, at: str, before: list[Shape], after: list[Shape]) -> None:
        old_values, new_values = _values(before), _values(after)
        if new_values is not None:
            self._allowed_values(at, old_values, new_values)
            return
        old, new = _kinds(before), _kinds(after)
        if old_values is not None and old <= new:
            self._add(
                "compatible", "values-opened", at, f"{_subject(at)} takes other values too now"
            )
        elif gone := old - new:
            text = f"{_subject(at)} takes {_words(new)} now, it took {_words(old)}"
            self._add(
                "breaking", "type-narrowed", at, text, f"calls with {_words(gone)} for {_name(at)}"
            )
        elif more := new - old:
            text = f"{_subject(at)} also takes {_words(more)} now"
            self._add("compatible", "type-widened", at, text)

    def _allowed_values(self, at: str, old: list[JsonValue] | None, new: list[JsonValue]) -> None:
        if old is None:
            text = f"{_subject(at)} takes only {_listed(new)} now"
            self._add("breaking", "values-limited", at, text, f"calls with another {_name(at)}")
            return
        gone, more = _without(old, new), _without(new, old)
        if gone:
            text = f"{_subject(at)} no longer takes {_listed(gone)}"
            affects = f"calls with {_name(at)} {_listed(gone)}"
            self._add("breaking", "values-narrowed", at, text, affects)
        if more:
            self._add(
                "compatible", "values-widened", at, f"{_subject(at)} also takes {_listed(more)} now"
            )
        if not gone and not more and list(map(identity, old)) != list(map(identity, new)):
            self._add(
                "cosmetic", "order-changed", at, f"the values of {_name(at)} stand in another order"
            )

    def _bounds(self, at: str, old: Shape, new: Shape) -> None:
        limits: list[tuple[str, int, ShapeKind, Callable[[Shape], int | float | None]]] = [
            ("the shortest text", 1, "string", lambda s: s.least("minLength") or None),
            ("the longest text", -1, "string", lambda s: s.most("maxLength")),
            ("the fewest items", 1, "array", lambda s: s.least("minItems") or None),
            ("the most items", -1, "array", lambda s: s.most("maxItems")),
            ("the fewest properties", 1, "object", lambda s: s.least("minProperties") or None),
            ("the most properties", -1, "object", lambda s: s.most("maxProperties")),
        ]
        if old.values is None and new.values is None:
            for label, sign, kind, read in limits:
                if kind in old.kinds & new.kinds:
                    self._bound(at, label, sign, read(old), read(new))
            if old.kinds & new.kinds & NUMBERS:
                for label, sign in (("the lowest number", 1), ("the highest number", -1)):
                    ends = [shape.bound(sign) for shape in (old, new)]
                    values = [None if end is None else end[0] for end in ends]
                    if values[0] != values[1]:
                        self._bound(at, label, sign, *values)
                    elif ends[0] != ends[1] and ends[0] and ends[1]:
                        is_out = "no longer" if ends[1][1] else "now"
                        level: Level = "breaking" if ends[1][1] else "compatible"
                        text = f"{_subject(at)} {is_out} takes {ends[0][0]}"
                        self._add(
                            level, "bound-moved", at, text, f"calls with {_name(at)} {ends[0][0]}"
                        )

    def _bound(
        self, at: str, label: str, sign: int, old: int | float | None, new: int | float | None
    ) -> None:
        if old == new:
            return
        text = f"{_subject(at)}: {label} is {_or_none(new)}, was {_or_none(old)}"
        if new is not None and (old is None or sign * new > sign * old):
            beyond = "below" if sign > 0 else "above"
            what = label.removeprefix("the ").partition(" ")[2]
            affects = f"calls with {_name(at)} {beyond} {new}"
            if what != "number":
                affects = f"calls whose {_name(at)} has {'less' if sign > 0 else 'more'} than {new}"
            self._add("breaking", "bound-narrowed", at, text, affects)
        else:
            self._add("compatible", "bound-widened", at, text)

    def _rules(self, at: str, old: Shape, new: Shape) -> None:
        for keyword, kinds in (
            ("pattern", {"string"}),
            ("format", {"string"}),
            ("multipleOf", NUMBERS),
            ("uniqueItems", {"array"}),
        ):
            one, other = old.all_of(keyword), new.all_of(keyword)
            if not kinds & old.kinds & new.kinds or _same(one, other):
                continue
            now, was = _or_none(*other), _or_none(*one)
            text = f"{_subject(at)}: {keyword} is {now}, was {was}"
            narrower = bool(_without(other, one)) and other != [False]
            level: Level = "breaking" if narrower else "compatible"
            affects = f"calls whose {_name(at)} does not fit" if narrower else ""
            self._add(level, f"{keyword}-changed", at, text, affects)

    def _written_rules(self, at: str, old: Shape, new: Shape) -> None:
        """Rules that are only compared as they are written."""
        for group in (*AS_WRITTEN, *((keyword,) for keyword in sorted(UNEVALUATED))):
            one, other = (
                [{key: flat[key] for key in group if key in flat} for flat in shape.flats]
                for shape in (old, new)
            )
            gone = _without([*one], [*other, {}])
            if _without([*other], [*one, {}]):
                text = f"{_subject(at)}: the rule {group[0]!r} is {'another' if gone else 'new'}"
                self._add("breaking", "rule-changed", at, text, _calls_with(at))
            elif gone:
                self._add(
                    "compatible", "rule-gone", at, f"{_subject(at)}: the rule {group[0]!r} is gone"
                )

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
            text = f"{_subject(at)}: names that are not described are refused now"
            affects = "calls with other names"
            self.found.append(Finding("breaking", "closed", at, text, affects, told=True))
        elif closed[0] and not closed[1]:
            text = f"{_subject(at)}: names that are not described are taken now"
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

    def _texts(self, at: str, before: list[Shape], after: list[Shape]) -> None:
        for keyword in ("description", "title"):
            old, new = (_first_text(shapes, keyword) for shapes in (before, after))
            if (finding := text_change(keyword, at, old, new)) is not None:
                self.found.append(finding)
        for keyword in ("default", "deprecated", "examples"):
            old, new = (first_of(shapes, keyword) for shapes in (before, after))
            if _same(old, new):
                continue
            text = f"{_subject(at)}: {keyword} is {_or_none(*new)}, was {_or_none(*old)}"
            level: Level = "breaking" if keyword == "default" and old and new else "cosmetic"
            affects = f"calls without {_name(at)}" if level == "breaking" else ""
            finding = Finding(level, f"{keyword}-changed", at, text, affects, told=True)
            self.found.append(finding)


def _identities(side: Side, node: Node) -> tuple[int, ...]:
    """What a place is, however often it is referred to."""
    targets = (
        side.target(each) if isinstance(each, dict) and refusing(each).keys() == {"$ref"} else each
        for each in node
    )
    return tuple(map(id, targets))


def _subject(at: str) -> str:
    return at or "the arguments"


def _name(at: str) -> str:
    return at or "arguments"


def _calls_with(at: str) -> str:
    return f"calls that send {at}" if at else "some calls"


def _join(at: str, name: str) -> str:
    return f"{at}.{name}" if at else name


def _kinds(shapes: Iterable[Shape]) -> frozenset[ShapeKind]:
    return frozenset(kind for shape in shapes for kind in shape.kinds)


def _values(shapes: Sequence[Shape]) -> list[JsonValue] | None:
    """The only values of a choice; two of the kinds that have few values are not listed."""
    found: list[JsonValue] = []
    for shape in shapes:
        if shape.values is None or not any(
            "enum" in flat or "const" in flat for flat in shape.flats
        ):
            if shape.kinds == NOTHING:
                found.append(None)
                continue
            return None
        found += shape.values
    return None if found == [None] else found


def _words(kinds: frozenset[ShapeKind]) -> str:
    if kinds == ALL_KINDS:
        return "anything"
    named: list[Kind] = []
    for kind in ("string", "integer", "fraction", "boolean", "array", "object", "null"):
        if kind in kinds:
            named.append("number" if kind == "fraction" else kind)
    return kind_words(named)


def _listed(values: Sequence[JsonValue]) -> str:
    texts = [shown(value) for value in values[:_SHOWN_VALUES]]
    more = len(values) - len(texts)
    return ", ".join([*texts, f"and {more} more"] if more else texts)


def _or_none(*values: JsonValue) -> str:
    texts = [shown(value) for value in values if value is not None]
    return " and ".join(texts) or "none"


def _same(one: Sequence[JsonValue], other: Sequence[JsonValue]) -> bool:
    return list(map(identity, one)) == list(map(identity, other))


def _without(values: Sequence[JsonValue], others: Sequence[JsonValue]) -> list[JsonValue]:
    known = set(map(identity, others))
    return [value for value in values if identity(value) not in known]


def _always_required(shapes: Sequence[Shape]) -> set[str]:
    return {n for n in shapes[0].required if all(n in shape.required for shape in shapes)}


def _first_text(shapes: Iterable[Shape], keyword: str) -> str:
    found = first_of(shapes, keyword)
    return found[0] if found and isinstance(found[0], str) else ""
