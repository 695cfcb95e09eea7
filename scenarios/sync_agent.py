"""`SyncAgent`: requests to a model on the page of a test, and what each of them did."""

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from webmcp_agent.scenarios.plugin_report import OUT

if TYPE_CHECKING:
    from webmcp_agent.agent.request import ChatMessage
    from webmcp_agent.agent.stream import AgentStreamPart
    from webmcp_agent.browser.tools import JsonObject
    from webmcp_agent.providers.base import LocalProvider
    from webmcp_agent.scenarios.given import Given
    from webmcp_agent.scenarios.outcome import MadeCall, Outcome
    from webmcp_agent.scenarios.plugin_rig import Rig
    from webmcp_agent.scenarios.runner import RunOutcome
    from webmcp_agent.scenarios.sync_page import SyncPageTools


@dataclass(frozen=True, slots=True)
class AgentReport:
    """What one request did."""

    task: str
    outcome: "Outcome"
    run: "RunOutcome"
    """The parts, the times and the tokens."""

    @property
    def calls(self) -> "tuple[MadeCall, ...]":
        """The calls that were sent to the page, with their answers."""
        return self.outcome.calls

    @property
    def called(self) -> list[str]:
        """The names of the tools that were called, in order."""
        return [call.tool for call in self.calls]

    @property
    def answer(self) -> str:
        """The last prose of the model; empty when there was none."""
        return self.outcome.answer

    @property
    def finish(self) -> str:
        """How it ended: `stop` when the model was done, else another reason or an error code."""
        return self.outcome.finishes[-1] if self.outcome.finishes else ""

    @property
    def steps(self) -> int:
        """The model's replies."""
        return self.outcome.steps

    @property
    def error(self) -> str | None:
        """Why it could not go on."""
        return self.outcome.error

    def __str__(self) -> str:
        from webmcp_agent.scenarios.plugin_case import call_line

        return "\n".join(
            [
                f"request: {self.task}",
                *(f"  {number}. {call_line(call)}" for number, call in enumerate(self.calls, 1)),
                f"answer: {self.answer or 'none'}",
                f"ended with {self.finish} after {self.steps} steps, at {self.run.url}",
                *([f"error: {self.error}"] if self.error else []),
            ]
        )


class SyncAgent:
    """A model at work on the page of one test."""

    def __init__(
        self,
        rig: "Rig",
        page_tools: "SyncPageTools",
        model: "str | LocalProvider | None",
        node: pytest.Item,
        *,
        given: "Given",
        max_steps: int | None = None,
        instructions: str | None = None,
    ) -> None:
        self._given = given
        self._rig = rig
        self._page_tools = page_tools
        self._model = model
        self._provider: LocalProvider | None = None
        self._node = node
        self._max_steps = max_steps
        self._instructions = instructions
        self._messages: list[ChatMessage] = []
        self.reports: list[AgentReport] = []
        """Of all requests of the test, oldest first."""

    @property
    def provider(self) -> "LocalProvider":
        """What runs the model; loaded with the first use."""
        if self._provider is None:
            self._provider = self._given.guard(self._rig.model(self._model))
        return self._provider

    def run(self, task: str) -> AgentReport:
        """Do a request that knows of none before; a `{NAME}` in it stands for a secret."""
        self._messages = []
        return self.follow_up(task)

    def follow_up(self, task: str) -> AgentReport:
        """Do a request in the conversation of the one before."""
        from webmcp_agent.agent.history import messages_of
        from webmcp_agent.agent.request import user_message
        from webmcp_agent.scenarios.outcome import outcome_of

        self._messages.append(user_message(self._given.fill(task), f"u{len(self.reports) + 1}"))
        run = self._page_tools.wait(self._run(self.provider))
        self._messages += messages_of(run.parts)
        report = AgentReport(task, outcome_of([run.parts], run.url), run)
        self.reports.append(report)
        self._node.add_report_section("call", "agent", str(report))
        return report

    async def _run(self, provider: "LocalProvider") -> "RunOutcome":
        from webmcp_agent.providers.abort import AbortController
        from webmcp_agent.scenarios.runner import PageSettings, RunSettings, Session

        def nobody(_: "AgentStreamPart | object") -> None:
            return

        settings = RunSettings(
            page=PageSettings(given=self._given),
            max_steps=self._max_steps,
            instructions=self._instructions,
        )
        masker = self._given.masker
        async with self._page_tools.visit() as tools:
            session = Session(tools, provider, provider.label, settings)
            with self._rig.run_folder(self._node, len(self.reports) + 1, masker) as folder:
                run = await session.run(
                    self._messages,
                    AbortController().signal,
                    on_part=nobody,
                    on_trace=nobody,
                    folder=folder,
                )
                if folder is not None:
                    named: JsonObject = {"file": str(self._node.path), "case": self._node.name}
                    folder.summary(run.summary(folder.path) | named)
                    self._node.user_properties.append((OUT, str(folder.path)))
                return run

    def tell_properties(self) -> None:
        """Sum up all requests for a JUnit file."""
        if self._provider is None:
            return
        from webmcp_agent.scenarios.plugin_case import cost

        total: Counter[str] = Counter()
        for report in self.reports:
            run = report.run
            total.update(cost(len(report.calls), report.steps, run.total_ms, run.spent))
        self._node.user_properties.append(("webmcp_model", self._provider.label))
        self._node.user_properties.extend(total.items())
