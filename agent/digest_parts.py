"""The pieces of a digest: their texts and costs, its notes, and which part is the main one."""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from json.encoder import encode_basestring

from pydantic import JsonValue

from webmcp_agent.agent.foreign_text import clean
from webmcp_agent.agent.members import PRICES, Rank, core_names, plain_name, rank_of

JsonObject = dict[str, JsonValue]

SMALL = 5
"""Members of an object that is shown whole or not; parts of a member that is no main one."""
MOST_PARTS, PRICED = 100, 10
"""Parts that are counted to find the main one; how much more things with a price count."""

ALL = "all {count}"
"""The name under which stands, behind a list's items, what all of them say."""
_MORE = "… {count} more"
_MORE_READ, _ALL_READ = re.compile(r"… ([0-9]{1,9}) more"), re.compile(r"all [0-9]+")


def more_text(count: int) -> str:
    """The last item of a list that has `count` more, as JSON."""
    return encode_basestring(_MORE.format(count=count))


def main_part(members: Sequence[tuple[str, JsonValue]]) -> str | None:
    """The list or object that the answer is about: of those that are no state, the one with most
    in it."""
    best, most = None, SMALL
    for name, member in members:
        if rank_of(name, member) is Rank.STATE:
            continue
        size = _parts(member, MOST_PARTS)
        if isinstance(member, list) and _is_priced(member):
            size *= PRICED
        if size > most:
            best, most = name, size
    return best


def _is_priced(items: list[JsonValue]) -> bool:
    """Whether these are things that have a price."""
    first = items[0] if items else None
    if not isinstance(first, dict):
        return False
    return any(
        plain_name(name) in PRICES
        for n in core_names(first, listed=True)
        for name in _heads(first, n)
    )


def _heads(item: JsonObject, name: str) -> Sequence[str]:
    inner = item[name]
    return [name, *inner] if isinstance(inner, dict) else [name]


def _parts(value: JsonValue, most: int) -> int:
    """How many values stand in a value, itself included, counted up to a bound."""
    count = 0
    waiting: list[JsonValue] = [value]
    while waiting and count < most:
        here = waiting.pop()
        count += 1
        if isinstance(here, dict):
            waiting += islice(here.values(), most)
        elif isinstance(here, list):
            waiting += here[:most]
    return count


def is_small(value: JsonObject) -> bool:
    """Whether an object has few members, all of them plain."""
    return len(value) <= SMALL and not any(isinstance(m, list | dict) for m in value.values())


def list_text(
    items: Sequence[JsonObject],
    shown: Sequence[dict[str, str]],
    total: int,
    same: dict[str, str],
) -> str:
    """The written items, how many more there are, and what all of them say."""
    written = [object_text(item, core) for item, core in zip(items, shown, strict=False)]
    more = total - len(shown)
    if more:
        written.append(more_text(more))
    if same:
        written.append(f'{{"{ALL.format(count=total)}":{object_text(items[0], same)}}}')
    return f"[{','.join(written)}]"


@lru_cache(maxsize=1024)
def _key(name: str) -> str:
    return encode_basestring(clean(name))


def object_text(value: JsonObject, written: dict[str, str]) -> str:
    """The written members as an object, in the order of the source."""
    pieces = [f"{_key(name)}:{written[name]}" for name in value if name in written]
    return f"{{{','.join(pieces)}}}"


def cost_of(name: str, text: str) -> int:
    """Characters of a written member, with its name, a colon and a comma."""
    return len(_key(name)) + len(text) + 2


def size_of(written: dict[str, str]) -> int:
    """Characters of an object of written members, and a comma behind it."""
    return 2 + sum(cost_of(name, text) for name, text in written.items())


def without_note(items: list[JsonValue]) -> tuple[list[JsonValue], int]:
    """The items of a list that is a digest already, and how many more it says there are."""
    last = items[-1] if items else None
    if isinstance(last, dict) and len(last) == 1 and _ALL_READ.fullmatch(next(iter(last))):
        items = items[:-1]
        last = items[-1] if items else None
    note = _MORE_READ.fullmatch(last) if isinstance(last, str) else None
    return (items[:-1], int(note[1])) if note else (items, 0)


def fitting(text: str, room: int) -> str | None:
    """The text, when it fits."""
    return text if len(text) <= room else None
