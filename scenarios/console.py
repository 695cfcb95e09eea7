"""How runs, tools and results look in a terminal.

Everything that comes from a page or a model goes through `printable`, so that no control character
reaches the terminal, and is printed as plain `Text`, so that brackets are no markup.
"""

import json
import re
import sys
import time
from collections.abc import Mapping, Sequence
from typing import IO

from pydantic import JsonValue
from rich.console import Console
from rich.status import Status
from rich.table import Table
from rich.text import Text

from webmcp_agent.agent.stream import (
    AgentStreamPart,
    CallReport,
    Finish,
    MessageStart,
    RunError,
    TextDelta,
    ToolCall,
    ToolError,
    ToolResult,
)
from webmcp_agent.agent.trace import TraceEvent
from webmcp_agent.browser.tools import JsonObject, PageTool

# C0 without tab and newline, DEL, C1; the bidirectional and zero-width characters that could
# repaint or reorder what a person reads; what shows nothing and could hide a text (blank letters,
# selectors of variants but the one that makes an emoji, and that one when it stands there twice);
# half characters, which no stream takes.
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e"
    "\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ud800-\udfff"
    "\U000e0000-\U000e0fff]|(?<=\ufe0f)\ufe0f"
)
# JSON escapes C0 itself; C1 is as good as ESC to a terminal, and half characters are to no stream.
_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
SHOWN_TEXT = 300
"""Characters of an answer that a step shows."""

FINISH_WORDS = {
    "stop": "done",
    "aborted": "stopped by you",
    "max-steps": "out of steps",
    "loop": "going in circles",
    "repair-failed": "the model could not write a call that fits",
}


def printable(text: str, *, lines: bool = False) -> str:
    """`text` with control characters as visible escapes; line breaks too unless `lines`."""
    shown = _CONTROLS.sub(_escape, text)
    return shown if lines else shown.replace("\n", "\\n").replace("\t", "\\t")


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{{{code:x}}}"


def call_text(name: str, args: Mapping[str, JsonValue]) -> str:
    """`add_to_cart(quantity=2)`, on one line and safe to print."""
    inner = ", ".join(
        f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in args.items()
    )
    return printable(f"{name}({inner})")


def shortened(text: str, limit: int) -> str:
    """Head and tail of a long text, with its length, so that nothing hides at the end."""
    if len(text) <= limit:
        return text
    tail = limit // 3
    return f"{text[: limit - tail]} … {text[-tail:]} ({len(text)} characters)"


def seconds(ms: float) -> str:
    """`640 ms`, `2.4 s`, `1 min 12 s`."""
    if ms < 1000:
        return f"{ms:.0f} ms"
    if ms < 60_000:
        return f"{ms / 1000:.1f} s"
    return f"{int(ms // 60_000)} min {round(ms % 60_000 / 1000)} s"


def results_console(stream: IO[str] | None = None) -> Console:
    """The console for results: stdout."""
    return Console(file=stream or sys.stdout, highlight=False, soft_wrap=True)


def progress_console() -> Console:
    """The console for progress and logs: stderr."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def json_line(value: JsonValue) -> str:
    """One line of JSON, the same value to every reader, that no terminal takes for a command."""
    text = json.dumps(value, ensure_ascii=False)
    return _UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"


def write_json(value: JsonValue) -> None:
    """One line of JSON on stdout, at once, so that whoever reads along sees it."""
    sys.stdout.write(json_line(value))
    sys.stdout.flush()


class _Waiting:
    """What is going on, with the time it has taken so far each time it is drawn."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._began = time.monotonic()

    def __rich__(self) -> Text:
        taken = time.monotonic() - self._began
        return Text(f"{self._text} {taken:.0f} s" if taken >= 1 else self._text, style="dim")


class Progress:
    """One line of what is going on, with a spinner in a terminal and plain lines elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status: Status | None = None
        self._label = ""
        self._tenth = -1

    def say(self, label: str) -> None:
        """Show what is going on now, and how long it takes."""
        if label == self._label and self._status is not None:
            return
        self._label, self._tenth = label, -1
        if self._console.is_terminal:
            self._show(_Waiting(label))
        else:
            self._console.print(Text(label))

    def wait(self, label: str) -> None:
        """As `say`, but only in a terminal: nothing worth a line in a log."""
        if self._console.is_terminal:
            self.say(label)

    def advance(self, fraction: float) -> None:
        """Show how far it is, 0 to 1; outside a terminal at each tenth only."""
        if self._console.is_terminal:
            self._show(Text(f"{self._label} {fraction:.0%}", style="dim"))
        elif int(fraction * 10) > self._tenth:
            self._tenth = int(fraction * 10)
            self._console.print(Text(f"{self._label} {fraction:.0%}"))

    def _show(self, text: _Waiting | Text) -> None:
        if self._status is None:
            self._status = self._console.status(text)
            self._status.start()
        else:
            self._status.update(text)

    def done(self) -> None:
        """Take the line away."""
        if self._status is not None:
            self._status.stop()
            self._status = None


class RunView:
    """A run as it happens: one block per step with tool, arguments, answer and time."""

    def __init__(self, console: Console, progress: Progress) -> None:
        self._console = console
        self._progress = progress
        self._step = 0
        self._model_ms = 0.0
        self._call_ms = 0.0

    def opened(self, task: str, rows: Sequence[tuple[str, str]]) -> None:
        """What is about to be done, and with what."""
        self._progress.done()
        self._console.print(Text(printable(task), style="bold"))
        for label, value in rows:
            self._console.print(Text(f"{label:<7}", style="dim"), Text(printable(value)))
        self._console.print()

    def trace(self, event: TraceEvent) -> None:
        """Take the times of a step from its trace, and tell what was mended."""
        if event.agent is not None:
            return
        ms = event.data.get("ms")
        if event.type == "reply" and isinstance(ms, int | float):
            self._model_ms += ms
        elif event.type == "call" and isinstance(ms, int | float):
            self._call_ms = ms
        elif event.type in {"repair", "correction"} and event.data.get("used") is not True:
            said = event.data.get("text")
            self._note(f"sent back: {said}" if isinstance(said, str) else event.type)

    def _note(self, text: str) -> None:
        self._progress.done()
        self._console.print(Text(f"   {shortened(printable(text), 160)}", style="dim italic"))
        self._progress.wait("thinking")

    def part(self, part: AgentStreamPart) -> None:
        """Show one part of the stream."""
        if not isinstance(part, MessageStart):
            self._progress.done()
        match part:
            case MessageStart():
                self._step += 1
                self._model_ms = 0.0
                self._progress.wait("thinking")
            case TextDelta():
                self._line(Text(printable(part.delta, lines=True)), self._model_ms)
            case ToolCall():
                self._line(Text(call_text(part.name, part.args), style="cyan"), self._model_ms)
                self._model_ms = 0.0
                self._progress.wait(f"calling {part.name}")
            case ToolResult():
                self._answer(Text(shortened(printable(part.text), SHOWN_TEXT)))
            case ToolError():
                said = f"{part.code}: {part.error}"
                self._answer(Text(shortened(printable(said), SHOWN_TEXT), style="red"))
            case Finish():
                if part.reason != "stop":
                    self._console.print(Text(FINISH_WORDS[part.reason], style="yellow"))
            case RunError():
                self._console.print(Text(printable(part.message), style="red"))

    def _line(self, text: Text, ms: float) -> None:
        line = Text(f"{self._step:>2} ", style="dim")
        line.append_text(text)
        if ms:
            line.append(f"  {seconds(ms)}", style="dim")
        self._console.print(line)

    def _answer(self, text: Text) -> None:
        line = Text("   → ", style="dim")
        line.append_text(text)
        line.append(f"  {seconds(self._call_ms)}", style="dim")
        self._console.print(line)
        self._progress.wait("thinking")


def print_calls(console: Console, calls: Sequence[CallReport], *, withheld: int = 0) -> None:
    """The calls that really ran, with their outcomes; says so when there were none.

    `withheld`: how many of them a dry run answered in place of the page."""
    console.print()
    if not calls:
        console.print(Text("0 calls ran: nothing was done on the page.", style="bold"))
        return
    word = "call" if len(calls) == 1 else "calls"
    dry = f", {withheld} of them dry: not sent to the page" if withheld else ""
    console.print(Text(f"{len(calls)} {word} ran{dry}:", style="bold"))
    for call in calls:
        style = "green" if call.outcome == "ok" else "red"
        line = Text(f"  {call.outcome:<12}", style=style)
        line.append(shortened(call_text(call.name, call.args), 200), style="default")
        if call.outcome != "ok" and call.may_have_happened:
            line.append("  (it may have happened all the same)", style="yellow")
        console.print(line)


def print_tools(console: Console, tools: Sequence[PageTool]) -> None:
    """The tools of a page as a table."""
    if not tools:
        console.print(Text("This page has no tools right now."))
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("tool", "what it does", "arguments", "marks"):
        table.add_column(column, overflow="fold")
    for tool in tools:
        table.add_row(
            Text(printable(tool.name), style="cyan"),
            Text(shortened(printable(tool.description), 200)),
            Text(printable(_parameters(tool.input_schema))),
            Text(", ".join(_marks(tool)), style="yellow"),
        )
    console.print(table)


def _parameters(schema: JsonObject | str | None) -> str:
    read: JsonValue = schema
    if isinstance(schema, str):
        try:
            read = json.loads(schema)
        except ValueError:
            return "(a schema that cannot be read)"
    properties = read.get("properties") if isinstance(read, dict) else None
    required = read.get("required") if isinstance(read, dict) else None
    if not isinstance(properties, dict) or not properties:
        return "none"
    needed = required if isinstance(required, list) else []
    return ", ".join(name if name in needed else f"[{name}]" for name in properties)


def _marks(tool: PageTool) -> list[str]:
    marks = {
        "read-only": tool.read_only,
        "untrusted": tool.untrusted,
        "consequential": tool.consequential,
        "form": tool.declarative,
    }
    return [mark for mark, set_ in marks.items() if set_]
