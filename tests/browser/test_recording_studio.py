"""How the process that makes a film is talked to, gives way, and keeps its memory bounded."""

import io
import os
import sys
import threading
from collections.abc import AsyncGenerator, Generator

import pytest

from webmcp_agent.browser.recording_cutting import Picture
from webmcp_agent.browser.recording_messages import Drawn, Finish, packed, read_message
from webmcp_agent.browser.recording_moments import Moment, Reply, Tick, Title
from webmcp_agent.browser.recording_pace import Pace
from webmcp_agent.browser.recording_studio import Backlog


def test_messages_come_as_they_were_said_and_a_torn_one_is_the_end() -> None:
    said = [Finish(keep=False), Drawn(b"\x00" * 70_000), Moment(Title("Request", "Öl"), 1.5)]
    data = b"".join(map(packed, said))
    file = io.BytesIO(data)
    assert [read_message(file) for _ in range(4)] == [*said, None]
    assert read_message(io.BytesIO(data[:5])) is None
    assert read_message(io.BytesIO(packed(said[1])[:-1])) is None


async def test_work_gives_way_until_it_hurries_and_goes_on_where_it_was() -> None:
    pace = Pace()
    seen: list[tuple[int, int, int]] = []

    def work() -> Generator[None]:
        for number in range(4):
            thread = threading.get_native_id()
            seen.append((number, thread, os.getpriority(os.PRIO_PROCESS, thread)))
            if number == 1:
                pace.hurry()
            yield

    await pace.steps(work())
    numbers, threads, priorities = zip(*seen, strict=True)
    assert numbers == (0, 1, 2, 3)
    assert threads[0] == threads[1] != threads[2]
    ours = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    if sys.platform == "linux":
        assert priorities == (19, 19, ours, ours)


async def test_work_that_is_stopped_ends_before_its_next_step() -> None:
    pace = Pace()
    steps = iter(range(10))

    def stopping() -> Generator[None]:
        for number in steps:
            if number == 3:
                pace.stop()
            yield

    await pace.steps(stopping())
    assert next(steps) == 4


async def test_what_work_raises_is_raised_where_it_was_asked_for() -> None:
    def fails() -> Generator[None]:
        yield
        raise OSError("No space left on device")

    with pytest.raises(OSError, match="No space left"):
        await Pace().steps(fails())


def moment(number: int, pictures: int) -> Moment:
    taken = tuple(Picture(number + share, bytes(200_000)) for share in range(pictures))
    return Moment(Reply(True, "answered", "1 ms", str(number)), number, taken)


async def test_moments_that_wait_hold_few_bytes_and_each_its_last_picture() -> None:
    """A run that leaves the film no time: 40 moments with 8 MB of pictures each."""
    backlog = Backlog(Pace())
    moments = [moment(number, 40) for number in range(40)]
    for each in moments:
        backlog.add(each)
    backlog.end()
    held = [each async for each in _all(backlog)]
    assert [each.what for each in held] == [each.what for each in moments]
    assert [each.pictures[-1] for each in held] == [each.pictures[-1] for each in moments]
    assert sum(len(picture.data) for each in held for picture in each.pictures) <= 24_000_000
    # What is newest keeps what moved.
    assert (len(held[0].pictures), len(held[-1].pictures)) == (1, 40)


async def _all(backlog: Backlog) -> AsyncGenerator[Moment]:
    while (each := await backlog.take()) is not None:
        yield each


async def test_a_film_that_is_far_behind_hurries_until_it_is_near() -> None:
    pace = Pace()
    backlog = Backlog(pace)
    hurried: list[bool] = []
    for number in range(61):
        hurried.append(pace.hurries)
        backlog.add(Moment(Tick(), number))
    assert (any(hurried), pace.hurries) == (False, True)
    left = 61
    while pace.hurries:
        await backlog.take()
        left -= 1
    assert left == 29
    backlog.end()
    assert pace.hurries
