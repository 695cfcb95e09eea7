"""`PageTools`: the WebMCP tools of one live page, listed and called; a `ToolSource`.

Lists the main frame and the frames of its origin, and of foreign frames what they expose to the
page, if the user allows their origin. Checks the policy and the tool's identity before each call.
"""

import asyncio
import hashlib
import json
import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from playwright.async_api import Error, Frame, Page
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from webmcp_agent.browser.answers import clean, message
from webmcp_agent.browser.bridge import ANSWER_LIMIT_MS, Bridge, DocumentGone, PageLost
from webmcp_agent.browser.calls import Call, Listed, PageParts
from webmcp_agent.browser.cdp import CdpSession
from webmcp_agent.browser.errors import PageGone
from webmcp_agent.browser.incidents import Incidents
from webmcp_agent.browser.navigation import Navigation
from webmcp_agent.browser.policy import PendingCall, Policy, origin_of
from webmcp_agent.browser.tools import (
    JsonObject,
    PageContext,
    PageTool,
    StopSignal,
    ToolFail,
    ToolOk,
)
from webmcp_agent.browser.waiting import HeldTasks, Pulse
from webmcp_agent.browser.witness import Witness

logger = logging.getLogger("webmcp_agent.browser")

CONTEXT_LIMIT_MS = 2_000
CONTEXT_LENGTH = 120
"""Characters of each piece of the page context."""

_ARRIVAL_LIMIT_MS = 3_000
_DETACH_LIMIT_MS = 500

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")


class _Document(BaseModel):
    """First line of a listing: what the document says of itself."""

    surface: str | None
    origin: str
    forms: dict[str, bool]
    titles: list[str | None]
    places: list[int]
    unreadable: int
    problem: str | None


class _Spec(BaseModel):
    """One line of a listing: a tool."""

    model_config = ConfigDict(strict=True)

    name: str
    description: str
    input_schema: dict[str, JsonValue] | str | None = Field(alias="schema")
    origin: str | None
    read_only: bool
    untrusted: bool
    consequential: bool


class PageTools:
    """The tools of one page; usable inside its `async with`, before the page's first `goto`.

    Does not own the page: whoever made it closes it."""

    def __init__(
        self,
        page: Page,
        *,
        policy: Policy | None = None,
        call_timeout_ms: int = 30_000,
        settle_ms: int = 3_000,
        downloads: Path | None = None,
    ) -> None:
        self.page = page
        self.policy = policy or Policy()
        self.warnings: list[str] = []
        """What was left out of the listings and why, each once."""
        self._call_timeout_ms = call_timeout_ms
        self._settle_ms = settle_ms
        self._downloads = downloads
        self._home: frozenset[str] | None = None
        self._parts_or_none: PageParts | None = None
        self._listed: dict[str, Listed] = {}
        self._always: set[str] = set()
        self._calls = 0

    async def __aenter__(self) -> Self:
        pulse, tasks = Pulse(), HeldTasks()
        cdp = await CdpSession.of(self.page)
        self._parts_or_none = PageParts(
            page=self.page,
            cdp=cdp,
            bridge=Bridge(self.page, cdp),
            navigation=Navigation(cdp, pulse, tasks, self.page.url),
            witness=Witness(cdp, pulse, tasks),
            incidents=Incidents(
                self.page, cdp, pulse, tasks, downloads=self._downloads, allowed=self._allowed
            ),
            pulse=pulse,
            tasks=tasks,
            origins=tuple(sorted(self.policy.allowed_origins())),
        )
        await self._parts.navigation.start()
        await self._parts.witness.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._parts.tasks.close()
        try:
            # While the page waits for a document the session does not end: whoever closes the page
            # ends both.
            async with asyncio.timeout(_DETACH_LIMIT_MS / 1000):
                await self._parts.incidents.close()
                if self._parts.bridge.lost() is None:
                    await self._parts.cdp.detach()
        except (Error, TimeoutError):
            return

    @property
    def _parts(self) -> PageParts:
        assert self._parts_or_none is not None, "PageTools is used inside its `async with`"
        return self._parts_or_none

    @property
    def url(self) -> str:
        """The address of what is open now."""
        return self._parts.navigation.url

    @property
    def incidents(self) -> list[str]:
        """Dialogs, popups and downloads so far, one sentence each, oldest first."""
        return [incident.text for incident in self._parts.incidents.all]

    def stay_here(self, *addresses: str) -> None:
        """From now on the main frame stays on the origins of what is open, of `addresses`, and of
        the policy; a move elsewhere is stopped before its request leaves."""
        known = (origin_of(address) for address in (self.url, *addresses))
        self._home = self.policy.allowed_origins() | {origin for origin in known if origin}
        self._parts.navigation.gate = self._allowed

    def _allowed(self, address: str) -> bool:
        return self._home is None or origin_of(address) in self._home

    async def has_webmcp(self) -> bool:
        """Whether what is open has a model context, the browser's own or a polyfill.

        Raises: `PageGone`."""
        document, _ = await self._read(self.page.main_frame, self._settle_ms)
        return document is not None and document.surface is not None

    async def list_tools(self) -> list[PageTool]:
        """The tools that can be called now, in the page's order, each name once.

        A young document gets a moment to add its tools.

        Raises: `PageGone` when the page was closed, crashed, or does not answer."""
        self._listed = await self._list()
        return [listed.tool for listed in self._listed.values()]

    async def page_context(self) -> PageContext | None:
        """Path, title and main heading of what is open; None when they cannot be told."""
        try:
            async with asyncio.timeout(CONTEXT_LIMIT_MS / 1000):
                found = await self._parts.bridge.context(self._parts.navigation.frame)
        except (TimeoutError, DocumentGone):
            return None
        path, title, h1 = (_piece(found.get(key)) for key in ("path", "title", "h1"))
        return PageContext(path or "", title or "", h1) if path or title or h1 else None

    async def tools_and_context(self) -> tuple[list[PageTool], PageContext | None]:
        """`list_tools` and `page_context` at once, in the time of the slower one."""
        tools, context = await asyncio.gather(self.list_tools(), self.page_context())
        return tools, context

    async def call_tool(
        self, name: str, args: JsonObject, *, call_id: str, signal: StopSignal
    ) -> ToolOk | ToolFail:
        """Call a tool of the last listing once, if the policy allows it.

        What is sent are exactly the arguments that were approved, to exactly the tool that was
        listed. `call_id` only names the call in the log."""
        if signal.aborted:
            return _NOT_SENT
        if (reason := self._parts.bridge.lost()) is not None:
            return ToolFail("unavailable", reason)
        try:
            text = json.dumps(args, allow_nan=False)
        except (ValueError, RecursionError):
            return ToolFail("invalid-args", "The arguments cannot be written as JSON.")
        if not self._allowed(self.url) and origin_of(self.url) is not None:
            return ToolFail("blocked", f"{message(self.url)} is not an allowed address.")
        listed = self._listed.get(name)
        if listed is None:
            try:
                listed = (await self._list()).get(name)
            except PageGone as exc:
                return ToolFail("unavailable", str(exc))
            if listed is None:
                return ToolFail("not-found", message(f"The page has no tool {name!r} now."))
        if (refusal := await self._permission(listed.tool, text, signal)) is not None:
            return refusal
        self._calls += 1
        logger.debug("call %s: %s", call_id, name)
        call = Call(self._parts, listed, text, str(self._calls), limit_ms=self._call_timeout_ms)
        return await call.run(signal)

    async def _permission(self, tool: PageTool, text: str, signal: StopSignal) -> ToolFail | None:
        """Why the call may not be sent; None when it may."""
        match self.policy.decide(tool):
            case "deny":
                return ToolFail("blocked", f"The tool {tool.name} is on the list of denied ones.")
            case "allow":
                return None
            case "ask":
                pass
        if tool.fingerprint in self._always:
            return None
        if self.policy.approve is None:
            switch = "--yes=all" if tool.consequential else "--yes"
            return ToolFail(
                "denied",
                f"Nobody could be asked about {tool.name}. Allow it with --allow {tool.name}, "
                f"or all tools with {switch}.",
            )
        asking = asyncio.ensure_future(self.policy.approve(PendingCall(tool, json.loads(text))))
        stop = asyncio.ensure_future(signal.wait())
        try:
            await asyncio.wait({asking, stop}, return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                return _NOT_SENT
            answer = asking.result()
        except Exception as exc:  # noqa: BLE001  # the approver is foreign code, and no is safe
            return ToolFail("denied", message(f"The question could not be asked: {exc}"))
        finally:
            asking.cancel()
            stop.cancel()
        if answer == "stop" or signal.aborted:
            return _NOT_SENT
        if answer == "always" and not tool.consequential:
            self._always.add(tool.fingerprint)
        return None if answer in {"yes", "always"} else _SAID_NO

    async def _list(self) -> dict[str, Listed]:
        # What a page that is about to leave offers is of no use to anybody.
        await self._parts.navigation.settle(_ARRIVAL_LIMIT_MS)
        if not self._allowed(self.url):
            return {}
        main = self.page.main_frame
        document, found = await self._read(main, self._settle_ms)
        if document is None:
            return {}
        children = [
            frame for frame in self.page.frames if frame != main and self._may_be_ours(frame)
        ]
        for theirs, more in await asyncio.gather(*(self._read(frame, 0) for frame in children)):
            # Only now is it known where a frame without an address of its own belongs.
            if theirs is not None and theirs.origin == document.origin:
                found = [*found, *more]
        return _unique(found)

    def _may_be_ours(self, frame: Frame) -> bool:
        origin = origin_of(frame.url)
        return not frame.is_detached() and origin in {None, origin_of(self.url)}

    async def _read(self, frame: Frame, settle_ms: int) -> tuple[_Document | None, list[Listed]]:
        """What a frame's document is and offers; None when the frame is gone."""
        main = frame == self.page.main_frame
        argument: JsonObject = {
            "cap": settle_ms,
            "origins": list(self._parts.origins) if main else [],
            "deep": not self._parts.witness.spoke,
        }
        try:
            text = await self._parts.bridge.read(
                frame, "list", argument, settle_ms + ANSWER_LIMIT_MS
            )
        except DocumentGone:
            return None, []
        except PageLost as exc:
            if main:
                raise PageGone(str(exc)) from exc
            return None, []
        head, *lines = text.split("\n")
        document = _Document.model_validate_json(head)
        if document.problem is not None:
            self._warn(f"the tools of {frame.url} cannot be read: {document.problem}")
        if document.unreadable:
            self._warn(f"{document.unreadable} tools of {frame.url} cannot be read")
        found = [
            listed
            for line, title, place in zip(lines, document.titles, document.places, strict=True)
            if (listed := self._tool(frame, document, line, title, place)) is not None
        ]
        return document, found

    def _tool(
        self, frame: Frame, document: _Document, line: str, title: str | None, place: int
    ) -> Listed | None:
        try:
            spec = _Spec.model_validate_json(line)
        except ValidationError as exc:
            self._warn(f"a tool of {frame.url} is left out: {exc.errors()[0]['msg']}")
            return None
        if not _NAME.fullmatch(spec.name):
            self._warn(f"a tool is left out for its name: {ascii(spec.name[:60])}")
            return None
        parts = self._parts
        in_frame = parts.in_frame(frame)
        mark = parts.witness.form(spec.name, in_frame) if place == 0 else None
        if place != 0 or parts.witness.knows(spec.name, in_frame):
            declarative, autosubmit = mark is not None, mark is not None and mark.autosubmit
        else:
            declarative = spec.name in document.forms
            autosubmit = document.forms.get(spec.name, False)
        tool = PageTool(
            name=spec.name,
            description=clean(spec.description),
            input_schema=spec.input_schema,
            title=clean(title) if title else None,
            read_only=spec.read_only,
            untrusted=spec.untrusted,
            consequential=spec.consequential,
            autosubmit=autosubmit,
            declarative=declarative,
            origin=spec.origin or document.origin,
            frame="main" if frame == self.page.main_frame and place == 0 else _label(frame, spec),
            fingerprint=hashlib.sha256(
                f"{spec.origin or document.origin}\n{line}".encode()
            ).hexdigest()[:16],
        )
        return Listed(tool, frame, spec.name, place, line)

    def _warn(self, text: str) -> None:
        line = message(text)
        if line not in self.warnings:
            self.warnings.append(line)
            logger.warning("%s", line)


_NOT_SENT = ToolFail(
    "cancelled", "The person pressed Stop; nothing was sent.", may_have_happened=False
)
_SAID_NO = ToolFail("denied", "The person said no.")


def _label(frame: Frame, spec: _Spec) -> str:
    return clean(frame.name) or frame.url.partition("?")[0] or spec.origin or "frame"


def _unique(found: Sequence[Listed]) -> dict[str, Listed]:
    """By a name that is unique: the first keeps its own, others of that name get a suffix that no
    tool of the page has."""
    taken = {listed.name for listed in found}
    unique: dict[str, Listed] = {}
    seen: set[tuple[Frame, int, str]] = set()
    for listed in found:
        if (key := (listed.frame, listed.place, listed.name)) in seen:
            continue  # a polyfill that allows doubled names; the page's first one is called
        seen.add(key)
        name, number = listed.name, 2
        while name in unique or (name != listed.name and name in taken):
            suffix = f"__frame{number}"
            name = listed.name[: 128 - len(suffix)] + suffix
            number += 1
        tool = listed.tool
        if name != tool.name:
            tool = replace(tool, name=name)
        unique[name] = replace(listed, tool=tool)
    return unique


def _piece(value: JsonValue) -> str | None:
    """A piece of the page context: text, one line, cut."""
    if not isinstance(value, str):
        return None
    line = " ".join(clean(value).split())
    return line if len(line) <= CONTEXT_LENGTH else line[: CONTEXT_LENGTH - 1] + "…"
