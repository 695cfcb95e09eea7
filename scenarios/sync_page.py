"""`SyncPageTools`: the tools of a page for plain functions, each use of them a visit of its own.

Between two uses nothing of ours listens to the page or holds it back: a test goes where it likes,
answers its own dialogs, and closes its page when it has done with it.
"""

from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import urljoin, urlsplit

from webmcp_agent.scenarios.loop_thread import LoopThread

if TYPE_CHECKING:
    from playwright.async_api import Page
    from pydantic import JsonValue

    from webmcp_agent.browser.page_tools import PageTools
    from webmcp_agent.browser.policy import Policy
    from webmcp_agent.browser.tools import PageContext, PageTool, ToolFail, ToolOk

KEEP_UP_MS = 2_000
"""How long the news of a move may take from one connection to another."""

T = TypeVar("T")


class ToolFailed(AssertionError):
    """A call that a test relied on has failed."""

    def __init__(self, name: str, fail: "ToolFail") -> None:
        super().__init__(f"{name} failed with {fail.code!r}: {fail.message}")
        self.tool = name
        self.fail = fail


class SyncPageTools:
    """The tools of one page; does not own the page."""

    def __init__(
        self,
        thread: LoopThread,
        page: "Page",
        policy: "Policy",
        *,
        base_url: str | None = None,
        pause_ms: float = 0,
        meanwhile: Callable[[], object] | None = None,
        afterwards: Callable[[], None] | None = None,
    ) -> None:
        """`pause_ms`: a wait after each call.

        `meanwhile` and `afterwards` let somebody else, who has the page too, keep up with it."""
        self._thread = thread
        self._page = page
        self._policy = policy
        self._base_url = base_url
        self._pause_ms = pause_ms
        self._meanwhile = meanwhile
        self._afterwards = afterwards
        self._stack = ExitStack()
        self._calls = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    @property
    def url(self) -> str:
        """The address of what is open."""
        self.wait(self._keep_up())
        return self._page.url

    def goto(self, url: str) -> str:
        """Open an address and give it in full.

        It may be relative to the base URL, `shop:`, or a local file or folder, which is served
        until the test is over. Raises: `StartNotFound`, and what Playwright's `goto` raises."""
        from webmcp_agent.scenarios.serve import resolve_start

        if self._base_url and not urlsplit(url).scheme:
            url = urljoin(self._base_url, url)
        address = self._stack.enter_context(self._thread.entered(resolve_start(url)))
        self.wait(self._page.goto(address))
        return address

    def list_tools(self) -> "list[PageTool]":
        """The tools that can be called now, in the page's order."""

        async def listed() -> "list[PageTool]":
            async with self.visit(self._policy) as tools:
                return await tools.list_tools()

        return self.wait(listed())

    @property
    def names(self) -> list[str]:
        """The names of the tools that can be called now, in the page's order."""
        return [tool.name for tool in self.list_tools()]

    def call_tool(
        self, name: str, args: "Mapping[str, JsonValue] | None" = None
    ) -> "ToolOk | ToolFail":
        """Call a tool once. The test's own word approves it, unless the policy denies its name."""
        from webmcp_agent.providers.abort import AbortController

        self._calls += 1
        call_id = f"t{self._calls}"

        async def called() -> "ToolOk | ToolFail":
            async with self.visit(replace(self._policy, mode="all")) as tools:
                signal = AbortController().signal
                return await tools.call_tool(name, {**(args or {})}, call_id=call_id, signal=signal)

        return self.wait(called())

    def call(self, name: str, /, **args: "JsonValue") -> "JsonValue":
        """The value that a tool answers.

        Raises: `ToolFailed`, which fails the test with the tool's own reason."""
        from webmcp_agent.browser.tools import ToolFail

        answer = self.call_tool(name, args)
        if isinstance(answer, ToolFail):
            raise ToolFailed(name, answer)
        return answer.value

    def page_context(self) -> "PageContext | None":
        """Path, title and main heading of what is open."""

        async def told() -> "PageContext | None":
            async with self.visit(self._policy) as tools:
                return await tools.page_context()

        return self.wait(told())

    def evaluate(self, js: str) -> "JsonValue":
        """What a JavaScript expression gives on the page."""

        async def given() -> "JsonValue":
            await self._keep_up()
            return await self._page.evaluate(js)

        return self.wait(given())

    @asynccontextmanager
    async def visit(self, policy: "Policy | None" = None) -> "AsyncGenerator[PageTools]":
        """The page's tools for code on our own loop; meanwhile the page stays on its origins."""
        from webmcp_agent.browser.page_tools import PageTools

        await self._keep_up()
        rules, pause_ms = policy or self._policy, self._pause_ms
        async with PageTools(self._page, policy=rules, pause_ms=pause_ms) as tools:
            tools.stay_here()
            yield tools

    async def _keep_up(self) -> None:
        """Hear of the move that the test has just made, before anything is done there."""
        from playwright.async_api import Error

        from webmcp_agent.browser.cdp import CdpSession

        with suppress(Error):
            cdp = await CdpSession.of(self._page)
            url: str = (await cdp.send("Target.getTargetInfo"))["targetInfo"]["url"]
            await cdp.detach()
            # An error page has an address that Playwright never tells.
            await self._page.wait_for_url(
                lambda known: known == url, wait_until="commit", timeout=KEEP_UP_MS
            )

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """What `work` gives on our own loop; the test's own handlers run while it waits."""
        given = self._thread.run(work, meanwhile=self._meanwhile)
        if self._afterwards is not None:
            self._afterwards()
        return given
