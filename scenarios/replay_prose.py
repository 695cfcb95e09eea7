"""A reference in the prose of an answer: the words before it, and what stands behind them now.

`Added as order 4711.` has one behind `order`. Only what looks like a reference is found, a token
with a digit, `-` or `_` in it: a word of a sentence refers to nothing.
"""

import re
from dataclasses import dataclass

_TOKEN = r"\w+(?:[-./:@#+]\w+)*"
"""As long as it can be: 4711 is no token of `4711-B` or of `x/4711`."""
_TOKENS = re.compile(_TOKEN)

MOST_WORDS = 6
"""Words before a reference that are taken to find it again."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Where a reference stands in a text."""

    value: str
    """As it was."""
    words: str
    """Those right before it; empty at the beginning of a line."""
    pattern: str

    def now(self, text: str) -> str:
        """What stands there in another text; the reference itself where the words are not the same
        any more and it is still there.

        Raises: `LookupError`."""
        found = set(_behind(self.pattern, text, self.value))
        if len(found) == 1:
            return found.pop()
        if stands_in(self.value, text):
            return self.value
        raise LookupError(self.words)


def is_reference(value: str) -> bool:
    """Whether a text can be found in prose at all."""
    return _TOKENS.fullmatch(value) is not None and re.search(r"[-_\d]", value) is not None


def stands_in(value: str, text: str) -> bool:
    """Whether it is a whole token of the text."""
    return any(token.group() == value for token in _TOKENS.finditer(text))


def reading_of(value: str, text: str) -> Reading | None:
    """Where a reference stands, by the fewest words that lead to it and to nothing else of its
    kind; None when it stands nowhere, or when no words single it out."""
    for token in _TOKENS.finditer(text):
        if token.group() != value:
            continue
        line = text.rfind("\n", 0, token.start()) + 1
        words = list(_TOKENS.finditer(text, line, token.start()))
        starts = [word.start() for word in reversed(words[-MOST_WORDS:])]
        for start in [*starts, line]:
            before = text[start : token.start()]
            # At the beginning of a line that is what leads to it.
            pattern = rf"(?<!\w){_any(before)}" if start != line or before else "^"
            if _behind(pattern, text, value) == [value]:
                return Reading(value, " ".join(before.split()), pattern)
    return None


def _behind(pattern: str, text: str, like: str) -> list[str]:
    """The tokens behind the words that are of the same kind as one: digits only, some, or none."""
    found = re.finditer(rf"{pattern}({_TOKEN})", text, re.MULTILINE)
    return [match[1] for match in found if _kind(match[1]) == _kind(like)]


def _kind(token: str) -> str:
    if token.isdecimal():
        return "number"
    if any(letter.isdigit() for letter in token):
        return "digits"
    return "marks" if re.search("[-_]", token) else "word"


def _any(before: str) -> str:
    """The pattern of words before a reference, whatever the numbers among them are."""
    pieces: list[str] = []
    end = 0
    for token in _TOKENS.finditer(before):
        counts = any(letter.isdigit() for letter in token.group())
        pieces += [_gap(before[end : token.start()])]
        pieces += [_TOKEN if counts else re.escape(token.group())]
        end = token.end()
    return "".join([*pieces, _gap(before[end:])])


def _gap(text: str) -> str:
    return r"\s+".join(re.escape(piece) for piece in re.split(r"\s+", text))
