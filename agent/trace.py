"""What happens inside a step, for a callback: every prompt, raw reply, repair and timing."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

TraceType = Literal[
    "page",
    "request",
    "fit",
    "reply",
    "parsed",
    "args",
    "repair",
    "correction",
    "repeat",
    "call",
    "warning",
]


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """One thing that happened, in order. Watching changes nothing in a run."""

    type: TraceType
    step: int
    """From 1; 0 before the first step."""
    data: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    agent: str | None = None
    """The sub-agent in which it happened; None in the run itself."""


TraceCallback = Callable[[TraceEvent], None]


def ms_since(began: float) -> float:
    """Milliseconds, as the trace holds them, since `perf_counter` gave `began`."""
    return round((time.perf_counter() - began) * 1000, 3)
