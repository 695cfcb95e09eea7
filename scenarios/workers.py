"""Some work done several at a time, and told of in its own order."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")


async def in_parallel(
    jobs: Sequence[Job],
    workers: int,
    work: Callable[[Job], Awaitable[Result]],
    told: Callable[[Result], None],
) -> None:
    """Do all jobs, at most `workers` at once; `told` hears of each result in the order of the jobs.

    When one raises, or all of it is cancelled, the others are cancelled; results that were there
    are told before."""
    left = iter(enumerate(jobs))
    done: dict[int, Result] = {}
    next_told = 0

    async def one_after_another() -> None:
        nonlocal next_told
        for index, job in left:
            done[index] = await work(job)
            while next_told in done:
                told(done.pop(next_told))
                next_told += 1

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(workers, len(jobs))):
                group.create_task(one_after_another())
    except BaseExceptionGroup as exc:
        raise exc.exceptions[0] from exc
    finally:
        for index in sorted(done):
            told(done[index])
