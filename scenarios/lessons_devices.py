"""Lessons with devices that have a level, a mode and a switch."""

from collections.abc import Callable, Sequence
from typing import cast

from pydantic import JsonValue

from webmcp_agent.browser.tools import ToolFail, ToolOk
from webmcp_agent.scenarios.lessons import answer, told_failure, troubled
from webmcp_agent.scenarios.phrases import Table, Wording, language, plural, request
from webmcp_agent.scenarios.simulator import (
    Answer,
    Args,
    Doing,
    Lesson,
    Manner,
    Parameter,
    Place,
    Record,
    Refusal,
    Script,
    Turn,
    World,
)
from webmcp_agent.scenarios.vocabulary import Draw


class Devices(World):
    """Devices by name, or by an id that has to be looked up first."""

    def __init__(self, draw: Draw, domain: Table, wording: Wording) -> None:
        manner = Manner(draw, wording)
        group = f"{draw.brand()} {domain['group']}"
        super().__init__(
            draw,
            manner,
            Place(
                draw.pick(("/", "/control", "/devices")),
                group.title(),
                draw.pick((None, str(domain["group"]).title())),
            ),
        )
        self.noun = str(domain["noun"])
        level = cast("list[str]", domain["level"])
        self.level_name, self.low, self.high, self.unit = (
            level[0],
            int(level[1]),
            int(level[2]),
            level[3],
        )
        modes = cast("list[str]", domain["modes"])
        self.mode_name, self.modes = modes[0], modes[1:]
        names = cast("list[str]", domain["names"])
        self.rows: list[Record] = [
            {
                "id": manner.new_id(name),
                "name": name,
                "on": draw.chance(0.5),
                self.level_name: draw.whole(self.low, self.high),
                self.mode_name: draw.pick(self.modes),
            }
            for name in draw.some(names, draw.whole(3, len(names)))
        ]
        self.by_id = draw.chance(0.5)
        self.combined = draw.chance(0.25)
        """One tool sets everything, in a nested object."""
        self._tools()

    def _tools(self) -> None:
        draw, manner, noun = self.draw, self.manner, self.noun
        nouns = plural(noun)
        if self.by_id:
            which = Parameter(
                "device",
                manner.id_schema(),
                f"id|{noun} id|id",
                f"[Id of the {noun}|Which {noun}]",
                required=True,
            )
        else:
            listed = (
                {"type": "string", "enum": [row["name"] for row in self.rows]}
                if draw.chance(0.5)
                else {"type": "string"}
            )
            which = Parameter(
                "device",
                cast("dict[str, JsonValue]", listed),
                f"{noun}|name|{noun} name|device",
                f"[Name of the {noun}|Which {noun}]",
                required=True,
            )
        level_schema: dict[str, JsonValue] = {"type": "integer" if draw.chance(0.6) else "number"}
        self.limited = draw.chance(0.6)
        if self.limited:
            level_schema |= {"minimum": self.low, "maximum": self.high}
        mode_schema: dict[str, JsonValue] = {"type": "string", "enum": [*self.modes]}
        self.offer(
            "list",
            manner.choose(
                f"list {nouns}|get {nouns}|show {nouns}|{nouns} overview",
                f"survey {nouns}|poll {nouns}",
            ),
            draw.phrase(f"[All {nouns} with their state|List the {nouns}][.|]"),
            lambda _: self._listed(self.rows),
            read_only=True,
        )
        if draw.chance(0.7):
            self.offer(
                "get",
                manner.choose(
                    f"get {noun}|{noun} status|get state|read {noun}", f"probe {noun}|sense {noun}"
                ),
                draw.phrase(f"[State of one {noun}|Read one {noun}][.|]"),
                lambda a: manner.record(self.row(a.get("device"))),
                [which],
                read_only=True,
            )
        if self.combined:
            parts = f"{self.level_name}, {self.mode_name} or power"
            settings: dict[str, JsonValue] = {
                "type": "object",
                "properties": {
                    self.level_name: level_schema,
                    self.mode_name: mode_schema,
                    "on": {"type": "boolean"},
                },
            }
            self.offer(
                "set",
                manner.choose(
                    f"set {noun}|update {noun}|configure {noun}|control {noun}",
                    f"adjust {noun}|tune {noun}",
                ),
                draw.phrase(f"[Change settings of a {noun}|Set {parts} of a {noun}][.|]"),
                self._set,
                [
                    which,
                    Parameter(
                        "settings",
                        settings,
                        "settings|state|values",
                        "[What to change|New settings]",
                        required=True,
                    ),
                ],
            )
            return
        self.offer(
            "level",
            manner.choose(
                f"set {self.level_name}|change {self.level_name}|set {noun} {self.level_name}",
                f"dial {self.level_name}|regulate {self.level_name}",
            ),
            draw.phrase(
                f"[Set the {self.level_name} of a {noun}|Change a {noun}'s {self.level_name}][.|]"
            ),
            self._set,
            [
                which,
                Parameter(
                    "level",
                    level_schema,
                    f"{self.level_name}|value|level",
                    f"[New {self.level_name}|From {self.low} to {self.high}]",
                    required=True,
                ),
            ],
        )
        if draw.chance(0.8):
            self.offer(
                "mode",
                manner.choose(
                    f"set {self.mode_name}|select {self.mode_name}|change {self.mode_name}",
                    f"engage {self.mode_name}|assign {self.mode_name}",
                ),
                draw.phrase(
                    f"[Set the {self.mode_name} of a {noun}|Choose a {self.mode_name}][.|]"
                ),
                self._set,
                [
                    which,
                    Parameter(
                        "mode",
                        mode_schema,
                        f"{self.mode_name}|value",
                        f"[New {self.mode_name}|Which {self.mode_name}]",
                        required=True,
                    ),
                ],
            )
        self.offer(
            "power",
            manner.choose(
                f"switch {noun}|set power|toggle {noun}|turn on off", f"energise {noun}|flip {noun}"
            ),
            draw.phrase(f"[Turn a {noun} on or off|Switch a {noun}][.|]"),
            self._set,
            [
                which,
                Parameter(
                    "on",
                    {"type": "boolean"},
                    "on|enabled|power|on",
                    "[true for on|On or off]",
                    required=True,
                ),
            ],
        )

    def _listed(self, rows: Sequence[Record]) -> Answer:
        return self.manner.listing(rows, plural(self.noun))

    def row(self, ident: JsonValue) -> Record:
        """The device with that id or name."""
        for row in self.rows:
            if str(row["id" if self.by_id else "name"]).lower() == str(ident).lower():
                return row
        raise Refusal(f"There is no {self.noun} {ident}.")

    def _set(self, args: Args) -> Answer:
        row = self.row(args.get("device"))
        given = cast("Record", args.get("settings") or {})
        level = args.get("level", given.get(self.level_name))
        if isinstance(level, int | float):
            if not self.low <= level <= self.high:
                raise Refusal(f"{self.level_name} must be from {self.low} to {self.high}.")
            row[self.level_name] = level
        if mode := args.get("mode", given.get(self.mode_name)):
            row[self.mode_name] = mode
        if (on := args.get("on", given.get("on"))) is not None:
            row["on"] = on
        return self.manner.note(
            self.draw.pick((f"{row['name']} updated.", f"{row['name']}: done.")),
            **({"state": self.manner.keyed(row)} if self.draw.chance(0.3) else {}),
        )

    def change(self, row: Record, setting: str, value: JsonValue) -> Doing:
        """Set one thing of a device, through whichever tool the site has for it."""
        device = row["id" if self.by_id else "name"]
        if self.combined:
            key = {"level": self.level_name, "mode": self.mode_name}.get(setting, setting)
            return (yield from self.act("set", device=device, settings={key: value}))
        role = "power" if setting == "on" else setting
        return (yield from self.act(role, device=device, **{setting: value}))


def _changed(world: Devices, flow: str) -> Turn:
    draw = world.draw
    row = draw.pick(world.rows)
    on = draw.chance(0.5)
    n: int = (
        draw.whole(world.low, world.high)
        if world.limited or draw.chance(0.85)
        else world.high + draw.whole(5, 60)
    )
    mode = draw.pick(world.modes)
    names = {
        "device": row["name"],
        "levelname": world.level_name,
        "modename": world.mode_name,
        "unit": world.unit,
        "n": n,
        "mode": mode,
    }
    power = {"onoff": "on" if on else "off", "onoff_de": "ein" if on else "aus"}
    text = request(draw, "devices", flow, language(draw, "devices", flow), **names, **power)
    value: JsonValue = {"level": n, "mode": mode}.get(flow, on)
    troubled(world, "set" if world.combined else flow, 0.06)

    def script() -> Script:
        seen: ToolOk | ToolFail = ToolOk("")
        if world.by_id:
            seen = yield from world.act("list")
        if isinstance(seen, ToolOk):
            seen = yield from world.change(row, "on" if flow == "power" else flow, value)
        if isinstance(seen, ToolFail):
            yield told_failure(world, seen, f"change the {row['name']}")
            return
        fact = {"level": n, "mode": mode}.get(flow, power["onoff"])
        yield answer(
            world,
            "devices",
            flow,
            "told",
            f"{row['name']}|{fact}",
            **names,
            **power,
        )

    return Turn(text, script)


def _ask(world: Devices) -> Turn:
    draw = world.draw
    row = draw.pick(world.rows)
    names = {"device": row["name"], "levelname": world.level_name, "modename": world.mode_name}
    text = request(draw, "devices", "ask", language(draw, "devices", "ask"), **names)

    def script() -> Script:
        if world.by_id or not world.has("get"):
            seen = yield from world.act("list")
        else:
            seen = yield from world.act("get", device=row["name"])
        if isinstance(seen, ToolFail):
            yield told_failure(world, seen, f"read the {row['name']}")
        elif world.level_name in text:
            n = row[world.level_name]
            yield answer(world, "devices", "ask", "level", n, n=n, unit=world.unit, **names)
        elif world.mode_name in text:
            mode = row[world.mode_name]
            yield answer(world, "devices", "ask", "mode", mode, mode=mode, **names)
        else:
            key = "yes" if row["on"] else "no"
            told = "yes|is on" if row["on"] else "no|is off|not on"
            yield answer(world, "devices", "ask", key, told, **names)

    return Turn(text, script)


def _which(world: Devices) -> Turn:
    draw = world.draw
    on = draw.chance(0.6)
    values = {"noun": world.noun, "nouns": plural(world.noun), "onoff": "on" if on else "off"}
    text = request(draw, "devices", "which", "en", **values)
    names = [str(r["name"]) for r in world.rows if r["on"] is on]

    def script() -> Script:
        seen = yield from world.act("list")
        if isinstance(seen, ToolFail):
            yield told_failure(world, seen, f"read the {values['nouns']}")
        elif names:
            yield answer(world, "devices", "which", "told", *names, told=", ".join(names), **values)
        else:
            yield answer(world, "devices", "which", "none", "no", **values)

    return Turn(text, script)


def _two(world: Devices) -> Turn:
    draw = world.draw
    a, b = draw.some(world.rows, 2)
    on = draw.chance(0.5)
    values = {"device": a["name"], "device2": b["name"], "onoff": "on" if on else "off"}
    text = request(draw, "devices", "two", "en", **values)

    def script() -> Script:
        seen: ToolOk | ToolFail = ToolOk("")
        if world.by_id:
            seen = yield from world.act("list")
        for row in (a, b):
            if isinstance(seen, ToolOk):
                seen = yield from world.change(row, "on", on)
        if isinstance(seen, ToolFail):
            yield told_failure(world, seen, f"turn both {values['onoff']}")
            return
        yield answer(world, "devices", "two", "told", values["onoff"], **values)

    return Turn(text, script)


_FLOWS: Sequence[tuple[int, tuple[str, ...], Callable[[Devices], Turn]]] = (
    (7, ("level", "set"), lambda w: _changed(w, "level")),
    (5, ("mode", "set"), lambda w: _changed(w, "mode")),
    (5, ("power", "set"), lambda w: _changed(w, "power")),
    (6, ("list",), _ask),
    (4, ("list",), _which),
    (4, ("power", "set"), _two),
)


def devices_lesson(draw: Draw, domain: Table, wording: Wording) -> Lesson:
    """One group of devices and a request to it."""
    world = Devices(draw, domain, wording)
    able = [flow for flow in _FLOWS if any(world.has(role) for role in flow[1])]
    make = draw.random.choices([f[2] for f in able], [f[0] for f in able])[0]
    return Lesson("devices", world, [make(world)])
