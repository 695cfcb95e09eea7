"""What a page offered while a conversation went on: each listing that differs from the one before.

So it can be told which tools there were when a call was made, and a run can be compared with a
later one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable
from urllib.parse import urlsplit

from pydantic import BaseModel, JsonValue

from webmcp_agent.browser.tools import (
    JsonObject,
    PageContext,
    PageTool,
    StopSignal,
    ToolFail,
    ToolOk,
    ToolSource,
)


class OfferedTool(BaseModel):
    """A tool, as far as a later run is compared with it."""

    name: str
    description: str = ""
    input_schema: dict[str, JsonValue] | str | None = None


class Offered(BaseModel):
    """The tools of a page at one time."""

    type: Literal["tools"] = "tools"
    after_call: int
    """How many calls had been made."""
    path: str | None = None
    """Of the address that was open, without what follows `?` and `#`; None without a page."""
    tools: list[OfferedTool]

    def to_json(self) -> JsonObject:
        """The listing as a JSON object."""
        return self.model_dump()


class Start(BaseModel):
    """Where a conversation began, and the calls that were made before it."""

    type: Literal["start"] = "start"
    start: str
    """As it was written; a local file or folder with its whole path."""
    setup: list[tuple[str, dict[str, JsonValue]]] = []

    @staticmethod
    def at(address: str) -> "Start":
        """A start as a person wrote it on the command line."""
        if address.startswith(("http:", "https:", "file:", "shop:", "data:", "about:")):
            return Start(start=address)
        return Start(start=str(Path(address).expanduser().absolute()))

    def to_json(self) -> JsonObject:
        """The start as a JSON object."""
        return self.model_dump(mode="json")


@runtime_checkable
class _HasUrl(Protocol):
    @property
    def url(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Listing:
    """The tools of a page at one time, whole."""

    after_call: int
    path: str | None
    tools: tuple[PageTool, ...]

    def told(self) -> Offered:
        """What is kept of it."""
        tools = [
            OfferedTool(
                name=tool.name, description=tool.description, input_schema=tool.input_schema
            )
            for tool in self.tools
        ]
        return Offered(after_call=self.after_call, path=self.path, tools=tools)


class WatchedTools:
    """A `ToolSource` that is another one, and remembers what it offered."""

    def __init__(
        self, source: ToolSource, on_change: Callable[[Listing], None] | None = None
    ) -> None:
        self._source = source
        self._on_change = on_change
        self._calls = 0
        self.listings: list[Listing] = []
        """Those that differ from the one before, oldest first."""

    async def list_tools(self) -> Sequence[PageTool]:
        """What the source lists."""
        tools = await self._source.list_tools()
        path = urlsplit(self._source.url).path if isinstance(self._source, _HasUrl) else None
        listing = Listing(self._calls, path, tuple(tools))
        last = self.listings[-1] if self.listings else None
        if last is None or (last.path, last.tools) != (listing.path, listing.tools):
            self.listings.append(listing)
            if self._on_change is not None:
                self._on_change(listing)
        return tools

    async def call_tool(
        self, name: str, args: JsonObject, *, call_id: str, signal: StopSignal
    ) -> ToolOk | ToolFail:
        """Pass the call to the source."""
        self._calls += 1
        return await self._source.call_tool(name, args, call_id=call_id, signal=signal)

    async def page_context(self) -> PageContext | None:
        """What the source says is open."""
        return await self._source.page_context()

    def before_call(self, index: int) -> tuple[PageTool, ...]:
        """The tools that there were when call `index`, from 0, was made."""
        listed = [each for each in self.listings if each.after_call <= index]
        return listed[-1].tools if listed else ()
