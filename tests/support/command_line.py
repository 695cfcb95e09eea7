"""The real command in a process of its own, plain or in a pseudo-terminal."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

COMMAND = [
    sys.executable,
    "-c",
    "from webmcp_agent.scenarios.cli import main; main()",
]
PATIENCE_S = 60
"""How long a command may take before it counts as hanging."""


@dataclass(frozen=True)
class Ended:
    """What a command left."""

    code: int
    out: str
    err: str

    def json_lines(self) -> list[JsonValue]:
        return [json.loads(line) for line in self.out.splitlines()]


def command(
    *arguments: str,
    cwd: Path,
    env: dict[str, str] | None = None,
    patience_s: float = PATIENCE_S,
) -> Ended:
    """Run `webmcp-agent` without a terminal to its end."""
    done = subprocess.run(
        [*COMMAND, *arguments],
        cwd=cwd,
        env=os.environ | (env or {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=patience_s,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


@dataclass
class Terminal:
    """A command in a pseudo-terminal: what it shows, and a keyboard."""

    pid: int
    descriptor: int
    shown: str = ""
    _at: int = field(default=0)

    def wait_for(self, text: str) -> str:
        """Read until `text` is shown after what was waited for last; returns what came before."""
        limit = time.monotonic() + PATIENCE_S
        while text not in self.shown[self._at :]:
            if not self._read(limit):
                raise AssertionError(f"{text!r} was never shown, only:\n{self.shown[self._at :]}")
        found = self.shown.index(text, self._at)
        before = self.shown[self._at : found]
        self._at = found + len(text)
        return before

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self.descriptor, keys.encode())

    def interrupt(self) -> None:
        """Press Ctrl-C as a terminal does: the signal goes to the whole process group."""
        os.killpg(self.pid, signal.SIGINT)

    def end(self) -> int:
        """Read to the end; returns the exit code."""
        limit = time.monotonic() + PATIENCE_S
        while self._read(limit):
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def _read(self, limit: float) -> bool:
        if time.monotonic() > limit:
            return False
        if not select.select([self.descriptor], [], [], 1)[0]:
            return True
        try:
            chunk = os.read(self.descriptor, 65536)
        except OSError:  # the other side is closed
            return False
        # Colours and cursor movements are the terminal's business, the words are ours.
        text = re.sub(r"\x1b(\[[0-9;?]*[ -/]*[@-~]|\][^\x07]*\x07|[=>])", "", chunk.decode())
        self.shown += text.replace("\r", "")
        return bool(chunk)


@contextmanager
def terminal(*arguments: str, cwd: Path) -> Generator[Terminal]:
    """Run `webmcp-agent` in a pseudo-terminal; whatever is left of it at the end is killed."""
    pid, descriptor = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        os.environ["TERM"] = "xterm"
        os.environ["COLUMNS"] = "200"
        # This terminal shows what it is told and answers no questions about its cursor.
        os.environ["PROMPT_TOOLKIT_NO_CPR"] = "1"
        os.execv(COMMAND[0], [*COMMAND, *arguments])
    try:
        yield Terminal(pid, descriptor)
    finally:
        try:
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        os.close(descriptor)


def script(folder: Path, *replies: str) -> str:
    """A file of replies, as `--model` takes it."""
    path = folder / "replies.json"
    path.write_text(json.dumps(replies), encoding="utf-8")
    return f"scripted:{path}"
