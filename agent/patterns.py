r"""ECMAScript patterns of a schema, run by the `regex` module within a time limit.

A pattern is rewritten piece by piece: what Python reads in another way (`$`, `\d`, `\w`, `\s`,
`\b`, `.`, `[` in a set, braces that are no quantifier) is spelled out, and what ECMAScript does not
know is refused. Known difference: a reference to a group that did not take part matches nothing
here and the empty text there. Source of the rules: ECMA-262, 22.2 and annex B.1.2 (2025).
"""

import re
from functools import lru_cache
from typing import Protocol, cast

import regex

LONGEST_PATTERN = 200
SEARCH_LIMIT_MS = 50

_DIGIT = "0-9"
_WORD = "A-Za-z0-9_"
_SPACE = r"\t\n\x0b\x0c\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_SETS = {"d": _DIGIT, "w": _WORD, "s": _SPACE}
_CONTROLS = {"t": "\t", "n": "\n", "v": "\x0b", "f": "\x0c", "r": "\r"}
_EDGE = f"(?:(?<=[{_WORD}])(?![{_WORD}])|(?<![{_WORD}])(?=[{_WORD}]))"
_NO_EDGE = f"(?:(?<=[{_WORD}])(?=[{_WORD}])|(?<![{_WORD}])(?![{_WORD}]))"

_QUANTIFIER = re.compile(r"(?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})\??")
_GROUP = re.compile(r"\((?:\?(?::|=|!|<=|<!|<[A-Za-z_$][\w$]*>))?")
_ESCAPE = re.compile(
    r"\\(?:u\{(?P<point>[0-9A-Fa-f]{1,6})\}|u(?P<unit>[0-9A-Fa-f]{4})|x(?P<byte>[0-9A-Fa-f]{2})"
    r"|c(?P<control>[A-Za-z])|(?P<property>[pP]\{[\w=]+\})|k<(?P<name>[A-Za-z_$][\w$]*)>"
    r"|(?P<number>[1-9][0-9]?)|(?P<plain>.))",
    re.DOTALL,
)


class PatternTooSlow(Exception):
    """A search ran out of time."""

    def __init__(self, pattern: str) -> None:
        super().__init__(f"the pattern {pattern!r} took longer than {SEARCH_LIMIT_MS} ms")
        self.pattern = pattern


class _Compiled(Protocol):
    def search(self, string: str, *, timeout: float) -> object: ...


def is_usable(pattern: str) -> bool:
    """Whether the pattern can be run here."""
    return _compiled(pattern) is not None


def occurs(pattern: str, text: str) -> bool:
    """Whether the pattern matches somewhere in the text; true for a pattern that cannot be run.

    Raises:
        PatternTooSlow: there was no answer within 50 ms.
    """
    compiled = _compiled(pattern)
    if compiled is None:
        return True
    try:
        return compiled.search(text, timeout=SEARCH_LIMIT_MS / 1000) is not None
    except TimeoutError as exc:
        raise PatternTooSlow(pattern) from exc


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> _Compiled | None:
    if len(pattern) > LONGEST_PATTERN:
        return None
    try:
        return cast("_Compiled", regex.compile(translated(pattern), regex.VERSION0))
    except (ValueError, regex.error, OverflowError, RecursionError):
        return None


def translated(pattern: str) -> str:
    """The pattern as the `regex` module reads it.

    Raises:
        ValueError: it holds something that ECMAScript does not know.
    """
    pieces: list[str] = []
    at = 0
    while at < len(pattern):
        here = pattern[at]
        if quantifier := _QUANTIFIER.match(pattern, at):
            end = quantifier.end()
            if end < len(pattern) and pattern[end] in "*+?":
                raise ValueError(f"two quantifiers at {at}")
            pieces.append(quantifier.group())
            at = end
        elif here == "(":
            piece, at = _group(pattern, at)
            pieces.append(piece)
        elif here == "[":
            piece, at = _character_set(pattern, at)
            pieces.append(piece)
        elif here == "\\":
            piece, at = _escape(pattern, at, inside=False)
            pieces.append(piece)
        else:
            pieces.append(_plain(here))
            at += 1
    return "".join(pieces)


def _plain(character: str) -> str:
    match character:
        case "$":
            return r"\Z"
        case ".":
            return r"[^\n\r\u2028\u2029]"
        case "^" | "|" | ")":
            return character
        case _:
            return _literal(character)


def _group(pattern: str, at: int) -> tuple[str, int]:
    start = _GROUP.match(pattern, at)
    if start is None or (start.group() == "(" and pattern[at + 1 : at + 2] == "?"):
        raise ValueError(f"an unknown group at {at}")
    return start.group(), start.end()


def _character_set(pattern: str, at: int) -> tuple[str, int]:
    """A set in brackets: `[^]` is any character, `[]` is none."""
    start = at
    at += 1
    negated = pattern.startswith("^", at)
    at += negated
    members: list[str] = []
    while at < len(pattern) and pattern[at] != "]":
        if pattern[at] == "\\":
            piece, at = _escape(pattern, at, inside=True)
        elif pattern[at] == "-" and not _is_beside_class(pattern, at):
            piece, at = "-", at + 1  # it may make a range
        else:
            piece, at = _literal(pattern[at]), at + 1
        members.append(piece)
    if at >= len(pattern):
        raise ValueError(f"an open set at {start}")
    if not members:
        return (r"[\s\S]" if negated else "(?!)"), at + 1
    return f"[{'^' if negated else ''}{''.join(members)}]", at + 1


def _is_beside_class(pattern: str, at: int) -> bool:
    r"""Whether the hyphen at `at` stands for itself because `\w` or the like is next to it."""
    before = pattern[at - 2 : at]
    escaped = (len(pattern[: at - 1]) - len(pattern[: at - 1].rstrip("\\"))) % 2 == 1
    after = pattern[at + 1 : at + 3]
    classes = {"\\" + letter for letter in "dDsSwW"}
    return (escaped and before in classes) or after in classes


def _escape(pattern: str, at: int, *, inside: bool) -> tuple[str, int]:
    found = _ESCAPE.match(pattern, at)
    if found is None:
        raise ValueError("a backslash at the end")
    kind, value, end = str(found.lastgroup), str(found.group(found.lastgroup or 0)), found.end()
    match kind:
        case "unit":
            return _code_unit(pattern, int(value, 16), end)
        case "point" | "byte":
            return _literal(chr(int(value, 16))), end
        case "control":
            return _literal(chr(ord(value) % 32)), end
        case "property":
            return "\\" + value, end
        case "name" if not inside:
            return f"(?P={value})", end
        case "number" if not inside:
            # The group keeps a digit that follows from being read as part of the number.
            return rf"(?:\{value})", end
        case "plain":
            return _plain_escape(value, at, inside=inside), end
        case _:
            raise ValueError(f"an unknown escape at {at}")


def _code_unit(pattern: str, unit: int, end: int) -> tuple[str, int]:
    r"""`\uD83D\uDE00` is one character written in two halves."""
    if 0xD800 <= unit < 0xDC00:
        second = _ESCAPE.match(pattern, end)
        low = int(second["unit"], 16) if second and second["unit"] else 0
        if second and 0xDC00 <= low < 0xE000:
            return _literal(chr(0x10000 + ((unit - 0xD800) << 10) + low - 0xDC00)), second.end()
    return _literal(chr(unit)), end


def _plain_escape(character: str, at: int, *, inside: bool) -> str:
    if (members := _SETS.get(character.lower())) is not None:
        if character.islower():
            return members if inside else f"[{members}]"
        return _complement(character) if inside else f"[^{members}]"
    if character in _CONTROLS:
        return _literal(_CONTROLS[character])
    if character == "0":
        return r"\x00"
    if character in "bB":
        if inside and character == "b":
            return r"\x08"
        if not inside:
            return _EDGE if character == "b" else _NO_EDGE
    if character.isascii() and character.isalnum():
        raise ValueError(f"an unknown escape at {at}")
    return _literal(character)


def _complement(character: str) -> str:
    r"""`\D`, `\W` or `\S` as ranges, for use inside a set."""
    match character:
        case "D":
            return r"\x00-/:-\U0010ffff"
        case "W":
            return r"\x00-/:-@\[-\^`\{-\U0010ffff"
        case _:
            return (
                r"\x00-\x08\x0e-\x1f!-\x9f\xa1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e"
                r"\u2030-\u205e\u2060-\u2fff\u3001-\ufefe\uff00-\U0010ffff"
            )


def _literal(character: str) -> str:
    """The character standing for itself, inside and outside of a set."""
    code = ord(character)
    if character.isascii() and character.isalnum():
        return character
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\U{code:08x}"
