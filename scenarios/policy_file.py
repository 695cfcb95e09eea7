"""A policy file: what a page's tools may do on the person's behalf, in YAML or JSON."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import regex
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    TypeAdapter,
    model_validator,
)

from webmcp_agent.browser.limits import Limit
from webmcp_agent.browser.policy import Mode, origin_of
from webmcp_agent.scenarios.runner import PageSettings
from webmcp_agent.scenarios.source_file import read_json, read_yaml

MODES: tuple[Mode, ...] = ("ask", "yes", "all")
"""From the strictest on."""


def _is_origin(text: str) -> str:
    if origin_of(text) is None:
        raise ValueError(f"{text!r} is no origin; write it like https://example.org:8443")
    return text


def _is_pattern(text: str) -> str:
    try:
        regex.compile(text)
    except regex.error as exc:
        raise ValueError(f"{text!r} is no pattern: {exc}") from exc
    return text


Name = Annotated[str, Field(min_length=1)]


class LimitRule(BaseModel):
    """One limit."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    tool: Name = "*"
    """Glob of the tools that it is for."""
    argument: Name
    """A name, wherever it stands in the arguments, or a path from their top such as
    `payment.total`."""
    at_most: float | None = None
    at_least: float | None = None
    one_of: list[JsonValue] | None = Field(default=None, min_length=1)
    matches: Annotated[str, AfterValidator(_is_pattern)] | None = None
    """A pattern for a text, from its beginning to its end."""

    @model_validator(mode="after")
    def _limit_something(self) -> "LimitRule":
        if {self.at_most, self.at_least, self.matches} == {None} and self.one_of is None:
            raise ValueError("it limits nothing: give at_most, at_least, one_of or matches")
        return self

    def limit(self) -> Limit:
        """The limit as the browser side knows it."""
        return Limit(
            tool=self.tool,
            argument=self.argument,
            at_most=self.at_most,
            at_least=self.at_least,
            one_of=None if self.one_of is None else tuple(self.one_of),
            matches=self.matches,
        )


class PolicyFile(BaseModel):
    """A whole policy file; what is not given adds nothing to the command line's options."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    approval: Mode = "ask"
    """As without `--yes`, with `--yes`, with `--yes=all`; the more generous of the two counts."""
    allow: list[Name] = Field(default_factory=list[str])
    """Globs of tools that need no question; a consequential one only when named in full."""
    ask: list[Name] = Field(default_factory=list[str])
    """Globs of tools that are always asked for, also with `--yes=all`."""
    deny: list[Name] = Field(default_factory=list[str])
    """Globs of tools that are never called."""
    limits: list[LimitRule] = Field(default_factory=list[LimitRule])
    origins: list[Annotated[str, AfterValidator(_is_origin)]] = Field(default_factory=list[str])
    """Origins that may be used besides the start page's."""


_POLICY = TypeAdapter(PolicyFile)


def read_policy(path: Path) -> PolicyFile:
    """The policy in a file; `*.json` is read as JSON, everything else as YAML.

    Raises: `BadFile`, with line and key of each problem."""
    source = read_json(path) if path.suffix.casefold() == ".json" else read_yaml(path)
    return source.as_type(_POLICY)


def with_policy(settings: PageSettings, policy: PolicyFile) -> PageSettings:
    """The settings, with what a policy file adds to them."""
    return replace(
        settings,
        approval=more_generous(settings.approval, policy.approval),
        allow=(*settings.allow, *policy.allow),
        ask=(*settings.ask, *policy.ask),
        deny=(*settings.deny, *policy.deny),
        limits=(*settings.limits, *(rule.limit() for rule in policy.limits)),
        origins=(*settings.origins, *policy.origins),
    )


def more_generous(one: Mode, other: Mode) -> Mode:
    """Of two modes the one that asks less."""
    return one if MODES.index(one) > MODES.index(other) else other
