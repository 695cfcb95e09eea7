"""The tools of a page as plain values, and the seam behind which a live page stands.

Holds values and Protocols only, so that whoever needs to know what a tool *is* (ranking, prompts,
reports) does not load a browser. The live thing is `PageTools` in `page_tools.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

from pydantic import JsonValue

JsonObject = dict[str, JsonValue]

ToolErrorCode = Literal[
    "not-found",
    "changed",
    "invalid-args",
    "failed",
    "denied",
    "needs-user",
    "blocked",
    "timeout",
    "navigated",
    "no-answer",
    "cancelled",
    "unavailable",
]
"""Every way in which a call can end other than with an answer."""

TOOL_ERROR_CODES: tuple[ToolErrorCode, ...] = get_args(ToolErrorCode)

UNCERTAIN_CODES: frozenset[ToolErrorCode] = frozenset(
    {"timeout", "navigated", "no-answer", "cancelled"}
)
"""Codes after which the call may have had its effect although no answer came."""


@dataclass(frozen=True, slots=True)
class PageTool:
    """One tool of a page, as the page described it."""

    name: str
    """1 to 128 characters of `A-Z a-z 0-9 _ . -`, unique in its list."""
    description: str
    input_schema: JsonObject | str | None = None
    """The page's own schema; JSON text in older browsers, None when the tool gives none."""
    title: str | None = None
    read_only: bool = False
    untrusted: bool = False
    """The page says that answers hold other people's text (reviews, messages)."""
    consequential: bool = False
    """The page says that the effect is hard to undo (orders, payments)."""
    autosubmit: bool = False
    """A form that submits itself when called; False for a form that waits for the person."""
    declarative: bool = False
    """Comes from a form; the browser refuses unknown arguments."""
    origin: str | None = None
    frame: str | None = None
    fingerprint: str = ""
    """Covers name, origin, description, schema and hints; differs when any of them does."""


@dataclass(frozen=True, slots=True)
class PageContext:
    """What a person would say is open: path without query and fragment, title, main heading."""

    path: str
    title: str
    h1: str | None = None


@dataclass(frozen=True, slots=True)
class ToolOk:
    """The tool answered."""

    text: str
    value: JsonValue = None
    navigated: bool = False
    """The page moved to another document before or after it answered."""
    unwitnessed: bool = False
    """The browser keeps an account of calls and has none of this one: the page answered by itself,
    in place of its tool."""


@dataclass(frozen=True, slots=True)
class ToolFail:
    """The call ended without an answer that can be used."""

    code: ToolErrorCode
    message: str
    """One line, at most 500 characters, without stack traces and file paths."""
    may_have_happened: bool | None = None
    """Whether the effect may have taken place; None stands for what the code implies."""
    hand_over: bool = False
    """The page has handed over to the person: no call gets any further until they have acted."""

    def __post_init__(self) -> None:
        if self.may_have_happened is None:
            object.__setattr__(self, "may_have_happened", self.code in UNCERTAIN_CODES)


class StopSignal(Protocol):
    """Stop, as far as a page needs to know it."""

    @property
    def aborted(self) -> bool:
        """Whether Stop was pressed."""
        ...

    async def wait(self) -> object:
        """Return once Stop is pressed."""
        ...


class ToolSource(Protocol):
    """Whatever offers tools: a live page, or a stand-in with the same three methods."""

    async def list_tools(self) -> Sequence[PageTool]:
        """The tools that can be called now, in the page's order, each name once."""
        ...

    async def call_tool(
        self, name: str, args: JsonObject, *, call_id: str, signal: StopSignal
    ) -> ToolOk | ToolFail:
        """Call a tool once; raises nothing but `CancelledError`."""
        ...

    async def page_context(self) -> PageContext | None:
        """What is open now; None when it cannot be told."""
        ...
