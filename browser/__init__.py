"""A Chromium and the WebMCP tools of a page; usable without agent or model.

Names values and errors only: importing this loads no browser library.
"""

from webmcp_agent.browser.errors import (
    BrowserError,
    NoBrowser,
    NoWebMCP,
    PageGone,
    PageUnreachable,
)
from webmcp_agent.browser.tools import (
    TOOL_ERROR_CODES,
    PageContext,
    PageTool,
    ToolErrorCode,
    ToolFail,
    ToolOk,
    ToolSource,
)

__all__ = [
    "TOOL_ERROR_CODES",
    "BrowserError",
    "NoBrowser",
    "NoWebMCP",
    "PageContext",
    "PageGone",
    "PageTool",
    "PageUnreachable",
    "ToolErrorCode",
    "ToolFail",
    "ToolOk",
    "ToolSource",
]
