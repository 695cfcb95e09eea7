"""How cases and their results look in a terminal: a line for each, counts, rates, a comparison."""

from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from webmcp_agent.scenarios.case_run import CaseResult
from webmcp_agent.scenarios.console import Progress, call_text, printable, seconds, shortened
from webmcp_agent.scenarios.pass_rates import Comparison, Statistics, causes_of
from webmcp_agent.scenarios.rate_text import (
    causes_text,
    comparison_rows,
    rate_text,
    statistics_lines,
    verdict_text,
)
from webmcp_agent.scenarios.scenario import Case
from webmcp_agent.scenarios.suite import Tallies, Tally

REASON_LENGTH = 400
CALLS_LENGTH = 300


class CaseView:
    """Shows cases while they run."""

    def __init__(self, console: Console, progress: Progress, count: int, repeats: int) -> None:
        """`count` is how many there will be, each repeat counted."""
        self._console = console
        self._progress = progress
        self._count = count
        self._repeats = repeats
        self._begun = 0
        self._group = ""

    def begins(self, case: Case, repeat: int) -> None:
        """A case is being held."""
        self._begun += 1
        self._progress.wait(f"{self._begun} of {self._count}: {printable(case.name)}")

    def ended(self, result: CaseResult) -> None:
        """A case was judged."""
        self._progress.done()
        case = result.case
        if case.group != self._group:
            self._group = case.group
            self._console.print(Text(printable(case.group), style="bold"))
        mark, style = ("✓", "green") if result.passed else ("✗", "red")
        if result.is_error:
            mark, style = "!", "yellow"
        line = Text(f"  {mark} ", style=style)
        line.append(printable(case.name), style="default")
        if self._repeats > 1:
            line.append(f" ({result.repeat} of {self._repeats})", style="dim")
        line.append(f"  {seconds(result.total_ms)}", style="dim")
        self._console.print(line)
        for failure in result.failures:
            said = f"{failure.check}: {failure.message}" if not result.is_error else failure.message
            self._console.print(Text(f"      {shortened(printable(said), REASON_LENGTH)}"))
        for note in result.notes or ():
            told = shortened(printable(note.message), REASON_LENGTH)
            self._console.print(Text(f"      note: {told}", style="dim"))
        if result.failures and not result.is_error:
            calls = ", ".join(call_text(call.tool, call.args) for call in result.calls)
            shown = shortened(calls, CALLS_LENGTH) if calls else "none"
            self._console.print(Text(f"      calls made: {shown}", style="dim"))

    def report(self, page: Path) -> None:
        """Where the page to look at is."""
        self._console.print(Text(f"report: {page}", style="dim"))

    def counted(self, tallies: Tallies) -> None:
        """The count by file, and of all."""
        self._progress.done()
        self._console.print()
        if len(tallies.groups) > 1:
            self._rows(tallies.groups)
        self._console.print(Text(_words(tallies.all), style="bold"))

    def _rows(self, groups: Mapping[str, Tally]) -> None:
        for name, tally in groups.items():
            style = "green" if tally.all_passed else "red" if tally.failed else "yellow"
            line = Text(f"{tally.passed:>4} of {tally.total:<4}", style=style)
            errors = f"  ({tally.errors} could not be judged)" if tally.errors else ""
            line.append(f"{printable(name)}{errors}", style="default")
            self._console.print(line)

    def statistics(self, statistics: Statistics) -> None:
        """How often cases pass, why they fail, and what they cost."""
        self._progress.done()
        names = list(statistics.rates)
        for name, records in statistics.cases.items() if len(names) > 1 else ():
            rate = statistics.rates[name]
            style = "green" if rate.passed == rate.total else "yellow" if rate.passed else "red"
            line = Text(f"{rate.passed:>4} of {rate.total:<4}", style=style)
            line.append(printable(name[1]), style="default")
            line.append(f"  {causes_text(causes_of(records))}".rstrip(), style="dim")
            self._console.print(line)
        for label, text in statistics_lines(statistics):
            line = Text(f"  {label:<9}", style="dim")
            self._console.print(line.append(text, style="default"))

    def comparison(self, comparison: Comparison) -> None:
        """Two results side by side, and whether the difference is more than chance."""
        self._console.print()
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for title in ("", "before", "after"):
            table.add_column(title, justify="right" if title else "left")
        for name, (old, new) in comparison.changed.items():
            table.add_row(Text(printable(name[1])), rate_text(old), rate_text(new))
        for row in comparison_rows(comparison):
            table.add_row(*(Text(printable(cell)) for cell in row))
        self._console.print(table)
        style = {"better": "green", "worse": "red", "undecided": "yellow"}[comparison.verdict]
        self._console.print(Text(verdict_text(comparison), style=style))


def _words(tally: Tally) -> str:
    errors = f", {tally.errors} could not be judged" if tally.errors else ""
    return f"{tally.passed} of {tally.total} passed, {tally.failed} failed{errors}"
