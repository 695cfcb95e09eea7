"""What `webmcp-agent replay` does: make the calls of files and recordings again, tell of drift."""

from pathlib import Path

from webmcp_agent.scenarios.case_run import CaseResult
from webmcp_agent.scenarios.errors import WrongUsage
from webmcp_agent.scenarios.interrupt import Interrupt
from webmcp_agent.scenarios.replay_case import Segment
from webmcp_agent.scenarios.replay_recording import read_recording, recordings_in
from webmcp_agent.scenarios.replay_run import ReplayJob, ReplayRunner
from webmcp_agent.scenarios.runner import RunSettings
from webmcp_agent.scenarios.suite import cases_of, folder_names
from webmcp_agent.scenarios.testing import Holding, Job, hold_jobs


async def replay_files(
    interrupt: Interrupt, paths: list[Path], settings: RunSettings, holding: Holding
) -> int:
    """Replay each; files that are wrong are told before anything is opened."""
    replays = replays_of(paths, settings)
    names = folder_names([replay.case for replay in replays], holding.repeats)
    jobs = [
        Job(replay, replay.case, repeat, None if holding.kept is None else holding.kept / name)
        for replay, folders in zip(replays, names, strict=True)
        for repeat, name in enumerate(folders, 1)
    ]
    signal = interrupt.setup.signal
    runner = ReplayRunner(settings.page, holding.url)

    async def replay(job: Job[ReplayJob]) -> CaseResult:
        return await runner.run(job.work, signal, repeat=job.repeat, folder=job.folder)

    try:
        return await hold_jobs(jobs, replay, settings, holding)
    finally:
        await runner.close()


def replays_of(paths: list[Path], settings: RunSettings) -> list[ReplayJob]:
    """What paths name: folders of runs, files with expected calls, and folders of either.

    Raises: `BadFile`, and `WrongUsage` for a path without any."""
    given = settings.page.given
    replays: list[ReplayJob] = []
    files: list[Path] = []
    for path in paths:
        recorded = recordings_in(path) if path.is_dir() else []
        for folder in recorded:
            recording = read_recording(folder, {**given.variables, **given.secrets})
            replays.append(ReplayJob(recording.case, [Segment(recording.calls, None)]))
        if not recorded:
            files.append(path)
    if files:
        cases = cases_of(files, given.variables, secrets=given.secrets)
        replays += [ReplayJob.of(case) for case in cases]
    if not replays:
        raise WrongUsage("there is nothing to be replayed")
    return replays
