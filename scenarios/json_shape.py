"""The shape of a JSON value: its kinds and keys, whatever the texts and numbers are.

Two answers of the same tool have the same shape, as long as the tool means the same by them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from webmcp_agent.agent.kinds import kind_of

Path = tuple[str | int, ...]
"""Keys and positions that lead to a place in a value."""

MOST_ITEMS = 50
"""Items of a list that are looked at, and differences that are told."""


@dataclass(frozen=True, slots=True)
class ShapeChange:
    """A place at which two values differ in shape."""

    place: str
    """Such as `results[].id`; empty for the value itself."""
    text: str
    breaks: bool
    """Whether who relied on the earlier shape cannot any more."""


def shape_changes(before: JsonValue, after: JsonValue) -> list[ShapeChange]:
    """How the shape of a value differs from an earlier one: what is gone or of another kind breaks,
    what is new does not."""
    return [*_changes((before,), (after,), "")][:MOST_ITEMS]


def _changes(
    before: tuple[JsonValue, ...], after: tuple[JsonValue, ...], place: str
) -> Iterator[ShapeChange]:
    """`before` and `after` are the values that were seen at one place: several in a list."""
    old, new = _kinds(before), _kinds(after)
    if before and not after:
        yield ShapeChange(place, "there is none now", breaks=False)
        return
    # A value may be null now and then: that is no kind of its own.
    odd = (new - old) - {"null"} if old - {"null"} else set[str]()
    if odd:
        what = f"is {_words(new)}, was {_words(old)}"
        yield ShapeChange(place, what, breaks=True)
        return
    if new == {"null"} and old != new:
        yield ShapeChange(place, f"is null, was {_words(old)}", breaks=False)
    old_objects = [value for value in before if isinstance(value, dict)]
    new_objects = [value for value in after if isinstance(value, dict)]
    if old_objects and new_objects:
        yield from _key_changes(old_objects, new_objects, place)
    old_items = tuple(i for v in before if isinstance(v, list) for i in v[:MOST_ITEMS])
    new_items = tuple(i for v in after if isinstance(v, list) for i in v[:MOST_ITEMS])
    if old_items:
        yield from _changes(old_items, new_items, f"{place}[]")


def _key_changes(
    before: list[dict[str, JsonValue]], after: list[dict[str, JsonValue]], place: str
) -> Iterator[ShapeChange]:
    always = set[str](before[0]).intersection(*before)
    for key in dict.fromkeys(key for value in before for key in value):
        there = f"{place}.{key}" if place else key
        old = tuple(value[key] for value in before if key in value)
        new = tuple(value[key] for value in after if key in value)
        if not new and key in always:
            yield ShapeChange(there, "is gone", breaks=True)
        elif new:
            yield from _changes(old, new, there)
    known = {key for value in before for key in value}
    for key in dict.fromkeys(key for value in after for key in value if key not in known):
        yield ShapeChange(f"{place}.{key}" if place else key, "is new", breaks=False)


def _kinds(values: tuple[JsonValue, ...]) -> set[str]:
    return {_kind(value) for value in values}


def _kind(value: JsonValue) -> str:
    # 3 and 3.5 are what one and the same number may be.
    kind = kind_of(value)
    return "number" if kind == "integer" else kind


def _words(kinds: set[str]) -> str:
    return " or ".join(sorted(kinds))


def leaves(value: JsonValue, path: Path = ()) -> Iterator[tuple[Path, JsonValue]]:
    """The texts, numbers, truths and nulls in a value, each with its place."""
    match value:
        case dict():
            for key, item in value.items():
                yield from leaves(item, (*path, key))
        case list():
            for index, item in enumerate(value):
                yield from leaves(item, (*path, index))
        case _:
            yield path, value


def value_at(value: JsonValue, path: Path) -> JsonValue:
    """What stands at a place.

    Raises: `LookupError` when there is no such place."""
    for step in path:
        if isinstance(value, dict) and isinstance(step, str) and step in value:
            value = value[step]
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            raise LookupError(path_text(path))
    return value


def with_value(value: JsonValue, path: Path, new: JsonValue) -> JsonValue:
    """The value with something else at a place that it has."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(value, dict) and isinstance(step, str):
        return {**value, step: with_value(value[step], rest, new)}
    if isinstance(value, list) and isinstance(step, int):
        return [with_value(item, rest, new) if i == step else item for i, item in enumerate(value)]
    return value


def path_text(path: Path) -> str:
    """`results[0].id`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text
