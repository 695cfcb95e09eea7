"""Changes and findings as people read them: lines for a terminal, Markdown for a pull request."""

import re
from collections.abc import Sequence

from rich.text import Text

from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.console import printable
from webmcp_agent.scenarios.contract import START, Contract
from webmcp_agent.scenarios.contract_changes import Change, by_level
from webmcp_agent.scenarios.contract_facets import Level
from webmcp_agent.scenarios.contract_lint import LintFinding

_STYLES: dict[Level, str] = {"breaking": "red", "compatible": "green", "cosmetic": "dim"}
_LINT_STYLES = {"error": "red", "warning": "yellow", "info": "dim"}
_MARKED = re.compile(r"[\\`*_{}\[\]<>()#+!|~$]")


def changes_json(changes: Sequence[Change]) -> JsonObject:
    """The changes by level."""
    return {
        level: [change.to_json() for change in each] for level, each in by_level(changes).items()
    }


def count_text(changes: Sequence[Change]) -> str:
    """`2 breaking, 1 compatible, 0 cosmetic changes`."""
    counts = [f"{len(each)} {level}" for level, each in by_level(changes).items()]
    return f"{', '.join(counts)} changes"


def size_text(contract: Contract) -> str:
    """`10 tools on 2 pages`."""
    tools, pages = len(contract.tools), len(contract.pages)
    words = ["tool" if tools == 1 else "tools", "page" if pages == 1 else "pages"]
    return f"{tools} {words[0]} on {pages} {words[1]}"


def change_lines(changes: Sequence[Change], pages: Sequence[str]) -> list[Text]:
    """The changes for a terminal, breaking ones first. `pages` are all pages of the contract."""
    lines: list[Text] = []
    for level, each in by_level(changes).items():
        for change in each:
            line = Text(f"{level:<11}", style=_STYLES[level])
            if change.tool:
                line.append(f"{printable(change.tool)}: ", style="bold")
            line.append(printable(change.text), style="default")
            if where := _where(change, pages):
                line.append(f" ({printable(where)})", style="dim")
            lines.append(line)
            if change.affects:
                lines.append(Text(f"{'':<11}breaks {printable(change.affects)}", style="default"))
    return lines


def changes_markdown(changes: Sequence[Change], pages: Sequence[str]) -> str:
    """The changes as GitHub's Markdown: a headline, and a table for each level."""
    if not changes:
        return "### WebMCP tools: no changes\n"
    blocks = [f"### WebMCP tools: {count_text(changes)}"]
    for level, each in by_level(changes).items():
        if each:
            rows = [_row(change, pages) for change in each]
            is_breaking = level == "breaking"
            head = "| tool | change | breaks |\n| --- | --- | --- |"
            if not is_breaking:
                head = "| tool | change |\n| --- | --- |"
            table = "\n".join(
                [head, *("| " + " | ".join(row[: 3 if is_breaking else 2]) + " |" for row in rows)]
            )
            title = f"{level.capitalize()} ({len(each)})"
            if is_breaking:
                blocks.append(f"**{title}**\n\n{table}")
            else:
                blocks.append(f"<details><summary>{title}</summary>\n\n{table}\n\n</details>")
    return "\n\n".join(blocks) + "\n"


def _row(change: Change, pages: Sequence[str]) -> list[str]:
    where = _where(change, pages)
    text = markdown(change.text) + (f" ({markdown(where)})" if where else "")
    return [f"`{change.tool}`" if change.tool else "", text, markdown(change.affects)]


def markdown(text: str) -> str:
    """Text of a page on one line, so that it shows as it is and mentions nobody."""
    return _MARKED.sub(r"\\\g<0>", printable(text)).replace("@", "@<!-- -->")


def _where(change: Change, pages: Sequence[str]) -> str:
    """On which pages, unless there is one only or all have it."""
    if not change.tool or len(change.pages) == len(pages):
        return ""
    named = ["the start page" if page == START else page for page in change.pages]
    return f"on {', '.join(named)}"


def lint_lines(findings: Sequence[LintFinding]) -> list[Text]:
    """The findings for a terminal."""
    lines: list[Text] = []
    for finding in findings:
        line = Text(f"{finding.level:<8}", style=_LINT_STYLES[finding.level])
        if finding.tool:
            line.append(f"{printable(finding.tool)}: ", style="bold")
        line.append(printable(finding.message), style="default")
        line.append(f"  [{finding.rule}]", style="dim")
        lines.append(line)
    return lines
