"""The page of a test beside pytest-playwright: the very `page` that the test holds.

Its browser is started with a debugging port, and our thread attaches there. Tests that use nothing
of ours get the browser that they always got.
"""

import socket
from collections.abc import Generator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from webmcp_agent.scenarios.plugin_files import base_url_of

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from webmcp_agent.browser.policy import Policy
    from webmcp_agent.scenarios.plugin_rig import Rig
    from webmcp_agent.scenarios.sync_page import SyncPageTools

PORT = "--remote-debugging-port="
ENABLE = "--enable-features="
CATCH_UP = 100
"""Looks at an address before it is taken to be one that Playwright never tells."""


@pytest.fixture(scope="session")
def browser_type_launch_args(
    request: pytest.FixtureRequest, browser_type_launch_args: dict[str, Any], browser_name: str
) -> dict[str, Any]:
    """pytest-playwright's own, and what WebMCP and our thread need if a test uses `page_tools`."""
    if browser_name != "chromium" or not _is_used(request.session):
        return browser_type_launch_args
    from webmcp_agent.browser.launch import FEATURES, PLAYWRIGHT_ENABLES, find_chromium

    given = dict(browser_type_launch_args)
    args: list[str] = given.get("args") or []
    # Chromium heeds the last of them only.
    features = [arg.removeprefix(ENABLE) for arg in args if arg.startswith(ENABLE)]
    enabled = ENABLE + ",".join([*features, *PLAYWRIGHT_ENABLES, FEATURES])
    given["args"] = [*args, enabled, f"{PORT}{_free_port()}"]
    # Playwright would take its headless shell, or nothing where none was downloaded.
    if "channel" not in given and "executable_path" not in given and (path := find_chromium()):
        given["executable_path"] = path
    return given


def _is_used(session: pytest.Session) -> bool:
    return any("page_tools" in getattr(item, "fixturenames", ()) for item in session.items)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture
def page_tools(
    page: "Page",
    browser_name: str,
    browser_type_launch_args: Mapping[str, Any],
    request: pytest.FixtureRequest,
    _webmcp_rig: "Rig",
    webmcp_policy: "Policy",
) -> Generator["SyncPageTools"]:
    """The WebMCP tools of `page`, whatever is open there."""
    from playwright.sync_api import Error

    from webmcp_agent.browser.bridge import script
    from webmcp_agent.scenarios.sync_page import SyncPageTools

    if browser_name != "chromium":
        pytest.skip(f"{browser_name} has no WebMCP; Chromium has")
    port = _port_of(browser_type_launch_args)
    cdp: Any = page.context.new_cdp_session(page)
    target: str = cdp.send("Target.getTargetInfo")["targetInfo"]["targetId"]
    page.add_init_script(script("legacy.js"))

    def let_handlers_run() -> bool:
        # Playwright's own loop stands still while the test waits for us; any answer moves it.
        with suppress(Error):
            return cdp.send("Target.getTargetInfo")["targetInfo"]["url"] == page.url
        return True

    def catch_up() -> None:
        # So that `page.url` is true in the test's next line.
        for _ in range(CATCH_UP):
            if let_handlers_run():
                return

    with (
        _webmcp_rig.attached_page(port, target) as ours,
        SyncPageTools(
            _webmcp_rig.thread,
            ours,
            webmcp_policy,
            base_url=base_url_of(request),
            pause_ms=_webmcp_rig.slow_mo_ms,
            meanwhile=let_handlers_run,
            afterwards=catch_up,
        ) as tools,
    ):
        yield tools


def _port_of(launch_args: Mapping[str, Any]) -> int:
    for argument in launch_args.get("args", ()):
        if argument.startswith(PORT):
            return int(argument.removeprefix(PORT))
    raise pytest.UsageError(
        "page_tools cannot reach the browser: browser_type_launch_args was overridden without what "
        "it had. Return {**browser_type_launch_args, …}, and add to its `args` in the same way."
    )
