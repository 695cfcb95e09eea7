"""A model and a page in one that hang in one place and ignore being cancelled."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from page_double import PageDouble
from shop_run import open_

from webmcp_agent.agent.request import AgentRunRequest, RunRequest, user_message
from webmcp_agent.browser.tools import (
    JsonObject,
    PageContext,
    PageTool,
    StopSignal,
    ToolFail,
    ToolOk,
)
from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.base import (
    Available,
    GenerateRequest,
    GenerateResult,
    PromptParts,
)


@dataclass
class Hang:
    """A wait that ends only when the test releases it, however often it is cancelled."""

    began: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self) -> None:
        self.began.set()
        while not self.released.is_set():
            try:
                await self.released.wait()
            except asyncio.CancelledError:
                continue
        self.ended.set()


class Stubborn:
    """Model and page in one, which hang in one place and ignore everything."""

    id, label = "stubborn", "Stubborn"

    def __init__(self, hangs: str) -> None:
        self.hangs = hangs
        self.hang = Hang()
        self.shop = PageDouble()
        self.signals: list[StopSignal] = []

    async def _at(self, place: str) -> None:
        if place == self.hangs:
            await self.hang()

    async def list_tools(self) -> Sequence[PageTool]:
        await self._at("tools")
        return await self.shop.list_tools()

    async def page_context(self) -> PageContext | None:
        await self._at("page")
        return PageContext("/", "Shop")

    async def call_tool(
        self, name: str, args: JsonObject, *, call_id: str, signal: StopSignal
    ) -> ToolOk | ToolFail:
        self.signals.append(signal)
        await self._at("call")
        return await self.shop.call_tool(name, args, call_id=call_id, signal=signal)

    async def availability(self) -> Available:
        return Available()

    async def prepare(
        self, on_progress: Callable[[float], None], signal: AbortSignal | None = None
    ) -> None:
        return

    async def fits(self, prompt: PromptParts) -> bool:
        await self._at("fits")
        return True

    async def generate(self, req: GenerateRequest) -> GenerateResult:
        self.signals.append(req.signal)
        await self._at("generate")
        return GenerateResult(open_())


def stubborn_request(stubborn: Stubborn, signal: AbortSignal | None = None) -> AgentRunRequest:
    return RunRequest([user_message("Open product 7")], stubborn, signal or AbortSignal())
