"""Playwright's errors in words: why an address did not open, and why a browser did not start."""

import re

from playwright.async_api import Error

_REASONS = {
    "ERR_CONNECTION_REFUSED": "nothing answers there",
    "ERR_CONNECTION_RESET": "the connection was cut",
    "ERR_EMPTY_RESPONSE": "the server sent nothing",
    "ERR_NAME_NOT_RESOLVED": "there is no such host",
    "ERR_INTERNET_DISCONNECTED": "there is no network",
    "ERR_ADDRESS_UNREACHABLE": "the host cannot be reached",
    "ERR_CONNECTION_TIMED_OUT": "the host does not answer",
    "ERR_TIMED_OUT": "the host does not answer",
    "ERR_FILE_NOT_FOUND": "there is no such file",
    "ERR_ACCESS_DENIED": "it may not be read",
    "ERR_TOO_MANY_REDIRECTS": "it redirects for ever",
    "ERR_UNSAFE_PORT": "the browser refuses this port",
    "ERR_INVALID_URL": "this is no valid address",
    "ERR_ABORTED": "it is no page (a download, or no content)",
    "ERR_HTTP_RESPONSE_CODE_FAILURE": "the server refused without a page",
}


def reason(error: Error) -> str:
    """Why an address could not be opened."""
    line = first_line(error)
    for code, reason in _REASONS.items():
        if code in line:
            return reason
    if "ERR_CERT" in line or "ERR_SSL" in line:
        return "its certificate cannot be trusted"
    if "Download is starting" in line:
        return _REASONS["ERR_ABORTED"]
    return line.partition(" at http")[0]


def start_trouble(error: Error, headed: bool) -> str:
    """Why a browser did not start, in its own words when it said some, and what helps."""
    if "shared libraries" in error.message:
        return "a system library is missing. `playwright install-deps chromium` installs them."
    if headed and "DISPLAY" in error.message:
        return "a window needs a display."
    said = re.search(r"\[err\] (.+)", error.message)
    return f"{said[1] if said else first_line(error)}."


def first_line(error: Error) -> str:
    """The first line of what Playwright says, without its method and its call log."""
    line = (error.message.strip().splitlines() or ["no reason was given"])[0]
    head, colon, tail = line.partition(": ")
    return (tail if colon and "." in head and " " not in head else line).rstrip(".")
