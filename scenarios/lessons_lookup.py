"""Lessons with tools that do their work in one call, and requests that no tool here can do."""

import re
from collections.abc import Mapping, Sequence
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
from webmcp_agent.scenarios.told_values import Value, Wanted, drawn, schema_of
from webmcp_agent.scenarios.vocabulary import CITIES, Draw, plain_number

_SEGMENT = re.compile(r"<([a-z_.]+):([^<>]*)>")
_SPARE = (
    "limit?: 5..50",
    "page?: 1..9",
    "sort_by?: newest|oldest|name|relevance",
    "min_price?: sum:10..900",
    "max_price?: sum:20..9000",
    "since_year?: 1950..2025",
    "radius?: 1..50",
    "language?: en|de|fr|es",
    "notes?: @",
    "reminder?: bool",
    "rooms?: 1..6",
    "floor?: 1..20",
    "email?: email",
    "phone?: phone",
    "company?: brand",
    "colour?: colour",
    "with_photo?: bool",
    "not_before?: date",
    "size?: small|medium|large",
    "features?: list(balcony, lift, garden, parking, cellar)",
)
"""Parameters that many tools have besides, and that few requests speak of."""
_UNSAID = 0.55
"""Share of the optional values that a request does not name; of a full request, fewer."""
_UNSAID_IN_FULL = 0.1


def chosen_text(draw: Draw, pattern: str, values: Mapping[str, Value]) -> str:
    """A request pattern with the segments and braces of `values`."""
    pattern = _SEGMENT.sub(lambda m: m.group(2) if m.group(1) in values else "", pattern)
    pattern = re.sub(r"{([a-z_.]+)}", lambda m: "{" + m.group(1).replace(".", "__") + "}", pattern)
    return draw.phrase(pattern, **{k.replace(".", "__"): v.said for k, v in values.items()})


class Desk(World):
    """The tools of a theme, and perhaps some of other themes."""

    def __init__(self, draw: Draw, theme: Table, others: Sequence[Table], wording: Wording) -> None:
        manner = Manner(draw, wording)
        self.spare = float(theme.get("spare", 0))
        """Share of the tools with optional parameters that no request speaks of."""
        self.full = float(theme.get("full", 0))
        """Share of the requests that name nearly all that they can."""
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
        wanted_all = [*map(Wanted.read, cast("list[str]", tool["params"]))]
        for wanted in wanted_all:
            if "." in wanted.name:
                groups.setdefault(wanted.name.split(".")[0], []).append(wanted)
            else:
                parameters.append(_parameter(draw, wanted))
        if self.spare and wanted_all and draw.chance(self.spare):
            taken = {wanted.name for wanted in wanted_all} | groups.keys()
            spare = draw.some([*map(Wanted.read, _SPARE)], draw.whole(1, 5))
            parameters += [_parameter(draw, one) for one in spare if one.name not in taken]
            parameters = draw.shuffled(parameters)
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


def _parameter(draw: Draw, wanted: Wanted) -> Parameter:
    label = wanted.name.replace("_", " ")
    says = f"[The {label}|{label.capitalize()}]"
    return Parameter(wanted.name, schema_of(draw, wanted.kind), label, says, not wanted.optional)


def asked(draw: Draw, tool: Table, unsaid: float = _UNSAID) -> tuple[str, dict[str, Value]]:
    """A request for a tool and the values that it names: of the optional ones all but `unsaid`."""
    pattern = draw.pick(cast("list[str]", tool["ask"]))
    values: dict[str, Value] = {}
    said_before: set[str] = set()
    for wanted in map(Wanted.read, cast("list[str]", tool["params"])):
        if wanted.optional and (draw.chance(unsaid) or f"<{wanted.name}:" not in pattern):
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
    full = world.full and draw.chance(world.full)
    text, values = asked(draw, tool, _UNSAID_IN_FULL if full else _UNSAID)
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
