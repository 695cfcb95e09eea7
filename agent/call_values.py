"""The values in a written call, read token by token: JSON, and the Python literals models mix in.

Never evaluates and never replaces text: what stands inside quotes arrives as it was written. What
is tolerated is recorded, what is ambiguous is refused with the place and the reason.
"""

import math
import re
from collections.abc import Callable

from pydantic import JsonValue

from webmcp_agent.providers.base import CALL_MARKERS

JsonObject = dict[str, JsonValue]

NESTING_LIMIT = 64
"""Brackets open at once inside the arguments, those of the arguments included."""
ADDED_BRACKETS_LIMIT = 3

MISSING_BRACKET = "a closing bracket is missing"
NOT_PLAIN = "only plain values are allowed here"
QUOTE_INSIDE = r"write a quote inside a text as \""
NOT_CLOSED = "the text is not closed"

_CLOSERS = tuple(closer for _, closer in CALL_MARKERS.values())
_BLANKS = re.compile(r"\s*")
_PLAIN_TEXT = {
    '"': re.compile(r'[^"\\\x00-\x1f\ud800-\udfff]*'),
    "'": re.compile(r"[^'\\\x00-\x1f\ud800-\udfff]*"),
}
_ESCAPES = {
    '"': '"', "\\": "\\", "/": "/", "'": "'",
    "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
}  # fmt: skip
_HEX = re.compile(r"[0-9a-fA-F]{4}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_LOOSE_NUMBER = re.compile(r"\+|-?\.|-?[0-9]+\.(?![0-9])")
_LEADING_ZERO = re.compile(r"[+-]?0[0-9]")
_WORD = re.compile(r"[^\W\d]\w*")
_UNQUOTED_NAME = re.compile(r"""[^\s,:{}\[\]()"']+\s*:""")
_JSON_WORDS: dict[str, JsonValue] = {"true": True, "false": False, "null": None}
_PYTHON_WORDS: dict[str, JsonValue] = {"True": True, "False": False, "None": None}
_NO_NUMBERS = ("NaN", "Infinity")
_DIGITS_LIMIT = 309
"""The largest double has 309 digits (IEEE 754, binary64)."""


class Unreadable(Exception):
    """A call cannot be read: where in the text, and why.

    `at_end`: the text ended before the call did, so more of it may have been to come. `whole`:
    the reason is a sentence that needs no place."""

    def __init__(self, at: int, reason: str, *, at_end: bool = False, whole: bool = False) -> None:
        super().__init__(reason)
        self.at = at
        self.reason = reason
        self.at_end = at_end
        self.whole = whole


class ValueReader:
    """A place in a text, and the values read from there on.

    `python` reads the literals of the pythonic form without recording them. `mend` allows closing
    brackets to be added right before an end marker; without it none is."""

    def __init__(self, text: str, at: int = 0, *, mend: bool = False) -> None:
        self.text = text
        self.at = at
        self.mend = mend
        self.python = False
        self.repairs: list[str] = []
        self._added = 0
        self._after_text = False

    def blanks(self) -> None:
        """Go over blanks."""
        found = _BLANKS.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def peek(self) -> str:
        """The character here; empty at the end."""
        return self.text[self.at : self.at + 1]

    def take(self, token: str) -> bool:
        """Go over `token`, with the blanks before it, if it is next."""
        self.blanks()
        if not self.text.startswith(token, self.at):
            return False
        self.at += len(token)
        return True

    def at_closer(self) -> bool:
        """Whether an end marker of a call stands here."""
        return self.text.startswith(_CLOSERS, self.at)

    def items(self, closer: str, read_item: Callable[[], None]) -> None:
        """Comma-separated items up to `closer`, the opening bracket already read."""
        more = not self.take(closer)
        while more:
            if self.at_closer() or not self.peek():
                raise self.ended(MISSING_BRACKET)
            read_item()
            if self.take(closer) or self._add_missing(closer):
                break
            if not self.take(","):
                raise self._unexpected()
            more = not self.take(closer)
            if not more:
                self.repairs.append("trailing comma removed")
        self._after_text = False

    def ended(self, reason: str) -> Unreadable:
        """Something is missing here."""
        return Unreadable(self.at, reason, at_end=not self.peek())

    def value(self, depth: int = 1) -> JsonValue:
        """One value; `depth` counts the brackets open with its own.

        Raises: `Unreadable`."""
        self.blanks()
        character = self.peek()
        value: JsonValue
        if not character or character in ",:)]}" or self.at_closer():
            raise self.ended("a value is missing")
        if character in "\"'":
            value = self.quoted()
        elif character in "{[" or (character == "(" and self.python):
            if depth > NESTING_LIMIT:
                raise Unreadable(self.at, f"it is nested deeper than {NESTING_LIMIT}")
            value = self._nested(depth)
        elif _NUMBER.match(self.text, self.at):
            value = self._number()
        else:
            value = self._word()
        self._after_text = character in "\"'"
        return value

    def digits(self) -> str:
        """Bare digits, kept as text."""
        begin = self.at
        while "0" <= self.peek() <= "9":
            self.at += 1
        self._after_text = False
        return self.text[begin : self.at]

    def name(self) -> str:
        """The name of an object's member, and the colon after it."""
        self.blanks()
        if self.peek() not in ("'", '"'):
            raise self._no_name()
        name = self.quoted()
        if self.take(":"):
            return name
        if not self.peek() or self.at_closer():
            raise self.ended("a value is missing")
        raise Unreadable(self.at, NOT_PLAIN if self.peek() in ",}" else QUOTE_INSIDE)

    def once(self, name: str, members: JsonObject) -> None:
        """Refuse a name that was given before."""
        if name in members:
            raise Unreadable(self.at, f"{shown(name, quoted=True)} is given twice")

    def quoted(self) -> str:
        """A text in quotes."""
        begin, quote = self.at, self.peek()
        self.at += 1
        pieces: list[str] = []
        if quote == "'" and not self.python:
            self.repairs.append("single quotes read")
        while True:
            plain = _PLAIN_TEXT[quote].match(self.text, self.at)
            if plain:
                pieces.append(plain[0])
                self.at = plain.end()
            character = self.peek()
            if not character:
                raise Unreadable(begin, NOT_CLOSED, at_end=True)
            if character == "\\":
                pieces.append(self._escape(begin))
                continue
            if character >= "\ud800":
                raise Unreadable(self.at, "half a character")
            self.at += 1
            if character == quote:
                return "".join(pieces)
            kind = "line break" if character in "\r\n" else "control character"
            self.repairs.append(f"raw {kind} in a text read")
            pieces.append(character)

    def _escape(self, begin: int) -> str:
        letter = self.text[self.at + 1 : self.at + 2]
        if not letter:
            raise Unreadable(begin, NOT_CLOSED, at_end=True)
        if letter in _ESCAPES:
            self.at += 2
            return _ESCAPES[letter]
        code = self._code(self.at) if letter == "u" else None
        if code is None:
            at_end = letter == "u" and len(self.text) < self.at + 6
            reason = rf"\{letter} is no escape; write a backslash as \\"
            raise Unreadable(self.at, reason, at_end=at_end)
        if not 0xD800 <= code <= 0xDFFF:
            self.at += 6
            return chr(code)
        low = self._code(self.at + 6)
        if code > 0xDBFF or low is None or not 0xDC00 <= low <= 0xDFFF:
            raise Unreadable(self.at, "half a character", at_end=len(self.text) < self.at + 12)
        self.at += 12
        return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00))

    def _code(self, at: int) -> int | None:
        found = _HEX.match(self.text, at + 2) if self.text.startswith("\\u", at) else None
        return int(found[0], 16) if found else None

    def _nested(self, depth: int) -> JsonValue:
        opener = self.peek()
        self.at += 1
        if opener == "{":
            members: JsonObject = {}

            def member() -> None:
                name = self.name()
                value = self.value(depth + 1)
                self.once(name, members)
                members[name] = value

            self.items("}", member)
            return members
        found: list[JsonValue] = []
        begin = self.at - 1
        self.items("]" if opener == "[" else ")", lambda: found.append(self.value(depth + 1)))
        if opener == "(":
            if len(found) == 1 and not self.text[begin : self.at - 1].rstrip().endswith(","):
                raise Unreadable(begin, NOT_PLAIN)  # brackets around an expression
            self.repairs.append("tuple read as a list")
        return found

    def _number(self) -> int | float:
        begin = self.at
        token = _NUMBER.match(self.text, begin)
        assert token is not None
        self.at = token.end()
        if re.match(r"[\w.]", self.peek()):
            raise Unreadable(begin, NOT_PLAIN)
        if _LEADING_ZERO.match(token[0]):
            raise Unreadable(self.at, "a number must not start with 0")
        if not self.python and _LOOSE_NUMBER.match(token[0]):
            self.repairs.append("loose number read")
        whole = token[1] is None and token[2] is None and "." not in token[0]
        if whole and len(token[0].lstrip("+-")) > _DIGITS_LIMIT:
            raise Unreadable(self.at, "the number is too large")
        try:
            number = int(token[0]) if whole else float(token[0])
            finite = math.isfinite(number)
        except OverflowError:
            finite, number = False, 0
        if not finite:
            raise Unreadable(self.at, "the number is too large")
        return number

    def _word(self) -> JsonValue:
        begin = self.at
        word = _WORD.match(self.text, begin + (self.peek() in "+-"))
        if word is None or (self.peek() in "+-" and word[0] not in _NO_NUMBERS):
            raise Unreadable(begin, NOT_PLAIN)
        if word[0] in _JSON_WORDS:
            self.at = word.end()
            return _JSON_WORDS[word[0]]
        if word[0] in _PYTHON_WORDS:
            if not self.python:
                self.repairs.append("Python literal read")
            self.at = word.end()
            return _PYTHON_WORDS[word[0]]
        self.at = word.end()
        if self.peek() in ("'", '"') or self.take("("):
            raise Unreadable(begin, NOT_PLAIN)  # a prefixed text, or a call
        advice = "" if word[0] in _NO_NUMBERS else "; put text in quotes"
        raise Unreadable(begin, f"{shown(word[0])} is no value{advice}")

    def _add_missing(self, closer: str) -> bool:
        """Add a bracket that is missing after a whole value, right before the end marker."""
        if not self.at_closer():
            return False
        if not self.mend or self._added == ADDED_BRACKETS_LIMIT:
            raise Unreadable(self.at, MISSING_BRACKET)
        self._added += 1
        self.repairs.append(f"missing {closer} added")
        return True

    def _unexpected(self) -> Unreadable:
        character = self.peek()
        if not character or character in ")]}":
            return self.ended(MISSING_BRACKET)
        if self._after_text and not (self.python and character in "+*/%.[("):
            return Unreadable(self.at, QUOTE_INSIDE)
        starts_a_value = character in "\"'{[_" or character.isalnum()
        if starts_a_value and not self.python:
            return Unreadable(self.at, "a comma is missing")
        return Unreadable(self.at, NOT_PLAIN)

    def _no_name(self) -> Unreadable:
        named = _UNQUOTED_NAME.match(self.text, self.at)
        if named is None and self.python:
            return Unreadable(self.at, NOT_PLAIN)  # a set
        return Unreadable(self.at, "an object needs names in quotes")


def shown(name: str, *, quoted: bool = False, limit: int = 40) -> str:
    """A name out of a reply as an error tells it: on one line, cut."""
    short = " ".join(name.split())
    short = short if len(short) <= limit else short[: limit - 1] + "…"
    return f'"{short}"' if quoted else short
