"""`models` and `doctor`: what is here, what is missing, and getting it."""

import asyncio
from pathlib import Path

from rich.text import Text

from webmcp_agent.agent.adapter import size_text
from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.providers.weights import (
    DEFAULT_MODEL,
    EMBEDDED,
    cached_models,
    fetch_model,
    find_model,
    remove_model,
)
from webmcp_agent.scenarios.console import (
    Progress,
    printable,
    progress_console,
    results_console,
    write_json,
)
from webmcp_agent.scenarios.doctor import examine, get_browser
from webmcp_agent.scenarios.exit_codes import CANNOT_RUN, DONE
from webmcp_agent.scenarios.interrupt import Interrupt


async def doctor_command(
    interrupt: Interrupt, browser: str | None, get: bool, as_json: bool
) -> int:
    """What is here and what is missing; with `get`, what is missing is got first."""
    if get:
        progress = Progress(progress_console())
        try:
            await get_browser(progress.say)
            await _get_model("default", None, progress, interrupt)
        finally:
            progress.done()
    findings = await examine(browser)
    if as_json:
        write_json([finding.to_json() for finding in findings])
    else:
        console = results_console()
        for finding in findings:
            mark, style = ("ok     ", "green") if finding.ok else ("missing", "red")
            line = Text(f"{mark} ", style=style)
            line.append(f"{finding.name:<10}", style="bold")
            line.append(printable(finding.says), style="default")
            console.print(line)
            if finding.how:
                console.print(Text(f"                   {finding.how}"))
    return DONE if all(finding.ok for finding in findings if finding.needed) else CANNOT_RUN


async def models_list_command(interrupt: Interrupt, as_json: bool) -> int:
    """The models that are here, and those that can be had by name."""
    cached = cached_models()
    here = {model.name for model in cached}
    found = [(model.name, True, model.size_bytes, str(model.folder)) for model in cached]
    found += [(m.name, False, m.size_bytes, "") for m in EMBEDDED.values() if m.name not in here]
    rows: list[JsonObject] = [
        {
            "name": name,
            "cached": is_here,
            "bytes": size,
            "folder": folder or None,
            "default": name == DEFAULT_MODEL,
        }
        for name, is_here, size, folder in found
    ]
    if as_json:
        write_json(list(rows))
        return DONE
    console = results_console()
    for row in rows:
        size = row["bytes"]
        state = "here" if row["cached"] else "can be downloaded"
        default = ", the default" if row["default"] else ""
        text = f"{row['name']:<36} {size_text(size if isinstance(size, int) else None):>8}  "
        console.print(Text(f"{text}{state}{default}"))
    return DONE


async def models_get_command(interrupt: Interrupt, name: str, adapter: Path | None) -> int:
    """Download a model and make it ready."""
    progress = Progress(progress_console())
    try:
        folder = await _get_model(name, adapter, progress, interrupt)
    finally:
        progress.done()
    results_console().print(Text(f"{name} is ready: {folder}"))
    return DONE


async def _get_model(
    name: str, adapter: Path | None, progress: Progress, interrupt: Interrupt
) -> Path:
    source = find_model(name, adapter=adapter)
    if not source.cached:
        progress.say(f"getting {name}, {size_text(source.missing_bytes)}")
    # The thread hears of Ctrl-C through the signal and leaves what it has for the next try.
    return await asyncio.to_thread(fetch_model, source, progress.advance, interrupt.setup.signal)


async def models_remove_command(interrupt: Interrupt, name: str) -> int:
    """Remove a model from the cache."""
    freed = remove_model(name)
    results_console().print(Text(f"removed {name}, {size_text(freed)}"))
    return DONE
