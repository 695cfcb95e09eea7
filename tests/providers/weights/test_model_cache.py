"""The model cache: what stands in it is whole, whoever was killed, stopped or short of disk."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from webmcp_agent.providers.abort import AbortController, AbortSignal
from webmcp_agent.providers.errors import Aborted, DownloadFailed
from webmcp_agent.providers.model_cache import (
    CacheEntry,
    ModelCache,
    Origin,
    cache_dir,
    check_space,
    disk_problem,
    size_text,
)

ORIGIN = Origin(name="tiny", kind="gguf", base="tiny-1")


def fill(folder: Path) -> None:
    (folder / "config.json").write_text("{}", encoding="utf-8")
    (folder / "model.safetensors").write_bytes(b"w" * 1000)


def test_a_folder_is_there_once_it_is_whole(tmp_path: Path) -> None:
    cache = ModelCache(tmp_path)
    seen: list[Path | None] = []

    def build(folder: Path) -> None:
        fill(folder)
        seen.append(cache.folder("tiny-1"))

    with cache.locked("tiny-1", AbortSignal()):
        place = cache.land("tiny-1", ORIGIN, build)

    assert seen == [None]
    assert cache.folder("tiny-1") == place
    assert sorted(file.name for file in place.iterdir()) == [
        "config.json",
        "model-source.json",
        "model.safetensors",
    ]
    size = sum(file.stat().st_size for file in place.iterdir())
    assert cache.entries() == [CacheEntry("tiny-1", place, ORIGIN, size)]


def test_a_build_that_fails_leaves_nothing(tmp_path: Path) -> None:
    cache = ModelCache(tmp_path)

    def build(folder: Path) -> None:
        fill(folder)
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        cache.land("tiny-1", ORIGIN, build)

    assert (cache.folder("tiny-1"), cache.entries()) == (None, [])
    assert list((tmp_path / "models").iterdir()) == []


KILLED = """
import os, signal, sys
from pathlib import Path
from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.model_cache import ModelCache, Origin

import filelock, shutil  # imported first, so that only our own steps are counted

root, steps = sys.argv[1], int(sys.argv[2])

def watch(event, args):
    global steps
    touches = event in {"os.rename", "os.mkdir", "os.rmdir", "os.remove"} or event == "open"
    if touches and str(args[0]).startswith(root):
        steps -= 1
        if steps < 0:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(watch)
cache = ModelCache(Path(root))

def build(folder):
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"w" * 1000)

origin = Origin(name="tiny", kind="gguf", base="tiny-1")
with cache.locked("tiny-1", AbortSignal()):
    place = cache.folder("tiny-1") or cache.land("tiny-1", origin, build)
print(place)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_a_kill_at_any_step_leaves_a_cache_that_works(tmp_path: Path) -> None:
    cache, killed = ModelCache(tmp_path), 0
    while True:
        run = subprocess.run(
            [sys.executable, "-c", KILLED, str(tmp_path), str(killed)],
            capture_output=True,
            check=False,
        )
        if run.returncode == 0:
            break
        assert run.returncode == -9, run.stderr.decode()
        killed += 1
        # Nothing, or all of it: a kill may also come after the last rename.
        for entry in cache.entries():
            assert (entry.folder / "model.safetensors").read_bytes() == b"w" * 1000

    # At least the lock, the folder, its three files and the rename were interrupted once each.
    assert killed >= 6
    assert [entry.key for entry in cache.entries()] == ["tiny-1"]
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["tiny-1"]


def test_stop_ends_the_wait_for_a_lock(tmp_path: Path) -> None:
    """B-016: the wait for another process that downloads the same ends, too."""
    cache, stop = ModelCache(tmp_path), AbortController()
    with cache.locked("tiny-1", AbortSignal()):
        stop.abort("enough")
        with pytest.raises(Aborted, match="enough"), cache.locked("tiny-1", stop.signal):
            raise AssertionError("two hold the lock")
    with cache.locked("tiny-1", AbortSignal()):
        pass


def test_too_little_space_is_told_with_both_sizes(tmp_path: Path) -> None:
    check_space(tmp_path / "not" / "there", 1, "tiny")

    with pytest.raises(DownloadFailed) as raised:
        check_space(tmp_path / "not" / "there", 10**18, "tiny")

    message = str(raised.value)
    assert message.startswith(f"tiny needs 1000000000.0 GB of disk space, and {tmp_path} has only ")
    assert message.endswith("; free some, or set WEBMCP_AGENT_CACHE to another disk")


FULL = """
import resource, signal, sys
from pathlib import Path
from webmcp_agent.providers.model_cache import ModelCache, Origin, disk_problem

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    ModelCache(Path(sys.argv[1])).land(
        "tiny-1",
        Origin(name="tiny", kind="gguf", base="tiny-1"),
        lambda folder: (folder / "model.safetensors").write_bytes(b"w" * 100_000),
    )
except OSError as exc:
    print(disk_problem(exc, "tiny"))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no file size limit")
def test_a_disk_that_becomes_full_leaves_nothing_half_written(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, check=True, text=True
    )

    assert run.stdout == "the disk became full while tiny was written; nothing half is used\n"
    assert list((tmp_path / "models").iterdir()) == []


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (errno.ENOSPC, "the disk became full while tiny was written; nothing half is used"),
        (errno.EACCES, "tiny could not be written: Permission denied"),
    ],
)
def test_a_failed_write_is_said_in_words(number: int, text: str) -> None:
    assert str(disk_problem(OSError(number, os.strerror(number)), "tiny")) == text


def test_remove_frees_a_folder_and_its_download(tmp_path: Path) -> None:
    cache = ModelCache(tmp_path)
    cache.land("tiny-1", ORIGIN, fill)
    size = cache.entries()[0].size_bytes
    cache.download_folder("tiny-1").mkdir(parents=True)
    (cache.download_folder("tiny-1") / "model.partial").write_bytes(b"p" * 50)

    assert cache.remove("tiny-1") == size + 50
    assert (cache.folder("tiny-1"), cache.entries()) == (None, [])
    assert not cache.download_folder("tiny-1").exists()
    assert cache.remove("tiny-1") == 0


def test_the_cache_is_where_the_platform_keeps_caches(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("WEBMCP_AGENT_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    found: dict[str, Path] = {}
    monkeypatch.setattr(sys, "platform", "linux")
    found["linux"] = cache_dir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    found["xdg"] = cache_dir()
    monkeypatch.setattr(sys, "platform", "darwin")
    found["darwin"] = cache_dir()
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    found["win32"] = cache_dir()
    monkeypatch.setenv("WEBMCP_AGENT_CACHE", str(tmp_path / "own"))
    found["own"] = cache_dir()

    assert found == {
        "linux": home / ".cache" / "webmcp-agent",
        "xdg": tmp_path / "xdg" / "webmcp-agent",
        "darwin": home / "Library" / "Caches" / "webmcp-agent",
        "win32": tmp_path / "local" / "webmcp-agent",
        "own": tmp_path / "own",
    }


def test_sizes_read_well() -> None:
    sizes = [0, 1, 1_499_999, 491_400_064, 1_271_938_993]
    assert [size_text(size) for size in sizes] == ["0 MB", "1 MB", "1 MB", "491 MB", "1.3 GB"]
