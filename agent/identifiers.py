"""Ids that a model can know: those which the person or the page has said.

A small model makes ids up. While it writes a call, an argument that names a thing by its id is held
to the ids that stand in the conversation, and a tool that needs one before any was said is not
offered when another tool can be asked for it. Only decoding is narrowed: a call that comes some
other way is checked by the page's own schema alone. Where nothing looks like an id, nothing is
narrowed.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from webmcp_agent.agent.words import spaced
from webmcp_agent.browser.tools import JsonObject, PageTool
from webmcp_agent.providers.base import ChatTurn, ToolConstraint

Kind = Literal["string", "integer"]

MOST = 300
"""Ids that a grammar lists; with more of them the argument is left free."""
LONGEST = 120
"""Characters of an id."""
DEEPEST = 8
"""Levels of an argument that are looked through."""
LARGEST = 100_000
"""Characters of the conversation that are read, the newest first."""

_NAMED = frozenset(("id", "sku", "uuid", "guid", "slug", "handle"))
_SAYS_ID = re.compile(r"\bid\b|\bidentifier\b|\bsku\b", re.IGNORECASE)
_SAYS_MORE = re.compile(r"\b(?:name|title|text|new)\b", re.IGNORECASE)
_BOUNDS: dict[Kind, tuple[str, str]] = {
    "string": ("minLength", "maxLength"),
    "integer": ("minimum", "maximum"),
}
_PLAIN = frozenset(
    "type title description default deprecated minLength maxLength minimum maximum".split()
)
"""Keywords of an argument that is narrowed; one that says more of itself is left as it is."""
_ASKS = frozenset(
    "all browse check discover explore fetch find get index list locate look lookup my overview "
    "query read search seek show status view".split()
)
"""Words in the names of tools that can be asked what there is."""

_LABELLED = re.compile(
    r"""(?<![A-Za-z])(?:id|sku|uuid|guid|slug|handle|ref|code|key)s?["']?\s*[:=#]\s*"""
    r"""["'\[]?([^\s"',;|()\[\]{}<>]+)""",
    re.IGNORECASE,
)
_CAMEL_LABELLED = re.compile(r"""[a-z]I[dD]s?["']?\s*[:=]\s*["'\[]?([^\s"',;|()\[\]{}<>]+)""")
_TOKEN = re.compile(r"[^\s\"',;|()\[\]{}<>=?&]+")
_ID_LIKE = re.compile(
    r"(?=.*[A-Za-z])(?=.*\d)[\w.:/#~-]+|[^\W_]+(?:_+[^\W_]+)+|[^\W_]+(?:-[^\W_]+){2,}|[A-Z]{2,}"
)
_JOINED = re.compile(r"[^\W_]+(?:[_-]+[^\W_]+)+")
_NOT_IDS = re.compile(
    r"\d{4}-\d\d(?:-\d\d)?(?:T.*)?|\d+(?::\d\d)+(?:[ap]m)?|\d+(?:st|nd|rd|th|x|%)"
)
_COUNTED = re.compile(
    r"(?<![\w.,:€$£-])(\d{1,18}+)(?![\w.,:€$£%/-]*\d|\w|-)"
    r"(?!\s+(?!(?:and|or|to|from|in|on|at|for|please|is|as|with|of|then|by|has|have)\b)[^\W\d_])"
)
"""Whole numbers that do not count the word behind them: not the 3 of "3 people"."""
_WHOLE = re.compile(r"-?\d{1,18}")


@dataclass(frozen=True, slots=True)
class KnownIds:
    """What in a conversation may be an id, in the order in which it was said."""

    found: tuple[str, ...]
    speaks_of_ids: bool
    """The person uses the word: then any of their words may be one."""
    answered: bool
    """A tool has answered before."""

    def of(self, kind: Kind) -> list[str]:
        """Those that such an argument can hold."""
        return [one for one in self.found if kind == "string" or _WHOLE.fullmatch(one)]


def known_ids(turns: Sequence[ChatTurn], path: str = "") -> KnownIds:
    """The ids that stand in the results, in what was said, and in the path of the page."""
    found: dict[str, None] = {}
    speaks = answered = False
    left = LARGEST
    for turn in reversed(turns):
        text = turn.content[: max(left, 0)]
        left -= len(text)
        if turn.role == "tool":
            answered = True
            found |= dict.fromkeys(_ids_of_result(text))
        elif turn.role == "user" or "<" not in text:
            found |= dict.fromkeys(_ids_of_words(text))
            if turn.role == "user" and _SAYS_ID.search(text):
                speaks = True
                found |= dict.fromkeys(_tokens(text))
    found |= dict.fromkeys(one for one in path.split("/") if _looks_like_id(one))
    short = tuple(one for one in found if len(one) <= LONGEST)
    return KnownIds(short, speaks, answered)


def held_to_known(
    tools: Sequence[PageTool], constraints: Sequence[ToolConstraint], known: KnownIds
) -> tuple[ToolConstraint, ...]:
    """The constraints with ids narrowed to known ones; without tools whose turn cannot be yet."""
    held: list[ToolConstraint] = []
    early: set[str] = set()
    for constraint in constraints:
        schema, lacks = _narrowed("", constraint.schema, known)
        if lacks and not known.answered:
            early.add(constraint.name)
        if schema is constraint.schema:
            held.append(constraint)
        else:
            # The fingerprint stands for the page's schema, not for this one.
            held.append(replace(constraint, schema=schema, fingerprint=""))
    if early and not known.speaks_of_ids and _can_ask(tools, early):
        return tuple(one for one in held if one.name not in early)
    return tuple(held)


def _narrowed(
    name: str, schema: JsonObject, known: KnownIds, needed: bool = True, depth: int = 0
) -> tuple[JsonObject, bool]:
    """The schema of an argument with its ids narrowed; whether one that it needs is not known.

    The very schema when nothing is narrowed. `needed`: no call can do without the argument."""
    if (kind := _kind_of_id(name, schema)) is not None:
        values = known.of(kind)
        fitting = [one for one in values if _fits(one, kind, schema)]
        if fitting and len(fitting) <= MOST:
            return _one_of(kind, fitting), False
        return schema, needed and not values
    if depth > DEEPEST:
        return schema, False
    lacks = False
    if isinstance(properties := schema.get("properties"), dict):
        required = schema.get("required")
        always = required if isinstance(required, list) else ()
        members: JsonObject = {}
        for key, member in properties.items():
            if not isinstance(member, dict):
                continue
            held, lack = _narrowed(key, member, known, needed and key in always, depth + 1)
            lacks = lacks or lack
            if held is not member:
                members[key] = held
        if members:
            schema = {**schema, "properties": {**properties, **members}}
    if isinstance(items := schema.get("items"), dict):
        least = schema.get("minItems")
        filled = isinstance(least, int) and least > 0
        held, lack = _narrowed(name.removesuffix("s"), items, known, needed and filled, depth + 1)
        lacks = lacks or lack
        if held is not items:
            schema = {**schema, "items": held}
    return schema, lacks


def _can_ask(tools: Iterable[PageTool], early: set[str]) -> bool:
    """Whether a tool is left that may say what there is."""
    return any(
        tool.read_only or not _ASKS.isdisjoint(spaced(tool.name).lower().split())
        for tool in tools
        if tool.name not in early
    )


def _kind_of_id(name: str, schema: JsonObject) -> Kind | None:
    if not schema.keys() <= _PLAIN:
        return None
    said = schema.get("description")
    says = isinstance(said, str) and _SAYS_ID.search(said) and not _SAYS_MORE.search(said)
    last = spaced(name).lower().split()[-1:] or [""]
    if last[0] not in _NAMED and not says:
        return None
    match schema.get("type"):
        case "string" | "integer" as kind:
            return kind
        case _:
            return None


def _fits(value: str, kind: Kind, schema: JsonObject) -> bool:
    """Whether the page's schema allows it: what is offered instead must never be more."""
    least, most = _BOUNDS[kind]
    size = len(value) if kind == "string" else int(value)
    low, high = schema.get(least), schema.get(most)
    above = not isinstance(low, int | float) or size >= low
    return above and (not isinstance(high, int | float) or size <= high)


def _one_of(kind: Kind, values: list[str]) -> JsonObject:
    listed = [int(one) for one in values] if kind == "integer" else values
    return {"type": kind, "enum": [*dict.fromkeys(listed)]}


def _ids_of_result(text: str) -> list[str]:
    """What is labelled as an id; without any labels, what looks like one."""
    labels = (_LABELLED, _CAMEL_LABELLED)
    labelled = [_trimmed(match[1]) for label in labels for match in label.finditer(text)]
    if labelled:
        return [one for one in labelled if one]
    return [
        one
        for one in _tokens(text)
        if _looks_like_id(one)
        or (_JOINED.fullmatch(one) and not _NOT_IDS.fullmatch(one))
        or _WHOLE.fullmatch(one)
    ]


def _ids_of_words(text: str) -> list[str]:
    likely = [one for one in _tokens(text) if _looks_like_id(one)]
    return likely + [match[1] for match in _COUNTED.finditer(text)]


def _tokens(text: str) -> list[str]:
    trimmed = (_trimmed(token) for token in _TOKEN.findall(text) if len(token) <= LONGEST)
    return [one for one in trimmed if one]


def _trimmed(token: str) -> str:
    return token.strip("#").rstrip(".:!?…*`").lstrip("*`")


def _looks_like_id(token: str) -> bool:
    return (
        bool(_ID_LIKE.fullmatch(token))
        and not _NOT_IDS.fullmatch(token)
        and token.lower() not in _NAMED
    )
