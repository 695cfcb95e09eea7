"""How cases and their results look in a terminal: a line for each, then the count by file."""

from collections.abc import Mapping

from rich.console import Console
from rich.text import Text

from webmcp_agent.scenarios.case_run import CaseResult
from webmcp_agent.scenarios.console import Progress, call_text, printable, seconds, shortened
from webmcp_agent.scenarios.scenario import Case
from webmcp_agent.scenarios.suite import Tallies, Tally

REASON_LENGTH = 400
CALLS_LENGTH = 300


class CaseView:
    """Shows cases while they run."""

    def __init__(self, console: Console, progress: Progress, count: int, repeats: int) -> None:
        self._console = console
        self._progress = progress
        self._count = count * repeats
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
        if result.failures and not result.is_error:
            calls = ", ".join(call_text(call.tool, call.args) for call in result.calls)
            shown = shortened(calls, CALLS_LENGTH) if calls else "none"
            self._console.print(Text(f"      calls made: {shown}", style="dim"))

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


def _words(tally: Tally) -> str:
    errors = f", {tally.errors} could not be judged" if tally.errors else ""
    return f"{tally.passed} of {tally.total} passed, {tally.failed} failed{errors}"
