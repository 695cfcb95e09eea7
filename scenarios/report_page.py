"""The HTML page of a report: one file that loads nothing and runs one script, ours.

What pages and models wrote is data in it: JSON that cannot end its own element, shown by setting
texts, never markup. The page's own policy allows the one script by its hash and no request at all,
but for films and pictures that lie beside the report.
"""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.report import write_whole
from webmcp_agent.scenarios.report_data import About, read_case, report_data

REPORT_FILE = "report.html"
SIZE_LIMIT = 9_500_000
"""Bytes; a page that a browser opens at once and that a mail or a CI artefact carries."""

_RUNGS = ((20_000, True), (4_000, True), (1_000, True), (1_000, False), (200, False))
"""How long texts may be, and whether cases that passed keep their steps; the first that fits."""

_TEMPLATE = files("webmcp_agent.scenarios") / "report_template"
_SCRIPTS = ("dom.js", "charts.js", "timeline.js", "cases.js", "page.js")
_STYLE = "style.css"

# What could end the element, begin a comment in it, or repaint what a person reads in the source.
_UNSAFE = re.compile(
    "[<>&\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)


def write_page(target: Path, about: About, folders: Sequence[Path]) -> None:
    """Write the report of the cases in `folders`, in their order; only its owner can read it."""
    cases = [read_case(folder, target.parent) for folder in folders]
    write_whole(target, page_of(about, cases))


def page_of(about: About, cases: Sequence[JsonObject], *, size_limit: int = SIZE_LIMIT) -> str:
    """The page, at most `size_limit` bytes where cutting texts can reach that."""
    has_media = any(case["media"] for case in cases)
    page = ""
    for text_limit, keep_passed in _RUNGS:
        data = report_data(about, cases, text_limit=text_limit, keep_passed=keep_passed)
        page = _filled(json_in_html(data), has_media)
        if len(page.encode()) <= size_limit:
            break
    return page


def json_in_html(value: JsonObject) -> str:
    """JSON that reads the same and holds nothing that HTML gives a meaning to."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _UNSAFE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1] if match[0] not in "<>&\x7f" else f"\\u{ord(match[0]):04x}"


def _filled(data: str, has_media: bool) -> str:
    style = _read(_STYLE)
    script = "\n".join(['"use strict";', *(_read(name) for name in _SCRIPTS)])
    media = "'self' file:" if has_media else "'none'"
    pictures = "'self' file: data:" if has_media else "data:"
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_digest(script)}'",
            f"style-src '{_digest(style)}'",
            f"img-src {pictures}",
            f"media-src {media}",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )
    page = _read("page.html")
    # The data last: nothing in it is taken for a place to fill.
    for place, text in (("policy", policy), ("style", style), ("script", script), ("data", data)):
        before, _, after = page.partition(f"[[{place}]]")
        page = before + text + after
    return page


def _read(name: str) -> str:
    return (_TEMPLATE / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
