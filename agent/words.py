"""The words and sentences of a text, so that what people, pages and models wrote can be compared.

The stem and the stop words are English; text in other scripts is split and compared whole. Every
function is linear in its input and takes any text.
"""

import re
import unicodedata
from functools import lru_cache

STOP_WORDS = frozenset(
    "a an and are as at be by can could do does for from have how i in is it its me my of on or "
    "our please that the their them then there this to us want we what when where which will with "
    "would you your one two three four five six seven eight nine ten".split()
)

# Before a capital: `get|Store`, `URL|Path`, but not inside `PDFs`.
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?!s(?![a-z]))[a-z])")
_CLITIC = re.compile(r"(?<=[^\W_])(?:n't|'(?:s|d|ll|m|re|ve))(?![^\W_])", re.IGNORECASE)
_ASCII_RUN = re.compile(r"[a-z0-9]+")
# Han, kana and Hangul: scripts that are written without blanks, or glue endings to their words.
_UNSPACED = re.compile(
    "([\u1100-\u11ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+)"
)
_SENTENCE_END = re.compile(r"(?<=[.!?:])\s+")
_APOSTROPHES = {"’": "'", "‘": "'", "ʼ": "'"}
_WITH_APOSTROPHES = str.maketrans(_APOSTROPHES)
# Emphasis and quotes stand around words without changing what is said.
_PLAIN = str.maketrans(_APOSTROPHES | dict.fromkeys('*`"“”„«»', ""))


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """A folded word without its English plural and then verb ending, so that forms fall together.

    Endings are `ies` (becomes `y`), `es`, `s` (not `ss`), then `ing`, `ed`, then `e`; one is only
    taken off when 3 letters stay. Words that are not ASCII come back unchanged."""
    if not word.isascii():
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    for endings in (("es", "s"), ("ing", "ed"), ("e",)):
        for ending in endings:
            if word.endswith(ending) and len(word) - len(ending) >= 3 and word[-2:] != "ss":
                word = word[: -len(ending)]
                break
    return word


def spaced(text: str) -> str:
    """An identifier with blanks between its words: `getStoreHours` becomes `get Store Hours`."""
    return " ".join(_CAMEL.sub(" ", re.sub(r"[_.\-]", " ", text)).split())


def words(text: str) -> list[str]:
    """The folded words of a text in order: runs of letters and digits, identifiers split.

    English endings after an apostrophe are left out (`page's` is `page`, `don't` is `do`).
    Runs of Han, kana or Hangul become pairs of neighbours, because nothing marks their words."""
    text = unicodedata.normalize("NFKC", text).translate(_WITH_APOSTROPHES)
    folded = _CAMEL.sub(" ", _CLITIC.sub("", text)).casefold()
    if folded.isascii():
        return _ASCII_RUN.findall(folded)
    found: list[str] = []
    for run in _runs(folded):
        for piece in _UNSPACED.split(run):
            if not piece:
                continue
            if _UNSPACED.match(piece) and len(piece) > 1:
                found += [piece[at : at + 2] for at in range(len(piece) - 1)]
            else:
                found.append(piece)
    return found


def _runs(text: str) -> list[str]:
    """Runs of letters and digits with the marks (accents, vowel signs) that belong to them."""
    kept: list[str] = []
    inside = False
    for char in text:
        inside = char.isalnum() or (inside and unicodedata.category(char).startswith("M"))
        kept.append(char if inside else " ")
    return "".join(kept).split()


def terms(text: str) -> list[str]:
    """The words of a text that say something, as stems."""
    return [stem(word) for word in words(text) if word not in STOP_WORDS]


def sentences(text: str) -> list[str]:
    """The sentences of a text, none empty, each on one line with single blanks.

    A sentence ends at `.`, `!`, `?` or `:` before a blank, or at a line break. Emphasis, quotes and
    bullets are left out, typographic apostrophes become `'`."""
    found: list[str] = []
    for line in text.translate(_PLAIN).splitlines():
        for part in _SENTENCE_END.split(line):
            if said := re.sub(r"^[\W_]+", "", " ".join(part.split())):
                found.append(said)
    return found
