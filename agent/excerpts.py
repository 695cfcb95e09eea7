"""The beginning of a text, in few characters, such that no number and no id is cut in two."""

from json.encoder import encode_basestring

SHORTEST = 32
"""A text that would be cut to less is left out."""


def quoted_text(text: str, room: int, limit: int) -> str | None:
    """The text in quotes, cut where it is too long; None when too little would stay."""
    most = min(limit, room - 2)
    quoted = encode_basestring(text) if len(text) <= limit else ""
    if quoted and len(quoted) <= room:
        return quoted
    while most >= SHORTEST:
        short = excerpt(text, most)
        if short is None:
            return None
        quoted = encode_basestring(short)
        if len(quoted) <= room:
            return quoted
        most = min(most - 1, most - (len(quoted) - room))
    return None


def excerpt(text: str, limit: int) -> str | None:
    """The text's beginning with a "…", cut between words; no word with a digit ends it.

    Half a number, or the first group of one, would be a number that nobody said."""
    if len(text) <= limit:
        return text
    end = limit - 1
    while end and not text[end].isspace() and not (_is_ideograph(text[end - 1 : end + 1])):
        end -= 1
    kept = text[:end].rstrip()
    while kept and kept[-1].isdigit():
        kept = kept.rpartition(" ")[0].rstrip()
    return f"{kept}…" if len(kept) >= SHORTEST // 2 else None


def _is_ideograph(pair: str) -> bool:
    """Whether two characters are of a script that puts no blanks between its words."""
    return all("\u2e80" <= char < "\uff00" for char in pair)
