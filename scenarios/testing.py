"""What `webmcp-agent test` does: hold the cases of files and folders, and tell how they ended."""

import asyncio
from pathlib import Path

from webmcp_agent.scenarios.case_run import open_case_runner
from webmcp_agent.scenarios.case_view import CaseView
from webmcp_agent.scenarios.console import Progress, progress_console, results_console, write_json
from webmcp_agent.scenarios.interrupt import Interrupt
from webmcp_agent.scenarios.runner import RunSettings
from webmcp_agent.scenarios.suite import Tallies, cases_of, folder_names

ALL_PASSED, NOT_ALL_PASSED = 0, 1


async def hold_cases(
    interrupt: Interrupt,
    paths: list[Path],
    settings: RunSettings,
    url: str | None,
    repeats: int,
    out: Path | None,
    as_json: bool,
) -> int:
    """Hold each case `repeats` times; files that are wrong are told before anything is opened."""
    cases = cases_of(paths)
    progress, tallies = Progress(progress_console()), Tallies()
    view = CaseView(results_console(), progress, len(cases), repeats)
    signal = interrupt.setup.signal
    try:
        async with open_case_runner(settings, told=progress, signal=signal, url=url) as runner:
            for case, names in zip(cases, folder_names(cases, repeats), strict=True):
                for repeat, name in enumerate(names, 1):
                    view.begins(case, repeat)
                    folder = None if out is None else out / name
                    result = await runner.run(case, signal, repeat=repeat, folder=folder)
                    tallies.add(result)
                    if as_json:
                        write_json(result.to_json())
                    else:
                        view.ended(result)
    except asyncio.CancelledError:
        _counted(tallies, view, as_json)
        raise
    finally:
        progress.done()
    _counted(tallies, view, as_json)
    return ALL_PASSED if tallies.all.all_passed else NOT_ALL_PASSED


def _counted(tallies: Tallies, view: CaseView, as_json: bool) -> None:
    if as_json:
        write_json(tallies.all.summary())
    else:
        view.counted(tallies)
