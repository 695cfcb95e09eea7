"""Writes a JSON value in the room that it is given, what says most first.

Each part either fits its room or is not written. Little more than what is written is looked at, so
that the time depends on the room and hardly on the value.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from json.encoder import encode_basestring

from pydantic import JsonValue

from webmcp_agent.agent.excerpts import SHORTEST, quoted_text
from webmcp_agent.agent.foreign_text import clean
from webmcp_agent.agent.members import (
    NAMES,
    PRICES,
    Rank,
    core_names,
    main_name,
    plain_name,
    rank_of,
)
from webmcp_agent.agent.money import Figure, from_minor_units, is_currency, money_text
from webmcp_agent.agent.shapes import (
    availability_text,
    chosen_labels,
    options_text,
    plain_format,
)

JsonObject = dict[str, JsonValue]

DEPTH = 8
"""Deeper parts are left out."""
HEAD = 40
"""Items of one list, and members of one object, that are looked at."""
SHOWN_FIRST = 10
"""Items of a list that are shown by their core before any of them says more."""
TEXT_LIMIT, TEXT_IN_LIST, LONGEST_TEXT = 300, 80, 2000
"""Characters of one text; of one text of an item in a list; of a text that has room."""
SAME_LIMIT = 60
"""Characters of a text that is said once for all items."""
STATE_SHARE, MAIN_SHARE = 0.4, 0.88
"""Shares of an object's room: of all of it for what is its state, of the rest for its main part."""
WORTHWHILE = 40
"""Characters that are left for which a part is written again, longer."""
SMALL = 5
"""Members of an object that is shown whole or not; parts of a member that is no main one."""
MOST_PARTS, PRICED = 100, 10
"""Parts that are counted to find the main one; how much more things with a price count."""

_MORE = "… {count} more"
_ALL = "all {count}"
_MORE_READ, _ALL_READ = re.compile(r"… ([0-9]{1,9}) more"), re.compile(r"all [0-9]+")
_TAG = re.compile(r"</?[a-zA-Z!][^<>]*>")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands."""

    depth: int = 0
    in_list: bool = False
    currency: str | None = None
    """The currency of the nearest object around that names one."""
    text_limit: int = TEXT_LIMIT

    def inside(self, value: JsonObject) -> "Place":
        own = value.get("currency")
        currency = str(own) if is_currency(own) else self.currency
        return Place(self.depth + 1, self.in_list, currency, self.text_limit)

    def among(self) -> "Place":
        limit = min(self.text_limit, TEXT_IN_LIST)
        return Place(self.depth + 1, True, self.currency, limit)

    def roomy(self) -> "Place":
        return Place(self.depth, self.in_list, self.currency, LONGEST_TEXT)


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes the parts of one answer, each in the room that it is given."""

    minor: bool
    """Whole amounts beside a currency are minor units."""
    ucp: bool
    """The answer says of itself that it follows UCP: all its amounts are minor units."""

    def write(self, name: str, value: JsonValue, room: int, place: Place) -> str | None:
        """The value in at most `room` characters, or None."""
        value = self._condensed(name, value, place)
        match value:
            case None:
                return _fitting("null", room)
            case bool():
                return _fitting("true" if value else "false", room)
            case int() | float():
                return _fitting(json.dumps(value), room)
            case Figure():
                return _fitting(str(value), room)
            case str():
                return self._text(value, room, place)
            case list():
                return self._list(value, room, place)
            case dict():
                return self._object(value, room, place) if place.depth < DEPTH else None

    # --- small things ---------------------------------------------------------------------

    def _condensed(self, name: str, value: JsonValue, place: Place) -> JsonValue:
        """Shapes that have a short text of their own, as that text; others as they are."""
        match value:
            case bool():
                return value
            case int() if self.ucp and place.currency and plain_name(name) in ("amount", "price"):
                return from_minor_units(value, place.currency)
            case dict():
                if (money := money_text(value, minor=self.minor)) is not None:
                    return money
                return availability_text(value) or plain_format(value) or value
            case list():
                return options_text(name, value) or self._totals(value, place) or value
            case _:
                return value

    def _totals(self, items: list[JsonValue], place: Place) -> JsonValue:
        """`[{"type": "tax", "amount": 5}]` as `{"tax": …}`, when each type stands there once."""
        totals: JsonObject = {}
        for item in items:
            if not isinstance(item, dict) or not {"type", "amount"} <= item.keys():
                return None
            if not item.keys() <= {"type", "amount", "display_text"}:
                return None
            if not isinstance(kind := item["type"], str) or kind in totals:
                return None
            totals[kind] = self._condensed("amount", item["amount"], place)
        return totals

    def _text(self, value: str, room: int, place: Place) -> str | None:
        text = clean(value[: 4 * LONGEST_TEXT])
        if "<" in text and _TAG.search(text):
            text = _TAG.sub(" ", text)
        if len(text) > SHORTEST:
            text = " ".join(text.split())
        return quoted_text(text, room, place.text_limit)

    # --- objects --------------------------------------------------------------------------

    def _object(self, value: JsonObject, room: int, place: Place) -> str | None:
        """The object's core, then what says most, the main list in all that is left."""
        place = place.inside(value)
        written = self._core(value, room, place)
        if written is None:
            return None
        core = [*written]
        members = self._members(value, place, core)
        main = [pair for pair in members if pair[0] == _main_name(members)]
        ranked: dict[Rank, list[tuple[str, JsonValue]]] = {rank: [] for rank in Rank}
        for pair in members:
            if pair not in main:
                ranked[rank_of(*pair)].append(pair)
        state, traits, rest = ranked[Rank.STATE], ranked[Rank.TRAIT], ranked[Rank.REST]
        left = room - _size(written)
        self._add(state, written, int(left * STATE_SHARE) if main else left, place)
        self._add(main, written, int((room - _size(written)) * MAIN_SHARE), place)
        self._lengthen(state, written, room, place)
        self._add(traits, written, room - _size(written), place)
        self._lengthen(traits, written, room, place)
        self._add(rest, written, room - _size(written), place)
        self._lengthen([*rest, *main], written, room, place)
        if not written and value:
            return None
        whole = len(written) == len(members) + len(core)
        if not whole and (place.in_list or _is_small(value)):
            return None  # of a trait of an item, the half is easily misread
        return _fitting(_joined(value, written), room)

    def _add(
        self,
        members: Sequence[tuple[str, JsonValue]],
        written: dict[str, str],
        room: int,
        place: Place,
    ) -> None:
        """Write members, as many as fit in the room, each list and object in half of it at most."""
        for at, (name, member) in enumerate(members):
            shared = isinstance(member, list | dict) and at < len(members) - 1
            text = self._member(name, member, max(room // 2, 80) if shared else room, place)
            if text is not None and _cost(name, text) <= room:
                written[name] = text
                room -= _cost(name, text)

    def _lengthen(
        self,
        members: Sequence[tuple[str, JsonValue]],
        written: dict[str, str],
        room: int,
        place: Place,
    ) -> None:
        """Let members that are missing or cut take what is left, one after the other."""
        for name, member in members:
            left, before = room - _size(written), written.get(name, "")
            worthwhile = max(WORTHWHILE, len(before) // 5)
            if left < worthwhile or (isinstance(member, str) and before and "…" not in before):
                continue
            more = left + (_cost(name, before) if before else 0)
            text = self._member(name, member, more, place.roomy())
            if text is not None and len(text) > len(before):
                written[name] = text

    def _core(self, value: JsonObject, room: int, place: Place) -> dict[str, str] | None:
        """The members that stay together, written; None when they do not fit."""
        written: dict[str, str] = {}
        left = room - 2
        names = core_names(value, listed=place.in_list)
        if not names and place.in_list and (main := main_name(value)) is not None:
            names = [main]
        for name in names:
            text = self._member(name, value[name], left, place, core=True)
            if text is None:
                return None
            written[name] = text
            left -= _cost(name, text)
        return written

    def _member(
        self, name: str, value: JsonValue, room: int, place: Place, *, core: bool = False
    ) -> str | None:
        """The text of a member that fits with its name, a comma and a colon."""
        room -= _cost(name, "")
        if room <= 0:
            return None
        if core and isinstance(value, str) and not isinstance(value, Figure):
            if plain_name(name) in NAMES:
                return self._text(value, room, place)
            # What a thing is called by is never cut: half an id is the id of something else.
            return _fitting(encode_basestring(clean(value)), room)
        if core and isinstance(value, dict) and place.depth < DEPTH:
            thing = self._condensed(name, value, place)
            if isinstance(thing, dict):
                inside = place.inside(thing)
                written = self._core(thing, room, inside)
                return _fitting(_joined(thing, written), room) if written else None
        return self.write(name, value, room, place)

    def _members(
        self, value: JsonObject, place: Place, taken: Sequence[str]
    ) -> list[tuple[str, JsonValue]]:
        """The other members that say something, first what says most."""
        members: list[tuple[Rank, str, JsonValue]] = []
        for name, member in value.items():
            if len(members) == HEAD:
                break
            if name in taken or member is None or member in ("", {}):
                continue
            rank = rank_of(name, member)
            if member == [] and (place.depth > 1 or rank is Rank.STATE):
                continue
            if rank < Rank.NOISE and not self._said_by_title(name, member, value):
                members.append((rank, name, member))
        return [(name, member) for _, name, member in sorted(members, key=lambda each: each[0])]

    def _said_by_title(self, name: str, member: JsonValue, value: JsonObject) -> bool:
        """Whether a variant's options stand in its title: `Blue / 42`."""
        title = value.get("title")
        if not isinstance(member, list) or not isinstance(title, str):
            return False
        labels = chosen_labels(name, member)
        return bool(labels) and all(label in title for label in labels)

    # --- lists ----------------------------------------------------------------------------

    def _list(self, items: list[JsonValue], room: int, place: Place) -> str | None:
        items, hidden = _without_note(items)
        if items and all(isinstance(item, dict) for item in items[:HEAD]):
            things = [item for item in items if isinstance(item, dict)]
            if len(things) == len(items):
                return self._things(things, hidden, room, place)
        return self._values(items, hidden, room, place)

    def _values(self, items: list[JsonValue], hidden: int, room: int, place: Place) -> str | None:
        """The list's head, as many as fit, and how many more there are."""
        inside = place.among()
        written: list[str] = []
        left = room - 2
        for at, item in enumerate(items):
            after = len(items) - at - 1 + hidden
            note = len(encode_basestring(_MORE.format(count=after))) + 1 if after else 0
            text = self.write("", item, left - note, inside) if at < HEAD else None
            if text is None:
                break
            written.append(text)
            left -= len(text) + 1
        if items and not written:
            return None
        more = len(items) - len(written) + hidden
        notes = [encode_basestring(_MORE.format(count=more))] if more else []
        return _fitting(f"[{','.join([*written, *notes])}]", room)

    def _things(self, items: list[JsonObject], hidden: int, room: int, place: Place) -> str | None:
        """The list's head by id, name and price; what is left of the room says more of each."""
        inside = place.among()
        total = len(items) + hidden
        left = room - 2 - (len(encode_basestring(_MORE.format(count=total))) + 1)
        shown: list[dict[str, str]] = []
        for item in items[:SHOWN_FIRST]:
            core = self._core(item, left, inside.inside(item))
            if core is None:
                break
            shown.append(core)
            left -= _size(core) + 1
        if not shown:
            return None
        same: dict[str, str] = {}
        columns: list[str] = []
        for name in self._column_names(items[: len(shown)], shown, inside):
            text = self._same_text(name, items, left, inside) if not hidden else None
            if text is not None:
                cost = _cost(name, text) + (0 if same else _cost(_ALL.format(count=total), "{},"))
                if cost <= left:
                    same[name] = text
                    left -= cost
                continue
            most = left // len(shown)
            if len(shown) < len(items):
                most = min(most, room // SHOWN_FIRST)
            column = self._column(name, items[: len(shown)], most, inside)
            if column is None or (cost := sum(_cost(name, text) for text in column if text)) > left:
                continue
            left -= cost
            columns.append(name)
            for written, text in zip(shown, column, strict=True):
                if text:
                    written[name] = text
        for item in items[len(shown) : HEAD]:
            written = self._core(item, left - 1, inside.inside(item))
            if written is None:
                break
            for name in columns:
                texts = self._column(name, [item], left - _size(written) - 1, inside)
                if texts and texts[0]:
                    written[name] = texts[0]
            if _size(written) + 1 > left:
                break
            shown.append(written)
            left -= _size(written) + 1
        if left >= WORTHWHILE:
            for item, written in zip(items, shown, strict=False):
                cells = [(name, item[name]) for name in columns if "…" in written.get(name, "")]
                most = _size(written) + left // len(shown)
                self._lengthen(cells, written, most, inside.inside(item))
        return _fitting(_listed(items, shown, total, same), room)

    def _column_names(
        self, items: Sequence[JsonObject], shown: Sequence[dict[str, str]], place: Place
    ) -> list[str]:
        """The names of what else the items say, first what says most, small things first."""
        names: dict[str, tuple[Rank, bool]] = {}
        for item, core in zip(items, shown, strict=True):
            for name, member in self._members(item, place, [*core]):
                if name not in names:
                    wide = isinstance(self._condensed(name, member, place), list | dict)
                    names[name] = (rank_of(name, member), wide)
        return sorted(names, key=lambda name: names[name])

    def _same_text(
        self, name: str, items: Sequence[JsonObject], room: int, place: Place
    ) -> str | None:
        """The member's text when every item of the list says just that."""
        if len(items) < 3:
            return None
        first = items[0].get(name)
        value = self._condensed(name, first, place)
        if isinstance(value, list | dict) or (isinstance(value, str) and len(value) > SAME_LIMIT):
            return None
        for item in items:
            other = item.get(name)
            if other != first or type(other) is not type(first):
                return None
        return self.write(name, first, room, place.inside(items[0]))

    def _column(
        self, name: str, items: Sequence[JsonObject], room: int, place: Place
    ) -> list[str | None] | None:
        """The member of each item, None where it has none; None when one does not fit."""
        texts: list[str | None] = []
        for item in items:
            member = item.get(name)
            if member is None or member in ("", [], {}) or self._said_by_title(name, member, item):
                texts.append(None)
                continue
            text = self._member(name, member, room, place.inside(item))
            if text is None:
                return None
            texts.append(text)
        return texts


def _main_name(members: Sequence[tuple[str, JsonValue]]) -> str | None:
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


def _is_small(value: JsonObject) -> bool:
    return len(value) <= SMALL and not any(isinstance(m, list | dict) for m in value.values())


def _listed(
    items: Sequence[JsonObject],
    shown: Sequence[dict[str, str]],
    total: int,
    same: dict[str, str],
) -> str:
    written = [_joined(item, core) for item, core in zip(items, shown, strict=False)]
    more = total - len(shown)
    if more:
        written.append(encode_basestring(_MORE.format(count=more)))
    if same:
        written.append(f'{{"{_ALL.format(count=total)}":{_joined(items[0], same)}}}')
    return f"[{','.join(written)}]"


@lru_cache(maxsize=1024)
def _key(name: str) -> str:
    return encode_basestring(clean(name))


def _joined(value: JsonObject, written: dict[str, str]) -> str:
    """The written members as an object, in the order of the source."""
    pieces = [f"{_key(name)}:{written[name]}" for name in value if name in written]
    return f"{{{','.join(pieces)}}}"


def _cost(name: str, text: str) -> int:
    return len(_key(name)) + len(text) + 2


def _size(written: dict[str, str]) -> int:
    return 2 + sum(_cost(name, text) for name, text in written.items())


def _without_note(items: list[JsonValue]) -> tuple[list[JsonValue], int]:
    """The items of a list that is a digest already, and how many more it says there are."""
    last = items[-1] if items else None
    if isinstance(last, dict) and len(last) == 1 and _ALL_READ.fullmatch(next(iter(last))):
        items = items[:-1]
        last = items[-1] if items else None
    note = _MORE_READ.fullmatch(last) if isinstance(last, str) else None
    return (items[:-1], int(note[1])) if note else (items, 0)


def _fitting(text: str, room: int) -> str | None:
    return text if len(text) <= room else None
