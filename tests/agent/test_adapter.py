"""The adapter: choosing a provider, making it ready, and going on with another one."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

import pytest
from page_double import PageDouble, check_grammar, collect, request
from shop_run import (
    ADD_MUG,
    FIND_MUG,
    add,
    counting_page,
    open_,
    opened,
    refused,
    search,
    searched,
    start,
    text,
    write,
)
from virtual_time import run_in_virtual_time

from webmcp_agent.agent import AgentAdapter, LocalAdapterOptions, create_local_adapter
from webmcp_agent.agent.adapter import AVAILABILITY_LIMIT_MS
from webmcp_agent.agent.loop import run_local_agent
from webmcp_agent.agent.options import LocalLoopOptions
from webmcp_agent.agent.request import AgentRunRequest, user_message
from webmcp_agent.agent.stream import AgentStreamPart, Finish, RunError, ToolCall
from webmcp_agent.agent.wording import STOPPED
from webmcp_agent.browser.tools import PageTool
from webmcp_agent.providers.abort import AbortController, AbortSignal
from webmcp_agent.providers.base import (
    Available,
    Downloading,
    GenerateRequest,
    ModelChoice,
    NeedsDownload,
    ProviderAvailability,
    Unavailable,
)
from webmcp_agent.providers.errors import Aborted
from webmcp_agent.providers.scripted import Reply, ScriptedProvider

HELLO = [start(1), text("Hello!"), Finish("stop")]


class Watched(ScriptedProvider):
    """A scripted provider that counts how often it is asked, prepared and freed."""

    def __init__(self, replies: list[Reply], **fields: Any) -> None:
        super().__init__(replies, **fields)
        self.asked = 0
        self.prepared: list[AbortSignal | None] = []
        self.progress: list[float] = []
        self.disposed = 0

    async def availability(self) -> ProviderAvailability:
        self.asked += 1
        return await super().availability()

    async def prepare(
        self, on_progress: Callable[[float], None], signal: AbortSignal | None = None
    ) -> None:
        self.prepared.append(signal)
        await super().prepare(on_progress, signal)

    def dispose(self) -> None:
        self.disposed += 1


class Breaking(Watched):
    """Gives its replies, then finds that it cannot run here after all."""

    async def generate(self, req: GenerateRequest) -> Any:
        if self._given < len(self._replies):
            return await super().generate(req)
        self.requests.append(req)
        self.broken = "the GPU is gone"
        raise RuntimeError("CUDA error")


async def run(adapter: AgentAdapter, req: AgentRunRequest) -> list[AgentStreamPart]:
    """All parts of an adapter's run, whose grammar is checked."""
    parts: list[AgentStreamPart] = []
    async with asyncio.timeout(60), aclosing(adapter.run(req)) as stream:
        async for part in stream:
            parts.append(part)
    check_grammar(parts)
    return parts


def over(*providers: Any, **fields: Any) -> Any:
    return create_local_adapter(providers=providers, **fields)


# --- the body of a run -------------------------------------------------------------------------

SCRIPTS: list[tuple[str, list[Reply]]] = [
    ("hello", ["Hello! How can I help?"]),
    (FIND_MUG, [search(), open_(), "I opened the Blue mug page."]),
    (ADD_MUG, [add(), "Done! It is in your cart.", "Sorry, the mug is out of stock."]),
    (ADD_MUG, [write("fly_away"), "<tool_call>???</tool_call>"]),
    (FIND_MUG, [search(), search(), search()]),
    (ADD_MUG, [search("a"), RuntimeError("CUDA out of memory")]),
]


@pytest.mark.parametrize(("ask", "replies"), SCRIPTS)
async def test_an_adapter_runs_the_loop_and_nothing_else(ask: str, replies: list[Reply]) -> None:
    """A-004, B-048."""
    by_hand = await collect(ScriptedProvider(replies), request(PageDouble(), ask))
    adapter = over(ScriptedProvider(replies))
    assert await run(adapter, request(PageDouble(), ask)) == by_hand


@pytest.mark.parametrize(("ask", "replies"), SCRIPTS)
async def test_every_provider_gets_the_same_loop(ask: str, replies: list[Reply]) -> None:
    """A-001."""
    one = ScriptedProvider(replies)
    other = ScriptedProvider(replies, id="other", label="Other", call_format="pythonic")
    parts = await run(over(one), request(PageDouble(), ask))
    assert await run(over(other), request(PageDouble(), ask)) == parts
    assert [len(req.messages) for req in one.requests] == [len(r.messages) for r in other.requests]


class MyAdapter:
    """An adapter around a provider of one's own, with the loop's limits set."""

    id = "my-local"
    label = "My model"

    def __init__(self, provider: Watched) -> None:
        self._provider = provider

    async def prepare(self, signal: AbortSignal | None = None) -> None:
        await self._provider.prepare(lambda _: None, signal)

    def run(self, req: AgentRunRequest) -> AsyncGenerator[AgentStreamPart]:
        options = LocalLoopOptions(
            max_steps=4,
            max_tools=6,
            tools_inline=self._provider.tools_inline,
            instructions="add_to_cart exists only on a product's page.",
        )
        return run_local_agent(self._provider, req, options)


async def test_an_adapter_of_ones_own_needs_four_members() -> None:
    """A-005, A-007, A-009."""
    provider = Watched([write("tool_1", n=n) for n in range(4)], availability=NeedsDownload())
    adapter: AgentAdapter = MyAdapter(provider)
    assert {name for name in dir(adapter) if not name.startswith("_")} == {
        "id",
        "label",
        "prepare",
        "run",
    }
    await adapter.prepare(AbortSignal())
    page = counting_page(20)
    parts = await run(adapter, request(page, "Do it"))
    assert parts[-1] == Finish("max-steps")
    assert page.calls == [("tool_1", {"n": n}) for n in range(4)]
    assert [len(req.tools) for req in provider.requests] == [6, 6, 6, 6]
    assert "About this site:\nadd_to_cart exists only" in provider.requests[0].system


async def test_stop_reaches_the_preparing_of_a_provider() -> None:
    """A-009."""
    stop = AbortController()
    stop.abort("not now")
    provider = Watched([], availability=NeedsDownload())
    with pytest.raises(Aborted, match="not now"):
        await MyAdapter(provider).prepare(stop.signal)
    assert await provider.availability() == NeedsDownload()


@pytest.mark.parametrize("inline", [False, True])
async def test_an_adapter_hands_on_that_the_tools_stand_in_the_prompt(inline: bool) -> None:
    """A-027."""
    by_hand = ScriptedProvider(["Hello!"], tools_inline=inline)
    await collect(by_hand, request(PageDouble(), "hello"), LocalLoopOptions(tools_inline=inline))
    provider = ScriptedProvider(["Hello!"], tools_inline=inline)
    assert await run(over(provider), request(PageDouble(), "hello")) == HELLO
    assert provider.requests[0].system == by_hand.requests[0].system
    assert ("- search_products: " in provider.requests[0].system) is inline


async def test_an_adapter_takes_three_of_the_limits() -> None:
    """A-095."""
    provider = ScriptedProvider([write("tool_1", n=n) for n in range(3)])
    adapter = create_local_adapter(
        LocalAdapterOptions(providers=[provider], max_steps=2, instructions="Count.")
    )
    parts = await run(adapter, request(counting_page(1), "Do it"))
    assert parts[-2:] == [
        text(
            "done\n\nI stopped after 2 steps without finishing. "
            "Tell me to continue, or say it another way."
        ),
        Finish("max-steps"),
    ]
    assert "About this site:\nCount." in provider.requests[0].system


def test_an_adapter_takes_the_limit_of_a_generation() -> None:
    """A-095."""

    async def never(req: GenerateRequest) -> str:
        await asyncio.Event().wait()
        raise NotImplementedError

    adapter = over(ScriptedProvider([never]), step_timeout_ms=50)
    parts, took_ms = run_in_virtual_time(run(adapter, request(PageDouble(), "hello")))
    assert isinstance(parts[-1], RunError)
    assert (parts[-1].code, took_ms) == ("timeout", 50)


@pytest.mark.parametrize("field", ["max_tools", "tools_inline", "max_step"])
def test_an_adapter_has_no_other_limits(field: str) -> None:
    """A-096."""
    fields: dict[str, Any] = {field: 1}
    with pytest.raises(TypeError, match=field):
        create_local_adapter(**fields)
    with pytest.raises(TypeError, match=field):
        LocalAdapterOptions(**fields)


@pytest.mark.parametrize("field", ["max_steps", "step_timeout_ms"])
def test_an_adapter_refuses_a_limit_below_one_at_once(field: str) -> None:
    """C-14."""
    with pytest.raises(ValueError, match=f"^{field} must be at least 1, not 0$"):
        over(**{field: 0})


def test_options_and_single_fields_exclude_each_other() -> None:
    with pytest.raises(TypeError, match="not both"):
        create_local_adapter(LocalAdapterOptions(), id="mine")


def test_an_adapter_says_who_it_is() -> None:
    assert (over().id, over().label) == ("local", "On this computer")
    mine = over(id="mine", label="My model")
    assert (mine.id, mine.label) == ("mine", "My model")


# --- ready or not ------------------------------------------------------------------------------


async def test_a_provider_that_is_available_runs_without_being_prepared() -> None:
    """B-038."""
    provider = Watched(["Hello!"])
    assert await run(over(provider), request(PageDouble(), "hello")) == HELLO
    assert (provider.asked, provider.prepared) == (1, [])


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (NeedsDownload(), "The model needs a download of some files first."),
        (NeedsDownload(bytes=491_000_000), "The model needs a download of 491 MB first."),
        (NeedsDownload(1_200_000_000, "a note"), "The model needs a download of 1.2 GB first."),
        (Downloading(0.42), "The model is still downloading (42%)."),
    ],
)
async def test_a_download_is_the_persons_to_start(state: ProviderAvailability, said: str) -> None:
    """A-008, B-017, B-039, B-041."""
    provider = Watched(["Hello!"], availability=state)
    adapter = over(provider)
    parts = await run(adapter, request(PageDouble(), "hello"))
    assert parts == [RunError("needs-download", said)]
    assert (provider.prepared, provider.requests) == ([], [])

    signal = AbortSignal()
    await adapter.prepare(signal)
    assert provider.prepared == [signal]
    assert await adapter.availability() == Available()
    assert await run(adapter, request(PageDouble(), "hello")) == HELLO
    assert provider.prepared == [signal]


async def test_what_was_downloaded_before_loads_by_itself_on_first_use() -> None:
    """B-040, B-017."""
    provider = Watched(["Hello!", "Hello!"], availability=NeedsDownload(cached=True))
    adapter = over(provider)
    req = request(PageDouble(), "hello")
    assert await run(adapter, req) == HELLO
    assert await run(adapter, req) == HELLO
    assert provider.prepared == [req.signal]


async def test_a_provider_that_cannot_run_here_is_skipped() -> None:
    """B-042."""
    first = Watched(["Not me"], availability=Unavailable("no GPU"))
    second = Watched(["Hello!"])
    adapter = over(first, second)
    assert await run(adapter, request(PageDouble(), "hello")) == HELLO
    assert (first.requests, first.prepared) == ([], [])
    assert await adapter.availability() == Available()


async def test_the_reasons_of_all_are_shown_when_none_can_run() -> None:
    """B-042."""
    broken = Watched([], label="Broken")
    broken.broken = "the GPU is gone"
    adapter = over(
        Watched([], label="Big", availability=Unavailable("no GPU")),
        broken,
        Watched([], label="Small", availability=Unavailable("no memory")),
    )
    reasons = "Big: no GPU; Broken: the GPU is gone; Small: no memory"
    assert await run(adapter, request(PageDouble(), "hello")) == [RunError("unavailable", reasons)]
    assert await adapter.availability() == Unavailable(reasons)
    await adapter.prepare()
    assert broken.prepared == []


async def test_an_adapter_without_providers_says_so() -> None:
    parts = await run(over(), request(PageDouble(), "hello"))
    assert parts == [RunError("unavailable", "there is no model provider")]


async def test_availability_is_asked_once_until_something_changes_it() -> None:
    """B-012."""
    provider = Watched(["Hello!"] * 3, availability=NeedsDownload())
    adapter = over(provider)
    for _ in range(3):
        assert await adapter.availability() == NeedsDownload()
    assert provider.asked == 1
    await adapter.prepare()
    for _ in range(3):
        assert await run(adapter, request(PageDouble(), "hello")) == HELLO
    assert provider.asked == 2


async def test_the_progress_of_a_download_is_asked_each_time() -> None:
    """B-041."""

    class Loading(Watched):
        state: ProviderAvailability = Downloading(0.1)

        async def availability(self) -> ProviderAvailability:
            return self.state

    provider = Loading([])
    adapter = over(provider)
    assert await adapter.availability() == Downloading(0.1)
    provider.state = Downloading(0.9)
    assert await adapter.availability() == Downloading(0.9)


async def test_a_run_during_a_download_says_how_far_it_is() -> None:
    """B-041."""
    began, go_on = asyncio.Event(), asyncio.Event()

    class Slow(Watched):
        async def prepare(
            self, on_progress: Callable[[float], None], signal: AbortSignal | None = None
        ) -> None:
            self._availability = Downloading(0.5)
            began.set()
            await go_on.wait()
            await super().prepare(on_progress, signal)

    adapter = over(Slow(["Hello!"], availability=NeedsDownload()))
    assert await adapter.availability() == NeedsDownload()
    async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
        tasks.create_task(adapter.prepare())
        await began.wait()
        assert await run(adapter, request(PageDouble(), "hello")) == [
            RunError("needs-download", "The model is still downloading (50%).")
        ]
        go_on.set()
    assert await run(adapter, request(PageDouble(), "hello")) == HELLO


async def test_a_prepare_that_fails_is_shown_and_may_be_tried_again() -> None:
    """A-057, B-048."""

    class Failing(Watched):
        async def prepare(
            self, on_progress: Callable[[float], None], signal: AbortSignal | None = None
        ) -> None:
            await super().prepare(on_progress, signal)
            if len(self.prepared) == 1:
                self._availability = NeedsDownload(cached=True)
                raise OSError("the disk\nis full")

    adapter = over(Failing(["Hello!"], availability=NeedsDownload(cached=True)))
    assert await run(adapter, request(PageDouble(), "hello")) == [
        RunError("provider-failed", "The on-device model failed: the disk is full")
    ]
    assert await run(adapter, request(PageDouble(), "hello")) == HELLO


async def test_a_provider_that_fails_to_say_what_it_needs_is_unavailable() -> None:
    """B-012."""

    class Raising(Watched):
        async def availability(self) -> ProviderAvailability:
            raise OSError("no such folder")

    adapter = over(Raising([]), Watched(["Hello!"]))
    assert await run(adapter, request(PageDouble(), "hello")) == HELLO
    assert await over(Raising([], label="Mine")).availability() == Unavailable(
        "Mine: no such folder"
    )


def test_a_provider_that_never_says_what_it_needs_is_unavailable() -> None:
    """B-012."""

    class Silent(Watched):
        async def availability(self) -> ProviderAvailability:
            await asyncio.Event().wait()
            raise NotImplementedError

    adapter = over(Silent([]), Watched(["Hello!"]))
    parts, took_ms = run_in_virtual_time(run(adapter, request(PageDouble(), "hello")))
    assert (parts, took_ms) == (HELLO, AVAILABILITY_LIMIT_MS)


# --- Stop --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "state",
    [Available(), NeedsDownload(), NeedsDownload(cached=True), Downloading(0.5), Unavailable("no")],
)
async def test_stop_before_the_start_ends_a_run_whatever_the_provider_needs(
    state: ProviderAvailability,
) -> None:
    """A-088."""
    stop = AbortController()
    stop.abort()
    provider = Watched(["Hello!"], availability=state)
    parts = await run(over(provider), request(PageDouble(), "hello", stop.signal))
    assert parts == [Finish("aborted")]
    assert (provider.prepared, provider.requests) == ([], [])


@pytest.mark.parametrize("waits", ["availability", "prepare"])
async def test_stop_ends_a_wait_on_a_provider_that_ignores_it(waits: str) -> None:
    """A-088, A-009."""
    stop = AbortController()

    class Deaf(Watched):
        async def availability(self) -> ProviderAvailability:
            if waits == "availability":
                await self._hang()
            return await super().availability()

        async def prepare(
            self, on_progress: Callable[[float], None], signal: AbortSignal | None = None
        ) -> None:
            await self._hang()

        async def _hang(self) -> None:
            stop.abort("enough")
            await asyncio.Event().wait()

    adapter = over(Deaf([], availability=NeedsDownload(cached=True)), Watched(["Not me"]))
    parts = await run(adapter, request(PageDouble(), "hello", stop.signal))
    assert parts == [Finish("aborted")]
    stop = AbortController()
    async with asyncio.timeout(5):
        with pytest.raises(Aborted, match="enough"):
            await adapter.prepare(stop.signal)


async def test_stop_beats_a_provider_that_breaks_because_of_it() -> None:
    """A-088."""
    stop = AbortController()

    class BrokenByStop(Watched):
        async def prepare(
            self, on_progress: Callable[[float], None], signal: AbortSignal | None = None
        ) -> None:
            stop.abort()
            self.broken = "stopped half-way"
            raise RuntimeError("stopped half-way")

    second = Watched(["Not me"], availability=NeedsDownload())
    adapter = over(BrokenByStop([], availability=NeedsDownload(cached=True)), second)
    parts = await run(adapter, request(PageDouble(), "hello", stop.signal))
    assert parts == [Finish("aborted")]


async def test_leaving_a_run_early_leaves_nothing_running() -> None:
    """C-10."""
    began, stopped = asyncio.Event(), asyncio.Event()

    async def never(req: GenerateRequest) -> str:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        raise NotImplementedError

    before = asyncio.all_tasks()
    async with asyncio.timeout(5):
        stream = over(ScriptedProvider([never])).run(request(PageDouble(), "hello"))
        assert await anext(stream) == start(1)
        waiting = asyncio.create_task(anext(stream))
        await began.wait()
        waiting.cancel()
        await asyncio.wait([waiting])
        assert waiting.cancelled()
        await stream.aclose()
        await stopped.wait()
        # Tasks that were told to end have ended once they had their turn.
        await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


# --- going on with another provider ------------------------------------------------------------


async def test_a_run_goes_on_with_the_next_provider_and_repeats_no_call() -> None:
    """B-011, B-047, C-05."""
    page = PageDouble()
    first, second = Breaking([search(), open_()]), Watched([add(), "It is out of stock, sorry."])
    adapter = over(first, second)
    assert await run(adapter, request(page, ADD_MUG)) == [
        start(1),
        *searched("c1.1"),
        start(2),
        *opened("c2.1"),
        start(3),
        *refused("c3.1"),
        start(4),
        text("It is out of stock, sorry."),
        Finish("stop"),
    ]
    assert page.calls == [
        ("search_products", {"query": "mug"}),
        ("open_product", {"id": 7}),
        ("add_to_cart", {}),
    ]
    assert [turn.role for turn in second.requests[0].messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "user",
    ]
    assert second.requests[0].messages[-1].content == f"Next step for my request: {ADD_MUG}"


async def test_a_broken_provider_is_never_asked_to_generate_again() -> None:
    """B-011."""
    first, second = Breaking([]), Watched(["Hello!", "Hello!"])
    adapter = over(first, second)
    assert await run(adapter, request(PageDouble(), "hello")) == HELLO
    assert await run(adapter, request(PageDouble(), "hello")) == HELLO
    assert (len(first.requests), len(second.requests)) == (1, 2)
    before = Watched(["Not me"])
    before.broken = "the GPU is gone"
    assert await run(over(before, Watched(["Hello!"])), request(PageDouble(), "hello")) == HELLO
    assert (before.requests, before.asked) == ([], 0)


async def test_providers_that_break_one_after_the_other_share_one_run() -> None:
    """B-047."""
    page = PageDouble()
    adapter = over(Breaking([search()]), Breaking([]), Breaking([open_()]), Watched(["Open."]))
    assert await run(adapter, request(page, "Find and open the mug")) == [
        start(1),
        *searched("c1.1"),
        start(2),
        *opened("c2.1"),
        start(3),
        text("Open."),
        Finish("stop"),
    ]
    assert [name for name, _ in page.calls] == ["search_products", "open_product"]


async def test_the_error_of_the_last_provider_is_shown() -> None:
    """B-048, A-057."""
    error = RunError("provider-failed", "The on-device model failed: CUDA error")
    unavailable = Watched([], availability=Unavailable("no GPU"))
    parts = await run(over(Breaking([search()]), unavailable), request(PageDouble(), ADD_MUG))
    assert parts == [start(1), *searched("c1.1"), start(2), error]


async def test_an_error_of_a_provider_that_is_not_broken_is_shown() -> None:
    """B-048."""
    second = Watched(["Not me"])
    first = Watched([RuntimeError("CUDA out of memory")])
    parts = await run(over(first, second), request(PageDouble(), "hello"))
    assert parts == [
        start(1),
        RunError("provider-failed", "The on-device model failed: CUDA out of memory"),
    ]
    assert second.requests == []


async def test_a_provider_that_breaks_while_it_loads_is_passed_over() -> None:
    """B-011, B-047."""

    class BreaksEarly(Watched):
        async def prepare(
            self, on_progress: Callable[[float], None], signal: AbortSignal | None = None
        ) -> None:
            self.broken = "no memory"
            raise MemoryError("no memory")

    cached = NeedsDownload(cached=True)
    adapter = over(BreaksEarly([], availability=cached), Watched(["Hello!"], availability=cached))
    assert await run(adapter, request(PageDouble(), "hello")) == HELLO
    alone = over(BreaksEarly([], availability=cached))
    assert await run(alone, request(PageDouble(), "hello")) == [
        RunError("provider-failed", "The on-device model failed: no memory")
    ]


async def test_the_next_provider_may_need_a_download() -> None:
    """B-047."""
    second = Watched(["Not me"], availability=NeedsDownload(bytes=2_000_000))
    parts = await run(over(Breaking([search()]), second), request(PageDouble(), ADD_MUG))
    assert parts == [
        start(1),
        *searched("c1.1"),
        start(2),
        RunError("needs-download", "The model needs a download of 2 MB first."),
    ]


async def test_steps_that_were_used_count_after_a_switch() -> None:
    """B-047."""
    page = counting_page(1)
    adapter = over(
        Breaking([write("tool_1", n=1), write("tool_1", n=2)]),
        Watched([write("tool_1", n=3)]),
        max_steps=3,
    )
    parts = await run(adapter, request(page, "Do it"))
    assert [part.id for part in parts if isinstance(part, ToolCall)] == ["c1.1", "c2.1", "c3.1"]
    assert parts[-3:] == [
        start(4),
        text(
            "done\n\nI stopped after 3 steps without finishing. "
            "Tell me to continue, or say it another way."
        ),
        Finish("max-steps"),
    ]


async def test_a_switch_forgets_neither_repeats_nor_the_last_failure() -> None:
    """B-047, A-041, A-042."""
    adapter = over(Breaking([search(), search()]), Watched([search()]))
    assert await run(adapter, request(PageDouble(), FIND_MUG)) == [
        start(1),
        *searched("c1.1"),
        start(2),
        *searched("c2.1"),
        start(3),
        *searched("c3.1"),
        start(4),
        text("I stopped because I was going in circles. 1 result: Blue mug"),
        Finish("loop"),
    ]
    second = Watched(["Done! It is in your cart.", "It is out of stock, sorry."])
    await run(over(Breaking([add()]), second), request(PageDouble(), ADD_MUG))
    assert "Don't say it worked" in second.requests[1].messages[-1].content


async def test_a_switch_keeps_an_earlier_conversation() -> None:
    """B-047, C-05."""
    chat = [user_message("hello"), user_message(FIND_MUG, "u2")]
    second = Watched(["I found the Blue mug."])
    await run(over(Breaking([search()]), second), request(PageDouble(), chat))
    assert [turn.content for turn in second.requests[0].messages if turn.role == "user"] == [
        "hello",
        FIND_MUG,
        f"Next step for my request: {FIND_MUG}",
    ]


async def test_calls_go_back_in_the_form_of_the_provider_that_goes_on() -> None:
    """B-010, B-047."""
    second = Watched(["I found the Blue mug."], call_format="pythonic")
    await run(over(Breaking([search()]), second), request(PageDouble(), FIND_MUG))
    assert (
        second.requests[0].messages[1].content
        == '<|tool_call_start|>[search_products(query="mug")]<|tool_call_end|>'
    )


async def test_a_page_that_cannot_be_read_is_no_reason_to_switch() -> None:
    """B-048."""

    class Gone(PageDouble):
        async def list_tools(self) -> list[PageTool]:
            raise RuntimeError("the page is gone")

    first, second = Watched([search()]), Watched(["Not me"])

    class BreaksLater(PageDouble):
        async def list_tools(self) -> Any:
            if self.calls:
                first.broken = "the GPU is gone"
                raise RuntimeError("the page is gone")
            return await super().list_tools()

    gone = RunError("unavailable", "The page's tools could not be read: the page is gone")
    assert await run(over(first, second), request(BreaksLater(), FIND_MUG)) == [
        start(1),
        *searched("c1.1"),
        start(2),
        gone,
    ]
    assert await run(over(second), request(Gone(), FIND_MUG)) == [start(1), gone]
    assert second.requests == []


async def test_stop_during_a_call_after_a_switch_is_answered_as_ever() -> None:
    """A-088, C-01."""
    stop = AbortController()

    async def stopping(args: object) -> str:
        stop.abort()
        await asyncio.Event().wait()
        raise NotImplementedError

    page = PageDouble()
    page.answers["open_product"] = stopping
    adapter = over(Breaking([search()]), Watched([open_()]))
    parts = await run(adapter, request(page, ADD_MUG, stop.signal))
    assert [part.to_json() for part in parts[-3:]] == [
        {"type": "tool-call", "id": "c2.1", "name": "open_product", "args": {"id": 7}},
        {
            "type": "tool-error",
            "id": "c2.1",
            "name": "open_product",
            "code": "cancelled",
            "error": STOPPED,
            "may_have_happened": True,
        },
        {"type": "finish", "reason": "aborted"},
    ]


# --- models ------------------------------------------------------------------------------------


class Choosing(Watched):
    """Two models, of which one is here."""

    selected = "small"

    def models(self) -> list[ModelChoice]:
        return [
            ModelChoice("small", "Small", cached=True, selected=self.selected == "small"),
            ModelChoice("big", "Big", bytes=10, selected=self.selected == "big"),
        ]

    async def select_model(self, id: str) -> None:
        if id not in {"small", "big"}:
            raise ValueError(f"there is no model {id!r}")
        self.selected = id
        self._availability = Available() if id == "small" else NeedsDownload(bytes=10)


async def test_the_models_of_a_provider_are_the_adapters() -> None:
    """B-022, B-025."""
    adapter = over(Watched(["Not me"], availability=Unavailable("no GPU")), Choosing([]))
    assert [(model.id, model.label, model.selected) for model in adapter.models()] == [
        ("small", "Small", True),
        ("big", "Big", False),
    ]
    assert await adapter.availability() == Available()
    await adapter.select_model("big")
    assert await adapter.availability() == NeedsDownload(bytes=10)
    assert [model.id for model in adapter.models() if model.selected] == ["big"]
    with pytest.raises(ValueError, match="huge"):
        await adapter.select_model("huge")


async def test_a_provider_with_one_model_gives_no_choice() -> None:
    """B-023, B-049."""
    adapter = over(Watched(["Hello!"]))
    assert adapter.models() == ()
    with pytest.raises(ValueError, match="there is no choice of models, so none is called 'big'"):
        await adapter.select_model("big")
    assert await run(adapter, request(PageDouble(), "hello")) == HELLO


def test_an_adapter_frees_what_its_providers_hold() -> None:
    """Twice is fine."""
    first, second = Watched([]), Watched([])
    adapter = over(first, ScriptedProvider([]), second)
    adapter.dispose()
    adapter.dispose()
    assert (first.disposed, second.disposed) == (2, 2)


def test_without_providers_the_known_ones_are_taken() -> None:
    adapter: Any = create_local_adapter()
    assert [provider.id for provider in adapter._providers] == ["transformers"]


async def test_one_adapter_serves_one_request_after_the_other() -> None:
    """A-017."""
    adapter = over(Watched([search(), "Found.", open_(), "Open."]))
    page = PageDouble()
    for ask, name, answer in (
        (FIND_MUG, "search_products", "Found."),
        ("Open product 7", "open_product", "Open."),
    ):
        parts = await run(adapter, request(page, ask))
        assert [part.name for part in parts if isinstance(part, ToolCall)] == [name]
        assert parts[-2:] == [text(answer), Finish("stop")]
