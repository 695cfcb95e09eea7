"""What a run and the process that makes its film say to each other, and how it is written.

Each message is its length and then itself, pickled: both ends are this program, and the pipe
between them is theirs alone.
"""

import pickle
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from webmcp_agent.browser.recording_cards import Card, Look
from webmcp_agent.browser.recording_cutting import Waiting

LENGTH = struct.Struct(">Q")


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Which film is to be made: the first thing that is said."""

    folder: Path
    look: Look
    waiting: Waiting
    gif: bool
    lends: bool
    """Whether the run's browser draws cards."""


@dataclass(frozen=True, slots=True)
class Finish:
    """Nothing more happens. `abandoned`: what was not drawn yet stays out of the film."""

    keep: bool
    abandoned: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """A card that is to be drawn; the answer is `Drawn`."""

    card: Card


@dataclass(frozen=True, slots=True)
class Drawn:
    """A card as PNG; None when it cannot be drawn any more."""

    data: bytes | None


@dataclass(frozen=True, slots=True)
class Begun:
    """There is a film now, and it grows."""

    path: Path


@dataclass(frozen=True, slots=True)
class Going:
    """Something more of the film was done."""


@dataclass(frozen=True, slots=True)
class Left:
    """The film is finished: where it is, None for nowhere, and what went wrong first."""

    path: Path | None
    trouble: str | None


def packed(message: object) -> bytes:
    """A message as it is written."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(data)) + data


def read_message(file: BinaryIO) -> Any:
    """The next message, waiting for it; None when there will be none. Blocks."""
    head = file.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    data = file.read(size := LENGTH.unpack(head)[0])
    return pickle.loads(data) if len(data) == size else None
