"""What each command of the command line does, and how it ends.

Errors become one line on stderr and an exit code here, in one place.
"""

import asyncio
import contextlib
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from webmcp_agent.agent.adapter import size_text
from webmcp_agent.agent.request import user_message
from webmcp_agent.agent.stream import AgentStreamPart
from webmcp_agent.browser.errors import BrowserError
from webmcp_agent.browser.hand_over import PersonActs
from webmcp_agent.browser.page_tools import PageTools
from webmcp_agent.browser.policy import Approver
from webmcp_agent.browser.tools import JsonObject, PageTool, ToolOk
from webmcp_agent.providers.errors import Aborted, ProviderError
from webmcp_agent.providers.weights import (
    DEFAULT_MODEL,
    EMBEDDED,
    cached_models,
    fetch_model,
    find_model,
    remove_model,
)
from webmcp_agent.scenarios.approval import silent_person, terminal_approver, terminal_person
from webmcp_agent.scenarios.chat import Chat
from webmcp_agent.scenarios.console import (
    Progress,
    RunView,
    print_calls,
    print_tools,
    printable,
    progress_console,
    results_console,
    seconds,
    write_json,
)
from webmcp_agent.scenarios.doctor import examine, get_browser
from webmcp_agent.scenarios.errors import ScenarioError, WrongUsage
from webmcp_agent.scenarios.film import Film, open_film
from webmcp_agent.scenarios.interrupt import INTERRUPTED_EXIT, Interrupt, run_interruptible
from webmcp_agent.scenarios.lines import is_interactive, line_reader
from webmcp_agent.scenarios.masking import Masker
from webmcp_agent.scenarios.report import RunFolder, new_run_folder
from webmcp_agent.scenarios.report_files import write_run_report
from webmcp_agent.scenarios.runner import (
    PageSettings,
    RunSettings,
    open_session,
    open_tools,
)
from webmcp_agent.scenarios.serve import SHOP, serve_folder

DONE, NO_SUCCESS, WRONG_USAGE, CANNOT_RUN = 0, 1, 2, 3

Command = Callable[..., Awaitable[int]]


def finished(command: Command, *args: object) -> int:
    """Run a command to its exit code; what went wrong is one line on stderr."""
    masker = masker_of(args)
    try:
        return run_interruptible(lambda interrupt: command(interrupt, *args))
    except WrongUsage as exc:
        return _told(masker.text(str(exc)), WRONG_USAGE)
    except Aborted:
        return INTERRUPTED_EXIT
    except (BrowserError, ProviderError, ScenarioError) as exc:
        return _told(masker.text(str(exc)), CANNOT_RUN)
    except BrokenPipeError:
        # Whoever read our output has left; say nothing more to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE


def masker_of(args: Sequence[object]) -> Masker:
    """What keeps the secrets of a command's settings out of all that is said."""
    settings = (each for each in args if isinstance(each, RunSettings))
    return next((each.page.given.masker for each in settings), Masker())


def _told(text: str, code: int) -> int:
    progress_console().print(Text(f"Error: {printable(text)}"))
    return code


async def run_command(
    interrupt: Interrupt,
    url: str,
    task: str,
    settings: RunSettings,
    out: Path | None,
    as_json: bool,
) -> int:
    """The main job: a task on a page, step by step, then what really ran."""
    console, log = results_console(), progress_console()
    progress = Progress(log)
    approve = None if as_json else _approver(progress, interrupt, settings)
    given = settings.page.given
    filled = given.fill(task)
    settings.film.check()
    with contextlib.closing(RunFolder(out or new_run_folder(task), given.masker)) as folder:
        settings = _keeping_files(settings, folder)
        progress.say("opening the page")
        try:
            async with (
                open_session(
                    url, settings, told=progress, signal=interrupt.setup.signal, approve=approve
                ) as session,
                open_film(
                    settings.film, settings.page, session.tools, folder.path, model=session.model
                ) as film,
            ):
                session.tools.person = _person(progress, interrupt, settings, asked=not as_json)
                view = RunView(console, progress)
                if not as_json:
                    tools = await session.tools.list_tools()
                    view.opened(
                        task,
                        [
                            ("page", f"{session.tools.url} ({len(tools)} tools)"),
                            ("model", session.model),
                        ],
                    )
                if film is not None:
                    film.request(task, session.tools.url)
                with interrupt.stoppable() as signal:
                    outcome = await session.run(
                        [user_message(filled)],
                        signal,
                        on_part=_print_json if as_json else view.part,
                        on_trace=_nothing if as_json else view.trace,
                        folder=folder,
                        film=film,
                    )
                progress.done()
                alive = session.tools.has_browser
                state = [] if session.tools.gone else await page_state(session.tools)
                withheld, stopped = session.tools.withheld, session.tools.stopped
                if film is not None:
                    progress.say("finishing the film")
        finally:
            progress.done()
        summary = outcome.summary(folder.path)
        folder.summary(summary)
        page = write_run_report(folder.path, given.masker.text(task), session.model)
    if as_json:
        write_json(summary)
    else:
        print_calls(console, outcome.report.calls, withheld=len(withheld))
        for line in state:
            console.print(Text(printable(given.masker.text(line))))
        spent = outcome.spent
        own = max(0.0, outcome.total_ms - spent.model_ms - spent.page_ms)
        console.print(
            Text(
                f"{seconds(outcome.total_ms)}: model {seconds(spent.model_ms)}, "
                f"page {seconds(spent.page_ms)}, own {seconds(own)}",
                style="dim",
            )
        )
        console.print(Text(f"run folder: {folder.path}", style="dim"))
        console.print(Text(f"report: {page}", style="dim"))
    if film is not None:
        _tell_of_film(film, None if as_json else console)
    for origin in stopped:
        log.print(
            Text(
                f"The page wanted to show {printable(origin)}, which is not allowed, and was "
                f"stopped. Allow it with --origin {printable(origin)}.",
                style="yellow",
            )
        )
    if outcome.report.finish == "aborted":
        return INTERRUPTED_EXIT
    if outcome.report.succeeded:
        return DONE
    return NO_SUCCESS if alive else _told("The browser is gone.", CANNOT_RUN)


def _tell_of_film(film: Film, console: Console | None) -> None:
    if film.path is not None and console is not None:
        console.print(Text(f"film: {film.path}", style="dim"))
    if film.trouble is not None:
        progress_console().print(
            Text(f"The film is not whole: {printable(film.trouble)}", style="yellow")
        )


def _keeping_files(settings: RunSettings, folder: RunFolder) -> RunSettings:
    """The settings, with files that a page offers kept inside the run folder."""
    return replace(settings, page=replace(settings.page, downloads=folder.path / "files"))


async def page_state(tools: PageTools) -> list[str]:
    """What a shop says of itself, read from the page and not from the model: its cart."""
    cart = await tools.page.evaluate(
        "() => { const c = globalThis.shop?.cart?.(); return c ? JSON.stringify(c) : null; }"
    )
    if not isinstance(cart, str):
        return []
    return cart_lines(json.loads(cart))


def cart_lines(items: list[JsonObject]) -> list[str]:
    """A cart in lines."""
    if not items:
        return ["the cart, as the page has it: empty"]
    lines = [f"  {item.get('quantity')} × {item.get('title')}" for item in items]
    return ["the cart, as the page has it:", *lines]


async def chat_command(
    interrupt: Interrupt, url: str, settings: RunSettings, out: Path | None
) -> int:
    """A conversation about one page."""
    console, progress = results_console(), Progress(progress_console())
    read_line = line_reader()
    masker = settings.page.given.masker
    with contextlib.closing(RunFolder(out or new_run_folder("chat"), masker)) as folder:
        settings = _keeping_files(settings, folder)
        progress.say("opening the page")
        try:
            async with open_session(
                url,
                settings,
                told=progress,
                signal=interrupt.setup.signal,
                approve=_approver(progress, interrupt, settings),
            ) as session:
                progress.done()
                session.tools.person = _person(progress, interrupt, settings)
                chat = Chat(session, console, progress, folder)
                await chat.talk(read_line, interrupt.stoppable)
        finally:
            progress.done()
    return DONE


async def tools_command(
    interrupt: Interrupt, url: str, settings: PageSettings, as_json: bool
) -> int:
    """What a page offers."""
    async with open_tools(url, settings) as page:
        tools = await page.list_tools()
    if as_json:
        write_json([tool_json(tool) for tool in tools])
    else:
        print_tools(results_console(), tools)
    return DONE


def tool_json(tool: PageTool) -> JsonObject:
    """A tool as `tools --json` gives it."""
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "input_schema": tool.input_schema,
        "origin": tool.origin,
        "frame": tool.frame,
        "annotations": {
            "read_only": tool.read_only,
            "untrusted": tool.untrusted,
            "consequential": tool.consequential,
        },
        "declarative": tool.declarative,
    }


async def call_command(
    interrupt: Interrupt,
    url: str,
    name: str,
    args: JsonObject,
    settings: PageSettings,
    as_json: bool,
) -> int:
    """One call without a model."""
    async with open_tools(url, settings) as page:
        names = [tool.name for tool in await page.list_tools()]
        if name not in names:
            raise WrongUsage(
                f"there is no tool {name!r} on this page; it has {', '.join(names) or 'none'}"
            )
        with interrupt.stoppable() as signal:
            began = time.perf_counter()
            answer = await page.call_tool(name, args, call_id="c1.1", signal=signal)
            ms = (time.perf_counter() - began) * 1000
        ok = isinstance(answer, ToolOk)
        line: JsonObject = {
            "outcome": "ok" if ok else answer.code,
            "text": answer.text if ok else answer.message,
            "value": answer.value if ok else None,
            "may_have_happened": ok or bool(answer.may_have_happened),
            "url": page.url,
            "tools": [tool.name for tool in await page.list_tools()],
            "ms": round(ms, 1),
        }
        aborted = signal.aborted
    if as_json:
        write_json(line)
    else:
        console = results_console()
        console.print(Text(f"{line['outcome']}  {seconds(ms)}", style="green" if ok else "red"))
        console.print(Text(printable(str(line["text"]), lines=True)))
    if aborted:
        return INTERRUPTED_EXIT
    return DONE if ok else NO_SUCCESS


async def shop_command(interrupt: Interrupt, port: int) -> int:
    """Serve the demo shop until Ctrl-C."""
    async with serve_folder(SHOP, port=port) as url:
        with interrupt.stoppable() as signal:
            results_console().print(Text(f"{url}\n{url}ucp/ is its second face, shop:ucp"))
            await signal.wait()
    return DONE


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


def _approver(progress: Progress, interrupt: Interrupt, settings: RunSettings) -> Approver | None:
    """Asks the person when there is one at a terminal."""
    if not is_interactive():
        return None
    return terminal_approver(
        progress_console(),
        progress,
        line_reader(),
        interrupt.press,
        settings.page.given.masker.given,
    )


def _person(
    progress: Progress, interrupt: Interrupt, settings: RunSettings, *, asked: bool = True
) -> PersonActs | None:
    """Leaves to the person what a page wants of them, when they can see that page."""
    if not (settings.page.headed or settings.page.cdp):
        return None
    if not (asked and is_interactive()):
        return silent_person(progress_console(), progress)
    return terminal_person(progress_console(), progress, line_reader(), interrupt.press)


def _print_json(part: AgentStreamPart) -> None:
    write_json(part.to_json())


def _nothing(_: object) -> None:
    return
