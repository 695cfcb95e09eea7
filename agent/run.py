"""What a run remembers from step to step: turns, answers, what was shown, whom it tells.

A run is one request; what a step does with it is in `step.py` and `page_call.py`.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from webmcp_agent.agent.digest import cut_result
from webmcp_agent.agent.foreign_text import clean, unwrapped, wrap_untrusted
from webmcp_agent.agent.offer import Offer
from webmcp_agent.agent.options import LocalLoopOptions
from webmcp_agent.agent.repetition import Repetition
from webmcp_agent.agent.request import AgentRunRequest, CallPart
from webmcp_agent.agent.stream import (
    AgentStreamPart,
)
from webmcp_agent.agent.tool_calls import write_call
from webmcp_agent.agent.trace import TraceCallback, TraceEvent, TraceType
from webmcp_agent.agent.wording import (
    RESTATE,
    RESULT_LIMIT,
)
from webmcp_agent.agent.wrappers import written_args
from webmcp_agent.browser.tools import JsonObject, PageTool
from webmcp_agent.providers.base import (
    ChatTurn,
    LocalProvider,
    call_format_of,
)

CHOICES_FROM = 5
"""Newest answers from which the options of products are taken."""

RunNested = Callable[
    [LocalProvider, AgentRunRequest, LocalLoopOptions], AsyncGenerator[AgentStreamPart]
]


@dataclass(slots=True)
class Run:
    """The state of one run."""

    provider: LocalProvider
    req: AgentRunRequest
    options: LocalLoopOptions
    ask: str
    turns: list[ChatTurn]
    run_nested: RunNested
    """The loop itself, for sub-agents."""
    step: int = 0
    repetition: Repetition = field(default_factory=Repetition)
    recent: list[str] = field(default_factory=list[str])
    """Names of called tools, newest first."""
    settled: list[str] = field(default_factory=list[str])
    """Names of the tools shown so far, in the order in which they are shown."""
    results: list[str] = field(default_factory=list[str])
    """Every answer, oldest first."""
    values: list[JsonValue] = field(default_factory=list[JsonValue])
    """Every answer of this run as a value, oldest first."""
    failure: tuple[str, str] | None = None
    """Name and error of the newest call, when it failed."""
    offer: Offer = field(default_factory=lambda: Offer({}, {}, None))
    page_read: bool = False
    """Whether the page was read before; the turns are the history's until then."""
    warned: set[str] = field(default_factory=set[str])

    def answers(self) -> list[JsonValue]:
        """What the page answered last, in this run or before it."""
        earlier = [
            part.value
            for message in self.req.messages
            for part in message.parts
            if isinstance(part, CallPart)
        ]
        return [*earlier, *self.values][-CHOICES_FROM:]

    def readable(self, tool: PageTool, text: str) -> str:
        """An answer as the model reads it, whole: harmless, and marked when others wrote it."""
        said = clean(text)
        return wrap_untrusted(said) if tool.untrusted else said

    def remember(self, name: str, args: JsonObject, said: str, failed: bool) -> str:
        """Take a finished call into the run's memory: `new`, `first` repeat, or `again`."""
        self.recent.insert(0, name)
        self.results.append(unwrapped(said))
        self.failure = (name, said) if failed else None
        times = self.repetition.seen(name, args, said)
        if times != "new":
            self.trace("repeat", name=name, args=args, count=1 if times == "first" else 2)
        return times

    def add_step_turns(
        self, prose: str, ran: Sequence[tuple[str, JsonObject, str]], notes: Sequence[str]
    ) -> None:
        """What the next step sees of this one, and the request again."""
        tools = self.offer.tools
        written = [
            write_call(name, written_args(tools.get(name), args), call_format_of(self.provider))
            for name, args, _ in ran
        ]
        self.turns.append(
            ChatTurn("assistant", "\n".join(piece for piece in (prose, *written) if piece))
        )
        self.turns += [
            ChatTurn("tool", cut_result(said, RESULT_LIMIT), name) for name, _, said in ran
        ]
        self.turns.append(ChatTurn("user", "\n".join([*notes, RESTATE.format(request=self.ask)])))

    def trace(self, type: TraceType, **data: JsonValue) -> None:
        """Tell the trace callback, if there is one; what it raises changes nothing."""
        if self.options.trace is None:
            return
        try:
            self.options.trace(TraceEvent(type, self.step, data))
        except Exception:  # noqa: BLE001  # watching must not change a run
            return

    def nested_trace(self, agent: str) -> TraceCallback | None:
        outer = self.options.trace
        if outer is None:
            return None
        return lambda event: outer(replace(event, agent=event.agent or agent))

    def warn(self, key: str, text: str) -> None:
        if key not in self.warned:
            self.warned.add(key)
            self.trace("warning", text=text)
