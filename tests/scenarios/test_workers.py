"""Work done several at a time, told in its own order."""

import asyncio

import pytest

from webmcp_agent.scenarios.workers import in_parallel


async def test_as_many_run_at_once_as_there_are_workers_and_results_keep_their_order() -> None:
    running, most = 0, 0
    gate = asyncio.Event()
    begun: list[int] = []
    told: list[int] = []

    async def work(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        begun.append(number)
        # The second one ends first: it lets the first one go on.
        if number == 0:
            await gate.wait()
        elif number == 1:
            gate.set()
        running -= 1
        return number

    async with asyncio.timeout(5):
        await in_parallel(range(5), 2, work, told.append)
    assert (most, sorted(begun), told) == (2, [0, 1, 2, 3, 4], [0, 1, 2, 3, 4])


async def test_one_that_raises_ends_the_others_and_what_was_there_is_told() -> None:
    ended: list[int] = []
    told: list[int] = []
    first_done = asyncio.Event()

    async def work(number: int) -> int:
        if number == 0:
            first_done.set()
            return number
        if number == 1:
            await first_done.wait()
            raise ValueError("no model")
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(number)
        return number

    async with asyncio.timeout(5):
        with pytest.raises(ValueError, match="no model"):
            await in_parallel(range(9), 3, work, told.append)
    assert (told, sorted(ended)) == ([0], [2, 3])


async def test_a_cancel_from_outside_stays_a_cancel_and_tells_what_was_done() -> None:
    told: list[int] = []
    second = asyncio.Event()

    async def work(number: int) -> int:
        if number == 1:
            return number
        second.set()
        await asyncio.Event().wait()
        return number

    task = asyncio.create_task(in_parallel(range(2), 2, work, told.append))
    async with asyncio.timeout(5):
        await second.wait()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert told == [1]
