"""Where a page's main frame goes: requested, committed, read; and the gate that stops a move.

Events of one protocol session, hence in order. Measured on Chromium 156: a move that a script asks
for is announced before the script's own answer, and the gate sees its request before it leaves.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from webmcp_agent.browser.cdp import CdpSession
from webmcp_agent.browser.waiting import HeldTasks, Pulse

Gate = Callable[[str], bool]
"""Whether the main frame may go to this address."""

_UNSTARTED_MS = 1_000
"""A move that was asked for and has not begun by then will not: a script took it back."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in a page's life, to ask later what has happened since."""

    document: int
    blocked: int
    offers: int


class Navigation:
    """The main frame of one page."""

    def __init__(self, cdp: CdpSession, pulse: Pulse, tasks: HeldTasks, url: str) -> None:
        self.url = url
        """Address of the document that is shown, within-document moves included."""
        self.document = 0
        """How many documents were committed so far."""
        self.frame: str = ""
        """The protocol's id of the main frame."""
        self.gate: Gate | None = None
        """None lets everything pass."""
        self.blocked: list[str] = []
        """Addresses that the gate stopped, oldest first."""
        self.guards_frames = False
        """Whether the gate also counts for frames of the page: while a call runs, so that no tool
        sends what it was given elsewhere."""
        self.blocked_frames: list[str] = []
        """Addresses that frames were kept from, oldest first."""
        self.offers = 0
        """Requests that came to no document: what was asked for may be a file."""
        self._cdp = cdp
        self._pulse = pulse
        self._tasks = tasks
        self._phase: Literal["idle", "started", "committed"] = "idle"
        self._queued = False
        self._refused = False

    async def start(self) -> None:
        """Listen. Call it before the first `goto`."""
        for name, handler in {
            "Page.frameRequestedNavigation": self._requested,
            "Page.frameStartedNavigating": self._started,
            "Page.frameNavigated": self._committed,
            "Page.navigatedWithinDocument": self._moved_within,
            "Page.domContentEventFired": self._read,
            "Page.frameStoppedLoading": self._stopped,
        }.items():
            self._cdp.on(name, handler)
        self._cdp.on("Fetch.requestPaused", self._paused)
        await self._cdp.send("Page.enable")
        tree = await self._cdp.send("Page.getFrameTree")
        self.frame = tree["frameTree"]["frame"]["id"]
        # Only requests for documents are held, so scripts, pictures and data pay nothing.
        await self._cdp.send(
            "Fetch.enable", {"patterns": [{"urlPattern": "*", "resourceType": "Document"}]}
        )

    @property
    def moving(self) -> bool:
        """Whether another document was asked for and is not there yet."""
        return self._queued or self._phase != "idle"

    @property
    def path(self) -> str:
        """The path of the address, without query and fragment: those can hold secrets."""
        return urlsplit(self.url).path or self.url

    def now(self) -> Moment:
        """The present, for `left` and `stopped_since`."""
        return Moment(self.document, len(self.blocked), self.offers)

    def left(self, since: Moment) -> bool:
        """Whether another document was committed since then."""
        return self.document != since.document

    def stopped_since(self, since: Moment) -> str | None:
        """The last address that the gate stopped since then."""
        return self.blocked[-1] if len(self.blocked) > since.blocked else None

    async def settle(self, limit_ms: float) -> bool:
        """Wait until a move under way has arrived or failed; False at the limit."""
        if self._queued and self._phase == "idle":
            if not await self._pulse.until(
                lambda: not self._queued or self._phase != "idle", min(limit_ms, _UNSTARTED_MS)
            ):
                self._queued = False
        return await self._pulse.until(lambda: not self.moving, limit_ms)

    def _requested(self, event: dict[str, Any]) -> None:
        if event["frameId"] == self.frame and event.get("disposition") == "currentTab":
            self._queued = True
            self._pulse.fire()

    def _started(self, event: dict[str, Any]) -> None:
        within = event.get("navigationType") in {"sameDocument", "historySameDocument"}
        if event["frameId"] == self.frame and not within:
            self._begin()

    def _begin(self) -> None:
        self._queued = False
        self._phase = "started"
        self._pulse.fire()

    def _committed(self, event: dict[str, Any]) -> None:
        frame = event["frame"]
        if frame.get("parentId"):
            return
        self.frame = frame["id"]
        self.url = frame["url"] + frame.get("urlFragment", "")
        self.document += 1
        self._queued = False
        self._phase = "committed"
        self._pulse.fire()

    def _moved_within(self, event: dict[str, Any]) -> None:
        if event["frameId"] == self.frame:
            self.url = event["url"]
            self._queued = False
            self._pulse.fire()

    def _read(self, _event: dict[str, Any]) -> None:
        # The document before fires it too while the next one is under way.
        if self._phase == "committed":
            self._phase = "idle"
            self._pulse.fire()

    def _stopped(self, event: dict[str, Any]) -> None:
        # The end of a request without a document: failed, no content, a download. When another
        # move replaced the first one, the first one's end says nothing.
        if event["frameId"] == self.frame and self._phase == "started" and not self._queued:
            self._phase = "idle"
            self.offers += not self._refused
            self._refused = False
            self._pulse.fire()

    def _paused(self, event: dict[str, Any]) -> None:
        request, url = event["requestId"], event["request"]["url"]
        main = event["frameId"] == self.frame
        gate = self.gate if main or self.guards_frames else None
        if gate is not None and not gate(url):
            (self.blocked if main else self.blocked_frames).append(url)
            self._refused = self._refused or main
            self._pulse.fire()
            # "Aborted" leaves the page as it is; other reasons put an error page in its place.
            answer = {"requestId": request, "errorReason": "Aborted"}
            self._tasks.start(self._cdp.send("Fetch.failRequest", answer))
            return
        if main and not self.moving:
            self.offers += 1
        self._tasks.start(self._cdp.send("Fetch.continueRequest", {"requestId": request}))
