"""Which tabs of a running browser do not answer, asked without Playwright.

Playwright attaches to all tabs of a browser at once, and does not say for which one it waits. A tab
does not answer while a script of it is busy, while it shows a dialog, and when its process is
stopped. This asks each of them, over a connection of its own.
"""

import asyncio
import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

ANSWER_LIMIT_MS = 3_000
"""A tab that has not answered by then is silent."""
_CONNECT_LIMIT_MS = 3_000
_LIMIT_BYTES = 16_000_000


@dataclass(frozen=True, slots=True)
class SilentTab:
    """A tab that did not answer."""

    url: str
    title: str


async def silent_tabs(cdp: str, *, limit_ms: int = ANSWER_LIMIT_MS) -> list[SilentTab] | None:
    """The tabs of the browser at `cdp` that do not answer within the limit.

    `cdp` as for Playwright: `http://…`, `https://…`, `ws://…` or `wss://…`. None when the browser
    itself does not answer."""
    try:
        async with asyncio.timeout((_CONNECT_LIMIT_MS + limit_ms) / 1000):
            address = await asyncio.to_thread(_socket_address, cdp)
            # A tab may be told at length; small messages need no compression; a proxy does not
            # lead to a browser.
            async with connect(
                address, max_size=_LIMIT_BYTES, compression=None, proxy=None, close_timeout=1
            ) as socket:
                return await _Browser(socket).silent_tabs(limit_ms)
    except (OSError, ValueError, LookupError, TimeoutError, WebSocketException):
        return None


class _Browser:
    """A connection to the browser itself."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._last = 0

    async def silent_tabs(self, limit_ms: int) -> list[SilentTab]:
        """As the function. Sessions end with the connection."""
        targets = (await self._answer(await self._send("Target.getTargets")))["targetInfos"]
        sessions: list[tuple[str, SilentTab]] = []
        for target in targets:
            if target["type"] != "page":
                continue
            # Answered by the browser's own process, whatever the tab does.
            attaching = await self._send(
                "Target.attachToTarget", {"targetId": target["targetId"], "flatten": True}
            )
            session = (await self._answer(attaching))["sessionId"]
            sessions.append((session, SilentTab(target["url"], target["title"])))
        # Only when nothing else is waited for, so that no tab's answer is passed over.
        silent = {
            await self._send("Runtime.evaluate", {"expression": "0"}, session): tab
            for session, tab in sessions
        }
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_ms / 1000):
                while silent:
                    silent.pop((await self._received()).get("id", 0), None)
        return list(silent.values())

    async def _send(
        self, method: str, params: Mapping[str, Any] | None = None, session: str | None = None
    ) -> int:
        """Send a command; its number."""
        self._last += 1
        command = {"id": self._last, "method": method, "params": dict(params or {})}
        if session is not None:
            command["sessionId"] = session
        await self._socket.send(json.dumps(command))
        return self._last

    async def _answer(self, number: int) -> dict[str, Any]:
        while (message := await self._received()).get("id") != number:
            pass  # an event
        return message["result"]

    async def _received(self) -> dict[str, Any]:
        return json.loads(await self._socket.recv())


def _socket_address(cdp: str) -> str:
    """The address of the browser's own WebSocket, which its debugging port tells; blocking."""
    parts = urlsplit(cdp)
    if parts.scheme in {"ws", "wss"}:
        return cdp
    told = parts._replace(path=f"{parts.path.rstrip('/')}/json/version").geturl()
    with build_opener(ProxyHandler({})).open(told, timeout=_CONNECT_LIMIT_MS / 1000) as answer:
        return json.load(answer)["webSocketDebuggerUrl"]
