"""Results of cases as JUnit XML: a suite for each file, a test for each case, with properties.

The form is the one that CI servers read: `failure` for a case that did not pass, `error` for one
that could not be judged. Characters that XML cannot hold are shown by their numbers.
"""

import re
from collections.abc import Iterable, Sequence
from xml.etree import ElementTree

from pydantic import JsonValue

from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.report_data import group_of, listed, verdict_of

# All but the Char of XML 1.0, and of those the controls that repaint a terminal or reorder text.
_NOT_XML = re.compile(
    "[^\t\n\r\x20-\x7e\u00a0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
    "|[\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
)


def junit_xml(summaries: Sequence[JsonObject]) -> str:
    """The XML of cases, one summary each, as `test --json` prints them."""
    root = ElementTree.Element("testsuites", {"name": "webmcp-agent", **_counts(summaries)})
    groups: dict[str, list[JsonObject]] = {}
    for summary in summaries:
        groups.setdefault(group_of(summary), []).append(summary)
    for name, members in groups.items():
        suite = ElementTree.SubElement(root, "testsuite", {"name": _text(name), **_counts(members)})
        for summary in members:
            _case(suite, name, summary)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _counts(summaries: Sequence[JsonObject]) -> dict[str, str]:
    verdicts = [verdict_of(summary) for summary in summaries]
    return {
        "tests": str(len(verdicts)),
        "failures": str(verdicts.count("failed")),
        "errors": str(verdicts.count("error")),
        "skipped": "0",
        "time": _seconds(sum(_ms(summary) for summary in summaries)),
    }


def _case(suite: ElementTree.Element, group: str, summary: JsonObject) -> None:
    repeat = summary.get("repeat", 1)
    name = str(summary.get("case")) + (f" [{repeat}]" if repeat != 1 else "")
    case = ElementTree.SubElement(
        suite,
        "testcase",
        {"classname": _text(group), "name": _text(name), "time": _seconds(_ms(summary))},
    )
    properties = ElementTree.SubElement(case, "properties")
    for key, value in _properties(summary):
        ElementTree.SubElement(properties, "property", {"name": key, "value": _text(value)})
    verdict = verdict_of(summary)
    if verdict == "passed":
        return
    told = [
        f"{failure.get('check')}: {failure.get('message')}"
        for failure in listed(summary.get("failures"))
        if isinstance(failure, dict)
    ]
    why = str(summary.get("why") or ("not-judged" if verdict == "error" else "failed"))
    wrong = ElementTree.SubElement(
        case,
        "error" if verdict == "error" else "failure",
        {"type": _text(why), "message": _text(told[0] if told else why)},
    )
    wrong.text = _text("\n".join(told))


def _properties(summary: JsonObject) -> Iterable[tuple[str, str]]:
    for key in ("file", "repeat", "why", "steps", "finish", "url", "out"):
        if summary.get(key) is not None:
            yield key, str(summary[key])
    for group in ("ms", "tokens"):
        figures = summary.get(group)
        if isinstance(figures, dict):
            yield from ((f"{group}.{name}", str(value)) for name, value in figures.items())
    calls = [c.get("name") for c in listed(summary.get("calls")) if isinstance(c, dict)]
    yield "calls", ", ".join(str(name) for name in calls)


def _ms(summary: JsonObject) -> float:
    times = summary.get("ms")
    total: JsonValue = times.get("total") if isinstance(times, dict) else None
    return total if isinstance(total, int | float) else 0.0


def _seconds(ms: float) -> str:
    return f"{ms / 1000:.3f}"


def _text(text: str) -> str:
    return _NOT_XML.sub(lambda found: f"\\u{{{ord(found[0]):x}}}", text)
