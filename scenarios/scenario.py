"""A scenario: a page, requests in one conversation, and what should have happened; its YAML file.

A `Case` is what is run, whatever kind of file it came from.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    TypeAdapter,
    model_validator,
)

from webmcp_agent.agent.request import ChatMessage, user_message
from webmcp_agent.browser.policy import Mode
from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.case_variables import filled_in
from webmcp_agent.scenarios.checks import Checks
from webmcp_agent.scenarios.expected_calls import ExpectedCall
from webmcp_agent.scenarios.matching import OrText
from webmcp_agent.scenarios.source_file import read_yaml
from webmcp_agent.scenarios.stand_ins import StandIn

SUFFIXES = (".scenario.yaml", ".scenario.yml")
MAX_STEPS = 6
"""Model steps of a request where the file does not say; the loop's own default."""
TIMEOUT_MS = 600_000
CALL_TIMEOUT_MS = 30_000


class _Part(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True
    )


class SetupCall(_Part):
    """A call that is made before the first request, without the model."""

    tool: str = Field(min_length=1)
    args: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])


class Request(_Part):
    """What the person says once, and what should have happened before they go on."""

    request: str = Field(min_length=1, pattern=r"\S")
    """The words; a bare text is enough where there is nothing to check."""
    checks: Checks | None = None
    """Judged by what this request alone did. When one fails, nothing more is asked."""


def _said(value: Any) -> Any:
    """A bare text is a request without checks."""
    return {"request": value} if isinstance(value, str) else value


class Scenario(_Part):
    """A `*.scenario.yaml` file: a page, requests in one conversation, what should have happened.

    `{NAME}` in a text stands for a variable."""

    name: str | None = Field(default=None, min_length=1)
    """For people; the file's name when it is left out."""
    start: str | None = Field(default=None, min_length=1)
    """An address, `shop:`, or a local file or folder, seen from the scenario file."""
    setup: list[SetupCall] = Field(default_factory=list[SetupCall])
    vars: dict[str, str | int | float | bool | None] = Field(
        default_factory=dict[str, str | int | float | bool | None]
    )
    """Variables by name. `--var` gives others; one that is null here has to be given there."""
    model: str | None = Field(default=None, min_length=1)
    """As for `--model`, which goes before it; a file of `scripted:` is seen from this file."""
    requests: list[Annotated[Request, BeforeValidator(_said), OrText()]] = Field(min_length=1)
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
    call_timeout_ms: int = Field(default=CALL_TIMEOUT_MS, ge=1)
    """How long the page is given for each call."""
    checks: Checks | None = None
    """Judged at the end; may be left out where a request has some."""

    @model_validator(mode="after")
    def _judge_something(self) -> "Scenario":
        if self.checks is None and all(request.checks is None for request in self.requests):
            raise ValueError("'checks' is missing")
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One conversation to be held and judged."""

    file: Path
    name: str
    group: str
    """What it is counted with: its file, or the folder of a scenario file."""
    turns: tuple[tuple[ChatMessage, ...], ...]
    """What is added to the conversation before each run."""
    checks: Checks | None
    """Of the whole conversation."""
    turn_checks: tuple[Checks | None, ...] = ()
    """Of each run by itself; may be shorter than `turns`."""
    model: str | None = None
    """None for the one that all cases are run with."""
    start: str | None = None
    stand_ins: tuple[StandIn, ...] | None = None
    """Tools to use when there is no page; None when the case needs one."""
    stand_in_steps: int = 1
    """Model steps of a request to the stand-ins."""
    mocks: tuple[tuple[ExpectedCall, JsonValue], ...] = ()
    """What the file says that expected calls answer, in its order."""
    setup: tuple[tuple[str, JsonObject], ...] = ()
    max_steps: int = MAX_STEPS
    """Model steps of a request to a page."""
    instructions: str | None = None
    approval: Mode = "yes"
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    timeout_ms: int = TIMEOUT_MS
    call_timeout_ms: int = CALL_TIMEOUT_MS
    source: JsonObject | None = None
    """An eval case as it stands in its file."""
    variables: frozenset[str] = frozenset()
    """Names that its file has a place or a value for."""
    problem: str | None = None
    """Why it cannot be run on its stand-ins: such a case is an error, and never passes."""


_SCENARIO = TypeAdapter(Scenario)


def read_scenario(path: Path, given: Mapping[str, str] | None = None) -> Case:
    """The case of a scenario file, its variables filled in; `given` goes before its own values.

    Raises: `BadFile`, with line and key of each problem."""
    source, names = filled_in(read_yaml(path), given or {})
    scenario = source.as_type(_SCENARIO)
    stem = path.name
    for suffix in SUFFIXES:
        stem = stem.removesuffix(suffix)
    return Case(
        file=path,
        name=scenario.name or stem,
        group=str(path.parent),
        turns=tuple(
            (user_message(each.request, f"u{number}"),)
            for number, each in enumerate(scenario.requests, 1)
        ),
        checks=scenario.checks,
        turn_checks=tuple(each.checks for each in scenario.requests),
        model=_model_seen_from(path, scenario.model),
        start=_seen_from(path, scenario.start),
        setup=tuple((call.tool, call.args) for call in scenario.setup),
        max_steps=scenario.max_steps,
        instructions=scenario.instructions,
        approval=scenario.approval,
        allow=tuple(scenario.allow),
        deny=tuple(scenario.deny),
        origins=tuple(scenario.origins),
        timeout_ms=scenario.timeout_ms,
        call_timeout_ms=scenario.call_timeout_ms,
        variables=names,
    )


def _model_seen_from(path: Path, model: str | None) -> str | None:
    """A file in a model's name that stands beside the scenario is meant wherever one works."""
    kind, colon, rest = (model or "").partition(":")
    if kind not in {"scripted", "recorded"} or not colon:
        return model
    return f"{kind}:{path.parent / Path(rest).expanduser()}"


def _seen_from(path: Path, start: str | None) -> str | None:
    """A local file beside the scenario is meant wherever the command is run."""
    if start is None or start.startswith(("http:", "https:", "shop:", "file:")):
        return start
    return str(path.parent / Path(start).expanduser())
