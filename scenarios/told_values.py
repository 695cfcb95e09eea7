"""Values of parameters and of answers, as they are sent and as people say them.

Data files name the kind: `city`, `1..9`, `sum:5000..90000`, `list(gym, bike)`, `pairs(apples=🍎)`.
"""

import re
from dataclasses import dataclass

from pydantic import JsonValue

from webmcp_agent.scenarios.vocabulary import (
    CITIES,
    COLOURS,
    FIRST_NAMES,
    LAST_NAMES,
    Draw,
    plain_number,
)

_RANGE = re.compile(r"(-?[0-9.]+?)\.\.(-?[0-9.]+)$")
_OPENINGS = (
    "The meeting starts at",
    "Please bring",
    "Don't forget",
    "See you at",
    "We ran out of",
    "Thanks for",
    "The key is under",
    "I will be late for",
)
_ENDINGS = (
    "the blue folder",
    "noon",
    "the mat",
    "your help",
    "lunch",
    "the harbour",
    "Mina's party",
    "room 4",
    "fresh milk",
    "the train",
)


@dataclass(frozen=True, slots=True)
class Value:
    """A value for a parameter, and how a person writes it."""

    sent: JsonValue
    said: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """A parameter as a theme states it: `to.city?: city`."""

    name: str
    kind: str
    optional: bool

    @staticmethod
    def read(line: str) -> "Wanted":
        """The parts of one line of the data file."""
        name, _, kind = line.partition(": ")
        return Wanted(name.rstrip("?"), kind, name.endswith("?"))


def drawn(draw: Draw, kind: str) -> Value:
    """A value of that kind."""
    plain = {
        "city": lambda: draw.pick(CITIES),
        "person": draw.person,
        "street": draw.street,
        "brand": draw.brand,
        "colour": lambda: draw.pick(COLOURS),
        "email": lambda: draw.email(draw.person()),
        "first": lambda: draw.pick(FIRST_NAMES),
        "last": lambda: draw.pick(LAST_NAMES),
        "postcode": lambda: f"{draw.whole(10000, 98999)}",
        "phone": lambda: f"0{draw.whole(100, 999)} {draw.whole(10000, 999999)}",
        "code": lambda: str(draw.id(draw.pick(("sku", "hex", "prefixed")), "", set())),
        "file": lambda: _file_name(draw),
        "@": lambda: f"{draw.pick(_OPENINGS)} {draw.pick(_ENDINGS)}",
    }
    if kind in plain:
        text = plain[kind]()
        return Value(text, text)
    if kind.startswith(("sum:", "count:", "clock", "pairs")):
        return told_otherwise(draw, kind)
    if kind == "date":
        return Value(*draw.date())
    if kind == "time":
        return Value(*draw.time())
    if kind == "bool":
        return Value(True, "yes")
    if found := _RANGE.match(kind):
        low, high = found.groups()
        if "." in low:
            number = round(draw.random.uniform(float(low), float(high)), 1)
            return Value(number, plain_number(number))
        return Value(number := draw.whole(int(low), int(high)), str(number))
    if kind.startswith("list("):
        chosen = draw.some(_listed(kind[5:-1]), draw.whole(1, 3))
        return Value(
            [*chosen],
            " and ".join([", ".join(chosen[:-1]), chosen[-1]]) if len(chosen) > 1 else chosen[0],
        )
    choice = draw.pick(_listed(kind[1:-1]) if kind.startswith("(") else kind.split("|"))
    return Value(choice, choice.replace("_", " "))


def told_otherwise(draw: Draw, kind: str) -> Value:
    """A value that people say otherwise than it is sent: 300k for 300000, 3 pm for 15:00."""
    if kind == "clock":
        hour, minute = draw.whole(7, 22), draw.pick((0, 0, 15, 30, 45))
        sent = f"{hour:02}:{minute:02}"
        if (hour, minute) == (12, 0) and draw.chance(0.5):
            return Value(sent, "noon")
        half = "am" if hour < 12 else "pm"
        short = f"{(hour - 1) % 12 + 1}" + (f":{minute:02}" if minute else "")
        return Value(sent, draw.pick((sent, f"{short} {half.upper()}", f"{short}{half}")))
    if kind.startswith(("sum:", "count:")):
        low, _, high = kind.partition(":")[2].partition("..")
        number = draw.whole(int(low), int(high))
        sign = draw.pick(("", "", "$", "€")) if kind.startswith("sum:") else ""
        if number >= 1_000_000:
            number = round(number, -5)
            said = [f"{number / 1_000_000:g}M", f"{number / 1_000_000:g} million"]
        else:
            number = round(number, -3)
            said = [f"{number // 1000}k", f"{number // 1000},000", f"{number // 1000} thousand"]
        return Value(number, sign + draw.pick([*said, str(number)]))
    pairs = pairs_of(kind)
    if kind.startswith("pairs-list"):
        some = draw.some([*pairs], draw.whole(1, 2))
        return Value([pairs[said] for said in some], " and ".join(some))
    said = draw.pick([*pairs])
    return Value(pairs[said], said)


def pairs_of(kind: str) -> dict[str, str]:
    """What is said to what is sent, of `pairs(apples=🍎, pears=🍐)`."""
    inside = kind.partition("(")[2].removesuffix(")")
    return {piece.split("=")[0]: piece.split("=")[1] for piece in _listed(inside)}


def _file_name(draw: Draw) -> str:
    stem = f"{draw.brand().lower()}{draw.pick(('_', '-'))}{draw.whole(1, 99)}"
    return f"{stem}.{draw.pick(('pdf', 'txt', 'csv', 'png'))}"


def _listed(text: str) -> list[str]:
    return [piece.strip() for piece in text.split(",")]


def schema_of(draw: Draw, kind: str) -> dict[str, JsonValue]:
    """The schema of that kind."""
    if kind == "bool":
        return {"type": "boolean"}
    if kind.startswith(("sum:", "count:")):
        return {"type": draw.pick(("number", "integer"))}
    if kind.startswith("pairs"):
        listed: dict[str, JsonValue] = {"type": "string", "enum": [*pairs_of(kind).values()]}
        return {"type": "array", "items": listed} if kind.startswith("pairs-list") else listed
    if found := _RANGE.match(kind):
        low, high = found.groups()
        if "." in low:
            return {"type": "number"}
        limits: dict[str, JsonValue] = {"minimum": int(low), "maximum": int(high)}
        return {"type": draw.pick(("integer", "integer", "number"))} | (
            limits if draw.chance(0.4) else {}
        )
    if kind.startswith("list("):
        return {"type": "array", "items": {"type": "string", "enum": [*_listed(kind[5:-1])]}}
    if kind in {"date", "time", "email"} and draw.chance(0.4):
        return {"type": "string", "format": kind}
    if "|" in kind:
        return {"type": "string", "enum": [*kind.split("|")]}
    return {"type": "string"}
