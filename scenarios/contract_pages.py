"""The contract that a site keeps now, read off its live pages."""

from collections.abc import Callable, Sequence
from urllib.parse import urljoin

from playwright.async_api import Browser

from webmcp_agent.browser.errors import NoWebMCP, PageUnreachable
from webmcp_agent.browser.launch import open_page
from webmcp_agent.browser.policy import Policy, origin_of
from webmcp_agent.browser.tools import PageTool
from webmcp_agent.scenarios.contract import START, Contract, contract_of
from webmcp_agent.scenarios.errors import WrongUsage
from webmcp_agent.scenarios.serve import resolve_start


async def live_contract(
    browser: Browser,
    url: str,
    pages: Sequence[str] = (START,),
    *,
    origins: Sequence[str] = (),
    warn: Callable[[str], None] | None = None,
) -> Contract:
    """The tools of a site's pages as they are now, each page opened in a fresh context.

    `url` may be `shop:`, a local file or folder; `pages` are addresses relative to it. A page that
    the server says it does not have (4xx) is not in the result, unless it is the start. `warn`
    hears of tools that were left out.

    Raises: `PageUnreachable`, `NoWebMCP` for the start page, `WrongUsage` for a page of another
    origin, `StartNotFound`, `PageGone`."""
    found: dict[str, list[PageTool]] = {}
    async with resolve_start(url) as start:
        addresses = {page: page_address(start, page) for page in pages}
        for page, address in addresses.items():
            policy = Policy(origins=tuple(origins))
            try:
                async with open_page(browser, address, policy=policy) as tools:
                    if page == START and not await tools.has_webmcp():
                        raise NoWebMCP(
                            f"{url} has no WebMCP here: the page offers no model context."
                        )
                    found[page] = await tools.list_tools()
                    if warn is not None:
                        for warning in tools.warnings:
                            warn(warning)
            except PageUnreachable as exc:
                if page == START or not exc.reason.startswith("the server answered 4"):
                    raise
    return contract_of(found, url=url, origin=origin_of(start))


def page_address(start: str, page: str) -> str:
    """Where a page of a contract is.

    Raises: `WrongUsage` when it is on another origin than the start."""
    address = start if page == START else urljoin(start, page)
    if origin_of(address) != origin_of(start):
        raise WrongUsage(f"{page} is not on the site of {start}; its tools need another contract")
    return address
