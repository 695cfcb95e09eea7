"""One Chromium and one server for all tests of the folder, a fresh context for each page."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest
from playwright.async_api import Browser

from webmcp_agent.browser.launch import open_chromium, open_page
from webmcp_agent.browser.page_tools import PageTools
from webmcp_agent.browser.policy import Policy
from webmcp_agent.scenarios.serve import resolve_start


@pytest.fixture(scope="session")
async def chromium(anyio_backend: str) -> AsyncGenerator[Browser]:
    async with open_chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
async def shop_address(anyio_backend: str) -> AsyncGenerator[str]:
    async with resolve_start("shop:") as address:
        yield address


@pytest.fixture
async def open_shop(
    chromium: Browser, shop_address: str
) -> AsyncGenerator[Callable[[str], Awaitable[PageTools]]]:
    """Opens a page of the shop in a context of its own, where every call is allowed."""
    async with AsyncExitStack() as stack:

        async def open_at(path: str) -> PageTools:
            page = open_page(chromium, shop_address + path, policy=Policy(mode="all"))
            return await stack.enter_async_context(page)

        yield open_at
