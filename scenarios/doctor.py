"""What is here, what is missing, and how to get it: browser, WebMCP, model libraries, GPU, model.

`examine` only looks. `get_browser` gets what a first run needs and says what it does.
"""

import asyncio
import importlib.metadata
import os
import platform
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from webmcp_agent.agent.adapter import size_text
from webmcp_agent.browser.errors import BrowserError, NoBrowser
from webmcp_agent.browser.launch import find_chromium, playwright_chromium
from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.providers.errors import ProviderError
from webmcp_agent.providers.weights import cache_dir, find_model
from webmcp_agent.scenarios.runner import PageSettings, open_tools

GET_BROWSER = "webmcp-agent doctor --get, or: python -m playwright install chromium"
GET_MODEL = "webmcp-agent models get default"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    name: str
    ok: bool
    says: str
    how: str = ""
    """How to get it, when it is missing."""
    needed: bool = True
    """Whether a run needs it."""

    def to_json(self) -> JsonObject:
        """The finding as a JSON object."""
        return {
            "name": self.name,
            "ok": self.ok,
            "says": self.says,
            "how": self.how,
            "needed": self.needed,
        }


async def examine(browser: str | None = None) -> list[Finding]:
    """Look at all that a run needs; nothing is downloaded."""
    return [_python(), *await _browser(browser), *_model_libraries(), _model()]


def _python() -> Finding:
    return Finding("python", True, f"{platform.python_version()} on {platform.platform()}")


async def _browser(browser: str | None) -> list[Finding]:
    try:
        found = find_chromium(browser)
    except BrowserError as exc:
        return [Finding("browser", False, str(exc), GET_BROWSER)]
    if found is None:
        return [Finding("browser", False, "no Chromium was found", GET_BROWSER)]
    try:
        async with open_tools("shop:", PageSettings(browser=browser)) as page:
            browser_now = page.page.context.browser
            version = browser_now.version if browser_now else ""
            count = len(await page.list_tools())
    except NoBrowser as exc:
        return [Finding("browser", False, f"{found} does not start: {exc}", GET_BROWSER)]
    except BrowserError as exc:
        return [
            Finding("browser", True, str(found)),
            Finding("webmcp", False, str(exc), "use Chromium 150 or later"),
        ]
    return [
        Finding("browser", True, f"{found} ({version})"),
        Finding("webmcp", count > 0, f"{count} tools on the demo shop"),
    ]


def _model_libraries() -> list[Finding]:
    versions = {name: _version(name) for name in ("torch", "transformers", "llguidance", "peft")}
    missing = [name for name, version in versions.items() if version is None]
    if missing:
        return [
            Finding(
                "libraries",
                False,
                f"not installed: {', '.join(missing)}",
                'pip install "webmcp-agent[model]"',
            )
        ]
    said = ", ".join(f"{name} {version}" for name, version in versions.items())
    return [Finding("libraries", True, said), _gpu(), _quantize()]


def _gpu() -> Finding:
    from webmcp_agent.providers.loading import this_machine

    machine = this_machine()
    gpus = [f"{gpu.name}, {size_text(gpu.free_bytes)} free" for gpu in machine.gpus]
    if not gpus and machine.mps:
        gpus = ["the Apple GPU"]
    return Finding(
        "gpu",
        bool(gpus),
        "; ".join(gpus) or "none that torch can use; models run on the CPU",
        "install a CUDA build of torch" if not gpus and shutil.which("nvidia-smi") else "",
        needed=False,
    )


def _quantize() -> Finding:
    version = _version("bitsandbytes")
    return Finding(
        "quantize",
        version is not None,
        f"bitsandbytes {version}" if version else "no weights in 8 or 4 bits",
        "" if version else 'pip install "webmcp-agent[quantize]", for --quantize',
        needed=False,
    )


def _model() -> Finding:
    try:
        source = find_model("default", local_files_only=True)
    except ProviderError as exc:
        return Finding("model", False, str(exc), GET_MODEL)
    if not source.cached:
        return Finding("model", False, f"{source.label} is not in {cache_dir()}", GET_MODEL)
    return Finding("model", True, f"{source.label}, in {cache_dir()}")


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


async def get_browser(say: Callable[[str], None]) -> str:
    """A Chromium: the one that Playwright has, its download, an installed one, or the system's.

    Returns its path; raises `NoBrowser` when there is none to be had."""
    if found := playwright_chromium():
        return str(found)
    say("getting a Chromium with Playwright")
    if await _runs([sys.executable, "-m", "playwright", "install", "chromium"]) and (
        found := playwright_chromium()
    ):
        return str(found)
    if found := find_chromium():
        say(f"Playwright's Chromium cannot be had; using {found}")
        return str(found)
    if shutil.which("apt-get") and os.access("/var/lib/dpkg", os.W_OK):
        say("installing the distribution's chromium")
        await _runs(["apt-get", "update", "-qq"])
        await _runs(["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"])
        if found := find_chromium():
            return str(found)
    raise NoBrowser(
        "no Chromium was found, and none could be installed. Run "
        "`python -m playwright install chromium`, or install the package chromium or google-chrome"
    )


async def _runs(command: Sequence[str]) -> bool:
    """Whether a command succeeds; what it says is kept from the terminal."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        return await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
