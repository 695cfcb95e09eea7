"""Text of a page or a person made harmless: invisible characters, markers, half characters.

What is cleaned reads the same to a person, adds no control token of the call formats to a prompt,
and makes no call when a model repeats it. Control tokens of one model's own tokenizer are broken
by its provider, which alone knows them. Nothing here judges what a text *says*.
"""

import re
import unicodedata

from pydantic import JsonValue

from webmcp_agent.providers.base import CALL_MARKERS, END_MARKERS, REASONING_MARKERS

JsonObject = dict[str, JsonValue]

MARKERS: tuple[str, ...] = (
    *(marker for pair in CALL_MARKERS.values() for marker in pair),
    *REASONING_MARKERS,
    *END_MARKERS,
)
"""Every text that a model's side of a conversation gives a meaning to; each begins with `<`."""

_BREAK = "\u200b"
_MARKER_START = re.compile("<(?=" + "|".join(re.escape(marker[1:]) for marker in MARKERS) + ")")

OPEN_PAGE_CONTENT = "[page content]"
CLOSE_PAGE_CONTENT = "[/page content]"
# Possessive, so that many blanks after a bracket are read once.
_PAGE_CONTENT_MARK = re.compile(r"\[(\s*+/?+\s*+page\s++content\s*+)\]", re.IGNORECASE)

_NESTING_LIMIT = 200

# A flag is a black flag, a region of two letters, its part of one to three letters or digits, and
# an end, all but the first as tag characters (UTS #51, emoji tag sequences). Longer runs of tag
# characters spell text that nobody sees.
_REGION = "[\U000e0061-\U000e007a]{2}[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,3}"
_FLAG = f"\U0001f3f4{_REGION}\U000e007f"
# Bidirectional controls, zero-width spaces, word joiners and invisible operators, deprecated
# format characters, tag characters.
_NEVER_SEEN = "[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
_INVISIBLE = re.compile(f"({_FLAG})|{_NEVER_SEEN}")
# A second variation selector on one character selects nothing; a long run of them hides a text.
_SELECTOR = "[\ufe00-\ufe0f\U000e0100-\U000e01ef]"
_SPARE_SELECTORS = re.compile(f"(?<={_SELECTOR}){_SELECTOR}+")

_JOINERS = re.compile("[\u180e\u200c\u200d]")
# Blocks of scripts whose letters join or stack: Arabic to Arabic Extended-A, the Indic blocks,
# Tibetan and Myanmar, Khmer and Mongolian, Tai Tham, Balinese to Lepcha, Phags-pa to Meetei
# Mayek, Arabic presentation forms, and the historic and minority scripts of plane 1.
_JOINED_SCRIPTS = re.compile(
    "[\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\u1a20-\u1aaf\u1b00-\u1c4f"
    "\ua840-\uabff\ufb50-\ufdff\ufe70-\ufefe\U00010a00-\U00011fff\U0001e900-\U0001e95f]"
)
_EMOJI = re.compile(
    "[\u00a9\u00ae\u2190-\u21ff\u2300-\u23ff\u2460-\u27bf\u2900-\u297f\u2b00-\u2bff"
    "\U0001f000-\U0001faff]"
)
_EMOJI_END = re.compile(f"{_EMOJI.pattern}|{_SELECTOR}|\U000e007f")
_VIRAMA_CLASS = 9
"""Canonical combining class of the signs that join two letters (Unicode, chapter 4)."""

_HALVES = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """`text` without invisible characters, then with each marker broken by U+200B.

    Joiners stay where a script or an emoji needs them, accents and all scripts stay, and half a
    surrogate pair becomes U+FFFD. Cleaning twice gives the same as once."""
    if text.isascii():
        return break_markers(text)
    seen = _INVISIBLE.sub(lambda found: found[1] or "", whole_characters(text))
    seen = _SPARE_SELECTORS.sub("", _JOINERS.sub(_needed_joiner, seen))
    return break_markers(seen)


def clean_json(value: JsonValue) -> JsonValue:
    """A copy of `value` with every text inside cleaned, names included.

    Of two names that become the same the first stays. What is nested deeper than 200 becomes
    "…"."""
    return _cleaned(value, 0)


def break_markers(text: str) -> str:
    """`text` with U+200B after the first character of each marker."""
    return _MARKER_START.sub("<" + _BREAK, text) if "<" in text else text


def escape_markers(json_text: str) -> str:
    """JSON text with the `<` of each marker written as an escape; reads back the same."""
    return _MARKER_START.sub(r"\\u003c", json_text)


def whole_characters(text: str) -> str:
    """`text` with surrogate pairs joined and half ones replaced by U+FFFD."""
    if _HALVES.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def wrap_untrusted(text: str) -> str:
    """`text` marked as other people's content: `[page content] … [/page content]`.

    The same marks inside get round brackets, so that the text cannot end its own wrapping."""
    inside = _PAGE_CONTENT_MARK.sub(r"(\1)", text)
    return f"{OPEN_PAGE_CONTENT} {inside} {CLOSE_PAGE_CONTENT}"


def unwrapped(text: str) -> str:
    """What `wrap_untrusted` was given; other text as it is."""
    if text.startswith(OPEN_PAGE_CONTENT) and text.endswith(CLOSE_PAGE_CONTENT):
        return text[len(OPEN_PAGE_CONTENT) : -len(CLOSE_PAGE_CONTENT)].strip()
    return text


def _cleaned(value: JsonValue, depth: int) -> JsonValue:
    if depth > _NESTING_LIMIT:
        return "…"
    match value:
        case str():
            return clean(value)
        case list():
            return [_cleaned(item, depth + 1) for item in value]
        case dict():
            members: JsonObject = {}
            for name, member in value.items():
                members.setdefault(clean(name), _cleaned(member, depth + 1))
            return members
        case _:
            return value


def _needed_joiner(found: re.Match[str]) -> str:
    text, at = found.string, found.start()
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if not before:
        return ""
    if _is_joined_letter(before):
        # After a virama the joiner shapes the letter before it, at the end of a word too.
        ends_well = unicodedata.combining(before) == _VIRAMA_CLASS
        return found[0] if ends_well or _is_joined_letter(after) else ""
    return found[0] if _EMOJI_END.match(before) and _EMOJI.match(after) else ""


def _is_joined_letter(character: str) -> bool:
    return (
        _JOINED_SCRIPTS.match(character) is not None and unicodedata.category(character)[0] in "LM"
    )
