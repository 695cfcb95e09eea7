"""What changed between two contracts: breaking, compatible or cosmetic, and for whom.

Breaking is what can make a call fail, or mean something else, that was right before. Whoever knows
the old contract is taken to send the parameters that it names, and no others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from webmcp_agent.browser.tools import JsonObject, PageTool
from webmcp_agent.scenarios.contract import Contract

Level = Literal["breaking", "compatible", "cosmetic"]
LEVELS: tuple[Level, ...] = ("breaking", "compatible", "cosmetic")


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one tool."""

    level: Level
    kind: str
    """What kind of change it is, such as `tool-gone`; for programs."""
    tool: str
    """The tool's name in the old contract, of a new tool in the new one; empty for a whole page."""
    text: str
    """What changed, as a sentence without a full stop, complete without the other fields."""
    affects: str = ""
    """Whose calls break, of a breaking change; or what may follow from another one."""
    at: str = ""
    """The parameter, such as `address.city` or `items[]`."""
    pages: tuple[str, ...] = ()

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


def _of_page(
    page: str, old: Sequence[PageTool] | None, new: Sequence[PageTool] | None
) -> list[Change]:
    if old is None:
        return [Change("compatible", "page-new", "", f"the page {page} is new")]
    if new is None:
        text = f"the page {page} is gone"
        return [Change("breaking", "page-gone", "", text, "whoever calls a tool there")]
    return _of_tools({tool.name: tool for tool in old}, {tool.name: tool for tool in new})


def _of_tools(old: Mapping[str, PageTool], new: Mapping[str, PageTool]) -> list[Change]:
    changes: list[Change] = []
    for name, tool in old.items():
        if name not in new:
            text = f"{name} is gone"
            changes.append(Change("breaking", "tool-gone", name, text, f"whoever calls {name}"))
        elif new[name] != tool:
            text = f"{name} is another tool now"
            changes.append(Change("breaking", "tool-changed", name, text, f"whoever calls {name}"))
    changes += [
        Change("compatible", "tool-new", name, f"{name} is new") for name in new if name not in old
    ]
    return changes
