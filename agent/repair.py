"""What goes back to a model whose reply cannot be used.

Nothing is ever run under another name than the one that was written: a near name is a question.
"""

import difflib
import unicodedata
from collections.abc import Sequence

from webmcp_agent.agent.foreign_text import clean
from webmcp_agent.agent.wording import NEAR_NAME, PROBLEM, UNKNOWN, names_text, one_line

NAME_LIMIT = 128
"""The longest name that a page can give a tool; a longer one is cut before it is compared."""
NEAR = 0.6
"""Similarity from which a name that is not shown is worth naming; difflib's own default."""
NEAR_COUNT = 3


def problem_text(problem: str) -> str:
    """The turn that tells the model what was wrong: one sentence, no end mark needed."""
    return PROBLEM.format(problem=clean(problem).rstrip().removesuffix("."))


def unknown_tool(name: str, shown: Sequence[str], all_names: Sequence[str]) -> str:
    """The turn for a name that no tool has.

    Names that differ only in case and punctuation are asked back. Otherwise it lists the names in
    `shown`, nearest first, then up to 3 near ones of `all_names`, the names on the page."""
    asked = one_line(clean(name), NAME_LIMIT) or '""'
    loose = _loose(name)
    known = list(dict.fromkeys([*shown, *all_names]))
    if loose and (same := [other for other in known if _loose(other) == loose]):
        return NEAR_NAME.format(name=asked, names=" or ".join(same))
    listed = sorted(dict.fromkeys(shown), key=lambda other: -_similarity(loose, other))
    hidden = [other for other in dict.fromkeys(all_names) if other not in listed]
    near = sorted(
        (other for other in hidden if _similarity(loose, other) >= NEAR),
        key=lambda other: -_similarity(loose, other),
    )
    return UNKNOWN.format(name=asked, names=names_text([*listed, *near[:NEAR_COUNT]]))


def _loose(name: str) -> str:
    """The letters and digits of a name, folded."""
    folded = unicodedata.normalize("NFKC", name[:NAME_LIMIT]).casefold()
    return "".join(char for char in folded if char.isalnum())


def _similarity(loose: str, other: str) -> float:
    return difflib.SequenceMatcher(None, loose, _loose(other), autojunk=False).ratio()
