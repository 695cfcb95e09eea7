"""Plain replies that must not stand: failures ignored, work handed back or only announced, claims.

Each function judges one text and decides nothing else; the loop asks them in order. They are
linear in their input, raise nothing, and know English only: in another language a failure may be
asked about once too often, and the other checks stay silent.
"""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from webmcp_agent.agent.phrases import (
    ACTION_VERBS,
    ANNOUNCEMENT,
    ASK_FORM,
    CALLING,
    CLAIM_STARTS,
    CLAIMS,
    CONDITION,
    FAILURE_WORDS,
    GO_AHEAD,
    JUDGEMENT,
    LEAD_INS,
    NO_ACTION_VERBS,
    NOT_YET,
    OWN_WORDS,
    QUESTION_OPENER,
    TELL_WORDS,
)
from webmcp_agent.agent.words import STOP_WORDS, sentences, spaced, stem, words
from webmcp_agent.browser.tools import PageTool

ECHO_FROM = 40
"""Characters from which a reply that stands inside a result is an echo."""
ECHO_SHARE = 0.8
"""Share of a reply that a result inside it fills."""
ECHO_SIMILARITY = 0.9
EXACT_UP_TO = 200
"""Characters up to which similarity is an alignment, whose cost grows with the square."""

_ERROR_HEAD = re.compile(r"\s*Error \[[a-z-]*\]:")
_FIRST_WORD = re.compile(r"[^\W_]+")
_FENCE = re.compile(r"```(?:json\b|\w+(?=\n))?")
_WRAPPING = re.compile(r"\[/?page content\]")
_DROPPED = str.maketrans(dict.fromkeys("\"'`“”‘’„«»[]{}()<>*_#~|", ""))


def is_action(request: str, tools: Sequence[PageTool]) -> bool:
    """Whether the person asks for something to be done, rather than asks or tells something.

    `tools` are all tools of the page: the first word of a name counts as a verb here."""
    said = sentences(request)
    if GO_AHEAD.fullmatch(" ".join(said)):
        return True
    own = {first.group().casefold() for tool in tools if (first := _first_word(tool.name))}
    verbs = ACTION_VERBS | {stem(word) for word in own - NO_ACTION_VERBS - STOP_WORDS}
    return any(_asks(_after_lead_ins(sentence), verbs) for sentence in said)


def _first_word(name: str) -> re.Match[str] | None:
    return _FIRST_WORD.match(spaced(name))


def _asks(sentence: str, verbs: frozenset[str]) -> bool:
    if QUESTION_OPENER.match(sentence):
        return False
    first = _FIRST_WORD.match(sentence)
    if first and stem(first.group().casefold()) in verbs:
        return True
    return any(
        form["bare"] is not None or stem(form["verb"].casefold()) in verbs
        for form in ASK_FORM.finditer(sentence)
    )


def _after_lead_ins(sentence: str) -> str:
    lead = LEAD_INS.match(sentence)
    return sentence[lead.end() :] if lead else sentence


def told_tool(reply: str, tools: Sequence[PageTool]) -> str | None:
    """The name of the shown tool that the reply tells the person to use; None for no such tool.

    A sentence names a tool when it holds every word of its name or title; the most words win, then
    the first of `tools`. A name of one word has to stand there as it is."""
    labels = _labels(tools)
    best: _Label | None = None
    for sentence in sentences(reply):
        own = OWN_WORDS.match(sentence) or OWN_WORDS.match(_after_lead_ins(sentence))
        if own or not TELL_WORDS.search(sentence):
            continue
        held = frozenset(words(sentence))
        for label in labels:
            longer = best is None or len(label.parts) > len(best.parts)
            if longer and label.is_in(sentence, held):
                best = label
    return best.tool if best else None


def announced_tool(reply: str, tools: Sequence[PageTool]) -> str | None:
    """The name of the shown tool that the reply says it is about to use, and does not; or None.

    A question announces nothing: the model waits for an answer."""
    if _asks_back(reply):
        return None
    labels = _labels(tools)
    for sentence in sentences(reply):
        verbs = {each["verb"].casefold() for each in ANNOUNCEMENT.finditer(sentence)}
        held = frozenset(words(sentence)) if verbs else frozenset[str]()
        for label in labels:
            begins = not verbs.isdisjoint(CALLING | {label.first})
            if begins and label.is_in(sentence, held):
                return label.tool
    return None


def only_judges(reply: str) -> bool:
    """Whether a reply says no more than that the result does, or does not, answer the request."""
    return JUDGEMENT.fullmatch(reply.strip()) is not None


@dataclass(frozen=True, slots=True)
class _Label:
    """A name or title by which a sentence can mean a tool."""

    tool: str
    parts: frozenset[str]
    first: str
    alone: re.Pattern[str] | None

    def is_in(self, sentence: str, held: frozenset[str]) -> bool:
        """Whether the sentence, whose words are `held`, holds all of it."""
        return self.parts <= held and (not self.alone or bool(self.alone.search(sentence)))


def _labels(tools: Sequence[PageTool]) -> list[_Label]:
    return [
        _Label(tool.name, frozenset(parts), first, _alone(label) if len(parts) == 1 else None)
        for tool in tools
        for label in (tool.name, tool.title or "")
        if (parts := words(label)) and (first := spaced(label).casefold().split()[0])
    ]


def _alone(label: str) -> re.Pattern[str]:
    """The label where it is no part of a longer name: "open" is not in "open_product"."""
    return re.compile(
        rf"(?<![\w-])(?<!\w\.){re.escape(label.strip())}(?![\w-])(?!\.\w)", re.IGNORECASE
    )


def ignores_failure(reply: str, error: str) -> bool:
    """Whether a reply passes over the failure of the call before it.

    It does not when it admits a failure, asks, or repeats half of the error's words. `error` may
    begin with `Error [code]:`."""
    if _asks_back(reply) or any(FAILURE_WORDS.search(said) for said in sentences(reply)):
        return False
    head = _ERROR_HEAD.match(error)
    wanted = {stem(word) for word in words(error[head.end() :] if head else error)}
    shared = wanted & {stem(word) for word in words(reply)}
    return not wanted or 2 * len(shared) < len(wanted)


def claims_success(reply: str) -> bool:
    """Whether a reply says that something was done; a question claims nothing."""
    if _asks_back(reply):
        return False
    return any(_claims(sentence, _after_lead_ins(sentence)) for sentence in sentences(reply))


def _claims(whole: str, sentence: str) -> bool:
    if CONDITION.match(sentence) or NOT_YET.search(whole) or FAILURE_WORDS.search(whole):
        return False
    return any(start.match(sentence) for start in CLAIM_STARTS) or any(
        claim.search(sentence) for claim in CLAIMS
    )


def _asks_back(reply: str) -> bool:
    return reply.rstrip(" \t\r\n*_`\"'”’)").endswith("?")


def echoes(reply: str, results: Sequence[str]) -> bool:
    """Whether a reply only repeats one of the earlier `results`, or is JSON after any result."""
    if not results:
        return False
    if _is_json(reply):
        return True
    said = _bare(reply)
    return bool(said) and any(_repeats(said, _bare(result)) for result in results)


def _repeats(said: str, result: str) -> bool:
    if not result:
        return False
    if said == result or (len(said) >= ECHO_FROM and said in result):
        return True
    if len(result) >= ECHO_SHARE * len(said) and result in said:
        return True
    return _similarity(said, result) >= ECHO_SIMILARITY


def _similarity(one: str, other: str) -> float:
    """From 0 to 1: by aligning short texts, by the pairs of characters that long ones share."""
    size = len(one) + len(other)
    if 2 * min(len(one), len(other)) < ECHO_SIMILARITY * size:
        return 0.0  # too unlike in length, by either measure
    if max(len(one), len(other)) <= EXACT_UP_TO:
        matcher = SequenceMatcher(None, one, other, autojunk=False)
        return matcher.ratio() if matcher.quick_ratio() >= ECHO_SIMILARITY else 0.0
    pairs = [Counter(map(str.__add__, text, text[1:])) for text in (one, other)]
    return 2 * (pairs[0] & pairs[1]).total() / (size - 2)


def _bare(text: str) -> str:
    """The text without case, blanks, quotes, brackets, markdown, and the mark of a cut."""
    text = _FENCE.sub("", _WRAPPING.sub("", text)).casefold().translate(_DROPPED)
    return "".join(text.split()).rstrip("…")


def _is_json(text: str) -> bool:
    """Whether the whole text, inside a fence or not, is a JSON object or list."""
    text = text.strip()
    if text.startswith("```") and text.endswith("```"):
        text = _FENCE.sub("", text).strip()
    if not text.startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
