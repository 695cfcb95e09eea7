"""A scenario: a page, requests in one conversation, and what should have happened; its YAML file.

A `Case` is what is run, whatever kind of file it came from.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter

from webmcp_agent.agent.request import ChatMessage, user_message
from webmcp_agent.browser.policy import Mode
from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.checks import Checks
from webmcp_agent.scenarios.source_file import read_yaml
from webmcp_agent.scenarios.stand_ins import StandIn

SUFFIXES = (".scenario.yaml", ".scenario.yml")
MAX_STEPS = 6
"""Model steps of a request where the file does not say; the loop's own default."""
TIMEOUT_MS = 600_000


class SetupCall(BaseModel):
    """A call that is made before the first request, without the model."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    tool: str = Field(min_length=1)
    args: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])


Request = Annotated[str, Field(min_length=1, pattern=r"\S")]


class Scenario(BaseModel):
    """A `*.scenario.yaml` file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: str | None = Field(default=None, min_length=1)
    """For people; the file's name when it is left out."""
    start: str | None = Field(default=None, min_length=1)
    """An address, `shop:`, or a local file or folder, seen from the scenario file."""
    setup: list[SetupCall] = Field(default_factory=list[SetupCall])
    requests: list[Request] = Field(min_length=1)
    """What the person says, one after another in one conversation."""
    max_steps: int = Field(default=MAX_STEPS, ge=1)
    """Model steps of each request."""
    instructions: str | None = None
    """What the model should know of the site."""
    approval: Mode = "yes"
    """`yes` approves all calls but consequential ones, `all` those too; with `ask` every call is
    denied, since nobody is there to ask."""
    allow: list[str] = Field(default_factory=list[str])
    """Globs of tools that need no approval."""
    deny: list[str] = Field(default_factory=list[str])
    """Globs of tools that are never called."""
    origins: list[str] = Field(default_factory=list[str])
    """Origins that may be used besides the start page's."""
    timeout_ms: int = Field(default=TIMEOUT_MS, ge=1)
    """Limit of the whole conversation, and the only one of its steps."""
    checks: Checks


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One conversation to be held and judged."""

    file: Path
    name: str
    group: str
    """What it is counted with: its file, or the folder of a scenario file."""
    turns: tuple[tuple[ChatMessage, ...], ...]
    """What is added to the conversation before each run."""
    checks: Checks
    start: str | None = None
    stand_ins: tuple[StandIn, ...] | None = None
    """Tools to use when there is no page; None when the case needs one."""
    stand_in_steps: int = 1
    """Model steps of a request to the stand-ins."""
    setup: tuple[tuple[str, JsonObject], ...] = ()
    max_steps: int = MAX_STEPS
    """Model steps of a request to a page."""
    instructions: str | None = None
    approval: Mode = "yes"
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    timeout_ms: int = TIMEOUT_MS
    problem: str | None = None
    """Why it cannot be run on its stand-ins: such a case is an error, and never passes."""


_SCENARIO = TypeAdapter(Scenario)


def read_scenario(path: Path) -> Case:
    """The case of a scenario file.

    Raises: `BadFile`, with line and key of each problem."""
    scenario = read_yaml(path).as_type(_SCENARIO)
    stem = path.name
    for suffix in SUFFIXES:
        stem = stem.removesuffix(suffix)
    return Case(
        file=path,
        name=scenario.name or stem,
        group=str(path.parent),
        turns=_turns(scenario.requests),
        checks=scenario.checks,
        start=_seen_from(path, scenario.start),
        setup=tuple((call.tool, call.args) for call in scenario.setup),
        max_steps=scenario.max_steps,
        instructions=scenario.instructions,
        approval=scenario.approval,
        allow=tuple(scenario.allow),
        deny=tuple(scenario.deny),
        origins=tuple(scenario.origins),
        timeout_ms=scenario.timeout_ms,
    )


def _turns(requests: Sequence[str]) -> tuple[tuple[ChatMessage, ...], ...]:
    return tuple((user_message(text, f"u{number}"),) for number, text in enumerate(requests, 1))


def _seen_from(path: Path, start: str | None) -> str | None:
    """A local file beside the scenario is meant wherever the command is run."""
    if start is None or start.startswith(("http:", "https:", "shop:", "file:")):
        return start
    return str(path.parent / Path(start).expanduser())
