"""A made-up site in memory: tools that really work on its state, and lessons that use them.

A `World` is a `ToolSource`, so the agent's own loop can run on it. Each world has its manner: how
tools and parameters are named, what ids look like, and in which shape answers come.
"""

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from webmcp_agent.browser.tools import (
    JsonObject,
    PageContext,
    PageTool,
    StopSignal,
    ToolErrorCode,
    ToolFail,
    ToolOk,
)
from webmcp_agent.scenarios.phrases import Wording, data, reworded
from webmcp_agent.scenarios.vocabulary import (
    ID_KINDS,
    STYLES,
    Draw,
    IdKind,
    Style,
    styled,
    with_articles,
)

Record = dict[str, JsonValue]

LISTINGS = ("object", "named", "list", "lines", "numbered", "table", "pairs")
NOTES = ("text", "ok", "status", "message", "success")
CURRENCIES = (("euros", "EUR"), ("dollars", "USD"), ("pounds", "GBP"), ("francs", "CHF"))

_KEYS = {
    "title": ("title", "name", "label", "title"),
    "price": ("price", "price", "cost", "amount"),
    "rating": ("rating", "stars", "score"),
    "in_stock": ("in_stock", "available", "inStock"),
    "quantity": ("quantity", "qty", "count"),
}


class Refusal(Exception):
    """A simulated tool says no; becomes a `ToolFail`."""

    def __init__(self, message: str, code: ToolErrorCode = "failed") -> None:
        super().__init__(message)
        self.message = message
        self.code: ToolErrorCode = code


@dataclass(frozen=True, slots=True)
class Moved:
    """An answer after which another page is open."""

    answer: str
    path: str
    title: str


Answer = JsonValue | Moved
Args = dict[str, JsonValue]
"""Arguments by role, not by the name that the page shows."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a simulated tool."""

    role: str
    schema: JsonObject
    names: str = ""
    """Names to choose from, `|` between them, words apart; empty for the role itself."""
    says: str = ""
    required: bool = False


@dataclass(frozen=True, slots=True)
class Action:
    """A tool of a world and what it does."""

    role: str
    tool: PageTool
    shown: Mapping[str, str]
    """Role of each parameter → the name that the page shows."""
    run: Callable[[Args], Answer]
    pages: frozenset[str]
    """Paths on which it exists; empty for all."""


@dataclass(frozen=True, slots=True)
class Fault:
    """The next call fails like this; with `effect`, it works all the same."""

    code: ToolErrorCode
    message: str
    effect: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """One call, with the names that the page shows."""

    name: str
    args: JsonObject


@dataclass(frozen=True, slots=True)
class Reply:
    """What the teacher says or calls."""

    kind: str
    text: str = ""
    calls: tuple[Call, ...] = ()
    facts: tuple[str, ...] = ()
    """What a right answer has to hold; in any case and order."""
    learn: bool = True
    """False for a mistake that only sets the scene for its correction."""


Seen = ToolOk | ToolFail | None
Script = Generator[Reply, Seen, None]
Doing = Generator[Reply, Seen, ToolOk | ToolFail]


@dataclass(frozen=True, slots=True)
class Turn:
    """One request and how it is done right."""

    request: str
    script: Callable[[], Script]


@dataclass(frozen=True, slots=True)
class Lesson:
    """A site and what a person asks of it, in order."""

    kind: str
    world: "World"
    turns: Sequence[Turn]
    instructions: str | None = None


class Manner:
    """How one site names and words things."""

    def __init__(
        self, draw: Draw, wording: Wording = "known", *, ids: Sequence[str] = ID_KINDS
    ) -> None:
        self.draw = draw
        self.wording: Wording = wording
        self.style: Style = draw.random.choices(STYLES, (45, 25, 15, 10, 5))[0]
        self.snake_parameters = self.style not in {"camel", "pascal"} or draw.chance(0.15)
        self.id_kind: IdKind = draw.pick([kind for kind in ID_KINDS if kind in ids])
        self.listing_shape = draw.random.choices(LISTINGS, (30, 12, 12, 16, 10, 8, 12))[0]
        self.note_shape = draw.pick(NOTES)
        self.described = draw.pick((0.0, 0.5, 0.9))
        self.currency, self.currency_code = draw.pick(CURRENCIES)
        self.keys = {role: draw.pick(names) for role, names in _KEYS.items()}
        self.taken: set[str] = set()

    def choose(self, known: str, unseen: str = "") -> str:
        """One of the alternatives of `known`, or of `unseen` where names must be new."""
        new = self.wording == "unseen" and unseen
        return self.draw.pick((unseen if new else known).split("|"))

    def tool_name(self, phrase: str) -> str:
        """The phrase's words in this site's style."""
        if self.wording == "wide":
            phrase = reworded(self.draw, phrase)
        return styled(phrase.split(), self.style)

    def parameter_name(self, phrase: str) -> str:
        """The phrase's words as a parameter."""
        return styled(phrase.split(), "snake" if self.snake_parameters else "camel")

    def new_id(self, title: str) -> int | str:
        """An id in this site's form that no other thing here has."""
        return self.draw.id(self.id_kind, title, self.taken)

    def id_schema(self) -> JsonObject:
        """The kind of this site's ids."""
        return {"type": "integer" if self.id_kind in {"small", "large"} else "string"}

    def keyed(self, record: Record) -> Record:
        """The record with this site's key names."""
        return {self.keys.get(key, key): value for key, value in record.items()}

    def listing(self, records: Sequence[Record], noun: str, none: str = "") -> JsonValue:
        """Several records in this site's shape; `noun` in the plural."""
        rows = [self.keyed(record) for record in records]
        match self.listing_shape:
            case "object":
                return {"results": [*rows], "total": len(rows)}
            case "named":
                return {noun.replace(" ", "_"): [*rows]}
            case "list":
                return [*rows]
            case _ if not rows:
                return none or f"No {noun} found."
            case "lines":
                return f"{len(rows)} {noun}:\n" + "\n".join(f"- {_in_words(row)}" for row in rows)
            case "numbered":
                return "\n".join(f"{n}. {_in_words(row)}" for n, row in enumerate(rows, 1))
            case "table":
                head = " | ".join(rows[0])
                return "\n".join([head, *(" | ".join(map(_plain, row.values())) for row in rows)])
            case _:
                return "\n\n".join(_pairs(row) for row in rows)

    def record(self, record: Record) -> JsonValue:
        """One record in this site's shape."""
        row = self.keyed(record)
        if self.listing_shape in {"object", "named", "list"}:
            return row
        return _pairs(row)

    def note(self, message: str, **facts: JsonValue) -> JsonValue:
        """The answer of a tool that changed something."""
        match self.note_shape:
            case "text":
                return message
            case "ok":
                return {"ok": True, "message": message, **facts}
            case "status":
                return {"status": "ok", **(facts or {"detail": message})}
            case "message":
                return {"message": message, **facts}
            case _:
                return {"success": True, **facts} if facts else {"success": True}


def _plain(value: JsonValue) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _in_words(row: Record) -> str:
    label, *rest = [key for key in row if key != "id"] or ["id"]
    told = [f"{key}: {_plain(row[key])}" for key in rest]
    ident = [f"id: {_plain(row['id'])}"] if "id" in row and label != "id" else []
    return (
        f"{_plain(row[label])} ({', '.join([*ident, *told])})"
        if ident or told
        else _plain(row[label])
    )


def _pairs(row: Record) -> str:
    return "\n".join(f"{key}: {_plain(value)}" for key, value in row.items())


@dataclass(slots=True)
class Place:
    """What is open."""

    path: str
    title: str
    h1: str | None = None


@dataclass(slots=True)
class World:
    """A site: its tools, what is open, and what they did."""

    draw: Draw
    manner: Manner
    place: Place
    actions: list[Action] = field(default_factory=list[Action])
    faults: dict[str, list[Fault]] = field(default_factory=dict[str, list[Fault]])
    last: ToolOk | ToolFail | None = None
    """How the newest call ended."""
    log: list[tuple[str, Args]] = field(default_factory=list[tuple[str, Args]])

    def words(self, file: str, role: str, /, **values: str) -> tuple[str, str]:
        """A name and a description for a tool, from a data file."""
        entry: dict[str, str] = data(file)["tool"][role]
        known, unseen, says = (entry[k].format(**values) for k in ("known", "unseen", "says"))
        return self.manner.choose(known, unseen), self.draw.phrase(says)

    def offer(
        self,
        role: str,
        name: str,
        says: str,
        run: Callable[[Args], Answer],
        parameters: Sequence[Parameter] = (),
        *,
        pages: Sequence[str] = (),
        read_only: bool = False,
        untrusted: bool = False,
        consequential: bool = False,
    ) -> None:
        """Add a tool; `name` is a phrase such as "search products"."""
        manner, draw = self.manner, self.draw
        shown: dict[str, str] = {}
        properties: JsonObject = {}
        for parameter in parameters:
            label = manner.parameter_name(manner.choose(parameter.names or parameter.role))
            while label in properties:
                label = manner.parameter_name(f"{label.lower()} {parameter.role}")
            shown[parameter.role] = label
            schema = dict(parameter.schema)
            if parameter.says and draw.chance(manner.described):
                schema["description"] = draw.phrase(parameter.says)
            properties[label] = schema
        schema: JsonObject = {"type": "object", "properties": properties}
        if required := [shown[p.role] for p in parameters if p.required]:
            schema["required"] = [*required]
        taken = {action.tool.name for action in self.actions}
        label = manner.tool_name(name)
        while label in taken:
            label += "2"
        tool = PageTool(
            label,
            with_articles(says),
            schema,
            read_only=read_only,
            untrusted=untrusted,
            consequential=consequential,
        )
        self.actions.append(Action(role, tool, shown, run, frozenset(pages)))

    def has(self, role: str, parameter: str | None = None) -> bool:
        """Whether the site has such a tool (with such a parameter), on whatever page."""
        return any(a.role == role and (not parameter or parameter in a.shown) for a in self.actions)

    def call(self, role: str, **args: JsonValue) -> Reply:
        """The reply that calls a role; arguments that the tool does not take, and None, go."""
        return Reply("call", calls=(self.made(role, **args),))

    def made(self, role: str, **args: JsonValue) -> Call:
        """The call of a role, with the names that the page shows."""
        action = next(a for a in self.actions if a.role == role and self._is_here(a))
        shown: JsonObject = {
            action.shown[key]: value
            for key, value in args.items()
            if value is not None and key in action.shown
        }
        return Call(action.tool.name, shown)

    def act(self, role: str, **args: JsonValue) -> Doing:
        """Call a role and give back how that ended."""
        seen = yield self.call(role, **args)
        assert seen is not None, "a call always ends"
        return seen

    def _is_here(self, action: Action) -> bool:
        return not action.pages or self.place.path in action.pages

    async def list_tools(self) -> list[PageTool]:
        """The tools of the page that is open, by their names, as Chromium lists them."""
        here = [action.tool for action in self.actions if self._is_here(action)]
        return sorted(here, key=lambda tool: tool.name)

    async def page_context(self) -> PageContext:
        """What is open."""
        return PageContext(self.place.path, self.place.title, self.place.h1)

    async def call_tool(
        self, name: str, args: JsonObject, *, call_id: str, signal: StopSignal
    ) -> ToolOk | ToolFail:
        """Run the tool on the site's state."""
        self.last = self._ended(name, args)
        return self.last

    def _ended(self, name: str, args: JsonObject) -> ToolOk | ToolFail:
        found = [a for a in self.actions if a.tool.name == name and self._is_here(a)]
        if not found:
            return ToolFail("not-found", f"there is no tool {name} on this page")
        action = found[0]
        roles = {label: role for role, label in action.shown.items()}
        given = {roles.get(key, key): value for key, value in args.items()}
        self.log.append((action.role, given))
        waiting = self.faults.get(action.role)
        fault = waiting.pop(0) if waiting else None
        if fault and not fault.effect:
            return ToolFail(fault.code, fault.message)
        try:
            answer = action.run(given)
        except Refusal as no:
            return ToolFail(no.code, no.message)
        if fault:
            return ToolFail(fault.code, fault.message)
        if isinstance(answer, Moved):
            self.place = Place(answer.path, answer.title)
            lines = [answer.answer] if answer.answer else []
            text = "\n".join([*lines, f"The page is now {answer.path}."])
            return ToolOk(text, answer.answer, navigated=True)
        if isinstance(answer, str):
            return ToolOk(answer or "(no result)", answer)
        text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
        return ToolOk(text, answer)
