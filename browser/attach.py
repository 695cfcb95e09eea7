"""Attaching to a browser that somebody else started, within a limit, and why it did not work.

Playwright attaches to all tabs at once, so one tab that does not answer keeps everybody out.
"""

from playwright.async_api import Browser, Error, Playwright, TimeoutError as PlaywrightTimeout

from webmcp_agent.browser.answers import message
from webmcp_agent.browser.errors import NoBrowser
from webmcp_agent.browser.reasons import first_line
from webmcp_agent.browser.silent_tabs import SilentTab, silent_tabs

ATTACH_LIMIT_MS = 15_000
WHY_SILENT = "A script may be busy there, a dialog open, or a debugger may have stopped it."


async def attach(
    playwright: Playwright, cdp: str, features: str, *, slow_mo_ms: float, limit_ms: int
) -> Browser:
    """The browser at `cdp`, with all its tabs.

    `features` are those that a browser has to be started with, for the message. Raises: `NoBrowser`
    with what is wrong, and with the tabs that do not answer."""
    try:
        return await playwright.chromium.connect_over_cdp(cdp, timeout=limit_ms, slow_mo=slow_mo_ms)
    except PlaywrightTimeout as exc:
        silent = await silent_tabs(cdp)
        if silent is not None:
            raise NoBrowser(_kept_out(cdp, silent, limit_ms)) from exc
        reason = f"nothing came within {limit_ms / 1000:g} s"
    except Error as exc:
        reason = first_line(exc)
    raise NoBrowser(
        f"No browser answers at {cdp}: {reason}. Start one with "
        f"--remote-debugging-port and --enable-features={features}."
    )


def _kept_out(cdp: str, silent: list[SilentTab], limit_ms: int) -> str:
    """Which tabs keep everybody out, and what to do about them."""
    if not silent:
        return (
            f"The browser at {cdp} answers, but its tabs took longer than {limit_ms / 1000:g} s. "
            "Close some of them, or try again."
        )
    named = " and ".join(f"{each.url} ({each.title or 'without a title'})" for each in silent)
    subject = "A tab" if len(silent) == 1 else "Some tabs"
    verb = "does" if len(silent) == 1 else "do"
    return (
        f"{subject} of the browser at {cdp} {verb} not answer: {message(named)}. {WHY_SILENT} "
        "Reload it or close it, and try again; without --cdp a browser of its own is started."
    )
