"""What is left out of a prompt until it fits: tools first, then the oldest turns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, strategies as st
from page_double import ADD, OPEN, SEARCH, SHOP_ANSWERS, PageDouble, collect, request, tool
from shop_run import (
    ADD_MUG,
    FIND_MUG,
    MUGS,
    OPENED,
    SEARCHED,
    add,
    agent_message,
    counting_page,
    open_,
    restated,
    search,
    start,
    text,
    write,
)

from webmcp_agent.agent.fitting import fit, tool_plan, units_of
from webmcp_agent.agent.options import LocalLoopOptions
from webmcp_agent.agent.request import ChatMessage, TextPart, user_message
from webmcp_agent.agent.stream import AgentStreamPart, Finish, RunError
from webmcp_agent.browser.tools import ToolOk
from webmcp_agent.providers.base import (
    Available,
    ChatTurn,
    GenerateRequest,
    GenerateResult,
    PromptParts,
)
from webmcp_agent.providers.errors import NotReady, PromptTooLong
from webmcp_agent.providers.scripted import Reply, ScriptedProvider

TOO_LONG = RunError(
    "prompt-too-long",
    "This request is too long for the on-device model. "
    "Ask for something shorter, or start a new chat.",
)


@dataclass
class Window:
    """A model's window, and what was measured against it."""

    accepts: Callable[[PromptParts], bool]
    seen: list[PromptParts] = field(default_factory=list[PromptParts])

    def __call__(self, prompt: PromptParts) -> bool:
        assert_no_answer_without_its_call(prompt.messages)
        self.seen.append(prompt)
        return self.accepts(prompt)

    @property
    def tries(self) -> list[tuple[int, int]]:
        """(tools, turns) of each try."""
        return [(len(prompt.tools), len(prompt.messages)) for prompt in self.seen]


def of_size(tools: int, turns: int) -> Callable[[PromptParts], bool]:
    return lambda prompt: len(prompt.tools) <= tools and len(prompt.messages) <= turns


def assert_no_answer_without_its_call(turns: Sequence[ChatTurn]) -> None:
    """C-48."""
    assert turns[0].role == "user"
    for before, turn in zip(turns, turns[1:], strict=False):
        if turn.role == "tool":
            assert before.role in {"assistant", "tool"}


async def run(
    replies: Sequence[Reply],
    window: Window,
    ask: str | Sequence[ChatMessage] = ADD_MUG,
    page: PageDouble | None = None,
    options: LocalLoopOptions | None = None,
) -> tuple[list[AgentStreamPart], ScriptedProvider]:
    provider = ScriptedProvider(replies, fits=window)
    return await collect(provider, request(page or PageDouble(), ask), options), provider


CHAT = [
    message
    for number in (1, 2, 3, 4)
    for message in (user_message(f"said {number}"), agent_message(TextPart(f"answer {number}")))
]


@pytest.mark.parametrize(
    ("count", "max_tools", "plan"),
    [
        (20, 8, [8, 4, 2, 1]),
        (5, 8, [5, 4, 2, 1]),
        (4, 8, [4, 2, 1]),
        (3, 8, [3, 2, 1]),
        (1, 8, [1]),
        (0, 8, [0]),
        (20, 6, [6, 4, 2, 1]),
        (20, 1, [1]),
    ],
)
async def test_fewer_and_fewer_tools_are_tried(count: int, max_tools: int, plan: list[int]) -> None:
    """A-049, B-021."""
    assert tool_plan(count, max_tools) == plan
    window = Window(lambda _: False)
    parts, provider = await run(
        [], window, page=counting_page(count), options=LocalLoopOptions(max_tools=max_tools)
    )
    assert window.tries == [(tools, 1) for tools in plan]
    assert (parts, provider.requests) == ([start(1), TOO_LONG], [])


@pytest.mark.parametrize("fitting", [8, 4, 2, 1])
async def test_the_first_prompt_that_fits_is_generated(fitting: int) -> None:
    """A-049, B-019: what was measured is what the model gets."""
    window = Window(of_size(fitting, 1))
    _, provider = await run(["Hello!"], window, page=counting_page(20))
    assert window.tries == [(tools, 1) for tools in (8, 4, 2, 1) if tools >= fitting]
    sent = provider.requests[0]
    assert PromptParts(sent.system, sent.messages, sent.tools) == window.seen[-1]
    assert [shown.name for shown in provider.requests[0].constraints or ()] == [
        shown.name for shown in sent.tools
    ]


async def test_then_the_oldest_turns_are_dropped_with_what_followed_them() -> None:
    """A-050."""
    window = Window(of_size(1, 2))
    _, provider = await run(["Hello!"], window, [*CHAT, user_message("said 5")])
    assert window.tries == [(3, 9), (2, 9), (1, 9), (1, 7), (1, 5), (1, 3), (1, 1)]
    assert provider.requests[0].messages == (ChatTurn("user", "said 5"),)


async def test_the_newest_turn_of_the_person_always_stays() -> None:
    """A-051, A-052."""
    window = Window(lambda _: False)
    parts, _ = await run([], window, [*CHAT, user_message("said 5")])
    assert window.tries[-1] == (1, 1)
    assert window.seen[-1].messages == (ChatTurn("user", "said 5"),)
    assert parts == [start(1), TOO_LONG]


async def test_the_last_call_survives_as_a_line_of_the_newest_turn() -> None:
    """C-47."""
    window = Window(of_size(1, 2))
    _, provider = await run([search(), "I found it."], window, FIND_MUG)
    assert window.tries[3:] == [(3, 4), (2, 4), (1, 4), (1, 1)]
    assert provider.requests[1].messages == (
        ChatTurn("user", f"Result of search_products: 1 result: Blue mug\n{restated(FIND_MUG)}"),
    )


async def test_a_long_last_answer_is_shortened_before_it_is_folded() -> None:
    """C-47."""
    page = PageDouble(answers={"search_products": "x" * 1200})
    window = Window(lambda p: sum(len(turn.content) for turn in p.messages) < 800)
    _, provider = await run([search(), "I found it."], window, FIND_MUG, page)
    assert window.tries[1:] == [(3, 4), (2, 4), (1, 4), (1, 4)]
    assert provider.requests[1].messages == (
        ChatTurn("user", FIND_MUG),
        ChatTurn("assistant", search()),
        ChatTurn("tool", "x" * 399 + "…", "search_products"),
        ChatTurn("user", restated(FIND_MUG)),
    )
    tight = Window(lambda p: sum(len(turn.content) for turn in p.messages) < 420)
    _, provider = await run([search(), "I found it."], tight, FIND_MUG, page)
    assert tight.tries[1:] == [(3, 4), (2, 4), (1, 4), (1, 4), (1, 1)]
    assert provider.requests[1].messages == (
        ChatTurn("user", f"Result of search_products: {'x' * 199}…\n{restated(FIND_MUG)}"),
    )


@pytest.mark.parametrize(
    ("limit", "left"),
    [
        (1000, f"[page content] {'y' * (400 - 15 - 17)}… [/page content]"),
        (500, f"Result of read_reviews: [page content] {'y' * 199}… [/page content]"),
    ],
    ids=["shortened", "folded"],
)
async def test_shortened_text_of_other_people_stays_marked(limit: int, left: str) -> None:
    """C-47, C-06."""
    reviews = replace(tool("read_reviews"), untrusted=True)
    page = PageDouble([reviews], {"read_reviews": "y" * 2000})
    window = Window(lambda p: sum(len(turn.content) for turn in p.messages) < limit)
    _, provider = await run([write("read_reviews"), "They like it."], window, FIND_MUG, page)
    said = "\n".join(turn.content for turn in provider.requests[1].messages)
    assert left in said.splitlines()


async def test_only_the_last_call_survives() -> None:
    """C-47, C-48: an earlier one is dropped with its answer."""
    chat = [
        user_message(FIND_MUG),
        agent_message(SEARCHED),
        user_message("Open product 7", "u2"),
        agent_message(OPENED),
    ]
    window = Window(of_size(1, 1))
    _, provider = await run(["It is open."], window, chat)
    assert window.tries == [(3, 7), (2, 7), (1, 7), (1, 4), (1, 1)]
    assert provider.requests[0].messages == (
        ChatTurn(
            "user",
            "Result of open_product: Opened Blue mug.\nNext step for my request: Open product 7",
        ),
    )


async def test_all_calls_of_the_last_reply_are_folded() -> None:
    """C-47."""
    window = Window(of_size(3, 1))
    _, provider = await run([f"{search()}\n{open_()}", "It is open."], window, FIND_MUG)
    assert provider.requests[1].messages[0].content == (
        "Result of search_products: 1 result: Blue mug\n"
        f"Result of open_product: Opened Blue mug.\n{restated(FIND_MUG)}"
    )


async def test_turns_of_a_repair_or_a_correction_stay_with_the_newest_request() -> None:
    """A-051, C-48: the chat before it goes first."""
    window = Window(of_size(3, 3))
    _, provider = await run(
        ["Done! I added it to your cart.", "Sorry, I can't."],
        window,
        [*CHAT[:2], user_message(ADD_MUG)],
    )
    assert provider.requests[1].messages == (
        ChatTurn("user", ADD_MUG),
        ChatTurn("assistant", "Done! I added it to your cart."),
        ChatTurn(
            "user",
            "No tool was called, so nothing was done. "
            "Call a tool now, or tell me plainly that you can't.",
        ),
    )


async def test_without_fits_everything_fits() -> None:
    """B-020."""

    class Plain:
        id, label = "plain", "Plain"
        requests: list[GenerateRequest] = []

        async def availability(self) -> Available:
            return Available()

        async def prepare(self, on_progress: object, signal: object = None) -> None:
            return

        async def generate(self, req: GenerateRequest) -> GenerateResult:
            self.requests.append(req)
            return GenerateResult("Hello!")

    provider = Plain()
    chat = [*CHAT, user_message("z" * 50_000)]
    assert await collect(provider, request(counting_page(20), chat)) == [
        start(1),
        text("Hello!"),
        Finish("stop"),
    ]
    assert [(len(req.tools), len(req.messages)) for req in provider.requests] == [(8, 9)]


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (RuntimeError("no\ntokenizer"), "provider-failed", "no tokenizer"),
        (RuntimeError(), "provider-failed", "RuntimeError"),
        (NotReady("prepare it first"), "not-ready", "prepare it first"),
    ],
)
async def test_a_measurement_that_fails_ends_the_run(
    raised: Exception, code: str, said: str
) -> None:
    """A-014, A-057."""

    def broken(prompt: PromptParts) -> bool:
        raise raised

    provider = ScriptedProvider([], fits=broken)
    parts = await collect(provider, request(PageDouble(), FIND_MUG))
    assert [part.to_json() for part in parts[1:]] == [
        {"type": "error", "code": code, "message": f"The on-device model failed: {said}"}
    ]


async def test_a_model_that_lowers_its_window_gets_a_smaller_prompt_once() -> None:
    """C-49."""
    limits = iter([3, 1])
    limit = next(limits)

    def too_long(req: GenerateRequest) -> str:
        nonlocal limit
        limit = next(limits)
        raise PromptTooLong("out of memory")

    window = Window(lambda prompt: len(prompt.tools) <= limit)
    parts, provider = await run([too_long, "Hello!"], window, "hello")
    assert parts == [start(1), text("Hello!"), Finish("stop")]
    assert [len(req.tools) for req in provider.requests] == [3, 1]


async def test_a_prompt_that_is_too_long_twice_ends_the_run() -> None:
    """C-49."""
    raised = PromptTooLong("out of memory")
    parts, provider = await run([raised, raised], Window(lambda _: True))
    assert parts == [start(1), TOO_LONG]
    assert len(provider.requests) == 2


async def test_each_step_may_find_its_prompt_too_long_once() -> None:
    """C-49."""
    raised = PromptTooLong("out of memory")
    parts, provider = await run(
        [raised, search(), raised, "I found the Blue mug."], Window(lambda _: True), FIND_MUG
    )
    assert parts[-2:] == [text("I found the Blue mug."), Finish("stop")]
    assert len(provider.requests) == 4


@pytest.mark.parametrize("turns_fitting", range(1, 9))
async def test_no_answer_is_ever_without_its_call(turns_fitting: int) -> None:
    """C-48: in every prompt that was measured."""
    chat = [*CHAT[:4], user_message(ADD_MUG, "u9"), agent_message(SEARCHED, id="m9")]
    page = PageDouble(
        (SEARCH, OPEN, ADD), {**SHOP_ANSWERS, "add_to_cart": ToolOk('{"message": "Added."}')}
    )
    window = Window(lambda prompt: len(prompt.messages) <= turns_fitting)
    parts, provider = await run([open_(), add(), "It is in your cart."], window, chat, page)
    assert parts[-2:] == [text("It is in your cart."), Finish("stop")]
    last = provider.requests[-1].messages
    assert len(last) <= turns_fitting
    assert any("Added." in turn.content for turn in last)


TURNS = st.lists(st.sampled_from(["user", "call", "prose"]), max_size=12).map(
    lambda kinds: [
        ChatTurn("user", "first"),
        *(
            turn
            for number, kind in enumerate(kinds)
            for turn in {
                "user": [ChatTurn("user", f"said {number}")],
                "call": [ChatTurn("assistant", open_(number)), ChatTurn("tool", MUGS, "open")],
                "prose": [ChatTurn("assistant", f"answer {number}")],
            }[kind]
        ),
    ]
)


@given(TURNS, st.integers(0, 8), st.integers(1, 20))
async def test_what_is_left_is_a_beginning_of_tools_and_an_end_of_turns(
    turns: list[ChatTurn], count: int, limit: int
) -> None:
    """A-050, A-051, C-48."""

    def render(tools: int, kept: Sequence[ChatTurn]) -> PromptParts:
        return PromptParts(str(tools), tuple(kept), ())

    async def fits(prompt: PromptParts) -> bool:
        return len(prompt.messages) <= limit

    fitting = await fit(render, fits, turns, (), tool_plan(count, 8))
    newest = units_of(turns)[-1]
    if fitting.prompt is None:
        assert len(newest) > limit
        return
    kept = list(fitting.prompt.messages)
    assert len(kept) <= limit
    assert kept[-len(newest) + 1 :] == newest[1:] or len(newest) == 1
    assert kept[-len(newest)].content.endswith(newest[0].content)
    assert_no_answer_without_its_call(kept)
    assert not any(turn.role == "tool" for turn in turns) or any(
        turn.role == "tool" or "Result of open: " in turn.content for turn in kept
    )
