"""Where in a growing reply the model begins a call, reasons, or has finished.

Reads the reply's text as it comes, in pieces of any length. Decides nothing about the call
itself: from its start on the grammar does.
"""

import re
from dataclasses import dataclass
from typing import Literal

from webmcp_agent.providers.base import CALL_MARKERS, END_MARKERS, REASONING_MARKERS

CallStart = Literal["tags", "pythonic", "bare", "spread", "list", "inline"]
"""How a call was begun: with one of the two markers, as a bare `{"name"`, as one that is spread
over lines, as the first one of a bare list, or, where the tools are listed in the prompt text, as a
bare `{"tool"`; bare ones perhaps in a code fence."""

_OPENERS: dict[str, CallStart] = {
    CALL_MARKERS["tags"][0]: "tags",
    CALL_MARKERS["pythonic"][0]: "pythonic",
}
_EVENT = re.compile(
    "|".join(re.escape(text) for text in (*_OPENERS, REASONING_MARKERS[0], *END_MARKERS))
)
_LONGEST = max(len(text) for text in (*_OPENERS, *REASONING_MARKERS, *END_MARKERS))
_FENCE = r"(?:```(?:[A-Za-z0-9_+-]*\s)?\s*)?"
_BARE = re.compile(r"\s*" + _FENCE + r'(\[\s*)?\{(\s*)"(name|tool)"')
_BARE_SO_FAR = re.compile(
    r"\s*(?:`{1,2}|```[A-Za-z0-9_+-]*|"
    + _FENCE
    + r'(?:\[\s*)?(?:\{\s*(?:"(?:n(?:a(?:me?)?)?|t(?:o(?:ol?)?)?)?)?)?)'
)
"""What may become one: models also write a call into a code fence or a list."""


@dataclass(frozen=True, slots=True)
class Start:
    """A call has begun."""

    how: CallStart
    rest: str
    """What was already read behind the start."""


class ReplyWatch:
    """Follows one reply."""

    def __init__(self, *, reasoning: bool = False, inline: bool = False) -> None:
        self.reasoning = reasoning
        """Whether the reply is inside reasoning now; True from the start when the prompt opened
        it."""
        self.ended = False
        """Whether text that ends a turn was read."""
        self._inline = inline
        self._unread = ""
        self._may_be_bare = True

    def read(self, piece: str) -> Start | None:
        """Read on; returns a call's start once, when it is complete.

        After a start the text belongs to the call: call `resume` when that has ended."""
        self._unread += piece
        while True:
            if self.reasoning:
                if not self._leave_reasoning():
                    return None
                continue
            if self._may_be_bare and (bare := _BARE.match(self._unread)):
                how = _how(listed=bool(bare[1]), spread="\n" in bare[2], key=bare[3])
                if how != "inline" or (self._inline and not bare[1]):
                    return self._start(how, self._unread[bare.end() :])
                self._may_be_bare = False
            if not _BARE_SO_FAR.fullmatch(self._unread):
                self._may_be_bare = False
            event = _EVENT.search(self._unread)
            if event is None:
                if not self._may_be_bare:
                    self._unread = self._unread[-_LONGEST:]
                return None
            rest = self._unread[event.end() :]
            if event[0] in _OPENERS:
                return self._start(_OPENERS[event[0]], rest)
            if event[0] in END_MARKERS:
                self.ended = True
                return None
            # Only blanks before the reasoning: what follows it is still the reply's start.
            self._may_be_bare = not self._unread[: event.start()].strip()
            self.reasoning = True
            self._unread = rest

    def resume(self) -> None:
        """Read on behind a call that has ended."""
        self._unread = ""
        self._may_be_bare = False

    def _leave_reasoning(self) -> bool:
        end = self._unread.find(REASONING_MARKERS[1])
        if end < 0:
            self._unread = self._unread[-_LONGEST:]
            return False
        self._unread = self._unread[end + len(REASONING_MARKERS[1]) :]
        self.reasoning = False
        return True

    def _start(self, how: CallStart, rest: str) -> Start:
        self._unread = ""
        self._may_be_bare = False
        return Start(how, rest)


def _how(*, listed: bool, spread: bool, key: str) -> CallStart:
    if key == "tool":
        return "inline"
    return "list" if listed else "spread" if spread else "bare"
