"""The model cache: folders that are whole or not there, whoever was killed while making one.

    models/NAME/       a loadable folder with its `model-source.json`
    downloads/NAME/    what has arrived of a download; the next try goes on from there
    locks/NAME.lock    held while one of the two is written

A folder is built beside its place, under a name that nobody reads, and gets its own by a rename.
"""

import errno
import json
import os
import shutil
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.errors import DownloadFailed

_SOURCE = "model-source.json"
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def cache_dir() -> Path:
    """The cache of this user: `$WEBMCP_AGENT_CACHE`, or where the platform keeps caches."""
    named = os.environ.get("WEBMCP_AGENT_CACHE")
    if named:
        return Path(named).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "webmcp-agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a folder of the cache came from."""

    name: str
    """What to ask for to get it."""
    kind: str
    """`embedded`, `gguf` or `merged`."""
    base: str
    """The key of the folder that it was made from; its own key for one made from a download."""


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """A whole folder in the cache."""

    key: str
    folder: Path
    origin: Origin
    size_bytes: int


class ModelCache:
    """The cache below one folder; keys are names of folders in it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def folder(self, key: str) -> Path | None:
        """The folder of `key`; None while it is not there whole."""
        folder = self.root / "models" / key
        return folder if (folder / _SOURCE).is_file() else None

    def download_folder(self, key: str) -> Path:
        """Where a download for `key` keeps what has arrived; may not exist."""
        return self.root / "downloads" / key

    @contextmanager
    def locked(self, key: str, signal: AbortSignal) -> Generator[None]:
        """Hold the only right to write `key`, among all processes of this machine.

        Raises `Aborted` when the signal is set while another one holds it."""
        filelock = import_module("filelock")
        path = self.root / "locks" / f"{key}.lock"
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(path)
        while True:
            signal.throw_if_aborted()
            try:
                lock.acquire(timeout=0.2)
                break
            except filelock.Timeout:
                continue
        try:
            yield
        finally:
            lock.release()

    def land(self, key: str, origin: Origin, build: Callable[[Path], None]) -> Path:
        """Let `build` fill an empty folder and put it in place once it is whole.

        To be called with the lock held. When `build` raises, nothing is left of it."""
        place = self.root / "models" / key
        unfinished = place.with_name(f".{key}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        try:
            build(unfinished)
            text = json.dumps(asdict(origin), indent=2) + "\n"
            (unfinished / _SOURCE).write_text(text, encoding="utf-8")
            _flush(unfinished)
            # Without its source file a folder in this place is no model: nobody reads it.
            shutil.rmtree(place, ignore_errors=True)
            unfinished.replace(place)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise
        return place

    def entries(self) -> list[CacheEntry]:
        """The whole folders, by name."""
        found: list[CacheEntry] = []
        for source in sorted((self.root / "models").glob(f"*/{_SOURCE}")):
            folder = source.parent
            origin = _read_origin(source)
            if origin is not None and not folder.name.startswith("."):
                found.append(CacheEntry(folder.name, folder, origin, size_of(folder)))
        return found

    def remove(self, key: str) -> int:
        """Delete a folder and its download; returns the bytes that this frees."""
        freed = 0
        with self.locked(key, AbortSignal()):
            place = self.root / "models" / key
            for folder in (place, self.download_folder(key)):
                freed += size_of(folder)
                # The source file goes first, so that half a deleted folder is no model.
                (folder / _SOURCE).unlink(missing_ok=True)
                shutil.rmtree(folder, ignore_errors=True)
        return freed


def size_of(folder: Path) -> int:
    """The bytes in all files below `folder`; 0 when it does not exist."""
    size = 0
    for path in folder.rglob("*"):
        try:
            if path.is_file() and not path.is_symlink():
                size += path.stat().st_size
        except FileNotFoundError:
            continue  # another process has just moved it
    return size


def check_space(folder: Path, needed: int, what: str) -> None:
    """Raise `DownloadFailed` with both sizes when `folder`'s disk has less than `needed` free."""
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(existing).free
    if free < needed:
        raise DownloadFailed(
            f"{what} needs {size_text(needed)} of disk space, and {existing} has only "
            f"{size_text(free)}; free some, or set WEBMCP_AGENT_CACHE to another disk"
        )


def disk_problem(exc: OSError, what: str) -> DownloadFailed:
    """What a failed write means, as an error to raise."""
    if exc.errno in _FULL:
        return DownloadFailed(
            f"the disk became full while {what} was written; nothing half is used"
        )
    return DownloadFailed(f"{what} could not be written: {exc.strerror or exc}")


def size_text(size: int) -> str:
    """`491 MB`, `1.3 GB`: decimal units."""
    if size >= 1_000_000_000:
        return f"{size / 1_000_000_000:.1f} GB"
    return f"{max(1, round(size / 1_000_000))} MB" if size else "0 MB"


def _read_origin(source: Path) -> Origin | None:
    try:
        value: Any = json.loads(source.read_text(encoding="utf-8"))
        return Origin(name=str(value["name"]), kind=str(value["kind"]), base=str(value["base"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _flush(folder: Path) -> None:
    """Have the files on the disk before the rename says that they are."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb+") as file:
                os.fsync(file.fileno())
