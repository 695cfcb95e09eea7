"""What an open page consists of, for those who work on it: listing and calls."""

from collections.abc import Callable
from dataclasses import dataclass, field

from playwright.async_api import Frame, Page

from webmcp_agent.browser.bridge import Bridge
from webmcp_agent.browser.cdp import CdpSession
from webmcp_agent.browser.frame_sessions import FrameSessions
from webmcp_agent.browser.incidents import Incidents
from webmcp_agent.browser.navigation import Navigation
from webmcp_agent.browser.tab_gate import TabGate
from webmcp_agent.browser.waiting import HeldTasks, Pulse
from webmcp_agent.browser.witness import Witness


@dataclass(frozen=True, slots=True)
class PageParts:
    """One page, and all that watches it or acts in it."""

    page: Page
    cdp: CdpSession
    bridge: Bridge
    navigation: Navigation
    witness: Witness
    sessions: FrameSessions
    incidents: Incidents
    tabs: TabGate
    pulse: Pulse
    tasks: HeldTasks
    origins: tuple[str, ...] = field(default=())
    """Foreign origins whose frames may be used."""

    def in_frame(self, frame: Frame, place: int) -> Callable[[str], bool]:
        """Whether a frame id of the protocol can be that of the document where a tool lives:
        `frame`, or with a `place` other than 0 one that exposes the tool to it.

        Playwright keeps its ids to itself, so child frames are told from the main one and not from
        each other."""
        main = frame == self.page.main_frame and place == 0
        return lambda id: (id == self.navigation.frame) == main
