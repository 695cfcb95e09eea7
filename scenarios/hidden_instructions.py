"""Text of a page that speaks to the model behind the person's back: what gives it away.

Finds what is meant not to be seen (invisible characters, control tokens, comments, long gaps) and
English sentences of the known kinds. A text that passes is not thereby harmless.
"""

import re
from collections import Counter
from collections.abc import Iterator

from webmcp_agent.agent.foreign_text import break_markers, clean, whole_characters

_TOKENS = re.compile(
    r"<\|[\w./ -]{1,40}\|>|<</?SYS>>|\[/?INST\]|</?(?:start|end)_of_turn>|<(?:bos|eos)>|</s>"
    r"|\[/?page content\]",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"<!--.*?(?:-->|$)", re.DOTALL)
_TAG = re.compile(
    r"</?\s*(?:important|system|secret|hidden|instructions?|admin|developer)\b[^<>]{0,80}>",
    re.IGNORECASE,
)
_GAP = re.compile(r"\s{30,}")

# Each lets pass what tools for mail, tasks and support desks say of themselves: "Ignore all
# messages of this thread", "Create a new task", "Do not notify the customer".
_TO_THE_MODEL = re.compile(
    "|".join(
        (
            r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:previous|prior|above"
            r"|earlier|all|other|any|system|these|your|user'?s?)\b.{0,30}"
            r"\b(?:instructions?|prompts?|rules|guidelines)\b",
            r"\b(?:you are now (?:an?|the|in|going)|from now on,? you)\b",
            r"\b(?:(?:secret|hidden|real|new system) instructions?|system prompt"
            r"|developer message)\b",
            r"\b(?:do not|don't|never) (?:(?:tell|mention (?:it|this|that) to)\b.{0,20}"
            r"\b(?:user|person|customer|human|anyone|anybody)"
            r"|(?:inform|warn)\b.{0,20}\b(?:user|person|human))\b",
            r"\bwithout (?:telling|informing|the knowledge of)\b.{0,20}"
            r"\b(?:user|person|customer|human|anyone|anybody)\b",
            r"\b(?:dear|attention,?|hey,?) (?:ai|assistants?|llms?|language models?|agents?)\b",
            r"\b(?:notes?|messages?|instructions?) (?:to|for) (?:the |an? |all |any )?"
            r"(?:ai|llms?|language models?)\b",
            r"^\s*(?:ai|assistant|llm)\s*:",
            r"\b(?:send|forward|upload|post|leak|include|append|pass|copy|repeat|reveal)\b.{0,40}"
            r"\b(?:(?:conversation|chat) history|whole (?:conversation|chat)|previous messages"
            r"|everything (?:the user|you (?:know|were)))\b",
        )
    ),
    re.IGNORECASE | re.MULTILINE,
)
_STEERING = re.compile(
    r"\b(?:always|must|only|first)\b.{0,30}\b(?:call|use|invoke|run|prefer|choose|pick)s?"
    r"(?: only)? this (?:tool|function)\b"
    r"|\b(?:do not|don't|never) (?:call|use|invoke|run) (?:any )?other (?:tools?|functions?)\b"
    r"|\b(?:call|use|invoke|run|prefer|choose) this (?:tool|function)\b.{0,20}"
    r"\b(?:instead of|before any|before every|before all|over (?:all|any)|rather than)\b",
    re.IGNORECASE,
)


def hidden_instructions(text: str) -> Iterator[str]:
    """What in the text is meant for the model and not for a person, each as a clause."""
    whole = whole_characters(text)
    if (seen := clean(text)) != (kept := break_markers(whole)):
        gone = sorted((Counter(kept) - Counter(seen)) | (Counter(text) - Counter(whole)))
        names = ", ".join(f"U+{ord(character):04X}" for character in gone[:4])
        yield f"holds characters that nobody sees: {names}"
    if (token := _TOKENS.search(text)) is not None:
        yield f"holds a control token: {token[0]!r}"
    elif kept != whole:
        at = next(i for i, (a, b) in enumerate(zip(whole, kept, strict=False)) if a != b)
        yield f"holds a control token: {whole[at - 1 : at + 14]!r}"
    for pattern, what in (
        (_COMMENT, "holds a comment"),
        (_TAG, "holds a tag that speaks to the model"),
        (_TO_THE_MODEL, "speaks to the model"),
    ):
        if (found := pattern.search(text)) is not None:
            yield f"{what}: {_short(found[0])!r}"
    if _GAP.search(text.strip()) is not None:
        yield "holds a long gap, behind which text may hide"


def steering(text: str) -> str | None:
    """The words by which a tool pushes itself forward; None when it does not."""
    found = _STEERING.search(text)
    return None if found is None else _short(found[0])


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:59] + "…"
