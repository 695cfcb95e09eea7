"""Lessons made from a site's own tools: requests with values from their schemas, answers invented.

What a tool does is not known here, only what its name, description and schema say. Its calls are
learnt exactly; the answers teach no more than to say what a result says.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import cast

from pydantic import JsonValue

from webmcp_agent.agent.schema import compact_schema, read_schema
from webmcp_agent.agent.words import spaced
from webmcp_agent.browser.tools import JsonObject, PageTool, ToolFail
from webmcp_agent.scenarios.lessons import said, told_failure, troubled
from webmcp_agent.scenarios.simulator import (
    Action,
    Args,
    Lesson,
    Manner,
    Place,
    Script,
    Turn,
    World,
)
from webmcp_agent.scenarios.told_values import Value, drawn
from webmcp_agent.scenarios.vocabulary import Draw, plain_number

_EXAMPLE = re.compile(r"\be\.g\.\s+([^,;.()]{2,40})|\bsuch as ([^,;.()]{2,40})", re.IGNORECASE)
_KINDS = (
    ("date|day|arrival|departure|checkin|checkout|birth", "date"),
    ("time|hour", "time"),
    ("mail", "email"),
    ("name|guest|person|contact|author|customer", "person"),
    ("city|town|destination|origin|location|place|airport|from|to", "city"),
    ("address|street", "street"),
    ("colou?r", "colour"),
    ("code|id|sku|number|ref|token", "code"),
    ("text|message|note|comment|description|body|content|title|subject", "@"),
    ("query|search|term|keyword|item|product", "brand"),
)
"""What a text parameter holds, by its name."""

_PATTERNS = (
    "[Please |]{doing}{values}",
    "[Can|Could] you {doing}{values}[, please|]?",
    "{Doing}{values}",
    "I want to {doing}{values}",
    "{doing}{values}",
)


class Site(World):
    """A site's tools with invented answers."""

    def __init__(self, draw: Draw, tools: Sequence[PageTool], title: str, path: str) -> None:
        super().__init__(draw, Manner(draw), Place(path, title))
        for tool in tools:
            schema, _ = read_schema(tool.input_schema)
            names = cast("JsonObject", schema.get("properties") or {})
            message = f"{spaced(tool.name).capitalize()}: {draw.pick(('done', 'ok', 'finished'))}."

            def run(args: Args, message: str = message) -> JsonValue:
                told = {k: v for k, v in args.items() if isinstance(v, str | int | float)}
                return self.manner.note(message, **(told if draw.chance(0.5) else {}))

            self.actions.append(
                Action(tool.name, tool, {name: name for name in names}, run, frozenset())
            )


def site_lesson(draw: Draw, tools: Sequence[PageTool], title: str, path: str = "/") -> Lesson:
    """One or two requests to a site, one or two calls each."""
    world = Site(draw, tools, title, path)
    turns = [_turn(world) for _ in range(draw.pick((1, 1, 1, 2)))]
    return Lesson("site", world, turns)


def _turn(world: Site) -> Turn:
    draw = world.draw
    count = draw.pick((1, 1, 1, 2)) if len(world.actions) > 1 else 1
    chosen = draw.some(world.actions, count)
    asked = [(action, *_wanted(draw, action.tool)) for action in chosen]
    texts = [_request(draw, action.tool, values) for action, values, _ in asked]
    text = draw.pick((" and then ", ", then ", " and ")).join(
        text if number == 0 else text[:1].lower() + text[1:].rstrip("?")
        for number, text in enumerate(texts)
    )
    said_values = [value.said for _, values, _ in asked for value in values.values()]
    text = draw.roughly(text, said_values)
    troubled(world, chosen[0].role)

    def script() -> Script:
        for action, _, args in asked:
            seen = yield from world.act(action.role, **args)
            if isinstance(seen, ToolFail):
                yield told_failure(world, seen, _doing(action.tool))
                return
        done = " and ".join(_doing(action.tool) for action, _, _ in asked)
        yield said(
            world,
            draw.pick(("That worked: {done}.", "Done: {done}.", "I did that: {done}.")),
            done=done,
        )

    return Turn(text, script)


def _doing(tool: PageTool) -> str:
    """What the tool does, as the first words of a request."""
    first = re.split(r"[.;:(]", tool.description, maxsplit=1)[0].strip()
    if 0 < len(first.split()) <= 7 and first.isascii():
        return first[0].lower() + first[1:]
    return spaced(tool.name).lower()


def _request(draw: Draw, tool: PageTool, values: Mapping[str, Value]) -> str:
    doing = draw.pick((_doing(tool), spaced(tool.name).lower()))
    told = [_told(draw, name, value) for name, value in values.items()]
    join = draw.pick((", ", " and ", " "))
    text = draw.phrase(draw.pick(_PATTERNS), doing="\x00", Doing="\x01", values="\x02")
    lead = draw.pick((" with ", ": ", ", ", " ")) if told else ""
    text = text.replace("\x00", doing).replace("\x01", doing.capitalize())
    return text.replace("\x02", lead + join.join(told))


def _told(draw: Draw, name: str, value: Value) -> str:
    label = spaced(name).lower()
    if value.sent is True:
        return draw.pick((label, f"{label} yes", f"{label} on"))
    if value.sent is False:
        return draw.pick((f"no {label}", f"{label} no", f"{label} off"))
    return draw.pick(
        (f"{label} {value.said}", f"{value.said} {label}", value.said, f"{label}: {value.said}")
    )


def _wanted(draw: Draw, tool: PageTool) -> tuple[dict[str, Value], Args]:
    """Values for the required parameters and some others, and the arguments of the call."""
    schema = compact_schema(tool.input_schema)
    required = cast("list[str]", schema.get("required") or [])
    values: dict[str, Value] = {}
    args: Args = {}
    for name, inner in cast("dict[str, JsonObject]", schema.get("properties") or {}).items():
        if name not in required and draw.chance(0.5):
            continue
        values[name] = value_for(draw, name, inner)
        args[name] = values[name].sent
    return values, args


def value_for(draw: Draw, name: str, schema: JsonObject) -> Value:
    """A value that a compact schema allows, and how a person writes it."""
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        chosen = draw.pick(choices)
        text = chosen if isinstance(chosen, str) else plain(chosen)
        return Value(chosen, draw.pick((text, in_words(text), in_words(text, name))))
    kinds = schema.get("type")
    kind = kinds if isinstance(kinds, str) else "string"
    match kind:
        case "boolean":
            return Value(draw.chance(0.7), "")
        case "integer" | "number":
            return _number_for(draw, schema, kind)
        case "array":
            inner = schema.get("items")
            one = value_for(draw, name, inner if isinstance(inner, dict) else {"type": "string"})
            return Value([one.sent], one.said)
        case "object":
            members = cast("dict[str, JsonObject]", schema.get("properties") or {})
            parts = {key: value_for(draw, key, inner) for key, inner in members.items()}
            told = ", ".join(f"{spaced(key).lower()} {part.said}" for key, part in parts.items())
            return Value({key: part.sent for key, part in parts.items()}, told)
        case _:
            return _text_for(draw, name, schema)


def in_words(choice: str, name: str = "") -> str:
    """A choice as a person may say it, without what the parameter's `name` says: `sauce-layer` of a
    `layer` is sauce, 🌽 an ear of maize."""
    drawn_as = unicodedata.category(choice[0]) == "So" if choice else False
    text = unicodedata.name(choice[0], choice) if drawn_as else spaced(choice)
    own = set(spaced(name).lower().split())
    words = text.lower().split()
    return " ".join(word for word in words if word not in own) or " ".join(words) or choice


def plain(value: JsonValue) -> str:
    """A value that is no text, as a person writes it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return plain_number(value) if isinstance(value, int | float) else str(value)


def _number_for(draw: Draw, schema: JsonObject, kind: str) -> Value:
    low, high = schema.get("minimum"), schema.get("maximum")
    least = int(low) if isinstance(low, int | float) else 1
    most = (
        int(high) if isinstance(high, int | float) else max(least + 1, draw.pick((5, 10, 50, 500)))
    )
    number = draw.whole(least, max(least, most))
    if kind == "number" and draw.chance(0.2) and number + 0.5 <= most:
        return Value(number + 0.5, plain_number(number + 0.5))
    return Value(number, str(number))


def _text_for(draw: Draw, name: str, schema: JsonObject) -> Value:
    told = str(schema.get("description", ""))
    if (found := _EXAMPLE.search(told)) and draw.chance(0.4):
        text = (found.group(1) or found.group(2)).strip().strip("\"'")
        return Value(text, text)
    form = str(schema.get("format", ""))
    if form in {"date", "time", "email"}:
        return drawn(draw, form)
    words = spaced(name).lower()
    for pattern, kind in _KINDS:
        if re.search(rf"\b({pattern})s?\b", words):
            return drawn(draw, kind)
    return drawn(draw, draw.pick(("brand", "@")))
