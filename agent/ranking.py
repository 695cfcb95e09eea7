"""The tools to show for a request, best first.

Words are compared whole, so a description that praises itself wins nothing. BM25 (Robertson and
Zaragoza, "The Probabilistic Relevance Framework", 2009) with one table of English verbs; a request
that shares no word with any tool leaves the page's order.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from pydantic import JsonValue

from webmcp_agent.agent.foreign_text import clean, clean_json
from webmcp_agent.agent.schema import compact_schema, read_schema
from webmcp_agent.agent.words import spaced, stem, terms
from webmcp_agent.agent.wrappers import flat_tool, shown_schema, wrapper_of
from webmcp_agent.browser.tools import PageTool
from webmcp_agent.providers.base import CompactTool

DESCRIPTION_LIMIT = 400
"""Characters of a description that are ranked, and that a model sees."""
ENUM_LIMIT = 20
"""Values of one parameter that are ranked."""
PARAMETER_LIMIT = 64
"""Parameters of one tool that are ranked: far more than a model is ever shown."""

K1 = 1.2
B = 0.4
"""BM25's length norm; below the usual 0.75, since tool texts are all short."""
NAME_WEIGHT, DESCRIPTION_WEIGHT, PARAMETER_WEIGHT = 3, 2, 1
VERB_WEIGHT = 0.5
RECENT_BONUS = (0.5, 0.3, 0.2)
"""Shares of the top score for the three tools called last, newest first."""

QUERY_VERBS: dict[str, tuple[str, ...]] = {
    stem(verb): tuple(stem(word) for word in meant.split())
    for verb, meant in {
        "buy": "add cart checkout purchase order",
        "purchase": "add cart checkout buy order",
        "order": "cart checkout",
        "find": "search list",
        "look": "search find",
        "show": "open get view list",
        "see": "open view get",
        "go": "open navigate",
        "book": "reserve reservation",
        "reserve": "book reservation",
        "cancel": "remove delete",
        "remove": "delete",
        "delete": "remove",
        "change": "set update",
        "edit": "update set",
        "switch": "set change",
        "send": "submit",
        "pay": "checkout",
    }.items()
}
"""What a person's verb may be called in a tool, as stems."""


def rank_tools(
    tools: Sequence[PageTool], query: str, max_tools: int = 8, *, recent: Sequence[str] = ()
) -> list[CompactTool]:
    """The tools to show for `query`, best first, at most `max_tools` (1 or more).

    `recent` holds names of called tools, newest first; the three newest different ones get a
    bonus. Equal scores keep the page's order. Of two tools with one name the first counts. Changes
    no input; `ValueError` when `max_tools` is below 1."""
    if max_tools < 1:
        raise ValueError(f"max_tools must be at least 1, not {max_tools}")
    named: dict[str, PageTool] = {}
    for tool in tools:
        named.setdefault(tool.name, tool)
    scores = _scores([_text_of(tool) for tool in named.values()], _query_weights(query))
    top = max(scores, default=0.0) or 1.0
    newest = dict(zip(dict.fromkeys(recent), RECENT_BONUS, strict=False))
    ranked = sorted(
        zip(named.values(), scores, strict=True),
        # Rounded, so that the order of additions decides nothing.
        key=lambda pair: -round(pair[1] + newest.get(pair[0].name, 0.0) * top, 9),
    )
    return [_compact(tool, query) for tool, _ in ranked[:max_tools]]


def in_settled_order(tools: Sequence[CompactTool], settled: Sequence[str]) -> list[CompactTool]:
    """`tools` with those named in `settled` first, as they stand there, then the others as given.

    Tools that keep their places from step to step leave the prompt's beginning as it was, so that
    a provider has less to read again; a tool that is new to the run comes last."""
    place = {name: at for at, name in enumerate(settled)}
    return sorted(tools, key=lambda tool: place.get(tool.name, len(place)))


def _query_weights(query: str) -> dict[str, float]:
    """Each term once; what a verb may also be called weighs half."""
    said = dict.fromkeys(terms(query), 1.0)
    meant = {other: VERB_WEIGHT for term in said for other in QUERY_VERBS.get(term, ())}
    return meant | said


@dataclass(frozen=True, slots=True)
class _ToolText:
    """A tool's terms with their weighted counts."""

    counts: dict[str, int]
    length: int


def _scores(texts: Sequence[_ToolText], query: dict[str, float]) -> list[float]:
    """BM25 of each text."""
    scores = [0.0] * len(texts)
    average = sum(text.length for text in texts) / len(texts) if texts else 0.0
    norms = [K1 * (1 - B + B * text.length / average) if average else K1 for text in texts]
    for term, weight in query.items():
        holders = [(at, text.counts[term]) for at, text in enumerate(texts) if term in text.counts]
        rarity = math.log(1 + (len(texts) - len(holders) + 0.5) / (len(holders) + 0.5))
        for at, count in holders:
            scores[at] += weight * rarity * count * (K1 + 1) / (count + norms[at])
    return scores


@dataclass(frozen=True, slots=True)
class _ByFingerprint:
    """A tool that equals every other with its fingerprint and texts, so that it can be a key."""

    key: tuple[str, ...]
    tool: PageTool = field(compare=False)


def _text_of(tool: PageTool) -> _ToolText:
    if not tool.fingerprint:
        return _read_text(tool)
    key = (tool.fingerprint, tool.name, tool.title or "", tool.description)
    return _remembered_text(_ByFingerprint(key, tool))


@lru_cache(maxsize=1024)
def _remembered_text(keyed: _ByFingerprint) -> _ToolText:
    return _read_text(keyed.tool)


def _read_text(tool: PageTool) -> _ToolText:
    counts: Counter[str] = Counter()
    for texts, weight in (
        ((tool.name, tool.title or ""), NAME_WEIGHT),
        ((tool.description,), DESCRIPTION_WEIGHT),
        (_parameter_texts(tool), PARAMETER_WEIGHT),
    ):
        read = "\n".join(clean(text)[:DESCRIPTION_LIMIT] for text in texts)
        for term in terms(read):
            counts[term] += weight
    return _ToolText(dict(counts), counts.total())


def _parameter_texts(tool: PageTool) -> Iterator[str]:
    """Names, descriptions and enum values of the parameters, as the page wrote them."""
    properties = read_schema(flat_tool(tool).input_schema)[0].get("properties")
    if not isinstance(properties, dict):
        return
    for name, schema in list(properties.items())[:PARAMETER_LIMIT]:
        yield name
        if isinstance(schema, dict):
            yield from _texts(schema.get("description"))
            yield from _texts(schema.get("enum"))


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield from (item for item in value[:ENUM_LIMIT] if isinstance(item, str))


def _compact(tool: PageTool, query: str) -> CompactTool:
    flat = wrapper_of(tool.input_schema) is not None
    parameters = clean_json(compact_schema(shown_schema(tool, query), deep=flat))
    assert isinstance(parameters, dict)
    return CompactTool(
        name=tool.name,
        description=_one_line(tool.description)
        or _one_line(tool.title or "")
        or spaced(tool.name).casefold(),
        parameters=parameters,
    )


def _one_line(text: str) -> str:
    line = " ".join(clean(text).split())
    return line if len(line) <= DESCRIPTION_LIMIT else line[: DESCRIPTION_LIMIT - 1] + "…"
