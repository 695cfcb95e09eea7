"""One protocol session with the types that Playwright's own lacks."""

from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from typing import Any

from playwright.async_api import Frame, Page

Event = dict[str, Any]

_ONE_EVENT = Signature([Parameter("event", Parameter.POSITIONAL_OR_KEYWORD)])


class CdpSession:
    """Commands and events of the DevTools protocol for one page, or for one frame.

    A command to a page that crashed never returns: whoever sends one bounds it."""

    def __init__(self, session: Any) -> None:
        self._session = session

    @staticmethod
    async def of(page: Page) -> "CdpSession":
        """A session of its own for `page`."""
        return CdpSession(await page.context.new_cdp_session(page))

    @staticmethod
    async def of_frame(frame: Frame) -> "CdpSession":
        """A session with the process of a child frame.

        Raises: Playwright's `Error` when the frame is gone or shares the page's process."""
        return CdpSession(await frame.page.context.new_cdp_session(frame))

    def on(self, name: str, handler: Callable[[Event], None]) -> None:
        """Call `handler` for each such event, in order."""

        def told(event: Event) -> None:
            handler(event)

        # Playwright works out the handler's signature at each event; one that is given is found at
        # once, which halves the cost of an event.
        vars(told)["__signature__"] = _ONE_EVENT
        self._session.on(name, told)

    async def send(self, method: str, params: Mapping[str, Any] | None = None) -> Event:
        """The command's answer. Raises: Playwright's `Error`."""
        return await self._session.send(method, dict(params or {}))

    async def detach(self) -> None:
        """End the session, and with it what it enabled."""
        await self._session.detach()
