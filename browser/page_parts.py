"""What an open page consists of, for those who work on it: listing and calls."""

from collections.abc import Callable
from dataclasses import dataclass, field

from playwright.async_api import Frame, Page

from webmcp_agent.browser.bridge import Bridge
from webmcp_agent.browser.cdp import CdpSession
from webmcp_agent.browser.incidents import Incidents
from webmcp_agent.browser.navigation import Navigation
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
    incidents: Incidents
    pulse: Pulse
    tasks: HeldTasks
    origins: tuple[str, ...] = field(default=())
    """Foreign origins whose frames may be used."""

    def in_frame(self, frame: Frame) -> Callable[[str], bool]:
        """Whether a frame id of the protocol can be `frame`: Playwright keeps its ids to itself,
        so child frames are told from the main one and not from each other."""
        main = frame == self.page.main_frame
        return lambda place: (place == self.navigation.frame) == main
