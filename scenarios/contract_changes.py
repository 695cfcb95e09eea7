"""What changed between two contracts: breaking, compatible or cosmetic, and for whom.

Breaking is what can make a call fail, or mean something else, that was right before. Whoever knows
the old contract is taken to send the parameters that it names, and no others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from webmcp_agent.agent.words import words
from webmcp_agent.browser.tools import JsonObject, PageTool
from webmcp_agent.scenarios.contract import Contract
from webmcp_agent.scenarios.contract_arguments import argument_changes
from webmcp_agent.scenarios.contract_facets import LEVELS, SAME_TEXT, Level, text_change


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one tool."""

    level: Level
    kind: str
    """What kind of change it is, such as `tool-gone`; for programs."""
    tool: str
    """The tool's name in the old contract, of a new tool in the new one; empty for a whole page."""
    text: str
    """What changed: a clause that follows the tool's name."""
    affects: str = ""
    """For whom it breaks, of a breaking change."""
    at: str = ""
    """The parameter, such as `address.city` or `items[]`."""
    pages: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The whole change on one line, without the pages."""
        whom = f" (breaks {self.affects})" if self.affects else ""
        return f"{self.tool}: {self.text}{whom}" if self.tool else f"{self.text}{whom}"

    def to_json(self) -> JsonObject:
        """The change as `contract diff --json` gives it."""
        return {
            "tool": self.tool,
            "kind": self.kind,
            "at": self.at,
            "text": self.text,
            "affects": self.affects,
            "pages": [*self.pages],
        }


def differences(old: Contract, new: Contract) -> list[Change]:
    """What changed, breaking changes first, then by tool; a change of several pages stands once."""
    found: dict[Change, list[str]] = {}
    for page in (*old.pages, *(page for page in new.pages if page not in old.pages)):
        for change in _of_page(page, old.pages.get(page), new.pages.get(page)):
            found.setdefault(change, []).append(page)
    changes = [replace(change, pages=tuple(pages)) for change, pages in found.items()]
    return sorted(changes, key=lambda change: (LEVELS.index(change.level), change.tool))


def by_level(changes: Sequence[Change]) -> dict[Level, list[Change]]:
    """The changes of each level, all three there."""
    return {level: [change for change in changes if change.level == level] for level in LEVELS}


def _of_page(
    page: str, old: Sequence[PageTool] | None, new: Sequence[PageTool] | None
) -> list[Change]:
    if old is None:
        return [Change("compatible", "page-new", "", f"the page {page} is new")]
    if new is None:
        text = f"the page {page} is gone"
        return [Change("breaking", "page-gone", "", text, "whoever calls its tools")]
    return _of_tools({tool.name: tool for tool in old}, {tool.name: tool for tool in new})


def _of_tools(old: Mapping[str, PageTool], new: Mapping[str, PageTool]) -> list[Change]:
    gone = [tool for name, tool in old.items() if name not in new]
    fresh = [tool for name, tool in new.items() if name not in old]
    renamed = _renamed(gone, fresh)
    changes: list[Change] = []
    for tool in gone:
        whom = f"whoever calls {tool.name}"
        if (other := renamed.get(tool.name)) is None:
            changes.append(Change("breaking", "tool-gone", tool.name, "is gone", whom))
        else:
            text = f"is gone; renamed to {other.name}?"
            changes.append(Change("breaking", "tool-renamed", tool.name, text, whom))
            changes += _of_tool(tool, other)
    twins = {tool.name for tool in renamed.values()}
    changes += [
        Change("compatible", "tool-new", tool.name, "is new")
        for tool in fresh
        if tool.name not in twins
    ]
    for name, tool in old.items():
        if name in new:
            changes += _of_tool(tool, new[name])
    return changes


def _of_tool(old: PageTool, new: PageTool) -> list[Change]:
    """What changed in a tool, under the name that it has now."""
    found = [
        text_change(kind, "", before or "", after or "")
        for kind, before, after in (
            ("description", old.description, new.description),
            ("title", old.title, new.title),
        )
    ]
    arguments = argument_changes(old, new)
    return [
        *_hints(old, new),
        *(
            Change(each.level, each.kind, new.name, each.text, each.affects, each.at)
            for each in (*found, *arguments)
            if each is not None
        ),
    ]


def _hints(old: PageTool, new: PageTool) -> list[Change]:
    """Changes of what a tool says of itself, besides texts and arguments."""
    found: list[Change] = []

    def add(level: Level, kind: str, text: str, affects: str = "") -> None:
        found.append(Change(level, kind, new.name, text, affects))

    if old.read_only and not new.read_only:
        add("breaking", "read-only-lost", "is no longer read-only", "whoever called it to look")
    elif new.read_only and not old.read_only:
        add("compatible", "read-only-gained", "is read-only now")
    if new.consequential and not old.consequential:
        whom = "runs that nobody watches: each call has to be approved"
        add("breaking", "consequential-gained", "is consequential now", whom)
    elif old.consequential and not new.consequential:
        text = "is no longer consequential: it may be called without being approved"
        add("compatible", "consequential-lost", text)
    if old.untrusted and not new.untrusted:
        text = "no longer says that its answers hold other people's text"
        add("compatible", "untrusted-lost", text)
    elif new.untrusted and not old.untrusted:
        add("compatible", "untrusted-gained", "says that its answers hold other people's text")
    waited, waits = _waits(old), _waits(new)
    if waits and not waited:
        whom = "whoever counts on its effect"
        add("breaking", "waits-for-person", "only fills in a form now, which a person sends", whom)
    elif waited and not waits:
        whom = "whoever counts on a person to send the form"
        add("breaking", "acts-by-itself", "takes effect without a person now", whom)
    elif old.declarative != new.declarative:
        text = "is a form now" if new.declarative else "is a script now, not a form"
        add("compatible", "form-changed", text)
    if old.origin != new.origin:
        if new.origin is None:
            add("compatible", "origin-changed", "comes from the page itself now")
        else:
            whom = f"whoever does not allow {new.origin}"
            add("breaking", "origin-changed", f"comes from {new.origin} now", whom)
    return found


def _waits(tool: PageTool) -> bool:
    """Whether a call only fills in a form."""
    return tool.declarative and not tool.autosubmit


def _renamed(gone: Sequence[PageTool], fresh: Sequence[PageTool]) -> dict[str, PageTool]:
    """By the old name, what a tool that is gone seems to be called now; the most alike first."""
    pairs = [
        (likeness, old.name, new)
        for old in gone
        for new in fresh
        if (likeness := _likeness(old, new)) >= SAME_TEXT
    ]
    found: dict[str, PageTool] = {}
    taken: set[str] = set()
    for _, name, new in sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2].name)):
        if name not in found and new.name not in taken:
            found[name] = new
            taken.add(new.name)
    return found


def _likeness(old: PageTool, new: PageTool) -> float:
    """How likely two tools are the same one, 0 to 1: equal arguments, and alike in words."""
    same_arguments = not any(f.level != "cosmetic" for f in argument_changes(old, new))
    in_words = _ratio(words(old.description), words(new.description))
    in_name = max(_ratio(words(old.name), words(new.name)), _ratio(old.name, new.name) - 0.2)
    if same_arguments:
        return max(in_words, in_name) + min(in_words, in_name) / 10
    # With other arguments only a text that is the same, or nearly so, tells.
    return in_words - 0.3


def _ratio(one: Sequence[str], other: Sequence[str]) -> float:
    return SequenceMatcher(None, one, other, autojunk=False).ratio() if one and other else 0.0
