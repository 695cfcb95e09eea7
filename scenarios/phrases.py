"""The data of the lessons: domains and request phrases, read from the files beside this module."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, Literal, cast

from webmcp_agent.scenarios.vocabulary import Draw, with_articles

Table = dict[str, Any]

Wording = Literal["known", "wide", "unseen"]
"""How the tools of a site are named: in the usual words, with those exchanged for many others, or
in words that no training sees."""

LANGUAGES = ("de", "fr", "es", "it", "nl")
_REWORDED = 0.6
_SURROUNDED = 0.12
"""Shares of the names in which words are exchanged, and to which one is added."""

ENGLISH_SHARE = 0.82
"""Share of the requests in English where a flow has other languages too."""


@cache
def data(name: str) -> Table:
    """One data file as it is written."""
    folder = files("webmcp_agent.scenarios") / "curriculum_data"
    return tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8"))


def domains(kind: str, unseen: bool) -> list[Table]:
    """The domains of that kind which belong to training, or to evaluation; `values` are learnt."""
    wanted = "unseen" if unseen else "train"
    if kind == "values":
        return cast("list[Table]", data("values")["theme"])
    found = cast("list[Table]", data("themes" if kind == "theme" else "domains")[kind])
    return [domain for domain in found if domain.get("split", "train") == wanted]


def reworded(draw: Draw, phrase: str) -> str:
    """The words of a tool's name, some of them exchanged for others that say the same."""
    others = data("synonyms")
    first, *rest = phrase.split()
    if draw.chance(_REWORDED):
        first = draw.pick(cast("list[str]", others["verb"].get(first, [first])))
        rest = [draw.pick(cast("list[str]", others["word"].get(word, [word]))) for word in rest]
    words = [first, *rest]
    if draw.chance(_SURROUNDED):
        at = draw.pick(("before", "after"))
        more = draw.pick(cast("list[str]", others["around"][at]))
        words = [more, *words] if at == "before" else [*words, more]
    return " ".join(words)


def language(draw: Draw, name: str, flow: str) -> str:
    """The language of one request: mostly English, else one that the flow has."""
    others = [code for code in LANGUAGES if code in data(name)[flow]]
    return "en" if not others or draw.chance(ENGLISH_SHARE) else draw.pick(others)


def request(draw: Draw, name: str, flow: str, code: str, /, **values: object) -> str:
    """A request as a person types it; what `values` hold is never misspelt."""
    pattern = draw.pick(cast("list[str]", data(name)[flow][code]))
    text = draw.phrase(pattern, **values)
    text = with_articles(text) if code == "en" else text
    return draw.roughly(text, [str(value) for value in values.values()])


def plural(noun: str) -> str:
    """The plural of an English noun phrase; of what stands before "of" where there is one."""
    head, of, tail = noun.partition(" of ")
    if head.endswith(("s", "x", "ch", "sh")):
        head += "es"
    elif head.endswith("y") and head[-2:-1] not in set("aeiou"):
        head = head[:-1] + "ies"
    elif head.endswith("shelf"):
        head = head[:-1] + "ves"
    elif head.endswith("knife"):
        head = head[:-2] + "ves"
    else:
        head += "s"
    return head + of + tail
