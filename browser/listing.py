"""The tools of a page as they are now: read frame by frame, narrowed, given unique names.

What a page says of itself is foreign data: a tool that cannot be used is left out with a warning,
and the rest is listed.
"""

import asyncio
import hashlib
import json
import logging
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache

from playwright.async_api import Error, Frame
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from webmcp_agent.browser.answers import clean, message
from webmcp_agent.browser.bridge import ANSWER_LIMIT_MS, DocumentGone, PageLost
from webmcp_agent.browser.errors import PageGone
from webmcp_agent.browser.look_alikes import look_alikes
from webmcp_agent.browser.page_parts import PageParts
from webmcp_agent.browser.policy import origin_of
from webmcp_agent.browser.tools import JsonObject, PageTool

logger = logging.getLogger("webmcp_agent.browser")

_FRAME_LIMIT_MS = 2_000
"""How long a child frame may hold up a listing; seen in Chromium 156: a frame whose model context
never answers, because of how its document came in."""

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")


@dataclass(frozen=True, slots=True)
class Listed:
    """A tool as it was listed, and what it takes to find exactly it again."""

    tool: PageTool
    frame: Frame
    name: str
    """The page's own name for it."""
    place: int
    """0: the frame's own document; else the number of a window that exposes it to this one."""
    spec: str
    """The tool's description as one line: its identity."""


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


class Listing:
    """Reads the tools of one page."""

    def __init__(self, parts: PageParts, settle_ms: int, warnings: list[str]) -> None:
        self.warnings = warnings
        """What was left out and why, each once."""
        self.script_error: str | None = None
        """What a script of a page without tools failed with."""
        self._parts = parts
        self._settle_ms = settle_ms
        self._silent: dict[Frame, str] = {}

    async def has_surface(self) -> bool:
        """Whether the main frame's document has a model context.

        Raises: `PageGone`."""
        document, _ = await self._document(self._parts.page.main_frame, self._settle_ms)
        return document is not None and document.surface is not None

    async def read(self) -> dict[str, Listed]:
        """The tools of the page now, by their unique names, in the page's order.

        Raises: `PageGone`."""
        await self._parts.sessions.ready()
        main = self._parts.page.main_frame
        document, found = await self._document(main, self._settle_ms)
        if document is None:
            return {}
        children = [
            frame for frame in self._parts.page.frames if frame != main and self._may_be_ours(frame)
        ]
        for theirs, more in await asyncio.gather(*(self._document(frame, 0) for frame in children)):
            # Only now is it known where a frame without an address of its own belongs.
            if theirs is not None and theirs.origin == document.origin:
                found = [*found, *more]
        listed = _unique(found)
        for one, other in look_alikes(listed):
            self.warn(f"the tools {one} and {other} have names that look alike")
        if not listed:
            await self._look_for_errors()
        return listed

    async def _look_for_errors(self) -> None:
        """Whether a script failed, which may be why there are no tools."""
        with suppress(Error):
            errors = await self._parts.page.page_errors(filter="since-navigation")
            if errors:
                self.script_error = message(errors[0].message)
                self.warn(f"the page has no tools, and a script of it failed: {self.script_error}")

    def _may_be_ours(self, frame: Frame) -> bool:
        origin = origin_of(frame.url)
        if frame.is_detached() or self._silent.get(frame) == frame.url:
            return False
        return origin in {None, origin_of(self._parts.navigation.url)}

    async def _document(
        self, frame: Frame, settle_ms: int
    ) -> tuple[_Document | None, list[Listed]]:
        """What a frame's document is and offers; None when the frame is gone."""
        main = frame == self._parts.page.main_frame
        argument: JsonObject = {
            "cap": settle_ms,
            "origins": list(self._parts.origins) if main else [],
            "deep": not self._parts.witness.spoke,
        }
        limit_ms = settle_ms + (ANSWER_LIMIT_MS if main else _FRAME_LIMIT_MS)
        try:
            text = await self._parts.bridge.read(frame, "list", argument, limit_ms)
        except DocumentGone:
            return None, []
        except PageLost as exc:
            if main:
                raise PageGone(str(exc)) from exc
            self._silent[frame] = frame.url
            self.warn(f"the tools of {frame.url} cannot be read: {exc}")
            return None, []
        head, *lines = text.split("\n")
        try:
            document = _Document.model_validate_json(_whole(head))
        except ValidationError as exc:
            # A page can replace what the bridge is written with; then it cannot be read.
            if main:
                raise PageGone("The page's tools cannot be read.") from exc
            return None, []
        if document.problem is not None:
            self.warn(f"the tools of {frame.url} cannot be read: {document.problem}")
        if document.unreadable:
            self.warn(f"{document.unreadable} tools of {frame.url} cannot be read")
        homes = {place: self._parts.in_frame(frame, place) for place in set(document.places)}
        found = [
            listed
            for line, title, place in zip(lines, document.titles, document.places, strict=True)
            if (
                listed := self._tool(
                    frame, document, line, title, place, here=main and place == 0, home=homes[place]
                )
            )
            is not None
        ]
        return document, found

    def _tool(
        self,
        frame: Frame,
        document: _Document,
        line: str,
        title: str | None,
        place: int,
        *,
        here: bool,
        home: Callable[[str], bool],
    ) -> Listed | None:
        """The tool of a line. `here`: it lives in the main document itself; `home` says whether a
        frame id of the protocol can be that of its document."""
        try:
            spec = _spec(line)
        except ValidationError as exc:
            self.warn(f"a tool of {frame.url} is left out: {exc.errors()[0]['msg']}")
            return None
        if not _NAME.fullmatch(spec.name):
            self.warn(f"a tool is left out for its name: {ascii(spec.name[:60])}")
            return None
        witness = self._parts.witness
        mark = witness.form(spec.name, home)
        if place != 0 or witness.knows(spec.name, home):
            declarative, autosubmit = mark is not None, mark is not None and mark.autosubmit
        else:
            declarative = spec.name in document.forms
            autosubmit = document.forms.get(spec.name, False)
        tool = PageTool(
            name=spec.name,
            description=spec.description,
            input_schema=spec.input_schema,
            title=title,
            read_only=spec.read_only,
            untrusted=spec.untrusted,
            consequential=spec.consequential,
            autosubmit=autosubmit,
            declarative=declarative,
            origin=spec.origin or document.origin,
            frame="main" if here else _label(frame, spec),
            fingerprint=_fingerprint(spec.origin or document.origin, line),
        )
        return Listed(tool, frame, spec.name, place, line)

    def warn(self, text: str) -> None:
        """Note what is odd about this page, once."""
        line = message(text)
        if line not in self.warnings:
            self.warnings.append(line)
            logger.warning("%s", line)


@lru_cache(maxsize=2048)
def _spec(line: str) -> _Spec:
    """A line of a listing, read once: most lines are those of the listing before.

    Raises: `ValidationError`, each time anew."""
    return _Spec.model_validate_json(_whole(line))


@lru_cache(maxsize=2048)
def _fingerprint(origin: str, line: str) -> str:
    return hashlib.sha256(f"{origin}\n{line}".encode()).hexdigest()[:16]


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
            listed = replace(listed, tool=tool)
        unique[name] = listed
    return unique


def _whole(line: str) -> str:
    """A line of a listing without half surrogate pairs, which are escapes in it."""
    if "\\ud" not in line:
        return line
    try:
        return clean(json.dumps(json.loads(line), ensure_ascii=False))
    except (ValueError, RecursionError):
        return line
