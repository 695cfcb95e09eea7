"""One call of a tool, from sending to outcome: whatever happens, there is exactly one.

Nothing is ever sent a second time. Acts through the page, and asks the witness for what the page
cannot say: a hidden reason, an answer whose document is gone, a form that waits for the person.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, Literal

from playwright.async_api import Error

from webmcp_agent.browser.answers import (
    NO_RESULT,
    compact,
    message,
    read_answer,
    read_error,
    read_response,
)
from webmcp_agent.browser.bridge import (
    ANSWER_LIMIT_MS,
    DocumentGone,
    PageLost,
    decoded,
)
from webmcp_agent.browser.listing import Listed
from webmcp_agent.browser.page_parts import PageParts
from webmcp_agent.browser.page_side import PageSide
from webmcp_agent.browser.policy import origin_of
from webmcp_agent.browser.tools import JsonObject, StopSignal, ToolFail, ToolOk
from webmcp_agent.browser.witness import FormMark, Sighting

FORM_WAITS_MS = 1_000
"""A form that has not answered by then waits for the person."""
SUBMIT_WAITS_MS = 300
"""A submitted form has asked for its next document by then (12 ms measured)."""
_BLOCKED_WAITS_MS = 300
"""Time for a tool to answer after its move was stopped; most of them never do."""
_REPORT_WAITS_MS = 100
"""Time for the witness's report after the page's own answer; it came first in all measurements."""
_ABORT_LIMIT_MS = 500
_REVIVE_LIMIT_MS = 1_000
_PING_LIMIT_MS = 5_000
_PINGS = 10
"""A page gets at least this many times as long as the browser itself takes to answer: where all is
slow, a page that is not quick is not busy."""
_SETTLE_LIMIT_MS = 5_000
"""How long a move may still take after a call that did not answer."""

Outcome = ToolOk | ToolFail


class Call:
    """One call that is about to be sent."""

    def __init__(
        self, parts: PageParts, listed: Listed, json: str, id: str, *, limit_ms: int
    ) -> None:
        self._parts = parts
        self._listed = listed
        self._json = json
        self._id = id
        self._limit_ms = limit_ms
        self._witnessed = False
        self._ended = False
        self.ending: asyncio.Task[str] | None = None
        """The end of a call that was cancelled from outside, which goes on in the page."""
        tool = listed.tool
        self._form = FormMark(tool.autosubmit) if tool.declarative else None
        self._deadline = 0.0
        self._rest_ms = _SETTLE_LIMIT_MS

    async def run(self, signal: StopSignal) -> Outcome:
        """Send it once and say how it ended.

        On a cancel from outside the call is aborted in the page and the cancel goes on."""
        navigation = self._parts.navigation
        navigation.guards_frames = True
        try:
            return await self._run(signal)
        finally:
            navigation.guards_frames = False

    async def _run(self, signal: StopSignal) -> Outcome:
        parts = self._parts
        try:
            side = await parts.bridge.prepare(self._listed.frame)
        except DocumentGone:
            return ToolFail("not-found", f"The frame of {self._listed.tool.name} is gone.")
        except PageLost as exc:
            return ToolFail("unavailable", str(exc))
        self._deadline = asyncio.get_running_loop().time() + self._limit_ms / 1000
        self._start = parts.navigation.now()
        self._frames = len(parts.navigation.blocked_frames)
        self._origin = origin_of(parts.navigation.url)
        in_frame = parts.in_frame(self._listed.frame, self._listed.place)
        # Asked before the call: a tool may go away while it runs.
        self._witnessed = parts.witness.knows(self._listed.name, in_frame)
        form = parts.witness.form(self._listed.name, in_frame)
        self._form = form or self._form
        seen = parts.witness.watch(self._listed.name, decoded(self._json), in_frame)
        sent = parts.tasks.start(
            self._send(
                side,
                {
                    "id": self._id,
                    "name": self._listed.name,
                    "place": self._listed.place,
                    "spec": self._listed.spec,
                    "json": self._json,
                    "origins": list(parts.origins),
                },
            )
        )
        try:
            ended = await self._wait(sent, seen, signal)
        except asyncio.CancelledError:
            self.ending = parts.tasks.start(self._abort(side))
            raise
        outcome = await self._outcome(ended, sent, seen, side)
        return await self._told(outcome)

    async def _send(self, side: PageSide, argument: JsonObject) -> str:
        try:
            return await self._parts.bridge.send(side, "call", argument)
        finally:
            # From within, which is a turn of the event loop earlier than the end of its task.
            self._ended = True
            self._parts.pulse.fire()

    async def _wait(
        self, sent: "asyncio.Task[str]", seen: Sighting, signal: StopSignal
    ) -> Literal["answered", "stopped", "late", "needs-user", "blocked"]:
        """What ends the wait: the page's answer, or what comes before it."""
        parts, loop = self._parts, asyncio.get_running_loop()
        form_waits_at = loop.time() + FORM_WAITS_MS / 1000
        waits_for_person = self._form is not None and not self._form.autosubmit
        blocked_at: float | None = None

        def left_to_person() -> bool:
            return (
                waits_for_person
                and loop.time() >= form_waits_at
                and seen.response is None
                and (seen.invocation is not None or not self._witnessed)
            )

        def news() -> bool:
            blocked = blocked_at is None and parts.navigation.stopped_since(self._start)
            return self._ended or signal.aborted or bool(blocked) or left_to_person()

        stop = asyncio.ensure_future(signal.wait())
        stop.add_done_callback(lambda _: parts.pulse.fire())
        try:
            while not sent.done():
                now = loop.time()
                if signal.aborted:
                    return "stopped"
                if now >= self._deadline:
                    return "late"
                if left_to_person():
                    return "needs-user"
                wake_at = self._deadline
                if waits_for_person and now < form_waits_at:
                    wake_at = min(wake_at, form_waits_at)
                if parts.navigation.stopped_since(self._start):
                    blocked_at = blocked_at or now
                    if now >= blocked_at + _BLOCKED_WAITS_MS / 1000:
                        return "blocked"
                    wake_at = min(wake_at, blocked_at + _BLOCKED_WAITS_MS / 1000)
                await parts.pulse.until(news, (wake_at - now) * 1000)
        finally:
            stop.cancel()
        return "answered"

    async def _outcome(
        self, ended: str, sent: "asyncio.Task[str]", seen: Sighting, side: PageSide
    ) -> Outcome:
        match ended:
            case "stopped":
                self._deadline = 0.0
                self._rest_ms = 0
                done = await self._abort(side)
                return ToolFail("cancelled", f"The call was stopped{done}; it may still finish.")
            case "late":
                done = await self._abort(side)
                return ToolFail(
                    "timeout",
                    f"No answer within {self._limit_ms / 1000:g} s{done}; it may still finish.",
                )
            case "needs-user":
                return self._waits_for_person()
            case "blocked":
                await self._abort(side)
                return self._blocked()
            case _:
                pass
        try:
            answer = sent.result()
        except PageLost as exc:
            return ToolFail("no-answer", f"{exc} Whether the call worked is not known.")
        except DocumentGone:
            return await self._without_document(seen)
        return await self._answered(answer, seen)

    async def _answered(self, answer: str, seen: Sighting) -> Outcome:
        """The outcome of what the page itself said."""
        tool = self._listed.tool
        kind, _, text = answer.partition("\n")
        match kind:
            case "gone":
                return ToolFail("not-found", f"The page has no tool {tool.name} any more.")
            case "changed":
                return ToolFail(
                    "changed", f"The tool {tool.name} is not the one that was shown any more."
                )
            case "answer" if not (text == "undefined" and self._form is not None):
                return await self._checked(read_answer(text), seen)
            case "answer" | "nothing":
                return await self._without_answer(seen)
            case "error":
                name, _, reason = text.partition("\n")
                return await self._refused(name, reason, seen)
            case _:
                return ToolFail("no-answer", "The tool finished, but its answer cannot be read.")

    async def _checked(self, outcome: Outcome, seen: Sighting) -> Outcome:
        """The outcome, marked when the browser saw no such call although it would have."""
        parts = self._parts
        watched = self._witnessed or (self._here and parts.witness.spoke)
        if isinstance(outcome, ToolFail) or not watched:
            return outcome
        seen_now = await parts.pulse.until(lambda: seen.invocation is not None, _REPORT_WAITS_MS)
        return outcome if seen_now else replace(outcome, unwitnessed=True)

    async def _without_answer(self, seen: Sighting) -> Outcome:
        """The tool ended without a word: a form that was submitted, or nothing to say."""
        navigation = self._parts.navigation
        if (response := seen.response) is not None:
            return read_response(response, {})
        if self._form is None and not self._witnessed:
            return ToolOk(NO_RESULT)
        await self._parts.pulse.until(
            lambda: navigation.moving or self._moved(), min(SUBMIT_WAITS_MS, self._left_ms())
        )
        return await self._submitted()

    async def _submitted(self) -> Outcome:
        """What a form that was submitted left as its result on the next document."""
        navigation = self._parts.navigation
        if not await navigation.settle(self._left_ms()):
            return ToolFail(
                "timeout",
                f"The next page did not come within {self._limit_ms / 1000:g} s; "
                "it may still finish.",
            )
        if navigation.stopped_since(self._start) and not navigation.left(self._start):
            return self._blocked()
        if not navigation.left(self._start) or origin_of(navigation.url) != self._origin:
            return ToolOk(NO_RESULT)
        try:
            blocks = decoded(
                await self._parts.bridge.read(
                    self._parts.page.main_frame, "linkedData", None, ANSWER_LIMIT_MS
                )
            )
        except (DocumentGone, PageLost):
            return ToolOk(NO_RESULT)
        return ToolOk(compact(blocks), blocks) if blocks else ToolOk(NO_RESULT)

    async def _refused(self, name: str, text: str, seen: Sighting) -> Outcome:
        """The page saw an error: the witness has the reason that it hides."""
        if self._witnessed:
            # The page's own process tells of a call before the page sees its error; another one
            # may tell later, so that no word of it means nothing yet.
            await self._parts.pulse.until(
                lambda: seen.response is not None or (self._here and seen.invocation is None),
                _REPORT_WAITS_MS,
            )
        if (response := seen.response) is None:
            outcome = read_error(name, text)
        else:
            outcome = read_response(response, await self._parts.witness.members(response))
        if isinstance(outcome, ToolOk) or outcome.code not in {"cancelled", "no-answer"}:
            return outcome
        unsaid = outcome.code == "cancelled" or "transient" in text
        if unsaid and (self._moved() or self._parts.navigation.moving):
            return await self._navigated()
        return outcome

    async def _without_document(self, seen: Sighting) -> Outcome:
        """The document went away under the call."""
        navigation = self._parts.navigation
        await self._parts.pulse.until(
            lambda: navigation.moving or self._moved() or self._parts.bridge.crashed,
            min(SUBMIT_WAITS_MS, self._left_ms()),
        )
        if (response := seen.response) is not None:
            return read_response(response, await self._parts.witness.members(response))
        if (reason := self._parts.bridge.lost()) is not None:
            return ToolFail("no-answer", f"{reason} Whether the call worked is not known.")
        submitted = self._form is not None and self._form.autosubmit
        if submitted and (navigation.moving or self._moved()):
            return await self._submitted()
        return await self._navigated()

    async def _navigated(self) -> ToolFail:
        await self._parts.navigation.settle(max(self._left_ms(), self._rest_ms))
        path = message(self._parts.navigation.path)
        return ToolFail("navigated", f"The page changed before it answered. It is now {path}.")

    def _waits_for_person(self) -> ToolFail:
        filled = decoded(self._json)
        names = ", ".join(filled) if isinstance(filled, dict) else ""
        fields = f" ({names})" if names else ""
        return ToolFail(
            "needs-user",
            message(
                f"The form is filled in{fields}; it is not sent. "
                "The person has to check it and submit it."
            ),
        )

    def _blocked(self) -> ToolFail:
        # The tool did run, and only its move was stopped: what it did before is done.
        return ToolFail(
            "blocked", f"{self._stopped_move()}; the tool did not answer.", may_have_happened=True
        )

    def _stopped_move(self) -> str:
        address = self._parts.navigation.stopped_since(self._start) or ""
        target = message(origin_of(address) or address.partition(":")[0])
        return f"The page wanted to go to {target}, which is not allowed, and was kept here"

    async def _told(self, outcome: Outcome) -> Outcome:
        """The outcome with what else happened, once the page has come to rest."""
        parts, navigation = self._parts, self._parts.navigation
        if parts.bridge.lost() is None:
            await navigation.settle(max(self._left_ms(), self._rest_ms))
        offered = navigation.now().offers > self._start.offers
        for address in dict.fromkeys(navigation.blocked_frames[self._frames :]):
            parts.incidents.frame_stopped(address)
        lines = await parts.incidents.news(expected=offered)
        if isinstance(outcome, ToolFail):
            return replace(outcome, message=message(" ".join([outcome.message, *lines])))
        if navigation.stopped_since(self._start):
            lines.append(f"{self._stopped_move()}.")
        if moved := navigation.left(self._start):
            lines.append(f"The page is now {message(navigation.path)}.")
        text = "\n".join([outcome.text, *lines])
        return replace(outcome, text=text, navigated=moved)

    async def _abort(self, side: PageSide) -> str:
        """End the call in the page; says what that took beyond its signal.

        The signal first, which a tool may ignore. A page that does not even take that is busy: its
        script is ended, and if it stays busy the page is closed."""
        parts, loop = self._parts, asyncio.get_running_loop()
        aborting = parts.tasks.start(parts.bridge.abort(side, self._id))
        begun = loop.time()
        # Answered by the browser's own process, however busy the page is.
        await _bounded(parts.cdp.send("Target.getTargetInfo"), _PING_LIMIT_MS)
        slow_ms = _PINGS * (loop.time() - begun) * 1000
        if await _bounded(_ended(aborting), max(_ABORT_LIMIT_MS, slow_ms)):
            await parts.sessions.free()
            return ""
        if parts.bridge.lost() is not None:
            return ""
        await _bounded(parts.cdp.send("Runtime.terminateExecution"), max(_ABORT_LIMIT_MS, slow_ms))
        if await _bounded(_ended(aborting), max(_REVIVE_LIMIT_MS, slow_ms)):
            return ", and the page was busy, so its script was ended"
        parts.bridge.stuck = True
        await _bounded(parts.page.close(), _REVIVE_LIMIT_MS)
        return ", and the page stayed busy, so it was closed"

    @property
    def _here(self) -> bool:
        """Whether the tool lives in the page's own document."""
        return self._listed.frame == self._parts.page.main_frame and self._listed.place == 0

    def _moved(self) -> bool:
        navigation = self._parts.navigation
        return navigation.left(self._start) or bool(navigation.stopped_since(self._start))

    def _left_ms(self) -> float:
        return max(0.0, (self._deadline - asyncio.get_running_loop().time()) * 1000)


async def _ended(task: asyncio.Task[None]) -> None:
    """Return when `task` has ended, and raise what it raised; a cancel does not reach it."""
    await asyncio.shield(task)


async def _bounded(work: Coroutine[Any, Any, object], limit_ms: float) -> bool:
    """Whether `work` ended well within the limit; commands to a dead page never return."""
    try:
        async with asyncio.timeout(limit_ms / 1000):
            await work
    except (TimeoutError, Error, DocumentGone, PageLost) as exc:
        # A document that is gone has taken the call with it.
        return isinstance(exc, DocumentGone)
    return True
