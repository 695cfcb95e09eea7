"""Sub-agents: each is a tool `ask_{id}`, a line in the prompt, and a request of its own.

The nested run itself is the loop calling itself; this module only prepares it.
"""

import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass

from webmcp_agent.agent.foreign_text import clean
from webmcp_agent.agent.request import (
    AgentDefinition,
    AgentRunRequest,
    ChatMessage,
    user_message,
)
from webmcp_agent.browser.tools import JsonObject, PageContext, PageTool, ToolFail, ToolOk
from webmcp_agent.providers.abort import AbortSignal

TOOL_PREFIX = "ask_"
SUB_AGENT_STEPS = 4
"""Steps of a sub-agent that does not say how many."""


def delegation_note(agents: Sequence[AgentDefinition]) -> str:
    """How to hand work over, for the prompt; empty without sub-agents."""
    if not agents:
        return ""
    who = ", ".join(
        f"{_label(agent)} ({about})" if (about := clean(agent.description)) else _label(agent)
        for agent in agents
    )
    tools = " or ".join(_tool_name(agent) for agent in agents)
    return (
        f"You can hand a part of the work to: {who}. "
        f"Call {tools} with the task in one sentence; you get back its answer."
    )


def agent_tools(
    agents: Sequence[AgentDefinition], page_tools: Sequence[PageTool]
) -> dict[str, tuple[AgentDefinition, PageTool]]:
    """The sub-agents as tools, by tool name; a page's tool of the same name wins, then the first
    sub-agent."""
    taken = {tool.name for tool in page_tools}
    tools: dict[str, tuple[AgentDefinition, PageTool]] = {}
    for agent in agents:
        if _tool_name(agent) not in taken:
            tools.setdefault(_tool_name(agent), (agent, _as_tool(agent)))
    return tools


def _as_tool(agent: AgentDefinition) -> PageTool:
    return PageTool(
        name=_tool_name(agent),
        description=": ".join(text for text in (_label(agent), agent.description) if text),
        input_schema={
            "type": "object",
            "properties": {"task": {"type": "string", "description": "the task in one sentence"}},
            "required": ["task"],
        },
        fingerprint=f"agent:{agent.id}",
    )


def _tool_name(agent: AgentDefinition) -> str:
    return f"{TOOL_PREFIX}{re.sub('[^A-Za-z0-9_.-]', '_', agent.id)}"[:128]


def _label(agent: AgentDefinition) -> str:
    return clean(agent.label) or agent.id


@dataclass(frozen=True, slots=True)
class SubRequest:
    """The request of a sub-agent: one task, on the same page, with the tools it may use."""

    outer: AgentRunRequest
    agent: AgentDefinition
    messages: Sequence[ChatMessage]
    signal: AbortSignal
    call_id: str
    """The outer call; ids of nested calls begin with it, so that they stay unique in a run."""

    async def tools(self) -> Sequence[PageTool]:
        """The outer request's tools; the loop keeps those that `agent.tools` names."""
        found = self.outer.tools()
        return await found if inspect.isawaitable(found) else found

    async def call_tool(
        self, name: str, args: JsonObject, *, call_id: str, signal: AbortSignal
    ) -> ToolOk | ToolFail:
        """Pass the call to the page."""
        return await self.outer.call_tool(
            name, args, call_id=f"{self.call_id}/{call_id}", signal=signal
        )

    async def page(self) -> PageContext | None:
        """What is open in the outer request's page."""
        return await self.outer.page()


def sub_request(
    outer: AgentRunRequest, agent: AgentDefinition, task: str, call_id: str
) -> SubRequest:
    """The request that hands `task` to a sub-agent; sub-agents have no sub-agents."""
    return SubRequest(
        outer=outer,
        agent=AgentDefinition(
            id=agent.id,
            label=agent.label,
            description=agent.description,
            instructions=agent.instructions,
            max_steps=SUB_AGENT_STEPS if agent.max_steps is None else agent.max_steps,
            tools=agent.tools,
        ),
        messages=(user_message(task),),
        signal=outer.signal,
        call_id=call_id,
    )
