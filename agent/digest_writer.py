"""Writes a JSON value in the room that it is given, what says most first.

Each part either fits its room or is not written. Little more than what is written is looked at, so
that the time depends on the room and hardly on the value.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring

from pydantic import JsonValue

from webmcp_agent.agent.digest_parts import (
    ALL,
    cost_of,
    fitting,
    is_small,
    list_text,
    main_part,
    more_text,
    object_text,
    size_of,
    without_note,
)
from webmcp_agent.agent.excerpts import SHORTEST, quoted_text
from webmcp_agent.agent.foreign_text import clean
from webmcp_agent.agent.members import (
    NAMES,
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
_POINTS = ("loyalty", "memberships", "rewards", "points")
"""What is counted in here is no money of the answer's currency."""
_TAG = re.compile(r"</?[a-zA-Z!][^<>]*>")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands."""

    depth: int = 0
    in_list: bool = False
    currency: str | None = None
    """The currency of the nearest object around that names one, if it is one of ISO 4217."""
    text_limit: int = TEXT_LIMIT

    def inside(self, value: JsonObject) -> "Place":
        own = value.get("currency", self.currency)
        currency = str(own) if is_currency(own) else None
        return Place(self.depth + 1, self.in_list, currency, self.text_limit)

    def among(self) -> "Place":
        limit = min(self.text_limit, TEXT_IN_LIST)
        return Place(self.depth + 1, True, self.currency, limit)

    def without_currency(self) -> "Place":
        return Place(self.depth, self.in_list, None, self.text_limit)

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
        if plain_name(name) in _POINTS:
            place = place.without_currency()
        value = self._condensed(name, value, place)
        match value:
            case None:
                return fitting("null", room)
            case bool():
                return fitting("true" if value else "false", room)
            case int() | float():
                return fitting(json.dumps(value), room)
            case Figure():
                return fitting(str(value), room)
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
        main = [pair for pair in members if pair[0] == main_part(members)]
        ranked: dict[Rank, list[tuple[str, JsonValue]]] = {rank: [] for rank in Rank}
        for pair in members:
            if pair not in main:
                ranked[rank_of(*pair)].append(pair)
        state, traits, rest = ranked[Rank.STATE], ranked[Rank.TRAIT], ranked[Rank.REST]
        left = room - size_of(written)
        self._add(state, written, int(left * STATE_SHARE) if main else left, place)
        self._add(main, written, int((room - size_of(written)) * MAIN_SHARE), place)
        self._lengthen(state, written, room, place)
        self._add(traits, written, room - size_of(written), place)
        self._lengthen(traits, written, room, place)
        self._add(rest, written, room - size_of(written), place)
        self._lengthen([*rest, *main], written, room, place)
        if not written and value:
            return None
        whole = len(written) == len(members) + len(core)
        if not whole and (place.in_list or is_small(value)):
            return None  # of a trait of an item, the half is easily misread
        return fitting(object_text(value, written), room)

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
            if text is not None and cost_of(name, text) <= room:
                written[name] = text
                room -= cost_of(name, text)

    def _lengthen(
        self,
        members: Sequence[tuple[str, JsonValue]],
        written: dict[str, str],
        room: int,
        place: Place,
    ) -> None:
        """Let members that are missing or cut take what is left, one after the other."""
        for name, member in members:
            left, before = room - size_of(written), written.get(name, "")
            worthwhile = max(WORTHWHILE, len(before) // 5)
            if left < worthwhile or (isinstance(member, str) and before and "…" not in before):
                continue
            more = left + (cost_of(name, before) if before else 0)
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
            left -= cost_of(name, text)
        return written

    def _member(
        self, name: str, value: JsonValue, room: int, place: Place, *, core: bool = False
    ) -> str | None:
        """The text of a member that fits with its name, a comma and a colon."""
        room -= cost_of(name, "")
        if room <= 0:
            return None
        if core and isinstance(value, str) and not isinstance(value, Figure):
            if plain_name(name) in NAMES:
                return self._text(value, room, place)
            # What a thing is called by is never cut: half an id is the id of something else.
            return fitting(encode_basestring(clean(value)), room)
        if core and isinstance(value, dict) and place.depth < DEPTH:
            thing = self._condensed(name, value, place)
            if isinstance(thing, dict):
                inside = place.inside(thing)
                written = self._core(thing, room, inside)
                return fitting(object_text(thing, written), room) if written else None
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
        items, hidden = without_note(items)
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
            note = len(more_text(after)) + 1 if after else 0
            text = self.write("", item, left - note, inside) if at < HEAD else None
            if text is None:
                break
            written.append(text)
            left -= len(text) + 1
        if items and not written:
            return None
        more = len(items) - len(written) + hidden
        notes = [more_text(more)] if more else []
        return fitting(f"[{','.join([*written, *notes])}]", room)

    def _things(self, items: list[JsonObject], hidden: int, room: int, place: Place) -> str | None:
        """The list's head by id, name and price; what is left of the room says more of each."""
        inside = place.among()
        total = len(items) + hidden
        left = room - 2 - (len(more_text(total)) + 1)
        shown: list[dict[str, str]] = []
        for item in items[:SHOWN_FIRST]:
            core = self._core(item, left, inside.inside(item))
            if core is None:
                break
            shown.append(core)
            left -= size_of(core) + 1
        if not shown:
            return None
        same: dict[str, str] = {}
        columns: list[str] = []
        for name in self._column_names(items[: len(shown)], shown, inside):
            text = self._same_text(name, items, left, inside) if not hidden else None
            if text is not None:
                cost = cost_of(name, text) + (
                    0 if same else cost_of(ALL.format(count=total), "{},")
                )
                if cost <= left:
                    same[name] = text
                    left -= cost
                continue
            most = left // len(shown)
            if len(shown) < len(items):
                most = min(most, room // SHOWN_FIRST)
            column = self._column(name, items[: len(shown)], most, inside)
            if (
                column is None
                or (cost := sum(cost_of(name, text) for text in column if text)) > left
            ):
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
                texts = self._column(name, [item], left - size_of(written) - 1, inside)
                if texts and texts[0]:
                    written[name] = texts[0]
            if size_of(written) + 1 > left:
                break
            shown.append(written)
            left -= size_of(written) + 1
        if left >= WORTHWHILE:
            for item, written in zip(items, shown, strict=False):
                cells = [(name, item[name]) for name in columns if "…" in written.get(name, "")]
                most = size_of(written) + left // len(shown)
                self._lengthen(cells, written, most, inside.inside(item))
        return fitting(list_text(items, shown, total, same), room)

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
