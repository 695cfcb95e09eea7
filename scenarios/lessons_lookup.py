"""Lessons with tools that do their work in one call, and requests that no tool here can do."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

from webmcp_agent.browser.tools import ToolFail
from webmcp_agent.scenarios.lessons import said, told_failure, troubled
from webmcp_agent.scenarios.phrases import Table, Wording, data, domains
from webmcp_agent.scenarios.simulator import (
    Answer,
    Args,
    Lesson,
    Manner,
    Parameter,
    Place,
    Record,
    Script,
    Turn,
    World,
)
from webmcp_agent.scenarios.vocabulary import CITIES, COLOURS, Draw, plain_number

_SEGMENT = re.compile(r"<([a-z_.]+):([^<>]*)>")
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
        "code": lambda: str(draw.id(draw.pick(("sku", "hex", "prefixed")), "", set())),
        "file": lambda: _file_name(draw),
        "@": lambda: f"{draw.pick(_OPENINGS)} {draw.pick(_ENDINGS)}",
    }
    if kind in plain:
        text = plain[kind]()
        return Value(text, text)
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


def _file_name(draw: Draw) -> str:
    stem = f"{draw.brand().lower()}{draw.pick(('_', '-'))}{draw.whole(1, 99)}"
    return f"{stem}.{draw.pick(('pdf', 'txt', 'csv', 'png'))}"


def _listed(text: str) -> list[str]:
    return [piece.strip() for piece in text.split(",")]


def schema_of(draw: Draw, kind: str) -> dict[str, JsonValue]:
    """The schema of that kind."""
    if kind == "bool":
        return {"type": "boolean"}
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


def chosen_text(draw: Draw, pattern: str, values: Mapping[str, Value]) -> str:
    """A request pattern with the segments and braces of `values`."""
    pattern = _SEGMENT.sub(lambda m: m.group(2) if m.group(1) in values else "", pattern)
    pattern = re.sub(r"{([a-z_.]+)}", lambda m: "{" + m.group(1).replace(".", "__") + "}", pattern)
    return draw.phrase(pattern, **{k.replace(".", "__"): v.said for k, v in values.items()})


class Desk(World):
    """The tools of a theme, and perhaps some of other themes."""

    def __init__(self, draw: Draw, theme: Table, others: Sequence[Table], wording: Wording) -> None:
        manner = Manner(draw, wording)
        name = f"{draw.brand()} – {theme['page']}" if draw.chance(0.6) else str(theme["page"])
        super().__init__(
            draw,
            manner,
            Place(
                draw.pick(("/", "/index.html", f"/{theme['id']}", "/app")),
                name,
                draw.pick((None, str(theme["page"]))),
            ),
        )
        self.results: dict[str, Record] = {}
        self.nested_in: dict[str, str] = {}
        self.sources = [*cast("list[Table]", theme["tool"]), *others]
        for number, tool in draw.shuffled(list(enumerate(self.sources))):
            self._add_tool(f"t{number}", tool)

    def _add_tool(self, role: str, tool: Table) -> None:
        draw = self.draw
        parameters: list[Parameter] = []
        groups: dict[str, list[Wanted]] = {}
        for wanted in map(Wanted.read, cast("list[str]", tool["params"])):
            if "." in wanted.name:
                groups.setdefault(wanted.name.split(".")[0], []).append(wanted)
            else:
                label = wanted.name.replace("_", " ")
                parameters.append(
                    Parameter(
                        wanted.name,
                        schema_of(draw, wanted.kind),
                        label,
                        f"[The {label}|{label.capitalize()}]",
                        not wanted.optional,
                    )
                )
        for group, members in groups.items():
            inner: dict[str, JsonValue] = {
                "type": "object",
                "properties": {w.name.split(".")[1]: schema_of(draw, w.kind) for w in members},
            }
            if needed := [w.name.split(".")[1] for w in members if not w.optional]:
                inner["required"] = [*needed]
            parameters.append(
                Parameter(group, inner, group, "", any(not w.optional for w in members))
            )
        self.results[role] = {
            w.name: drawn(draw, w.kind).sent
            for w in map(Wanted.read, cast("list[str]", tool["gives"]))
        }
        quiet = all(w.kind == "bool" for w in map(Wanted.read, cast("list[str]", tool["gives"])))
        message = f"{str(tool['name']).split('|')[0].capitalize()}: done."

        def run(args: Args, role: str = role) -> Answer:
            return self.manner.note(message) if quiet else self.manner.record(self.results[role])

        self.offer(
            role,
            draw.pick(str(tool["name"]).split("|")),
            draw.phrase(str(tool["says"]) + "[.|]"),
            run,
            parameters,
            read_only=not quiet and draw.chance(0.3),
        )


def asked(draw: Draw, tool: Table) -> tuple[str, dict[str, Value]]:
    """A request for a tool and the values that it names."""
    pattern = draw.pick(cast("list[str]", tool["ask"]))
    values: dict[str, Value] = {}
    said_before: set[str] = set()
    for wanted in map(Wanted.read, cast("list[str]", tool["params"])):
        if wanted.optional and (draw.chance(0.55) or f"<{wanted.name}:" not in pattern):
            continue
        value = drawn(draw, wanted.kind)
        for _ in range(20):
            if value.said not in said_before or wanted.kind == "bool":
                break
            value = drawn(draw, wanted.kind)
        said_before.add(value.said)
        values[wanted.name] = value
    text = chosen_text(draw, pattern, values)
    return draw.roughly(text, [value.said for value in values.values()]), values


def sent(values: Mapping[str, Value]) -> Args:
    """The arguments of a call with `values`, nested where their names say so."""
    args: Args = {}
    for name, value in values.items():
        group, dot, key = name.partition(".")
        if dot:
            inner = args.setdefault(group, {})
            assert isinstance(inner, dict)
            inner[key] = value.sent
        else:
            args[name] = value.sent
    return args


def _lookup(world: Desk, index: int) -> Turn:
    draw, role = world.draw, f"t{index}"
    tool = world.sources[index]
    text, values = asked(draw, tool)
    troubled(world, role)

    def script() -> Script:
        seen = yield from world.act(role, **sent(values))
        if isinstance(seen, ToolFail):
            yield told_failure(world, seen, "do that")
            return
        given = {
            k: Value(
                v,
                plain_number(v)
                if isinstance(v, int | float) and not isinstance(v, bool)
                else str(v),
            )
            for k, v in world.results[role].items()
        }
        told = chosen_text(draw, draw.pick(cast("list[str]", tool["tell"])), {**values, **given})
        facts = [v.said for v in given.values() if _is_word_of(told, v.said)]
        yield said(
            world,
            told.replace("{", "")
            .replace("}", "")
            .replace("[", "(")
            .replace("]", ")")
            .replace("|", "/"),
            *facts,
        )

    return Turn(text, script)


def _is_word_of(text: str, said: str) -> bool:
    """Whether it stands there by itself: the 5 of "2.5 kilos" does not."""
    return re.search(rf"(?<![\w.]){re.escape(said)}(?!\.?\w)", text) is not None


def lookup_lesson(draw: Draw, theme: Table, wording: Wording) -> Lesson:
    """One theme's site and one or two requests to it."""
    pool = [
        tool
        for other in domains_of(theme.get("split") == "unseen")
        if other["id"] != theme["id"]
        for tool in cast("list[Table]", other["tool"])
    ]
    others = draw.some(pool, draw.pick((0, 1, 2, 3, 4, 6, 9)))
    world = Desk(draw, theme, others, wording)
    count = len(cast("list[Table]", theme["tool"]))
    indices = draw.some(range(count), draw.pick((1, 1, 1, 2)))
    return Lesson("lookup", world, [_lookup(world, index) for index in indices])


def domains_of(unseen: bool) -> list[Table]:
    """The themes for training, or those for evaluation."""
    return domains("theme", unseen)


def foreign_request(draw: Draw, avoid: Sequence[str]) -> str:
    """A request that only another site could do."""
    if draw.chance(0.55):
        pattern = draw.pick(cast("list[str]", data("talk")["refuse"]["ask"]))
        text = draw.phrase(
            pattern,
            city=draw.pick(CITIES),
            person=draw.person(),
            tongue=draw.pick(("French", "Polish", "Greek")),
            n=draw.whole(2, 30),
            code=drawn(draw, "code").said,
            brand=draw.brand(),
        )
        return draw.roughly(text, ())
    theme = draw.pick([theme for theme in domains_of(False) if theme["id"] not in avoid])
    return asked(draw, draw.pick(cast("list[Table]", theme["tool"])))[0]
