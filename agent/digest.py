"""A long result in few characters: a JSON answer by its structure, any other text cut at its end.

The digest of a JSON answer is JSON with the same names. What says nothing goes first (null and
empty members, media, links, markup, protocol), then what says least; a value that all items of a
list share is said once; long texts end early, long lists keep their heads and say how many more
there are. What a thing is called by, its name and its price stay together or go together. Every
number and id in a digest stands in the answer, apart from the counts; money with its currency is
written as people write it.
"""

import json
import re
from collections.abc import Iterator
from json.encoder import encode_basestring
from typing import cast

from pydantic import JsonValue

from webmcp_agent.agent.digest_writer import TEXT_LIMIT, Place, Writer
from webmcp_agent.agent.excerpts import excerpt
from webmcp_agent.agent.foreign_text import (
    CLOSE_PAGE_CONTENT,
    OPEN_PAGE_CONTENT,
    clean,
    unwrapped,
    wrap_untrusted,
)
from webmcp_agent.agent.money import Figure, counts_in_minor_units
from webmcp_agent.agent.wording import cut

LARGEST = 2_000_000
"""Characters of a text that is read; a longer one is cut."""

_UCP = re.compile(rf'(?:{re.escape(OPEN_PAGE_CONTENT)}\s*)?\{{\s*"ucp"\s*:')
_DECODER = json.JSONDecoder(parse_float=Figure)
_JSON_BELOW = re.compile(r"\n\s*(?=[{\[])")


def cut_result(text: str, limit: int) -> str:
    """`text` at most `limit` characters: as it is, as a digest, or with a "…" where it was cut.

    Wrapped text stays wrapped: what is inside is shortened, and the marks count. A document of the
    Universal Commerce Protocol is a digest whatever its length: it counts in minor units."""
    fits = len(text) <= limit
    if fits and not _UCP.match(text):
        return text
    inside = unwrapped(text)
    wrapped = inside is not text
    marks = len(OPEN_PAGE_CONTENT) + len(CLOSE_PAGE_CONTENT) + 2 if wrapped else 0
    short = digest(inside, limit - marks)
    if short is not None:
        return wrap_untrusted(short) if wrapped else short
    if fits or not wrapped:
        return cut(text, limit)
    end = f"… {CLOSE_PAGE_CONTENT}"
    return text[: limit - len(end)] + end


def digest(text: str, limit: int) -> str | None:
    """A JSON text in at most `limit` characters; None when it is no JSON or that is impossible.

    Takes an object or a list, a result in MCP's form, and either of them between lines of prose.
    Never raises."""
    if len(text) > LARGEST:
        return None
    try:
        return _digest(text, limit)
    except RecursionError:
        return None


def _digest(text: str, limit: int) -> str | None:
    found = _read(text.strip())
    if found is None:
        return None
    lead, value, source, tail = found
    if lead or tail:
        said = [
            excerpt(" ".join(text.split()), min(TEXT_LIMIT, limit // 5)) for text in (lead, tail)
        ]
        if None in said:
            return None
        lead, tail = (f"{said[0]}\n" if lead else ""), (f"\n{said[1]}" if tail else "")
    room = limit - len(lead) - len(tail)
    ucp = isinstance(value, dict) and isinstance(value.get("ucp"), dict)
    written = _whole(value, room) if len(source) <= 4 * limit and not ucp else None
    if written is None:
        writer = Writer(minor=counts_in_minor_units(source), ucp=ucp)
        written = writer.write("", value, room, Place())
    return None if written is None else f"{lead}{written}{tail}"


def _read(text: str, level: int = 0) -> tuple[str, JsonValue, str, str] | None:
    """The lines of prose before it, the object or list, its JSON text, and the lines after it."""
    lead = ""
    if not text.startswith(("{", "[", '"')):
        below = _JSON_BELOW.search(text)
        if below is None:
            return None
        lead, text = text[: below.start()], text[below.end() :]
    try:
        value, end = cast("tuple[JsonValue, int]", _DECODER.raw_decode(text))
    except (ValueError, RecursionError):
        return None
    tail = text[end:].strip()
    if tail and (text[end] != "\n" or tail.startswith(("{", "[", '"'))):
        return None
    inner = value if isinstance(value, str) else _inner_text(value)
    if inner is not None and level < 2:
        found = _read(inner.strip(), level + 1)
        if found is None:
            return None
        return f"{lead}\n{found[0]}".strip(), *found[1:3], f"{found[3]}\n{tail}".strip()
    if isinstance(value, dict) and isinstance(value.get("structuredContent"), dict):
        value = value["structuredContent"]
    return (lead, value, text, tail) if isinstance(value, dict | list) else None


def _inner_text(value: JsonValue) -> str | None:
    """The text of a result in MCP's form that has no structured content."""
    if not isinstance(value, dict) or value.get("structuredContent"):
        return None
    items = value.get("content")
    if not isinstance(items, list) or not items:
        return None
    texts: list[str] = []
    for item in items:
        if not isinstance(item, dict) or not isinstance(item.get("type"), str):
            return None
        text = item.get("text")
        if item["type"] == "text" and isinstance(text, str):
            texts.append(text)
    return "\n".join(texts) or None


def _whole(value: JsonValue, room: int) -> str | None:
    """The whole value as JSON without blanks, when that fits."""
    pieces: list[str] = []
    left = room
    for piece in _spelled(value):
        left -= len(piece)
        if left < 0:
            return None
        pieces.append(piece)
    return "".join(pieces)


def _spelled(value: JsonValue) -> Iterator[str]:
    match value:
        case Figure():
            yield str(value)
        case str():
            yield encode_basestring(clean(value))
        case dict():
            yield "{"
            for at, (name, member) in enumerate(value.items()):
                yield f"{',' if at else ''}{encode_basestring(clean(name))}:"
                yield from _spelled(member)
            yield "}"
        case list():
            yield "["
            for at, member in enumerate(value):
                if at:
                    yield ","
                yield from _spelled(member)
            yield "]"
        case _:
            yield json.dumps(value)
