"""The limits of a run: their defaults, what they do, and what is refused."""

import inspect
from dataclasses import asdict
from typing import Any

import pytest
from page_double import PageDouble, collect, request
from shop_run import ADD_MUG, counting_page, start, text, write

from webmcp_agent.agent import LocalLoopOptions as ExportedOptions, run_local_agent
from webmcp_agent.agent.history import messages_of
from webmcp_agent.agent.options import LocalLoopOptions
from webmcp_agent.agent.request import AgentDefinition, user_message
from webmcp_agent.agent.stream import Finish, ToolCall
from webmcp_agent.providers.base import GenerateRequest
from webmcp_agent.providers.scripted import ScriptedProvider


def always_calling() -> ScriptedProvider:
    """A model that calls the first tool on and on, each time with another number."""
    numbers = iter(range(1, 1000))

    def call(req: GenerateRequest) -> str:
        return write(req.tools[0].name, n=next(numbers))

    return ScriptedProvider(call)


def test_the_options_have_the_defaults_of_a_small_model() -> None:
    """A-016, A-019, A-022, A-024, A-028."""
    assert ExportedOptions is LocalLoopOptions
    assert asdict(LocalLoopOptions()) == {
        "max_steps": 6,
        "step_timeout_ms": 60_000,
        "max_tools": 8,
        "tools_inline": False,
        "instructions": None,
        "trace": None,
    }


async def test_a_run_takes_a_provider_a_request_and_perhaps_options() -> None:
    """A-013."""
    signature = inspect.signature(run_local_agent)
    assert [(p.name, p.default) for p in signature.parameters.values()] == [
        ("provider", inspect.Parameter.empty),
        ("req", inspect.Parameter.empty),
        ("options", None),
    ]
    parts = await collect(ScriptedProvider(["Hello!"]), request(PageDouble(), "hello"))
    assert parts == [start(1), text("Hello!"), Finish("stop")]


@pytest.mark.parametrize("name", ["max_steps", "step_timeout_ms", "max_tools"])
@pytest.mark.parametrize("value", [0, -1])
def test_a_limit_below_one_is_refused_at_once(name: str, value: int) -> None:
    """C-14."""
    fields: dict[str, Any] = {name: value}
    with pytest.raises(ValueError, match=f"^{name} must be at least 1, not {value}$"):
        LocalLoopOptions(**fields)


async def test_an_agent_without_steps_is_refused_before_the_first_part() -> None:
    """C-14."""
    provider = ScriptedProvider(["Hello!"])
    parts = run_local_agent(
        provider, request(PageDouble(), "hello", agent=AgentDefinition(max_steps=0))
    )
    with pytest.raises(ValueError, match="^max_steps must be at least 1, not 0$"):
        await anext(parts)
    assert provider.requests == []


@pytest.mark.parametrize(
    ("options", "agent", "steps"),
    [
        pytest.param(None, None, 6, id="six by default"),
        pytest.param(LocalLoopOptions(max_steps=4, max_tools=6), None, 4, id="the option"),
        pytest.param(
            LocalLoopOptions(max_steps=6), AgentDefinition(max_steps=2), 2, id="the page's agent"
        ),
        pytest.param(
            LocalLoopOptions(max_steps=3), AgentDefinition(), 3, id="an agent that does not say"
        ),
    ],
)
async def test_a_run_ends_after_its_steps(
    options: LocalLoopOptions | None, agent: AgentDefinition | None, steps: int
) -> None:
    """A-010, A-016, A-018, A-087."""
    provider, page = always_calling(), counting_page(20)
    parts = await collect(provider, request(page, "Do it", agent=agent), options)
    assert len(provider.requests) == len(page.calls) == steps
    assert parts[-3:] == [
        start(steps + 1),
        text(
            f"done\n\nI stopped after {steps} steps without finishing. "
            "Tell me to continue, or say it another way."
        ),
        Finish("max-steps"),
    ]


async def test_one_step_is_called_one_step() -> None:
    """A-086."""
    parts = await collect(
        always_calling(), request(counting_page(1), "Do it"), LocalLoopOptions(max_steps=1)
    )
    assert parts[-2] == text(
        "done\n\nI stopped after 1 step without finishing. "
        "Tell me to continue, or say it another way."
    )


async def test_each_message_of_the_person_gets_all_its_steps() -> None:
    """A-017."""
    provider, page = always_calling(), counting_page(3)
    chat = [user_message("Do it")]
    for asked in (1, 2):
        parts = await collect(provider, request(page, chat))
        assert sum(isinstance(part, ToolCall) for part in parts) == 6
        assert parts[-1] == Finish("max-steps")
        chat += [*messages_of(parts), user_message("Go on", f"u{asked + 1}")]


@pytest.mark.parametrize("max_tools", [1, 2, 5, 6, 8, 30])
@pytest.mark.parametrize("count", [0, 1, 4, 7, 8, 9, 20])
async def test_a_step_shows_at_most_the_allowed_number_of_tools(count: int, max_tools: int) -> None:
    """A-010, A-022, A-023, A-044, B-029."""
    provider = ScriptedProvider(["Hello!"])
    options = None if max_tools == 8 else LocalLoopOptions(max_tools=max_tools)
    await collect(provider, request(counting_page(count), ADD_MUG), options)
    assert [tool.name for tool in provider.requests[0].tools] == [
        f"tool_{number}" for number in range(1, min(count, max_tools) + 1)
    ]
