"""What may be called and visited: modes, globs of names, limits, origins, approvals. No I/O.

A page's hints can only tighten these rules: `consequential` turns a yes into a question, while
`read_only` and the like never skip one, since the page that writes a hint may lie.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Literal
from urllib.parse import urlsplit

from webmcp_agent.browser.limits import Limit
from webmcp_agent.browser.tools import JsonObject, PageTool

Mode = Literal["ask", "yes", "all"]
Decision = Literal["allow", "ask", "deny"]
Approval = Literal["yes", "always", "no", "stop"]

_DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21}


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A call that waits for the person's answer: exactly what will be sent on a yes."""

    tool: PageTool
    args: JsonObject
    secrets: tuple[str, ...] = ()
    """Names of the person's secrets that are in the arguments."""


Approver = Callable[[PendingCall], Awaitable[Approval]]
"""Asks the person. `always` also covers later calls of the same tool, whatever their arguments,
while its fingerprint stays the same, where the policy remembers it. `stop` ends more than a call:
the asker presses Stop itself."""

SecretsIn = Callable[[JsonObject], Sequence[str]]
"""The names of the person's secrets that arguments hold, in whatever form."""


def no_secrets(_: JsonObject) -> Sequence[str]:
    """For a person who gave none."""
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The user's rules for one page."""

    mode: Mode = "ask"
    """`yes` approves all but consequential tools and calls with a secret; `all` everything."""
    allow: tuple[str, ...] = ()
    """Globs of tool names that need no question; a consequential one, and one that gets a secret,
    only when named in full."""
    ask: tuple[str, ...] = ()
    """Globs of tool names that are always asked for, whatever the mode and `allow` say."""
    deny: tuple[str, ...] = ()
    """Globs of tool names that are never called; wins over everything else."""
    limits: tuple[Limit, ...] = ()
    """What arguments may be; a call outside them is never sent."""
    dry_run: bool = False
    """Send only calls of tools that the page calls read-only, and of those only the allowed."""
    secrets_in: SecretsIn = no_secrets
    origins: tuple[str, ...] = ()
    """Origins that may be used besides the start page's, such as `https://pay.example`."""
    approve: Approver | None = None
    """None: nobody can be asked, so what needs a question is refused."""

    def __post_init__(self) -> None:
        for entry in self.origins:
            if origin_of(entry) is None:
                raise ValueError(f"{entry!r} is no origin; write it like https://example.org:8443")

    def decide(self, tool: PageTool, secrets: Sequence[str] = ()) -> Decision:
        """Whether `tool` may be called: yes, no, or only when the person says so.

        `secrets`: those that the arguments hold."""
        if _matches(tool.name, self.deny):
            return "deny"
        if _matches(tool.name, self.ask):
            return "ask"
        if self.mode == "all" or tool.name in self.allow:
            return "allow"
        if tool.consequential or secrets:
            return "ask"
        return "allow" if self.mode == "yes" or _matches(tool.name, self.allow) else "ask"

    def remembers_always(self, tool: PageTool, secrets: Sequence[str] = ()) -> bool:
        """Whether an `always` for such a call counts for later ones."""
        return not (tool.consequential or secrets or _matches(tool.name, self.ask))

    def outside_limits(self, tool: PageTool, args: JsonObject) -> str | None:
        """The first limit that the arguments break, in words; None when they keep all."""
        for limit in self.limits:
            if fnmatchcase(tool.name, limit.tool) and (broken := limit.broken_by(args)):
                return broken
        return None

    def withholds(self, tool: PageTool) -> bool:
        """Whether a dry run answers in place of the tool."""
        return self.dry_run and (tool.consequential or not tool.read_only)

    def how_to_allow(self, tool: PageTool, secrets: Sequence[str] = ()) -> str:
        """What the person would have to say so that the call needs no question."""
        if _matches(tool.name, self.ask):
            return f"The policy asks for {tool.name} every time, so somebody has to be there."
        switch = "--yes=all" if tool.consequential or secrets else "--yes"
        return f"Allow it with --allow {tool.name}, or all tools with {switch}."

    def allowed_origins(self) -> frozenset[str]:
        """`origins` in their normal form."""
        return frozenset(origin for entry in self.origins if (origin := origin_of(entry)))


def _matches(name: str, globs: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)


@lru_cache(maxsize=1024)
def origin_of(url: str) -> str | None:
    """Scheme, host and port of `url` in one normal form; None when it has no origin of its own.

    The parts are parsed, never compared as a prefix: `http://good.example@evil.example/` is
    `http://evil.example`. All files count as one origin, `file://`."""
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme == "file":
        return "file://"
    if parts.scheme == "blob":
        return origin_of(parts.path)
    if not host or parts.scheme not in _DEFAULT_PORTS:
        return None
    host = f"[{host}]" if ":" in host else host.rstrip(".")
    default = _DEFAULT_PORTS[parts.scheme]
    return f"{parts.scheme}://{host}" + ("" if port in {None, default} else f":{port}")
