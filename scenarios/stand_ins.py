"""Tools without a page, with answers that were written before: a `ToolSource`."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from webmcp_agent.browser.tools import JsonObject, PageContext, PageTool, StopSignal, ToolOk
from webmcp_agent.scenarios.expected_calls import ExpectedCall
from webmcp_agent.scenarios.matching import mismatch


@dataclass(frozen=True, slots=True)
class StandIn:
    """A tool, and what it answers."""

    tool: PageTool
    answers: tuple[tuple[ExpectedCall, JsonValue], ...] = ()
    """For calls that match: each once, in order."""


@dataclass(slots=True)
class StandInTools:
    """The tools of one conversation: what was answered once is used up."""

    stand_ins: Sequence[StandIn]
    _used: list[ExpectedCall] = field(default_factory=list[ExpectedCall])

    async def list_tools(self) -> list[PageTool]:
        """Always all of them."""
        return [each.tool for each in self.stand_ins]

    async def call_tool(
        self, name: str, args: JsonObject, *, call_id: str, signal: StopSignal
    ) -> ToolOk:
        """The next answer whose call matches; `{}` when there is none."""
        answers = next(each.answers for each in self.stand_ins if each.tool.name == name)
        for call, answer in answers:
            used = any(call is each for each in self._used)
            if not used and mismatch(dict(call.args or {}), args) is None:
                self._used.append(call)
                return ToolOk(answer_text(answer), answer)
        return ToolOk("{}", {})

    async def page_context(self) -> PageContext | None:
        """There is no page."""
        return None


def answer_text(value: JsonValue) -> str:
    """An answer as a model reads it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
