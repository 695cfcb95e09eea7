"""What a page offers in one step: its tools by name, the sub-agents with them, and what is open."""

import inspect
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from webmcp_agent.agent.delegation import agent_tools
from webmcp_agent.agent.foreign_text import clean
from webmcp_agent.agent.racing import StopPressed, TooLate, race
from webmcp_agent.agent.request import AgentDefinition, AgentRunRequest
from webmcp_agent.agent.schema import read_schema
from webmcp_agent.agent.wording import one_line
from webmcp_agent.browser.tools import PageContext, PageTool

TOOLS_LIMIT_MS = 10_000
PAGE_LIMIT_MS = 2_000

_LEGAL_NAME = re.compile("[A-Za-z0-9_.-]{1,128}")
"""What a page may call a tool; the browser refuses other names itself."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What can be called in this step, and what is open."""

    tools: dict[str, PageTool]
    """Those of the page, then the sub-agents."""
    agents: dict[str, AgentDefinition]
    page: PageContext | None


class PageUnread(Exception):
    """The tools could not be had; never leaves the agent."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


async def read_offer(req: AgentRunRequest, warn: Callable[[str, str], None]) -> Offer:
    """Read tools and page afresh; what is open is None when the page does not say.

    `warn` hears a key and a text of each tool that is left out and each schema that is odd.
    Raises `PageUnread` and `StopPressed`."""
    tools = await _tools(req)
    try:
        page = await race(req.page(), req.signal, PAGE_LIMIT_MS)
    except StopPressed:
        raise
    except Exception:  # noqa: BLE001  # the page line is left out, the run goes on
        page = None
    agent = req.agent
    named: dict[str, PageTool] = {}
    for tool in tools:
        if not _LEGAL_NAME.fullmatch(tool.name):
            warn(f"name:{tool.name}", f"a tool with an illegal name was left out: {tool.name}")
        elif tool.name in named:
            warn(f"double:{tool.name}", f"a second tool named {tool.name} was left out")
        elif agent is None or agent.tools is None or tool.name in agent.tools:
            named[tool.name] = tool
    for tool in named.values():
        for warning in read_schema(tool.input_schema)[1]:
            warn(f"{tool.fingerprint}{tool.name}:{warning}", f"{tool.name}: {warning}")
    handed = agent_tools(agent.agents if agent else (), list(named.values()))
    named |= {name: tool for name, (_, tool) in handed.items()}
    return Offer(named, {name: sub for name, (sub, _) in handed.items()}, page)


async def _tools(req: AgentRunRequest) -> Sequence[PageTool]:
    try:
        return await race(_awaited(req.tools), req.signal, TOOLS_LIMIT_MS)
    except StopPressed:
        raise
    except TooLate:
        raise PageUnread("no answer") from None
    except Exception as exc:  # a source is foreign code
        raise PageUnread(reason_of(exc)) from exc


async def _awaited(
    tools: Callable[[], Sequence[PageTool] | Awaitable[Sequence[PageTool]]],
) -> Sequence[PageTool]:
    found = tools()
    return await found if inspect.isawaitable(found) else found


def reason_of(exc: BaseException, limit: int = 200) -> str:
    """What foreign code raised, in one harmless line of at most `limit` characters."""
    return one_line(clean(str(exc)), limit) or type(exc).__name__
