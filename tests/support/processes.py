"""Processes of a browser: which there are, whether they run, and a Chromium that others attach to.

Reads `/proc`, so it works on Linux only.
"""

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote
from urllib.request import Request, urlopen

from playwright.async_api import Browser, Page

from webmcp_agent.browser.cdp import CdpSession
from webmcp_agent.browser.launch import find_chromium

START_LIMIT_S = 60
HAS_PROC = Path("/proc/self/stat").exists()


def is_running(pid: int) -> bool:
    """Whether the process lives; one that only waits to be reaped does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


async def wait_until_gone(pids: list[int]) -> None:
    """Return when none of them runs; the kernel tells of no end of a foreign process."""
    loop = asyncio.get_running_loop()
    for pid in pids:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        gone = asyncio.Event()
        loop.add_reader(descriptor, gone.set)
        try:
            await gone.wait()
        finally:
            loop.remove_reader(descriptor)
            os.close(descriptor)


async def processes_of(browser: Browser) -> dict[int, tuple[str, float]]:
    """Kind and processor seconds of each process of a browser, by its id."""
    cdp = CdpSession(await browser.new_browser_cdp_session())
    told = await cdp.send("SystemInfo.getProcessInfo")
    await cdp.detach()
    return {each["id"]: (each["type"], each["cpuTime"]) for each in told["processInfo"]}


def descendants(pid: int) -> list[int]:
    """The processes that a process started, and those that these did."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            fields = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
            parents[int(stat.parent.name)] = int(fields[1])
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


def is_chromium(pid: int) -> bool:
    """Whether the process is a browser's main one."""
    words = Path(f"/proc/{pid}/cmdline").read_bytes()
    return b"--remote-debugging" in words and b"--type=" not in words


def film_makers(pid: int) -> list[int]:
    """The processes that make films of what a process runs."""
    return [
        each
        for each in descendants(pid)
        if b"webmcp_agent.browser.recording_studio" in Path(f"/proc/{each}/cmdline").read_bytes()
    ]


async def browser_process(browser: Browser) -> int:
    """The id of the main process."""
    found = await processes_of(browser)
    return next(pid for pid, (kind, _) in found.items() if kind == "browser")


async def renderer_of(browser: Browser, page: Page) -> int:
    """The id of the process that runs a page's scripts: the one that works when they do."""
    before = await processes_of(browser)
    # Work rather than time: on a busy machine others get more time than this page.
    await page.evaluate("() => { let sum = 0; for (let i = 0; i < 1e9; i++) sum += i; }")
    after = await processes_of(browser)
    spent = {
        pid: seconds - before.get(pid, (kind, 0.0))[1]
        for pid, (kind, seconds) in after.items()
        if kind == "renderer"
    }
    return max(spent, key=lambda pid: spent[pid])


def freeze(pid: int) -> None:
    """Stop a process where it is."""
    os.kill(pid, signal.SIGSTOP)


def kill(pid: int) -> None:
    """End a process without asking it."""
    os.kill(pid, signal.SIGKILL)


@asynccontextmanager
async def started_chromium(folder: Path, *addresses: str) -> AsyncGenerator[int]:
    """A Chromium that somebody else started, a tab for each of `addresses`; its debugging port."""
    executable = find_chromium()
    assert executable is not None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = await asyncio.create_subprocess_exec(
        executable, "--headless", "--no-sandbox", f"--remote-debugging-port={port}",
        "--enable-features=WebMCP", "--no-first-run", f"--user-data-dir={folder}",
        *addresses[:1], stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        assert running.stderr is not None
        async with asyncio.timeout(START_LIMIT_S):
            while b"DevTools listening" not in (line := await running.stderr.readline()):
                assert line, "Chromium ended"
        for address in addresses[1:]:
            await asyncio.to_thread(_open_tab, port, address)
        yield port
    finally:
        if running.returncode is None:
            running.terminate()
        await running.wait()


def _open_tab(port: int, address: str) -> None:
    request = Request(f"http://127.0.0.1:{port}/json/new?{quote(address)}", method="PUT")
    with urlopen(request) as answer:
        answer.read()


@asynccontextmanager
async def relayed(port: int) -> AsyncGenerator[tuple[int, Callable[[], Awaitable[None]]]]:
    """A port that leads to another one, and what cuts all its connections."""
    writers: list[asyncio.StreamWriter] = []
    tasks: set[asyncio.Task[None]] = set()

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        except (ConnectionError, asyncio.CancelledError):
            return
        finally:
            writer.close()

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_connection("127.0.0.1", port)
        writers.extend((writer, there_writer))
        for task in (
            asyncio.ensure_future(pump(reader, there_writer)),
            asyncio.ensure_future(pump(there_reader, writer)),
        ):
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(relay, "127.0.0.1", 0)

    async def cut() -> None:
        server.close()
        for writer in writers:
            writer.transport.abort()

    try:
        yield server.sockets[0].getsockname()[1], cut
    finally:
        await cut()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
