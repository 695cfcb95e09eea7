"""What can go wrong before a page's tools can be used.

BrowserError
├── NoBrowser          no Chromium was found, or it did not start
├── NoWebMCP           the browser or the page has no model context
├── NoEncoder          what films are made with is not installed
├── PageUnreachable    the address could not be opened
└── PageGone           the page was closed, crashed, or does not answer any more

A failed *call* is no exception: it is a `ToolFail`.
"""


class BrowserError(Exception):
    """Base of everything that this folder raises."""


class NoBrowser(BrowserError):
    """No usable Chromium; the message says how to get one."""


class NoWebMCP(BrowserError):
    """The page has no model context, so it can have no tools."""


class NoEncoder(BrowserError):
    """No film can be made here; the message says what to install."""


class PageUnreachable(BrowserError):
    """The start page could not be opened."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"{url} could not be opened: {reason}")
        self.url = url
        self.reason = reason


class PageGone(BrowserError):
    """The page that was open cannot be used any more; the message says why."""
