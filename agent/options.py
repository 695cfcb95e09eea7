"""The loop's limits and what it is told about the site."""

from dataclasses import dataclass

from webmcp_agent.agent.trace import TraceCallback


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalLoopOptions:
    """The loop's limits; a number below 1 is a `ValueError`."""

    max_steps: int = 6
    """Model steps per request: enough to find, open and add. `agent.max_steps` wins."""
    step_timeout_ms: int = 60_000
    """Limit of each generation. Running into it ends the run with an error."""
    max_tools: int = 8
    """Most tools shown per step; small models choose better from few."""
    tools_inline: bool = False
    """List the tools in the prompt text, with a JSON reply format."""
    instructions: str | None = None
    """What the site is and how its tools fit together. `agent.instructions` wins."""
    trace: TraceCallback | None = None
    """Gets what happens inside each step; what it raises is ignored."""

    def __post_init__(self) -> None:
        for name in ("max_steps", "step_timeout_ms", "max_tools"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
