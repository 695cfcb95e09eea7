"""Looked-up drafts: what they are, and that replies are the same with and without them."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from webmcp_agent.providers.abort import AbortController, AbortSignal
from webmcp_agent.providers.base import JsonObject, ToolConstraint
from webmcp_agent.providers.errors import Aborted
from webmcp_agent.providers.generation import Budget, Engine, Reply
from webmcp_agent.providers.grammar import Grammars
from webmcp_agent.providers.prompt_lookup import DRAFT, PromptLookup

Lead = Callable[[Engine, int, str], None]
Engines = Callable[[bool], Engine]

SEARCH: JsonObject = {
    "type": "object",
    "properties": {
        "query": {"type": "string"},
        "size": {"enum": ["small", "large"]},
        "limit": {"type": "integer", "minimum": 1, "maximum": 20},
    },
    "required": ["query"],
}
TOOLS = (
    ToolConstraint("search_products", SEARCH, "1"),
    ToolConstraint("open_product", {"type": "object", "properties": {"id": SEARCH}}, "2"),
)
CALL = (
    '<tool_call>\n{"name": "search_products", "arguments": '
    '{"query": "blue mug, and the red one", "limit": 7}}\n</tool_call>'
)


@pytest.mark.parametrize(
    ("tokens", "most", "draft"),
    [
        pytest.param([1, 2, 3, 4, 1, 2], 9, [3, 4, 1, 2], id="what followed"),
        pytest.param([1, 2, 3, 4, 1, 2], 2, [3, 4], id="no more than asked for"),
        pytest.param([1, 2, 3, 8, 1, 2, 4, 1, 2], 1, [4], id="where they stood last"),
        pytest.param([9, 1, 2, 3, 8, 1, 2, 4, 9, 1, 2], 1, [3], id="the longer group first"),
        pytest.param([1, 5, 2, 1], 9, [], id="one equal token is not enough"),
        pytest.param([1, 2, 3, 4], 9, [], id="nothing is repeated"),
        pytest.param([7, 7, 7], 9, [7], id="not the newest group itself"),
        pytest.param([1, 2, 3, 1, 2], 0, [], id="no room"),
        pytest.param([1], 9, [], id="too short"),
        pytest.param([], 9, [], id="empty"),
    ],
)
def test_a_draft_is_what_followed_where_the_newest_tokens_stood(
    tokens: list[int], most: int, draft: list[int]
) -> None:
    lookup = PromptLookup(tokens)
    assert lookup.draft(most) == draft
    grown = PromptLookup()
    for token in tokens:
        grown.add([token])
    assert grown.draft(most) == draft


@pytest.fixture(scope="module")
def engines(new_model: Callable[..., Any], tiny_tokenizer: Any) -> Engines:
    """Engines with drafts and without, each over a random model of its own; all are alike."""
    backend = tiny_tokenizer.backend_tokenizer

    def engine(prompt_lookup: bool) -> Engine:
        grammars = Grammars(
            backend.to_str(),
            end_ids=[0, 1, 2],
            added=tiny_tokenizer.get_added_vocab(),
            warn=lambda _: None,
        )
        return Engine(
            new_model(len(tiny_tokenizer)),
            backend,
            end_ids=[0, 1, 2],
            grammars=grammars,
            reuse_prefix=True,
            prompt_lookup=prompt_lookup,
        )

    return engine


class Counted:
    """An engine's replies, and how often and for how many tokens the model was asked."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.asked: list[int] = []

    def reply(self, prompt: Sequence[int], *, answer: int = 60, **given: Any) -> Reply:
        self.asked = []
        hook = self.engine.model.register_forward_hook(self._count, with_kwargs=True)
        try:
            budget = Budget(answer=answer, reasoning=8, total=2000)
            return self.engine.reply(prompt, budget, AbortSignal(), **given)
        finally:
            hook.remove()

    def _count(self, _: Any, __: Any, given: dict[str, Any], ___: Any) -> None:
        self.asked.append(int(given["input_ids"].shape[1]))


def encoded(engine: Engine, text: str) -> list[int]:
    return engine.tokenizer.encode(text, add_special_tokens=False).ids


@pytest.mark.model
@pytest.mark.parametrize("held", [(), TOOLS], ids=["free", "held to a schema"])
@pytest.mark.parametrize(
    "before",
    [
        pytest.param(CALL, id="the whole call was read before"),
        pytest.param("the red one, or the blue mug, and the red one?", id="a value was read"),
        pytest.param('"blue mug, and the green one"', id="a value that goes on in another way"),
        pytest.param('<tool_call>\n{"name": "search_products", "x": 1}', id="what may not follow"),
        pytest.param("Nothing of the kind.", id="nothing was read before"),
    ],
)
def test_a_call_is_written_the_same_with_drafts_and_in_no_more_passes(
    engines: Engines, lead: Lead, before: str, held: tuple[ToolConstraint, ...]
) -> None:
    results: list[tuple[Reply, Reply]] = []
    passes: list[int] = []
    for drafts in (False, True):
        asked = Counted(engines(drafts))
        prompt = encoded(asked.engine, f"user {before} assistant ")
        lead(asked.engine, len(prompt), CALL)
        first = asked.reply(prompt, answer=300, constraints=held)
        passes.append(len(asked.asked))
        # The step after it goes on from a cache in which no rejected token is left.
        longer = [*prompt, *encoded(asked.engine, CALL), 5, 6]
        lead(asked.engine, len(longer), "The red one costs 9.")
        results.append((first, asked.reply(longer)))
    assert results[0] == results[1]
    assert results[0][0].text == CALL
    assert passes[1] <= passes[0]
    if before == CALL:
        assert passes[1] < 0.5 * passes[0]


PROMPTS = st.lists(st.sampled_from([5, 6, 7, 8, 9, 40, 41, 300]), min_size=1, max_size=40)


@pytest.mark.model
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(prompts=st.lists(PROMPTS, min_size=1, max_size=3), answer=st.integers(1, 40))
def test_a_model_that_knows_nothing_writes_the_same_with_drafts(
    engines: Engines, prompts: list[list[int]], answer: int
) -> None:
    """Replies, reasons to end, and what was reused: prompts of few words, so that drafts abound."""
    plain, drafts = engines(False), engines(True)
    for prompt in prompts:
        expected = Counted(plain).reply(prompt, answer=answer, constraints=TOOLS)
        assert Counted(drafts).reply(prompt, answer=answer, constraints=TOOLS) == expected


@pytest.mark.model
def test_reasoning_ends_where_its_budget_does_with_drafts(engines: Engines) -> None:
    prompt = [40, 41, 42, 40, 41, 42, 40, 41]
    plain, drafts = (Counted(engines(on)).reply(prompt, reasoning=True) for on in (False, True))
    assert plain == drafts


@pytest.mark.model
def test_the_budget_is_not_passed_by_a_draft(engines: Engines, lead: Lead) -> None:
    """No position behind the window is asked for, however good the draft would be."""
    asked = Counted(engines(True))
    text = "the red one costs 9, and the blue mug costs 8 euros"
    prompt = encoded(asked.engine, f"{text} or {text}. So ")
    lead(asked.engine, len(prompt), text)
    budget = Budget(answer=100, reasoning=1, total=len(prompt) + 5)
    reply = asked.engine.reply(prompt, budget, AbortSignal())
    assert (reply.finish_reason, reply.completion_tokens) == ("length", 5)
    assert max(asked.asked, default=0) <= DRAFT + 1


@pytest.mark.model
def test_stop_in_the_middle_of_drafts_leaves_a_cache_that_is_exact(
    engines: Engines, lead: Lead
) -> None:
    engine, fresh = engines(True), engines(False)
    prompt = encoded(engine, f"user {CALL} assistant ")
    lead(engine, len(prompt), CALL)
    stop = AbortController()
    told: list[str] = []

    def on_text(piece: str) -> None:
        told.append(piece)
        if len("".join(told)) > len(CALL) // 2:
            stop.abort()

    with pytest.raises(Aborted):
        engine.reply(prompt, Budget(300, 8, 2000), stop.signal, on_text=on_text)
    assert CALL.startswith("".join(told))
    longer = [*prompt, *encoded(engine, CALL)]
    lead(engine, len(longer), "It costs 8 euros.")
    lead(fresh, len(longer), "It costs 8 euros.")
    assert Counted(engine).reply(longer).text == Counted(fresh).reply(longer).text


@pytest.mark.model
@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("MistralConfig", {"sliding_window": 8}),
        ("Lfm2Config", {"layer_types": ["conv", "full_attention"]}),
    ],
)
def test_a_model_whose_cache_cannot_forget_makes_no_drafts(
    new_model: Callable[..., Any], tiny_tokenizer: Any, kind: str, fields: dict[str, Any]
) -> None:
    asked: list[list[int]] = []
    for prompt_lookup in (False, True):
        engine = Engine(
            new_model(len(tiny_tokenizer), kind=kind, **fields),
            tiny_tokenizer.backend_tokenizer,
            end_ids=[2],
            grammars=None,
            reuse_prefix=True,
            prompt_lookup=prompt_lookup,
        )
        assert not engine.looks_up
        counted = Counted(engine)
        counted.reply([5, 6, 5, 6, 5, 6])
        asked.append(counted.asked)
    assert asked[0] == asked[1]
