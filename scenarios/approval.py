"""Asking the person before a call runs, in a terminal.

The question shows the exact arguments: escaped, so that nothing can repaint it, and with head,
tail and length when they are long, so that nothing hides; all of it can be seen before answering.
"""

import json
from collections.abc import Awaitable, Callable

from rich.console import Console
from rich.text import Text

from webmcp_agent.browser.policy import Approval, Approver, PendingCall
from webmcp_agent.scenarios.console import Progress, printable, shortened

ReadLine = Callable[[str], Awaitable[str | None]]
"""Asks for a line; None when there is no more input."""

VALUE_LIMIT = 400
"""Characters of one argument that are shown unasked."""

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
    console: Console, progress: Progress, read_line: ReadLine, press_stop: Callable[[], None]
) -> Approver:
    """An approver that asks on `console`; `stop` and an end of input press Stop."""

    async def approve(call: PendingCall) -> Approval:
        answer = await ask(call)
        if answer == "stop":
            press_stop()
        return answer

    async def ask(call: PendingCall) -> Approval:
        progress.done()
        _show(console, call, VALUE_LIMIT)
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
                _show(console, call, None)

    return approve


def _show(console: Console, call: PendingCall, limit: int | None) -> None:
    tool = call.tool
    marks = " (the page calls it hard to undo)" if tool.consequential else ""
    console.print(Text(f"   the model wants to call {printable(tool.name)}{marks}", style="bold"))
    if not call.args:
        console.print(Text("     without arguments"))
    for name, value in call.args.items():
        text = printable(json.dumps(value, ensure_ascii=False))
        shown = text if limit is None else shortened(text, limit)
        console.print(Text(f"     {printable(name)} = {shown}"))
