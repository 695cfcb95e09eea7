"""A text that an ECMAScript pattern matches: the shortest one that reads well, or none.

Knows literals, `.`, classes, groups, `|` and repetition. What it does not know (lookaround, back
references, properties) gives no example; whether a text really matches is for the caller to see.
"""

from collections.abc import Iterator
from dataclasses import dataclass

_CLASSES = {"d": "1", "D": "a", "w": "a", "W": " ", "s": " ", "S": "a"}
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}
_MOST = 200
"""Characters of an example."""


class _Unknown(Exception):
    """Something that is not understood here."""


def pattern_example(pattern: str) -> Iterator[str]:
    """Texts to try, best first; may be none."""
    text = pattern.removeprefix("(?i)")
    for most in (False, True):
        try:
            reader = _Reader(text, most)
            example = reader.alternatives()
        except (_Unknown, IndexError, ValueError, StopIteration):
            return
        if reader.at == len(text) and len(example) <= _MOST:
            yield example


@dataclass(slots=True)
class _Reader:
    """Reads a pattern from left to right and writes a text that it matches."""

    text: str
    most: bool
    """Write what may be left out."""
    at: int = 0

    def alternatives(self) -> str:
        """The first of several; the others are read as well."""
        first = self._sequence()
        while self._next() == "|":
            self.at += 1
            self._sequence()
        return first

    def _next(self) -> str:
        return self.text[self.at] if self.at < len(self.text) else ""

    def _sequence(self) -> str:
        written = ""
        while self._next() not in ("", "|", ")"):
            written += self._repeated(self._atom())
        return written

    def _atom(self) -> str:
        letter = self.text[self.at]
        self.at += 1
        match letter:
            case "^" | "$":
                return ""
            case ".":
                return " " if self._next() in ("*", "+") else "a"
            case "(":
                return self._group()
            case "[":
                return self._class()
            case "\\":
                return self._escape()
            case "*" | "+" | "?":
                raise _Unknown
            case _:
                return letter

    def _group(self) -> str:
        if self._next() == "?":
            self.at += 1
            if self._next() == "<" and self.text[self.at + 1] not in "=!":
                self.at = self.text.index(">", self.at) + 1
            elif self._next() == ":":
                self.at += 1
            else:
                raise _Unknown
        inner = self.alternatives()
        if self._next() != ")":
            raise _Unknown
        self.at += 1
        return inner

    def _class(self) -> str:
        refused = self._next() == "^"
        self.at += refused
        named = ""
        while self._next() != "]":
            letter = self.text[self.at]
            self.at += 1
            named += self._escape() if letter == "\\" else letter
        self.at += 1
        if refused:
            return next(letter for letter in "a1 x-z0Z_" if letter not in named)
        return named[:1]

    def _escape(self) -> str:
        letter = self.text[self.at]
        self.at += 1
        if letter in _CLASSES:
            return _CLASSES[letter]
        if letter in _CONTROLS:
            return _CONTROLS[letter]
        if letter in "bB":
            return ""
        if letter.isalnum():
            raise _Unknown
        return letter

    def _repeated(self, atom: str) -> str:
        """The atom as often as what follows it says."""
        least, letter = 1, self._next()
        if letter in ("*", "?"):
            self.at += 1
            # What may be anything between two words is best a blank.
            least = int(self.most or atom == " ")
        elif letter == "+":
            self.at += 1
        elif letter == "{":
            end = self.text.index("}", self.at)
            numbers = self.text[self.at + 1 : end].split(",")
            if not numbers[0].isdecimal():
                raise _Unknown
            least, self.at = int(numbers[0]), end + 1
        else:
            return atom
        if self._next() == "?":
            self.at += 1
        return atom * min(least, _MOST + 1)
