"""Values of a call that came from an earlier answer: found in a recording, taken anew in a replay.

A value is linked when it stands as a whole in an earlier answer, and neither the person said it nor
the tool's schema lists it. Numbers are linked only from a place that is called like the argument:
a 2 is everywhere. Values within prose are not found.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.json_shape import Path, leaves, path_text, value_at, with_value
from webmcp_agent.scenarios.matching import same_value

SHORTEST = 3
"""Characters of a text that is linked from a place with another name."""


@dataclass(frozen=True, slots=True)
class Link:
    """Where a value of a call comes from."""

    place: Path
    """In the arguments."""
    call: int
    """The earlier call, from 0."""
    path: Path
    """In its answer."""

    def text(self, tool: str) -> str:
        """`id ← results[0].id of call 1 (search)`."""
        source = path_text(self.path) or "the answer"
        return f"{path_text(self.place)} ← {source} of call {self.call + 1} ({tool})"


class LinkBroken(Exception):
    """What was linked is not there any more; the message says what, and where it was."""


def links_of(
    args: JsonObject, answers: Sequence[JsonValue], said: str, schema: JsonValue = None
) -> list[Link]:
    """The links of the arguments of a call.

    `answers`: values of all earlier answers, in order; `said`: all that the person said."""
    found = [
        (place, value, _best(place, value, answers))
        for place, value in leaves(args)
        if _may_be_linked(value) and not _is_said(value, said) and not _is_listed(place, schema)
    ]
    return [
        Link(place, best[1], best[2])
        for place, value, best in found
        if best is not None and (best[0] or (isinstance(value, str) and len(value) >= SHORTEST))
    ]


def with_links(args: JsonObject, links: Sequence[Link], answers: Sequence[JsonValue]) -> JsonObject:
    """The arguments with the values that the answers have now.

    Raises: `LinkBroken`."""
    filled: JsonValue = args
    for link in links:
        where = f"{path_text(link.path) or 'the answer'} of call {link.call + 1}"
        if link.call >= len(answers):
            raise LinkBroken(f"{path_text(link.place)} came from {where}, which was not made")
        try:
            value = value_at(answers[link.call], link.path)
        except LookupError:
            raise LinkBroken(f"{path_text(link.place)} came from {where}, which is gone") from None
        filled = with_value(filled, link.place, value)
    assert isinstance(filled, dict)
    return filled


def answer_value(value: JsonValue, text: str) -> JsonValue:
    """An answer as the value that it is: the page's own, or what its text is in JSON."""
    if value is not None and not isinstance(value, str):
        return value
    try:
        read: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return read if isinstance(read, dict | list) else text


def _best(
    place: Path, value: JsonValue, answers: Sequence[JsonValue]
) -> tuple[bool, int, Path] | None:
    """Whether a place is called like the argument, the call, and the place; of several the best
    called one, then the latest answer, then the first place in it."""
    best: tuple[bool, int, Path] | None = None
    for call, answer in enumerate(answers):
        in_this: tuple[bool, int, Path] | None = None
        for path, leaf in leaves(answer):
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
