"""Ids that a model can know: those which the person or the page has said.

What is labelled as one, what looks like one, and whole numbers that count nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from webmcp_agent.providers.base import ChatTurn

Kind = Literal["string", "integer"]

LONGEST = 120
"""Characters of an id."""
LARGEST = 100_000
"""Characters of the conversation that are read, the newest first."""

NAMED = frozenset(("id", "sku", "uuid", "guid", "slug", "handle"))
SAYS_ID = re.compile(r"\bid\b|\bidentifier\b|\bsku\b", re.IGNORECASE)
_LABELLED = re.compile(
    r"""(?<![A-Za-z])(?:id|sku|uuid|guid|slug|handle|ref|code|key)s?["']?\s*[:=#]\s*"""
    r"""["'\[]?([^\s"',;|()\[\]{}<>]+)""",
    re.IGNORECASE,
)
_CAMEL_LABELLED = re.compile(r"""[a-z]I[dD]s?["']?\s*[:=]\s*["'\[]?([^\s"',;|()\[\]{}<>]+)""")
_TOKEN = re.compile(r"[^\s\"',;|()\[\]{}<>=?&]+")
_ID_LIKE = re.compile(
    r"(?=.*[A-Za-z])(?=.*\d)[\w.:/#~-]+|[^\W_]+(?:_+[^\W_]+)+|[^\W_]+(?:-[^\W_]+){2,}|[A-Z]{2,}"
)
_JOINED = re.compile(r"[^\W_]+(?:[_-]+[^\W_]+)+")
_NOT_IDS = re.compile(
    r"\d{4}-\d\d(?:-\d\d)?(?:T.*)?|\d+(?::\d\d)+(?:[ap]m)?|\d+(?:st|nd|rd|th|x|%)"
)
_COUNTED = re.compile(
    r"(?<![\w.,:€$£-])(\d{1,18}+)(?![\w.,:€$£%/-]*\d|\w|-)"
    r"(?!\s+(?!(?:and|or|to|from|in|on|at|for|please|is|as|with|of|then|by|has|have)\b)[^\W\d_])"
)
"""Whole numbers that do not count the word behind them: not the 3 of "3 people"."""
_WHOLE = re.compile(r"-?\d{1,18}")
_WORD = re.compile(r"[^\W\d_]+")
_OF_A_NAME = re.compile(r"(?:[A-Z]\w*\s+){2,}$|\b(?:[Ss]ize|[Ss]izes)\s+$")
"""Before a number: a name of several words, of which it is the last one, or a size."""
_COUPON = re.compile(
    r"\b(?:(?:coupon|voucher|discount|promo|promotion|gift)s?(?:\s+(?:code|card|number))?"
    r"|(?:use|apply|redeem|enter)\s+(?:the\s+|my\s+|a\s+)?code)\s*:?\s+[\"']?([^\s\"',;]+)",
    re.IGNORECASE,
)
"""A coupon by its code, which names no thing."""
_COUPON_WORDS = frozenset("code coupon discount promo promotion voucher".split())
"""One of them said, all of them meant."""


@dataclass(frozen=True, slots=True)
class KnownIds:
    """What in a conversation may be an id, in the order in which it was said."""

    found: tuple[str, ...]
    speaks_of_ids: bool
    """The person uses the word: then any of their words may be one."""
    answered: bool
    """A tool has answered before."""
    said: frozenset[str] = frozenset()
    """The person's words, singular and plural alike."""
    coupons: frozenset[str] = frozenset()
    """Codes of coupons, which may be meant by an argument of the tool itself, but name no thing in
    a list."""

    def of(self, kind: Kind, depth: int) -> list[str]:
        """Those that an argument can hold, so many levels inside the tool's own arguments."""
        return [
            one
            for one in self.found
            if (kind == "string" or _WHOLE.fullmatch(one))
            and (depth <= 1 or one not in self.coupons)
        ]


def known_ids(turns: Sequence[ChatTurn], path: str = "") -> KnownIds:
    """The ids that stand in the results, in what was said, and in the path of the page."""
    found: dict[str, None] = {}
    said: set[str] = set()
    coupons: set[str] = set()
    speaks = answered = False
    left = LARGEST
    for turn in reversed(turns):
        text = turn.content[: max(left, 0)]
        left -= len(text)
        if turn.role == "tool":
            answered = True
            found |= dict.fromkeys(_ids_of_result(text))
        elif turn.role == "user" or "<" not in text:
            found |= dict.fromkeys(_ids_of_words(text))
            coupons |= {_trimmed(match[1]) for match in _COUPON.finditer(text)}
            said |= stems(text) if turn.role == "user" else set()
            if turn.role == "user" and SAYS_ID.search(text):
                speaks = True
                found |= dict.fromkeys(_tokens(text))
    found |= dict.fromkeys(one for one in path.split("/") if _looks_like_id(one))
    short = tuple(one for one in found if len(one) <= LONGEST)
    if coupons:
        said |= _COUPON_WORDS
    return KnownIds(short, speaks, answered, frozenset(said), frozenset(coupons))


def stems(text: str) -> set[str]:
    """Its words, singular and plural alike."""
    return {word.lower().removesuffix("s") for word in _WORD.findall(text)}


def _ids_of_result(text: str) -> list[str]:
    """What is labelled as an id; without any labels, what looks like one."""
    labels = (_LABELLED, _CAMEL_LABELLED)
    labelled = [_trimmed(match[1]) for label in labels for match in label.finditer(text)]
    if labelled:
        return [one for one in labelled if one]
    return [
        one
        for one in _tokens(text)
        if _looks_like_id(one)
        or (_JOINED.fullmatch(one) and not _NOT_IDS.fullmatch(one))
        or _WHOLE.fullmatch(one)
    ]


def _ids_of_words(text: str) -> list[str]:
    likely = [one for one in _tokens(text) if _looks_like_id(one)]
    counted = (
        m
        for m in _COUNTED.finditer(text)
        if not _OF_A_NAME.search(text[max(0, m.start() - LONGEST) : m.start()])
    )
    return likely + [match[1] for match in counted]


def _tokens(text: str) -> list[str]:
    trimmed = (_trimmed(token) for token in _TOKEN.findall(text) if len(token) <= LONGEST)
    return [one for one in trimmed if one]


def _trimmed(token: str) -> str:
    return token.strip("#").rstrip(".:!?…*`").lstrip("*`")


def _looks_like_id(token: str) -> bool:
    return (
        bool(_ID_LIKE.fullmatch(token))
        and not _NOT_IDS.fullmatch(token)
        and token.lower() not in NAMED
    )
