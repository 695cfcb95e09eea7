"""The pace of a film's work: it rests while a run is on, and wakes when it is to hurry."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from webmcp_agent.browser import recording_pace
from webmcp_agent.browser.recording_pace import Pace


async def test_who_gives_way_rests_until_there_is_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording_pace, "_REST", 1e12)
    pace, begun = Pace(), threading.Event()
    assert await pace.run(lambda: sum(range(1_000))) == 499_500
    resting = asyncio.create_task(pace.run(begun.set))
    assert not await asyncio.to_thread(begun.wait, 0.05), "it was to rest"
    pace.hurry()
    assert await pace.run(lambda: "quick") == "quick"
    await resting
    assert begun.is_set()


async def test_work_in_steps_rests_between_them_and_ends_where_it_is_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recording_pace, "_REST", 1e12)
    pace, done, first = Pace(), list[int](), threading.Event()

    def steps() -> Iterator[None]:
        for number in range(1_000_000):
            done.append(number)
            first.set()
            yield

    going = asyncio.create_task(pace.steps(steps()))
    await asyncio.to_thread(first.wait)
    assert done == [0]
    pace.stop()
    await going
    assert len(done) <= 2
    pace = Pace()
    pace.hurry()
    done.clear()
    await pace.steps(map(done.append, range(5)))
    assert done == [0, 1, 2, 3, 4]


async def test_what_work_raises_is_raised_at_either_pace() -> None:
    pace = Pace()
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            await pace.run(lambda: 1 / 0)
        pace.hurry()
