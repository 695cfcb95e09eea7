"""The contract of a provider: what it must have, what it may leave out, what it gets and gives."""

import asyncio
import dataclasses
from collections.abc import Callable, Sequence
from contextlib import aclosing

import pytest
from page_double import SEARCH, PageDouble, check_grammar, collect, request
from shop_run import ADD_MUG, FIND_MUG, add, open_, search, searched, start, text

from webmcp_agent.agent.adapter import create_local_adapter
from webmcp_agent.agent.options import LocalLoopOptions
from webmcp_agent.agent.stream import AgentStreamPart, Finish, RunError
from webmcp_agent.agent.trace import TraceEvent
from webmcp_agent.providers import detection
from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.base import (
    Available,
    ChatTurn,
    CompactTool,
    Disposable,
    Downloading,
    Fits,
    GenerateRequest,
    GenerateResult,
    LocalProvider,
    NeedsDownload,
    OffersModels,
    ProviderAvailability,
    ToolConstraint,
    Unavailable,
    broken_of,
    call_format_of,
    tools_inline_of,
)
from webmcp_agent.providers.errors import NotReady
from webmcp_agent.providers.scripted import ScriptedProvider


class Echo:
    """An engine that only echoes: the five members that a provider must have, and no more."""

    id = "echo"
    label = "Echo"

    async def availability(self) -> ProviderAvailability:
        return Available()

    async def prepare(
        self, on_progress: Callable[[float], None], signal: AbortSignal | None = None
    ) -> None:
        return None

    async def generate(self, req: GenerateRequest) -> GenerateResult:
        last = next((turn for turn in reversed(req.messages) if turn.role == "user"), None)
        return GenerateResult(f"You said: {last.content if last else ''}")


class Saying(Echo):
    """Says what it is given to say, one text a generation."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = list(texts)
        self.requests: list[GenerateRequest] = []

    async def generate(self, req: GenerateRequest) -> GenerateResult:
        self.requests.append(req)
        return GenerateResult(self.texts.pop(0))


async def adapted(provider: LocalProvider, ask: str) -> list[AgentStreamPart]:
    parts: list[AgentStreamPart] = []
    adapter = create_local_adapter(providers=[provider])
    async with asyncio.timeout(20), aclosing(adapter.run(request(PageDouble(), ask))) as stream:
        async for part in stream:
            parts.append(part)
    check_grammar(parts)
    return parts


# --- an engine of one's own --------------------------------------------------------------------


async def test_an_echo_is_a_provider() -> None:
    """B-002, B-003, B-005."""
    parts = [start(1), text("You said: hello"), Finish("stop")]
    assert await collect(Echo(), request(PageDouble(), "hello")) == parts
    assert await adapted(Echo(), "hello") == parts


async def test_an_echo_hears_the_last_turn_of_the_person() -> None:
    """B-005, A-034."""
    provider = Saying([search(), "Found it."])
    await collect(provider, request(PageDouble(), FIND_MUG))
    echo = Echo()
    said = await echo.generate(provider.requests[1])
    assert said.text.startswith(f"You said: My request: {FIND_MUG}")


def test_what_a_provider_leaves_out_has_its_default() -> None:
    """B-008, B-009, B-020, B-023, B-049."""
    echo = Echo()
    assert (tools_inline_of(echo), call_format_of(echo), broken_of(echo)) == (False, "tags", None)
    assert not isinstance(echo, Fits)
    assert not isinstance(echo, OffersModels)
    assert not isinstance(echo, Disposable)


async def test_a_provider_with_nothing_but_the_needed_runs_calls() -> None:
    """B-008, B-009, B-010, B-018."""
    provider = Saying([search(), "Found it."])
    assert await collect(provider, request(PageDouble(), FIND_MUG)) == [
        start(1),
        *searched("c1.1"),
        start(2),
        text("Found it."),
        Finish("stop"),
    ]
    assert provider.requests[1].messages[1] == ChatTurn("assistant", search())
    assert "- search_products: " not in provider.requests[0].system


async def test_the_markers_of_a_reply_are_the_loops_to_read() -> None:
    """B-018, B-033."""
    events: list[TraceEvent] = []
    reply = f"<think>hm</think>I look.\n{search()}<|im_end|>"
    parts = await collect(
        Saying([reply, "Found it."]),
        request(PageDouble(), FIND_MUG),
        LocalLoopOptions(trace=events.append),
    )
    assert next(e for e in events if e.type == "reply").data["text"] == reply
    assert parts[:4] == [start(1), text("I look."), *searched("c1.1")]


async def test_a_provider_gets_values_only() -> None:
    """B-001: nothing in a request leads to the page, so a provider can only generate."""
    provider = Saying([search(), "Found it."])
    await collect(provider, request(PageDouble(), FIND_MUG))
    assert [field.name for field in dataclasses.fields(GenerateRequest)] == [
        "system",
        "messages",
        "tools",
        "signal",
        "on_token",
        "constraints",
    ]
    for req in provider.requests:
        assert {type(turn) for turn in req.messages} == {ChatTurn}
        assert {type(tool) for tool in req.tools} == {CompactTool}
        assert {type(one) for one in req.constraints or ()} == {ToolConstraint}
        assert isinstance(req.signal, AbortSignal)
        assert req.on_token is None


async def test_the_loop_asks_a_provider_for_nothing_but_replies() -> None:
    """B-001, A-014."""
    asked: list[str] = []

    class Watched(Echo):
        async def availability(self) -> ProviderAvailability:
            asked.append("availability")
            return NeedsDownload()

        async def prepare(
            self, on_progress: Callable[[float], None], signal: AbortSignal | None = None
        ) -> None:
            asked.append("prepare")

    await collect(Watched(), request(PageDouble(), "hello"))
    assert asked == []


async def test_a_provider_that_is_not_ready_ends_the_run() -> None:
    """A-014."""
    provider = ScriptedProvider([NotReady("big is not loaded; call prepare first")])
    assert await collect(provider, request(PageDouble(), "hello")) == [
        start(1),
        RunError("not-ready", "The on-device model failed: big is not loaded; call prepare first"),
    ]


# --- names and states --------------------------------------------------------------------------


async def test_providers_are_told_apart_by_id_and_named_by_label(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """B-006, B-007."""
    mine = ScriptedProvider([], id="my engine, nº 2", label="My engine")
    monkeypatch.setattr(detection, "default_providers", lambda: [Echo(), mine])
    assert [(each.id, each.label) for each in await detection.detect_local_providers()] == [
        ("echo", "Echo"),
        ("my engine, nº 2", "My engine"),
    ]


@pytest.mark.parametrize(
    ("state", "tag", "fields"),
    [
        (Available(), "available", {}),
        (NeedsDownload(), "needs-download", {"bytes": None, "note": None, "cached": False}),
        (Downloading(0.5), "downloading", {"progress": 0.5}),
        (Unavailable("no GPU"), "unavailable", {"reason": "no GPU"}),
    ],
)
async def test_availability_is_one_of_four_states(
    state: ProviderAvailability, tag: str, fields: dict[str, object]
) -> None:
    """B-012, B-038, B-039, B-041, B-042."""
    provider = ScriptedProvider([], availability=state)
    assert await provider.availability() == state
    assert dataclasses.asdict(state) == {**fields, "state": tag}


# --- options of an engine that are the loop's to bridge ----------------------------------------

SCRIPTS = [
    ("hello", ["Hello!"]),
    (FIND_MUG, [search(), open_(), "I opened the Blue mug page."]),
    (ADD_MUG, [add(), "Done! It is in your cart.", "Sorry, the mug is out of stock."]),
    (ADD_MUG, ["<tool_call>???</tool_call>", add(), "Sorry, the mug is out of stock."]),
]


@pytest.mark.parametrize(("ask", "texts"), SCRIPTS)
async def test_held_decoding_is_an_engines_own_matter(ask: str, texts: list[str]) -> None:
    """C-73: an engine that ignores the schemas it could hold to gets the same loop."""

    class Holding(Saying):
        async def generate(self, req: GenerateRequest) -> GenerateResult:
            held = [one.name for one in req.constraints or ()]
            assert held == [tool.name for tool in req.tools if tool.name in held] != []
            return await super().generate(req)

    holding = await collect(Holding(texts), request(PageDouble(), ask))
    assert await collect(Saying(texts), request(PageDouble(), ask)) == holding


async def test_an_engine_may_hold_to_the_pages_own_schemas() -> None:
    """C-73, C-37."""
    provider = Saying(["Hello!"])
    page = PageDouble([dataclasses.replace(SEARCH, description="x" * 500)])
    await collect(provider, request(page, "hello"))
    (held,) = list(provider.requests[0].constraints or ())
    assert isinstance(SEARCH.input_schema, dict)
    assert held == ToolConstraint(SEARCH.name, SEARCH.input_schema, SEARCH.fingerprint)
    (shown,) = provider.requests[0].tools
    assert len(shown.description) == 400


async def test_a_provider_that_ignores_its_signal_cannot_hold_a_run() -> None:
    """B-046."""
    seen: list[GenerateRequest] = []

    class Deaf(Echo):
        async def generate(self, req: GenerateRequest) -> GenerateResult:
            seen.append(req)
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return GenerateResult("too late")
            raise NotImplementedError

    options = LocalLoopOptions(step_timeout_ms=1)
    parts = await collect(Deaf(), request(PageDouble(), "hello"), options)
    assert parts == [
        start(1),
        RunError(
            "timeout",
            "The on-device model took too long. Try again, or ask for something simpler.",
        ),
    ]
    assert seen[0].signal.aborted
