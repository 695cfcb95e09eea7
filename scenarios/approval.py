"""Asking the person before a call runs, and leaving to them what is theirs, in a terminal.

The question shows the exact arguments: escaped, so that nothing can repaint it, and with head,
tail and length when they are long, so that nothing hides; all of it can be seen before answering.
A secret is shown by its name, and nothing else is left out.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable

from rich.cells import chop_cells
from rich.console import Console
from rich.text import Text

from webmcp_agent.browser.hand_over import PersonActs
from webmcp_agent.browser.policy import Approval, Approver, PendingCall
from webmcp_agent.scenarios.console import Progress, printable, shortened

ReadLine = Callable[[str], Awaitable[str | None]]
"""Asks for a line; None when there is no more input."""

VALUE_LIMIT = 400
"""Characters of one argument that are shown unasked."""
MANY = 10
"""More arguments than that are counted below the last one: the first may have scrolled away."""

_INDENT = "     "
_GOES_ON = "| "

ANSWERS: dict[str, Approval] = {
    "y": "yes",
    "yes": "yes",
    "a": "always",
    "always": "always",
    "n": "no",
    "no": "no",
    "s": "stop",
    "stop": "stop",
}


def terminal_approver(
    console: Console,
    progress: Progress,
    read_line: ReadLine,
    press_stop: Callable[[], None],
    mask: Callable[[str], str] = str,
) -> Approver:
    """An approver that asks on `console`; `stop` and an end of input press Stop.

    `mask` puts names in the place of values that the person gave."""

    async def approve(call: PendingCall) -> Approval:
        answer = await ask(call)
        if answer == "stop":
            press_stop()
        return answer

    async def ask(call: PendingCall) -> Approval:
        progress.done()
        _show(console, call, VALUE_LIMIT, mask)
        while True:
            answer = await read_line(
                "   allow? [y]es, [a]lways this tool, [n]o, [s]top, [v]iew all: "
            )
            if answer is None:
                return "stop"
            word = answer.strip().casefold()
            if word in ANSWERS:
                return ANSWERS[word]
            if word in {"v", "view"}:
                _show(console, call, None, mask)

    return approve


def _show(
    console: Console, call: PendingCall, limit: int | None, mask: Callable[[str], str]
) -> None:
    tool = call.tool
    marks = " (the page calls it hard to undo)" if tool.consequential else ""
    console.print(Text(f"   the model wants to call {printable(tool.name)}{marks}", style="bold"))
    if call.secrets:
        console.print(Text(f"     the page would get {', '.join(call.secrets)}", style="yellow"))
    if not call.args:
        console.print(Text("     without arguments"))
    for name, value in call.args.items():
        text = printable(mask(json.dumps(value, ensure_ascii=False)))
        shown = text if limit is None else shortened(text, limit)
        _print_rows(console, f"{printable(mask(name))} = {shown}")
    if len(call.args) > MANY:
        console.print(Text(f"     {len(call.args)} arguments, all of them above"))


def _print_rows(console: Console, text: str) -> None:
    """Rows that are broken here and not by the terminal: each begins with a mark of ours, so that
    no argument can look like a row of its own, whatever blanks it has."""
    width = max(console.width - len(_INDENT) - len(_GOES_ON) - 1, 20)
    first, *others = chop_cells(text, width) or [""]
    console.print(Text(f"{_INDENT}{first}"))
    for row in others:
        console.print(Text(f"{_INDENT}{_GOES_ON}{row}"))


def terminal_person(
    console: Console, progress: Progress, read_line: ReadLine, press_stop: Callable[[], None]
) -> PersonActs:
    """Tells the person what a page left to them; they say on `console` that they are done, unless
    the page moves on by itself. `stop` and an end of input press Stop."""

    async def act(todo: str) -> bool:
        progress.done()
        console.print(Text("   your turn, in the browser's window", style="bold"))
        console.print(Text(f"     {printable(todo)}"))
        answer = await read_line("   press Enter when you are done, or [s]top: ")
        if answer is None or answer.strip().casefold() in {"s", "stop"}:
            press_stop()
            return False
        return True

    return act


def silent_person(console: Console, progress: Progress) -> PersonActs:
    """Tells the person what a page left to them, and waits for the page to move on."""

    async def act(todo: str) -> bool:
        progress.done()
        console.print(Text(f"your turn, in the browser's window: {printable(todo)}"))
        await asyncio.Event().wait()
        return False

    return act
