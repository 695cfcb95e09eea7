"""Values of a call that came from an earlier answer: found in a recording, taken anew in a replay.

A value is linked when it stands as a whole in an earlier answer, and neither the person said it nor
the tool's schema lists it. Numbers are linked only from a place that is called like the argument:
a 2 is everywhere. Of what stands in prose only references are linked, and only those that a single
answer has.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.json_shape import Path, leaves, path_text, value_at, with_value
from webmcp_agent.scenarios.matching import same_value
from webmcp_agent.scenarios.replay_prose import Reading, is_reference, reading_of, stands_in

SHORTEST = 3
"""Characters of a text that is linked from a place with another name."""

_REFERS = {"code", "id", "key", "no", "number", "ref", "reference", "sku", "slug"}
"""Last words of what an argument is called that refers to something."""


@dataclass(frozen=True, slots=True)
class Link:
    """Where a value of a call comes from."""

    place: Path
    """In the arguments."""
    call: int
    """The earlier call, from 0."""
    path: Path
    """In its answer."""
    reading: Reading | None = None
    """Where it stands in the prose there; None when it is all that is there."""

    def text(self, tool: str) -> str:
        """`id ← results[0].id of call 1 (search)`."""
        return f"{path_text(self.place)} ← {self.source} ({tool})"

    @property
    def source(self) -> str:
        """`results[0].id of call 1`, ``what follows `order` in the answer of call 1``."""
        source = f"{path_text(self.path) or 'the answer'} of call {self.call + 1}"
        if self.reading is None:
            return source
        words = self.reading.words
        return f"what follows `{words}` in {source}" if words else f"what {source} begins with"


class LinkBroken(Exception):
    """What was linked is not there any more; the message says what, and where it was."""


def links_of(
    args: JsonObject, answers: Sequence[JsonValue], said: str, schema: JsonValue = None
) -> list[Link]:
    """The links of the arguments of a call.

    `answers`: values of all earlier answers, in order; `said`: all that the person said. What is
    below a key with `$` is no value but a condition, and is left alone."""
    found = [
        _link(place, value, answers)
        for place, value in _values(args)
        if _may_be_linked(value) and not _is_said(value, said)
    ]
    return without_listed([link for link in found if link is not None], schema)


def without_listed(links: Sequence[Link], schema: JsonValue) -> list[Link]:
    """The links but those to values that a tool's schema itself lists."""
    return [link for link in links if not _is_listed(link.place, schema)]


def with_links(args: JsonObject, links: Sequence[Link], answers: Sequence[JsonValue]) -> JsonObject:
    """The arguments with the values that the answers have now.

    Raises: `LinkBroken`."""
    filled: JsonValue = args
    for link in links:
        what = path_text(link.place)
        if link.call >= len(answers):
            raise LinkBroken(f"{what} came from {link.source}, which was not made")
        try:
            value = value_at(answers[link.call], link.path)
            if link.reading is not None:
                value = _read(link.reading, value, value_at(args, link.place))
        except LookupError:
            raise LinkBroken(f"{what} came from {link.source}, which is gone") from None
        filled = with_value(filled, link.place, value)
    assert isinstance(filled, dict)
    return filled


def referred(name: str, answers: Sequence[JsonValue]) -> Iterator[JsonValue]:
    """What the answers have for an argument that refers to something, the latest answer first.

    Nothing for other arguments: what they are is not for an answer to say."""
    place = (re.sub(r"\[\d+\]", "", name),)
    if (_words(place) or [""])[-1] not in _REFERS:
        return
    for answer in reversed(answers):
        for path, leaf in leaves(answer):
            if path and _may_be_linked(leaf) and _called_alike(place, path):
                yield leaf


def answer_value(value: JsonValue, text: str) -> JsonValue:
    """An answer as the value that it is: the page's own, or what its text is in JSON."""
    if value is not None and not isinstance(value, str):
        return value
    try:
        read: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return read if isinstance(read, dict | list) else text


def _values(value: JsonValue) -> Iterator[tuple[Path, JsonValue]]:
    """The leaves that are values, not operands of an operator."""
    for path, leaf in leaves(value):
        if not any(isinstance(step, str) and step.startswith("$") for step in path):
            yield path, leaf


def _link(place: Path, value: JsonValue, answers: Sequence[JsonValue]) -> Link | None:
    best = _best(place, value, answers)
    if best is None:
        return _prose_link(place, value, answers)
    alike, call, path = best
    stands_out = isinstance(value, str) and len(value) >= SHORTEST
    return Link(place, call, path) if alike or stands_out else None


def _prose_link(place: Path, value: JsonValue, answers: Sequence[JsonValue]) -> Link | None:
    """The link to prose in the one answer that has the value."""
    text = str(value)
    if isinstance(value, float) or not is_reference(text):
        return None
    found = [
        (call, path, leaf)
        for call, answer in enumerate(answers)
        for path, leaf in _values(answer)
        if isinstance(leaf, str) and stands_in(text, leaf)
    ]
    if len({call for call, _, _ in found}) != 1:
        return None
    for call, path, leaf in found:
        reading = reading_of(text, leaf)
        if reading is not None and _stands_out(place, value, reading):
            return Link(place, call, path, reading)
    return None


def _stands_out(place: Path, value: JsonValue, reading: Reading) -> bool:
    """Whether a reference in prose can be meant by the argument: a long one, and a number only by
    one that refers to something or is called like the word before it."""
    names, before = _words(place), _words((reading.words,))
    if before and before[-1] in names:
        return True
    refers = isinstance(value, str) or (bool(names) and names[-1] in _REFERS)
    return refers and len(reading.value) >= SHORTEST


def _read(reading: Reading, text: JsonValue, before: JsonValue) -> JsonValue:
    """What stands there now, a number where it was one.

    Raises: `LookupError`."""
    if not isinstance(text, str):
        raise LookupError(reading.words)
    now = reading.now(text)
    return now if isinstance(before, str) else int(now)


def _best(
    place: Path, value: JsonValue, answers: Sequence[JsonValue]
) -> tuple[bool, int, Path] | None:
    """Whether a place is called like the argument, the call, and the place; of several the best
    called one, then the latest answer, then the first place in it."""
    best: tuple[bool, int, Path] | None = None
    for call, answer in enumerate(answers):
        in_this: tuple[bool, int, Path] | None = None
        for path, leaf in _values(answer):
            if path and same_value(leaf, value):
                candidate = (_called_alike(place, path), call, path)
                if in_this is None or candidate[0] > in_this[0]:
                    in_this = candidate
        if in_this is not None and (best is None or in_this[0] >= best[0]):
            best = in_this
    return best


def _called_alike(place: Path, path: Path) -> bool:
    """`product_id` and `id`, `productId` and `product.id`, `ids[0]` and `id`."""
    one, other = _words(place), _words(path)
    return bool(one and other) and one[-1] == other[-1]


def _words(path: Path) -> list[str]:
    name = next((step for step in reversed(path) if isinstance(step, str)), "")
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", name)
    return [word.casefold().removesuffix("s") for word in words]


def _may_be_linked(value: JsonValue) -> bool:
    return not isinstance(value, bool) and isinstance(value, str | int | float) and value != ""


def _is_said(value: JsonValue, said: str) -> bool:
    text = str(value).casefold()
    return re.search(rf"(?<!\w){re.escape(text)}(?!\w)", said.casefold()) is not None


def _is_listed(place: Path, schema: JsonValue) -> bool:
    """Whether the schema itself names the values that may stand there."""
    for step in place:
        if not isinstance(schema, dict):
            return False
        below = schema.get("items") if isinstance(step, int) else schema.get("properties")
        schema = below.get(step) if isinstance(below, dict) and isinstance(step, str) else below
    return isinstance(schema, dict) and ("enum" in schema or "const" in schema)
