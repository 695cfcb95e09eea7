"""`run` and `chat`: a model at work on a page, watched, stopped and asked for at a terminal."""

import contextlib
import json
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from webmcp_agent.agent.request import user_message
from webmcp_agent.agent.stream import AgentStreamPart
from webmcp_agent.browser.hand_over import PersonActs
from webmcp_agent.browser.page_tools import PageTools
from webmcp_agent.browser.policy import Approver
from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.approval import silent_person, terminal_approver, terminal_person
from webmcp_agent.scenarios.chat import Chat
from webmcp_agent.scenarios.console import (
    Progress,
    RunView,
    print_calls,
    printable,
    progress_console,
    results_console,
    seconds,
    write_json,
)
from webmcp_agent.scenarios.exit_codes import CANNOT_RUN, DONE, NO_SUCCESS, told
from webmcp_agent.scenarios.film import Film, open_film
from webmcp_agent.scenarios.interrupt import INTERRUPTED_EXIT, Interrupt
from webmcp_agent.scenarios.lines import is_interactive, line_reader
from webmcp_agent.scenarios.report import RunFolder, new_run_folder
from webmcp_agent.scenarios.report_files import write_run_report
from webmcp_agent.scenarios.runner import (
    RunSettings,
    open_session,
)


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
    return NO_SUCCESS if alive else told("The browser is gone.", CANNOT_RUN)


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
