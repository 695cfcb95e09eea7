"""Lint rules for tools: what models, browsers and people stumble over. Each can be switched off."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from pydantic import JsonValue

from webmcp_agent.agent.kinds import shown
from webmcp_agent.agent.ranking import DESCRIPTION_LIMIT
from webmcp_agent.agent.words import terms, words
from webmcp_agent.browser.tools import JsonObject, PageTool
from webmcp_agent.scenarios.contract import START, Contract
from webmcp_agent.scenarios.contract_lint_arguments import Found, argument_findings
from webmcp_agent.scenarios.hidden_instructions import hidden_instructions, steering

LintLevel = Literal["error", "warning", "info"]

RULES: dict[str, tuple[LintLevel, str]] = {
    "no-tools": ("error", "a page offers tools"),
    "tool-left-out": ("error", "every tool of a page can be listed"),
    "no-description": ("error", "a tool has a description"),
    "hidden-instructions": ("error", "no text speaks to the model behind the person's back"),
    "schema-unusable": ("error", "every part of an input schema can be used"),
    "required-unknown": ("error", "what is required is described"),
    "look-alike-names": ("warning", "no two names of a page can be mistaken for one another"),
    "same-description": ("warning", "no two tools of a page say the same"),
    "name-length": ("warning", "a name has at most 64 characters"),
    "name-characters": ("warning", "a name has only letters, digits, _ and -"),
    "name-vague": ("warning", "a name says what is done"),
    "long-description": ("warning", "a description is short enough to be shown whole"),
    "steering": ("warning", "no description pushes its tool before others"),
    "missing-read-only-hint": ("warning", "a tool that only looks says so"),
    "doubtful-read-only-hint": ("warning", "a tool that changes something is not called read-only"),
    "missing-consequential-hint": ("warning", "a tool that is hard to undo says so"),
    "no-parameter-description": ("warning", "a parameter has a description"),
    "no-parameter-type": ("warning", "a parameter has a type"),
    "default-unfit": ("warning", "a default is a value that is allowed"),
    "enum-too-long": ("warning", "a list of values is short enough to be shown"),
    "schema-too-deep": ("warning", "parameters are not nested too deep to be shown"),
    "too-many-parameters": ("warning", "all parameters can be shown"),
    "missing-untrusted-hint": ("info", "a tool whose answers hold other people's text says so"),
    "short-description": ("info", "a description says more than the name"),
    "name-style": ("info", "the names of a site are written in one way"),
    "several-forms": ("info", "a parameter has one form"),
}
"""By id: how bad it is when the rule does not hold, and the rule."""
_ORDER: tuple[LintLevel, ...] = ("error", "warning", "info")

LONGEST_NAME = 64
"""The limit for function names in the chat APIs that are common today."""
_VAGUE = {"action", "call", "do", "execute", "function", "handle", "process", "run", "test", "tool"}
_LOOKING = {
    *("browse", "compare", "count", "describe", "fetch", "find", "get", "list", "lookup", "query"),
    *("read", "search", "show", "view"),
}
_CHANGING = {
    *("add", "apply", "book", "buy", "cancel", "change", "clear", "create", "delete", "edit"),
    *("insert", "move", "order", "pay", "place", "post", "publish", "purchase", "remove", "rename"),
    *("reserve", "save", "send", "set", "submit", "transfer", "update", "upload", "write"),
}
_HARD_TO_UNDO = {
    *("buy", "cancel", "delete", "order", "pay", "publish", "purchase", "send", "submit"),
    "transfer",
}
_NOT_AN_ACT = {"details", "history", "info", "list", "policy", "preview", "status"}
"""After these, a first word such as `order` is no verb."""
_OTHERS_TEXT = {
    "chat",
    "comment",
    "email",
    "feedback",
    "inbox",
    "mail",
    "message",
    "post",
    "review",
}
_NESTED = 64
"""Levels of a schema whose texts are read."""


@dataclass(frozen=True, slots=True)
class LintFinding:
    """A rule that does not hold."""

    rule: str
    level: LintLevel
    tool: str
    """Empty for what concerns no single tool."""
    message: str

    def to_json(self) -> JsonObject:
        """As `contract lint --json` gives it."""
        return {
            "rule": self.rule,
            "level": self.level,
            "tool": self.tool,
            "message": self.message,
        }


def lint(
    contract: Contract, *, off: Sequence[str] = (), left_out: Sequence[str] = ()
) -> list[LintFinding]:
    """What is wrong with the tools of a site, errors first, then by tool.

    `off` names rules that are not looked at; `left_out` tells of tools that could not be listed."""
    found: list[tuple[str, Found]] = [("", ("tool-left-out", text)) for text in left_out]
    for page, tools in contract.pages.items():
        if not tools:
            where = "the page" if page == START else f"the page {page}"
            found.append(("", ("no-tools", f"{where} has no tools")))
        found += _of_page(tools)
    found += _of_names(list(contract.tools))
    for name, forms in contract.tools.items():
        for tool, _ in forms:
            found += [(name, each) for each in _of_tool(tool)]
    findings = [
        LintFinding(rule, RULES[rule][0], tool, message)
        for tool, (rule, message) in dict.fromkeys(found)
        if rule not in off
    ]
    return sorted(findings, key=lambda each: (_ORDER.index(each.level), each.tool))


def _of_tool(tool: PageTool) -> Iterator[Found]:
    yield from _of_name(tool.name)
    yield from _of_description(tool)
    yield from _of_hints(tool)
    yield from argument_findings(tool)
    for place, text in _texts(tool):
        for reason in hidden_instructions(text):
            yield "hidden-instructions", f"{place} {reason}"
        if (pushed := steering(text)) is not None:
            yield "steering", f"{place} pushes the tool before others: {pushed!r}"


def _of_name(name: str) -> Iterator[Found]:
    if len(name) > LONGEST_NAME:
        yield "name-length", f"the name has {len(name)} characters; model APIs take {LONGEST_NAME}"
    if "." in name:
        yield "name-characters", 'model APIs take no "." in a name'
    said = [word for word in words(name) if not word.isdigit()]
    if not said or set(said) <= _VAGUE:
        yield "name-vague", "the name does not say what the tool does"


def _of_description(tool: PageTool) -> Iterator[Found]:
    text = tool.description
    if not text.strip():
        yield "no-description", "there is no description"
    elif len(text) > DESCRIPTION_LIMIT:
        size = f"{len(text)} characters; models are shown {DESCRIPTION_LIMIT}"
        yield "long-description", f"the description has {size}"
    elif set(terms(text)) <= set(terms(tool.name)):
        yield "short-description", "the description says no more than the name"


def _of_hints(tool: PageTool) -> Iterator[Found]:
    said = words(tool.name)
    verb, last = (said[0], said[-1]) if said else ("", "")
    waits = tool.declarative and not tool.autosubmit
    if verb in _LOOKING and not tool.read_only:
        yield "missing-read-only-hint", f"it seems to only {verb}, and is not marked as read-only"
    if last not in _NOT_AN_ACT:
        if verb in _CHANGING and tool.read_only:
            yield "doubtful-read-only-hint", f"it is marked as read-only and seems to {verb}"
        if verb in _HARD_TO_UNDO and not (tool.consequential or tool.read_only or waits):
            text = f"to {verb} is hard to undo, and it is not marked as consequential"
            yield "missing-consequential-hint", text
    if verb in _LOOKING and not tool.untrusted and (other := _OTHERS_TEXT & set(terms(tool.name))):
        text = f"it gives {min(other)} texts of other people, and is not marked as untrusted"
        yield "missing-untrusted-hint", text


def _of_page(tools: Sequence[PageTool]) -> Iterator[tuple[str, Found]]:
    """Tools of one page that can be mistaken for one another."""
    for one, other in combinations(tools, 2):
        if _are_alike(one.name, other.name):
            yield one.name, ("look-alike-names", f"its name is much like {other.name}")
        mine, theirs = (" ".join(words(each.description)) for each in (one, other))
        if mine and mine == theirs:
            yield one.name, ("same-description", f"it is described as {other.name} is")


def _are_alike(one: str, other: str) -> bool:
    """Whether two names differ in spelling, number or one letter only."""
    if words(one) == words(other) or sorted(terms(one)) == sorted(terms(other)):
        return True
    longer, shorter = sorted((one.casefold(), other.casefold()), key=len, reverse=True)
    if len(shorter) < 5 or re.sub(r"\d", "", longer) == re.sub(r"\d", "", shorter):
        return re.sub(r"\W|_", "", longer) == re.sub(r"\W|_", "", shorter)
    return any(
        longer[:at] + longer[at + 1 :] in {shorter, shorter[:at] + shorter[at + 1 :]}
        for at in range(len(longer))
    )


def _of_names(names: Sequence[str]) -> Iterator[tuple[str, Found]]:
    """Names that are written unlike most others of the site."""
    styles = {name: style for name in names if (style := _style(name))}
    counts = Counter(styles.values()).most_common()
    if len(counts) > 1 and counts[0][1] > counts[1][1]:
        for name, style in styles.items():
            if style != counts[0][0]:
                yield name, ("name-style", f"it is written like {style}, most are {counts[0][0]}")


def _style(name: str) -> str:
    """How words are put together in the name; empty for a single word."""
    if "_" in name or "-" in name or "." in name:
        found = {mark for mark in "_-." if mark in name}
        return {"_": "snake_case", "-": "kebab-case", ".": "dotted.names"}[min(found)]
    if re.search(r"[a-z][A-Z]", name):
        return "PascalCase" if name[0].isupper() else "camelCase"
    return ""


def _texts(tool: PageTool) -> Iterator[tuple[str, str]]:
    """Every text that a model may be shown, with where it stands."""
    yield "the description", tool.description
    if tool.title:
        yield "the title", tool.title
    yield from _texts_in(tool.input_schema, "")


def _texts_in(value: JsonValue, place: str, level: int = 0) -> Iterator[tuple[str, str]]:
    match value:
        case str():
            yield place or "the input schema", value
        case list() if level < _NESTED:
            for item in value:
                yield from _texts_in(item, place, level + 1)
        case dict() if level < _NESTED:
            for name, member in value.items():
                yield f"the name {shown(name)}", name
                yield from _texts_in(member, f"{place}.{name}" if place else name, level + 1)
        case _:
            return
