"""Which tabs of a running browser do not answer, asked without Playwright.

Playwright attaches to all tabs of a browser at once, and does not say for which one it waits. A tab
does not answer while a script of it is busy, while it shows a dialog, and when its process is
stopped. This asks each of them, over a connection of its own (WebSocket, RFC 6455).
"""

import asyncio
import base64
import contextlib
import json
import os
import struct
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

ANSWER_LIMIT_MS = 3_000
"""A tab that has not answered by then is silent."""
_CONNECT_LIMIT_MS = 3_000
_LIMIT_BYTES = 16_000_000

_TEXT, _CLOSE = 0x1, 0x8
_FINAL, _MASKED = 0x80, 0x80
_IN_16_BITS, _IN_64_BITS = 126, 127


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
            async with _connected(await _socket_address(cdp)) as browser:
                return await browser.silent_tabs(limit_ms)
    except (OSError, EOFError, ValueError, LookupError, TimeoutError):
        return None


class _Browser:
    """A connection to the browser itself."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._last = 0

    async def silent_tabs(self, limit_ms: int) -> list[SilentTab]:
        """As the function. Sessions end with the connection."""
        targets = (await self._answer(self._send("Target.getTargets")))["targetInfos"]
        silent: dict[int, SilentTab] = {}
        for target in targets:
            if target["type"] != "page":
                continue
            # Answered by the browser's own process, whatever the tab does.
            attaching = self._send(
                "Target.attachToTarget", {"targetId": target["targetId"], "flatten": True}
            )
            session = (await self._answer(attaching))["sessionId"]
            asked = self._send("Runtime.evaluate", {"expression": "0"}, session)
            silent[asked] = SilentTab(target["url"], target["title"])
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_ms / 1000):
                while silent:
                    silent.pop((await self._received()).get("id", 0), None)
        return list(silent.values())

    def _send(
        self, method: str, params: Mapping[str, Any] | None = None, session: str | None = None
    ) -> int:
        """Send a command; its number."""
        self._last += 1
        command = {"id": self._last, "method": method, "params": dict(params or {})}
        if session is not None:
            command["sessionId"] = session
        self._writer.write(_frame(json.dumps(command).encode()))
        return self._last

    async def _answer(self, number: int) -> dict[str, Any]:
        while (message := await self._received()).get("id") != number:
            pass  # an event
        return message["result"]

    async def _received(self) -> dict[str, Any]:
        """The next message. Raises `EOFError` when the other end closes."""
        message = b""
        while True:
            first, second = await self._reader.readexactly(2)
            length = second & ~_MASKED
            if length == _IN_16_BITS:
                (length,) = struct.unpack("!H", await self._reader.readexactly(2))
            elif length == _IN_64_BITS:
                (length,) = struct.unpack("!Q", await self._reader.readexactly(8))
            if length + len(message) > _LIMIT_BYTES:
                raise EOFError
            piece = await self._reader.readexactly(length)
            kind = first & 0xF
            if kind == _CLOSE:
                raise EOFError
            if kind > _TEXT:  # a ping, while which nobody waits for us
                continue
            message += piece
            if first & _FINAL:
                return json.loads(message)


def _frame(payload: bytes) -> bytes:
    """A text message as a client sends it: masked, in one piece."""
    length, mask = len(payload), os.urandom(4)
    head = bytes((_FINAL | _TEXT,))
    if length < _IN_16_BITS:
        head += bytes((_MASKED | length,))
    else:
        head += bytes((_MASKED | _IN_16_BITS,)) + struct.pack("!H", length)  # ours are short
    return head + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))


@asynccontextmanager
async def _connected(address: str) -> AsyncGenerator[_Browser]:
    parts = urlsplit(address)
    async with _opened(parts) as (reader, writer):
        key = base64.b64encode(os.urandom(16)).decode()
        path = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
        writer.write(
            f"GET {path} HTTP/1.1\r\nHost: {parts.netloc.rpartition('@')[2]}\r\n"
            "Upgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        head = await reader.readuntil(b"\r\n\r\n")
        if head.split(b" ", 2)[1] != b"101":
            raise ValueError("no WebSocket")
        yield _Browser(reader, writer)


async def _socket_address(cdp: str) -> str:
    """The address of the browser's own WebSocket, which its debugging port tells."""
    parts = urlsplit(cdp)
    if parts.scheme in {"ws", "wss"}:
        return cdp
    async with _opened(parts) as (reader, writer):
        path = f"{parts.path.rstrip('/')}/json/version"
        writer.write(
            f"GET {path} HTTP/1.1\r\nHost: {parts.netloc.rpartition('@')[2]}\r\n\r\n".encode()
        )
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = int(head.split("content-length:")[1].split("\r\n")[0])
        return json.loads(await reader.readexactly(length))["webSocketDebuggerUrl"]


@asynccontextmanager
async def _opened(
    parts: SplitResult,
) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    safe = parts.scheme in {"https", "wss"}
    reader, writer = await asyncio.open_connection(
        parts.hostname, parts.port or (443 if safe else 80), ssl=safe or None
    )
    try:
        yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
