"""The browser's own account of calls: the protocol's `WebMCP` domain.

It has what a page cannot see or say: the reason that an error hides, the answer of a tool whose
document went away, the sign that a form waits for the person, and whether a form submits itself.
A browser without the domain gives no account, and everything here answers "unknown".
"""

import asyncio
import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from typing import Any, Literal

from playwright.async_api import Error
from pydantic import JsonValue

from webmcp_agent.browser.cdp import CdpSession
from webmcp_agent.browser.waiting import HeldTasks, Pulse

Status = Literal["Completed", "Canceled", "Error"]

_PROPERTIES_LIMIT_MS = 300
_KEPT = 200
"""Invocations that are remembered: a page may call its own tools without end."""


@dataclass(frozen=True, slots=True)
class FormMark:
    """A tool that comes from a form."""

    autosubmit: bool


@dataclass(frozen=True, slots=True)
class Response:
    """How the browser says that a call ended."""

    status: Status
    output: JsonValue = None
    """JSON-parsed by the browser: a text `42` is the number here."""
    has_output: bool = False
    error_text: str = ""
    exception: dict[str, Any] | None = None
    """The protocol's remote object of what the tool threw."""
    members: "asyncio.Task[dict[str, JsonValue]] | None" = None
    """The own plain members of a thrown object."""


@dataclass(slots=True)
class Invocation:
    """One call as the browser saw it, whoever made it."""

    tool: str
    frame: str
    arguments: JsonValue
    number: int
    response: Response | None = None
    taken: bool = False


@dataclass(slots=True)
class Sighting:
    """The account of one call of ours, as far as there is one yet."""

    find: Callable[[], Invocation | None]
    _found: Invocation | None = field(default=None, init=False)

    @property
    def invocation(self) -> Invocation | None:
        """The browser's record; None while none was seen."""
        if self._found is None and (found := self.find()) is not None:
            found.taken = True
            self._found = found
        return self._found

    @property
    def response(self) -> Response | None:
        """How it ended; None while it has not, or nobody saw it."""
        invocation = self.invocation
        return invocation.response if invocation else None


class Witness:
    """Watches one page: its main process, and each process of a frame that it is told of."""

    def __init__(self, pulse: Pulse, tasks: HeldTasks) -> None:
        self.spoke = False
        """Whether any event came: only then does the absence of one mean something."""
        self._pulse = pulse
        self._tasks = tasks
        self._forms: dict[str, dict[str, FormMark | None]] = {}  # tool → frame → its form
        self._invocations: dict[tuple[CdpSession, str], Invocation] = {}
        self._told_by: dict[str, CdpSession] = {}
        self._count = 0

    async def listen(self, cdp: CdpSession) -> None:
        """Listen to one process; to the page's own before the first `goto`, or tools of child
        frames go unnoticed. A browser without the domain, or a session that ended, says nothing."""
        cdp.on("WebMCP.toolsAdded", partial(self._added, cdp))
        cdp.on("WebMCP.toolsRemoved", self._removed)
        cdp.on("WebMCP.toolInvoked", partial(self._invoked, cdp))
        cdp.on("WebMCP.toolResponded", partial(self._responded, cdp))
        # A document that goes takes its tools with it and no event says so.
        cdp.on("Page.frameNavigated", self._navigated)
        cdp.on("Page.frameDetached", self._detached)
        with contextlib.suppress(Error):
            await cdp.send("WebMCP.enable")

    def forget(self, cdp: CdpSession) -> None:
        """Drop the tools that this session told of: its document is gone."""
        for frame in [frame for frame, teller in self._told_by.items() if teller is cdp]:
            self._forget(frame)

    def knows(self, name: str, frame: Callable[[str], bool]) -> bool:
        """Whether the browser told of this tool in such a frame."""
        return any(frame(place) for place in self._forms.get(name, ()))

    def form(self, name: str, frame: Callable[[str], bool]) -> FormMark | None:
        """The form behind a tool; None when it is none, or not known."""
        for place, mark in self._forms.get(name, {}).items():
            if frame(place):
                return mark
        return None

    def watch(self, name: str, arguments: JsonValue, frame: Callable[[str], bool]) -> Sighting:
        """Look out for a call of ours that is sent after this.

        The page may call the same tool by itself: the first call with our arguments is ours, and
        without one the first call of that name."""
        start = self._count

        def find() -> Invocation | None:
            # The latest ones: a long run remembers many, and this is asked at each event.
            later = takewhile(
                lambda each: each.number >= start, reversed(self._invocations.values())
            )
            candidates = [
                invocation
                for invocation in later
                if not invocation.taken and invocation.tool == name and frame(invocation.frame)
            ]
            candidates.reverse()
            same = [each for each in candidates if each.arguments == arguments]
            return next(iter(same or candidates), None)

        return Sighting(find)

    async def members(self, response: Response) -> dict[str, JsonValue]:
        """The own plain members of what the tool threw; empty when there are none to be had."""
        return await response.members if response.members is not None else {}

    def _added(self, cdp: CdpSession, event: dict[str, Any]) -> None:
        self.spoke = True
        for tool in event["tools"]:
            mark = None
            if tool.get("backendNodeId") is not None:
                mark = FormMark(tool.get("annotations", {}).get("autosubmit") is True)
            self._forms.setdefault(tool["name"], {})[tool["frameId"]] = mark
            self._told_by[tool["frameId"]] = cdp

    def _removed(self, event: dict[str, Any]) -> None:
        for tool in event["tools"]:
            self._drop(tool["name"], tool["frameId"])

    def _navigated(self, event: dict[str, Any]) -> None:
        self._forget(event["frame"]["id"])

    def _detached(self, event: dict[str, Any]) -> None:
        self._forget(event["frameId"])

    def _forget(self, frame: str) -> None:
        self._told_by.pop(frame, None)
        for name in list(self._forms):
            self._drop(name, frame)

    def _drop(self, name: str, frame: str) -> None:
        places = self._forms.get(name, {})
        places.pop(frame, None)
        if not places:
            self._forms.pop(name, None)

    def _invoked(self, cdp: CdpSession, event: dict[str, Any]) -> None:
        self.spoke = True
        invocation = Invocation(
            tool=event["toolName"],
            frame=event["frameId"],
            arguments=_read(event.get("input", "")),
            number=self._count,
        )
        self._count += 1
        self._invocations[cdp, event["invocationId"]] = invocation
        if len(self._invocations) > _KEPT:
            del self._invocations[next(iter(self._invocations))]
        self._pulse.fire()

    def _responded(self, cdp: CdpSession, event: dict[str, Any]) -> None:
        invocation = self._invocations.get((cdp, event["invocationId"]))
        if invocation is None or invocation.response is not None:
            return  # a second answer of one call does not count
        exception = event.get("exception")
        members = None
        if exception and exception.get("className") == "Object" and exception.get("objectId"):
            # At once: the object lives no longer than its document.
            members = self._tasks.start(_members(cdp, exception["objectId"]))
        invocation.response = Response(
            status=event["status"],
            output=event.get("output"),
            has_output="output" in event,
            error_text=event.get("errorText") or "",
            exception=exception,
            members=members,
        )
        self._pulse.fire()


async def _members(cdp: CdpSession, object_id: str) -> dict[str, JsonValue]:
    try:
        async with asyncio.timeout(_PROPERTIES_LIMIT_MS / 1000):
            answer = await cdp.send(
                "Runtime.getProperties", {"objectId": object_id, "ownProperties": True}
            )
    except (Error, TimeoutError):
        return {}
    # Getters have no "value" here, and so are neither run nor read.
    return {
        each["name"]: each["value"]["value"]
        for each in answer["result"]
        if each.get("enumerable") and "value" in each.get("value", {})
    }


def _read(text: str) -> JsonValue:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
