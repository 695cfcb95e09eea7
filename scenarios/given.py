"""What the person gives by name: `--var NAME=VALUE`, and `--secret NAME` from the environment.

A value goes where the person's own words have its `{NAME}`, and nowhere else.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.providers.base import LocalProvider
from webmcp_agent.providers.recorded import RecordedProvider
from webmcp_agent.scenarios.errors import WrongUsage
from webmcp_agent.scenarios.masking import Masker
from webmcp_agent.scenarios.variables import NAME, fill, missing_in


@dataclass(frozen=True)
class Given:
    """Variables and secrets by their names, and what keeps them out of all that is written."""

    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    @cached_property
    def masker(self) -> Masker:
        """Masks the values, and whatever else looks like a credential."""
        return Masker(self.secrets, self.variables)

    @cached_property
    def _secret_masker(self) -> Masker:
        return Masker(self.secrets)

    def fill(self, text: str) -> str:
        """The person's text with the values in their places.

        Where nothing is given braces are just braces. Raises: `WrongUsage` for a place whose name
        is not among those that are given."""
        values = {**self.variables, **self.secrets}
        if values and (missing := missing_in(text, values)):
            raise WrongUsage(
                f"{{{missing[0]}}} has no value; there are {', '.join(sorted(values))}. "
                f"Give it with --var {missing[0]}=… or --secret {missing[0]}."
            )
        return fill(text, values)

    def guard(self, provider: LocalProvider) -> LocalProvider:
        """The provider; one that records writes names in the place of values."""
        if isinstance(provider, RecordedProvider):
            values = {**self.variables, **self.secrets}
            provider.keep_out(self.masker.given, lambda text: fill(text, values))
        return provider

    def secrets_in(self, args: JsonObject) -> Sequence[str]:
        """The names of the secrets that arguments hold, encoded ones included."""
        if not self.secrets:
            return ()
        return self._secret_masker.names_in(json.dumps(args, ensure_ascii=False))


def read_given(
    variables: Sequence[str], secrets: Sequence[str], environment: Mapping[str, str]
) -> Given:
    """What the options say.

    Raises: `WrongUsage` for a name that is none, is there twice, or has no value."""
    given: dict[str, str] = {}
    for option in variables:
        name, equals, value = option.partition("=")
        if not equals:
            raise WrongUsage(f"--var {option}: a variable is given as NAME=VALUE")
        given[_checked("--var", name, given)] = value
    kept: dict[str, str] = {}
    for name in secrets:
        _checked("--secret", name, {**given, **kept})
        if not environment.get(name, "").strip():
            raise WrongUsage(f"--secret {name}: there is no value in the environment for it")
        kept[name] = environment[name]
    return Given(given, kept)


def _checked(option: str, name: str, taken: Mapping[str, str]) -> str:
    if NAME.fullmatch(name) is None:
        raise WrongUsage(f"{option} {name}: a name has letters, digits and _ only, no digit first")
    if name in taken:
        raise WrongUsage(f"{option} {name}: this name is given twice")
    return name
