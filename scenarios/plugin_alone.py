"""The page of a test where pytest-playwright is not installed: a fresh one of our own Chromium."""

from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest

from webmcp_agent.scenarios.plugin_files import base_url_of

if TYPE_CHECKING:
    from webmcp_agent.browser.policy import Policy
    from webmcp_agent.scenarios.plugin_rig import Rig
    from webmcp_agent.scenarios.sync_page import SyncPageTools


@pytest.fixture
def page_tools(
    request: pytest.FixtureRequest, _webmcp_rig: "Rig", webmcp_policy: "Policy"
) -> Generator["SyncPageTools"]:
    """The WebMCP tools of a page of this test's own; open one with `page_tools.goto(…)`."""
    from webmcp_agent.scenarios.sync_page import SyncPageTools

    with (
        _webmcp_rig.fresh_page() as page,
        SyncPageTools(
            _webmcp_rig.thread,
            page,
            webmcp_policy,
            base_url=base_url_of(request),
            pause_ms=_webmcp_rig.slow_mo_ms,
        ) as tools,
    ):
        yield tools
