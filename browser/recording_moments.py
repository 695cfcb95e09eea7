"""What a film is told of a run: values only."""

from dataclasses import dataclass

from webmcp_agent.browser.recording_cutting import Picture


@dataclass(frozen=True, slots=True)
class Row:
    """A named value on a card."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What a call came to."""

    ok: bool
    outcome: str
    """In a word or two."""
    took: str
    text: str


@dataclass(frozen=True, slots=True)
class Ran:
    """A call in the list at the end."""

    ok: bool
    what: str
    how: str


@dataclass(frozen=True, slots=True)
class Title:
    """A request begins."""

    kicker: str
    headline: str
    facts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Act:
    """A call is about to be made."""

    number: str
    caption: str
    chapter: str
    tool: str
    rows: tuple[Row, ...] = ()


@dataclass(frozen=True, slots=True)
class Rest:
    """The page had time to come to rest after a call."""


@dataclass(frozen=True, slots=True)
class Tick:
    """Waiting goes on."""


@dataclass(frozen=True, slots=True)
class End:
    """A request is over."""

    kicker: str
    headline: str
    calls: tuple[Ran, ...] = ()
    facts: tuple[str, ...] = ()


What = Title | Act | Reply | Rest | Tick | End


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened, and the pictures of the page since the moment before."""

    what: What
    at_ms: float
    pictures: tuple[Picture, ...] = ()
    address: str = ""
