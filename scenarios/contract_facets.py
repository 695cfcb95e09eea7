"""What changed at one place of a tool's arguments: kinds, values, bounds, rules and texts.

In words for people; whether a change can break a call is decided elsewhere, by proof.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from pydantic import JsonValue

from webmcp_agent.agent.kinds import Kind, identity, kind_words, shown
from webmcp_agent.agent.words import words
from webmcp_agent.scenarios.contract_inclusion import AS_WRITTEN, UNEVALUATED
from webmcp_agent.scenarios.contract_shapes import (
    ALL_KINDS,
    NOTHING,
    NUMBERS,
    Shape,
    ShapeKind,
    first_of,
)

Level = Literal["breaking", "compatible", "cosmetic"]
LEVELS: tuple[Level, ...] = ("breaking", "compatible", "cosmetic")

SAME_TEXT = 0.5
"""Share of words in order from which a changed description counts as reworded, not rewritten."""
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


def text_change(kind: str, at: str, old: str, new: str) -> Finding | None:
    """How a text for people and models changed; None when only its spaces did."""
    what = f"{at}: the {kind}" if at else f"the {kind}"
    if " ".join(old.split()) == " ".join(new.split()):
        return None
    if not old or not new:
        verb = "added" if new else "gone"
        return Finding(
            "cosmetic", f"{kind}-{verb}", at, f"{what} is {verb}: {shown(new or old, 80)}"
        )
    ratio = SequenceMatcher(None, words(old), words(new), autojunk=False).ratio()
    rewritten = ratio < SAME_TEXT
    how = "rewritten; a model may read it differently" if rewritten else "reworded"
    text = f"{what} is {how}: {shown(new, 160)}, was {shown(old, 160)}"
    return Finding("cosmetic", f"{kind}-{'rewritten' if rewritten else 'changed'}", at, text)


def text_changes(at: str, before: Sequence[Shape], after: Sequence[Shape]) -> Iterator[Finding]:
    """What is written for people and models, and what counts where nothing is sent."""
    for keyword in ("description", "title"):
        old, new = (_first_text(shapes, keyword) for shapes in (before, after))
        if (finding := text_change(keyword, at, old, new)) is not None:
            yield finding
    for keyword in ("default", "deprecated", "examples"):
        old, new = (first_of(shapes, keyword) for shapes in (before, after))
        if _same(old, new):
            continue
        text = f"{subject(at)}: {keyword} is {_or_none(*new)}, was {_or_none(*old)}"
        level: Level = "breaking" if keyword == "default" and old and new else "cosmetic"
        affects = f"calls without {name_of(at)}" if level == "breaking" else ""
        yield Finding(level, f"{keyword}-changed", at, text, affects, told=True)


def kind_changes(at: str, before: Sequence[Shape], after: Sequence[Shape]) -> Iterator[Finding]:
    """Which kinds of values, or which values, a place takes."""
    old_values, new_values = _values(before), _values(after)
    if new_values is not None:
        yield from _value_changes(at, old_values, new_values)
        return
    old, new = _kinds(before), _kinds(after)
    if old_values is not None and old <= new:
        yield Finding(
            "compatible", "values-opened", at, f"{subject(at)} takes other values too now"
        )
    elif gone := old - new:
        text = f"{subject(at)} takes {_words(new)} now, it took {_words(old)}"
        yield Finding(
            "breaking", "type-narrowed", at, text, f"calls with {_words(gone)} for {name_of(at)}"
        )
    elif more := new - old:
        text = f"{subject(at)} also takes {_words(more)} now"
        yield Finding("compatible", "type-widened", at, text)


def _value_changes(at: str, old: list[JsonValue] | None, new: list[JsonValue]) -> Iterator[Finding]:
    if old is None:
        text = f"{subject(at)} takes only {_listed(new)} now"
        yield Finding("breaking", "values-limited", at, text, f"calls with another {name_of(at)}")
        return
    gone, more = _without(old, new), _without(new, old)
    if gone:
        text = f"{subject(at)} no longer takes {_listed(gone)}"
        affects = f"calls with {name_of(at)} {_listed(gone)}"
        yield Finding("breaking", "values-narrowed", at, text, affects)
    if more:
        yield Finding(
            "compatible", "values-widened", at, f"{subject(at)} also takes {_listed(more)} now"
        )
    if not gone and not more and list(map(identity, old)) != list(map(identity, new)):
        yield Finding(
            "cosmetic", "order-changed", at, f"the values of {name_of(at)} stand in another order"
        )


def bound_changes(at: str, old: Shape, new: Shape) -> Iterator[Finding]:
    """How long, how many, how large."""
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
                yield from _bound(at, label, sign, read(old), read(new))
        if old.kinds & new.kinds & NUMBERS:
            for label, sign in (("the lowest number", 1), ("the highest number", -1)):
                ends = [shape.bound(sign) for shape in (old, new)]
                values = [None if end is None else end[0] for end in ends]
                if values[0] != values[1]:
                    yield from _bound(at, label, sign, *values)
                elif ends[0] != ends[1] and ends[0] and ends[1]:
                    is_out = "no longer" if ends[1][1] else "now"
                    level: Level = "breaking" if ends[1][1] else "compatible"
                    text = f"{subject(at)} {is_out} takes {ends[0][0]}"
                    yield Finding(
                        level, "bound-moved", at, text, f"calls with {name_of(at)} {ends[0][0]}"
                    )


def _bound(
    at: str, label: str, sign: int, old: int | float | None, new: int | float | None
) -> Iterator[Finding]:
    if old == new:
        return
    text = f"{subject(at)}: {label} is {_or_none(new)}, was {_or_none(old)}"
    if new is not None and (old is None or sign * new > sign * old):
        beyond = "below" if sign > 0 else "above"
        what = label.removeprefix("the ").partition(" ")[2]
        affects = f"calls with {name_of(at)} {beyond} {new}"
        if what != "number":
            affects = f"calls whose {name_of(at)} has {'less' if sign > 0 else 'more'} than {new}"
        yield Finding("breaking", "bound-narrowed", at, text, affects)
    else:
        yield Finding("compatible", "bound-widened", at, text)


def rule_changes(at: str, old: Shape, new: Shape) -> Iterator[Finding]:
    """Patterns, formats and the like."""
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
        text = f"{subject(at)}: {keyword} is {now}, was {was}"
        narrower = bool(_without(other, one)) and other != [False]
        level: Level = "breaking" if narrower else "compatible"
        affects = f"calls whose {name_of(at)} does not fit" if narrower else ""
        yield Finding(level, f"{keyword}-changed", at, text, affects)


def written_rule_changes(at: str, old: Shape, new: Shape) -> Iterator[Finding]:
    """Rules that are only compared as they are written."""
    for group in (*AS_WRITTEN, *((keyword,) for keyword in sorted(UNEVALUATED))):
        one, other = (
            [{key: flat[key] for key in group if key in flat} for flat in shape.flats]
            for shape in (old, new)
        )
        gone = _without([*one], [*other, {}])
        if _without([*other], [*one, {}]):
            text = f"{subject(at)}: the rule {group[0]!r} is {'another' if gone else 'new'}"
            yield Finding("breaking", "rule-changed", at, text, calls_with(at))
        elif gone:
            yield Finding(
                "compatible", "rule-gone", at, f"{subject(at)}: the rule {group[0]!r} is gone"
            )


def subject(at: str) -> str:
    """A place at the beginning of a sentence."""
    return at or "the arguments"


def name_of(at: str) -> str:
    """A place in the middle of one."""
    return at or "arguments"


def calls_with(at: str) -> str:
    """The calls that a change of the place affects."""
    return f"calls that send {at}" if at else "some calls"


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


def _first_text(shapes: Iterable[Shape], keyword: str) -> str:
    found = first_of(shapes, keyword)
    return found[0] if found and isinstance(found[0], str) else ""
