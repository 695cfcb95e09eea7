"""Which part of a kept cache serves the next prompt, and that the answers stay the same."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from webmcp_agent.providers.abort import AbortController, AbortSignal
from webmcp_agent.providers.errors import Aborted
from webmcp_agent.providers.generation import Budget, Engine, Reply
from webmcp_agent.providers.prefix_cache import PrefixCache, reusable

Kind = tuple[str, dict[str, Any]]

CROPPABLE: Kind = ("LlamaConfig", {})
WINDOWED: Kind = ("MistralConfig", {"sliding_window": 8})
CONVOLVED: Kind = ("Lfm2Config", {"layer_types": ["conv", "full_attention"]})
STATE_ONLY: Kind = (
    "Mamba2Config",
    {"num_heads": 4, "head_dim": 16, "n_groups": 1, "state_size": 8},
)

Engines = Callable[[Kind, bool], Engine]

BUDGET = Budget(answer=6, reasoning=4, total=1000)


@pytest.fixture(scope="module")
def engines(new_model: Callable[..., Any], tiny_tokenizer: Any) -> Callable[[Kind, bool], Engine]:
    models: dict[str, Any] = {}

    def engine(kind: Kind, reuse: bool) -> Engine:
        name, fields = kind
        if name not in models:
            models[name] = new_model(len(tiny_tokenizer), kind=name, **fields)
        return Engine(
            models[name],
            tiny_tokenizer.backend_tokenizer,
            end_ids=[2],
            grammars=None,
            reuse_prefix=reuse,
        )

    return engine


def reply(engine: Engine, prompt: list[int]) -> Reply:
    return engine.reply(prompt, BUDGET, AbortSignal())


@pytest.mark.parametrize(
    ("kept", "prompt", "croppable", "reuse"),
    [
        pytest.param([1, 5, 9, 7, 7, 3], [1, 5, 9, 4, 7, 3, 8], True, 3, id="another end"),
        pytest.param([1, 5, 9, 4, 7, 3, 8], [1, 5, 9], True, 2, id="one token is always fed"),
        pytest.param([1, 5, 9], [1, 5, 9, 4], True, 3, id="a longer prompt"),
        pytest.param([1, 5, 9], [1, 5, 9], True, 2, id="the same prompt"),
        pytest.param([], [1], True, 0, id="nothing kept"),
        pytest.param([1, 5], [2, 5], True, 0, id="another beginning"),
        pytest.param([1, 5, 9], [1, 5, 9, 4], False, 3, id="all of an uncroppable one"),
        pytest.param([1, 5, 9], [1, 5, 4, 4], False, 0, id="never part of an uncroppable one"),
        pytest.param([1, 5, 9], [1, 5, 9], False, 0, id="no token left to feed"),
    ],
)
def test_the_longest_common_prefix_is_reused_and_a_token_is_left_to_feed(
    kept: list[int], prompt: list[int], croppable: bool, reuse: int
) -> None:
    """`C-74`, `C-75`."""
    assert reusable(kept, prompt, croppable=croppable) == reuse


def test_a_cache_is_cropped_by_what_has_to_go_and_replaced_when_nothing_serves() -> None:
    """`C-74`: the three prompts, one after the other."""

    class Crops:
        def __init__(self) -> None:
            self.removed: list[int] = []

        def crop(self, tokens: int) -> None:
            self.removed.append(tokens)

    cache = PrefixCache(Crops, croppable=True)
    first, reused = cache.open([1, 5, 9, 7, 7, 3])
    cache.fed([1, 5, 9, 7, 7, 3])
    told = [reused]
    for prompt in ([1, 5, 9, 4, 7, 3, 8], [1, 5, 9]):
        again, reused = cache.open(prompt)
        cache.fed(prompt[reused:])
        assert again is first
        told.append(reused)
    other, reused = cache.open([2])
    assert (told, first.removed, other is first, reused) == ([0, 3, 2], [-3, -5], False, 0)


@pytest.mark.model
@pytest.mark.parametrize(
    ("kind", "reused"),
    [
        pytest.param(CROPPABLE, [0, 3, 2], id="attention"),
        pytest.param(WINDOWED, [0, 0, 0], id="sliding window"),
        pytest.param(CONVOLVED, [0, 0, 0], id="convolution state"),
        pytest.param(STATE_ONLY, [0, 0, 0], id="recurrent state alone"),
    ],
)
def test_three_prompts_reuse_what_their_cache_allows(
    engines: Engines, kind: Kind, reused: list[int]
) -> None:
    """`C-74`, `C-75`: with a real cache of each kind."""
    engine, fresh = engines(kind, True), engines(kind, False)
    prompts = [[1, 5, 9, 7, 7, 3], [1, 5, 9, 4, 7, 3, 8], [1, 5, 9]]
    with_reuse = [reply(engine, prompt) for prompt in prompts]
    without = [reply(fresh, prompt) for prompt in prompts]
    assert [one.cached_tokens for one in with_reuse] == reused
    assert [one.cached_tokens for one in without] == [0, 0, 0]
    assert [one.text for one in with_reuse] == [one.text for one in without]


TOKEN = st.integers(5, 400)
SERIES = st.lists(
    st.tuples(st.integers(0, 40), st.lists(TOKEN, min_size=1, max_size=12)), min_size=2, max_size=4
)


@pytest.mark.model
@pytest.mark.parametrize(
    "kind", [CROPPABLE, WINDOWED, CONVOLVED], ids=["attention", "sliding window", "convolution"]
)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(series=SERIES)
def test_any_series_of_prompts_gets_the_same_answers_with_and_without_reuse(
    engines: Engines,
    kind: Kind,
    series: list[tuple[int, list[int]]],
) -> None:
    """`C-74`, `C-75`: each prompt keeps some of the one before and its answer, and goes on."""
    engine, fresh = engines(kind, True), engines(kind, False)
    before: list[int] = []
    for keep, more in series:
        prompt = [*before[:keep], *more]
        answer = reply(engine, prompt)
        assert answer.text == reply(fresh, prompt).text
        ids = engine.tokenizer.encode(answer.text, add_special_tokens=False).ids
        before = [*prompt, *ids]


@pytest.mark.model
def test_a_stopped_prompt_leaves_a_cache_that_is_exact(engines: Engines) -> None:
    """`C-74`: what was read before Stop serves the next prompt, and nothing else does."""
    engine, fresh = engines(CROPPABLE, True), engines(CROPPABLE, False)
    prompt = [5 + index % 300 for index in range(600)]
    stop = AbortController()

    def press_stop(*_: object) -> None:
        stop.abort()

    hook = engine.model.register_forward_hook(press_stop)
    with pytest.raises(Aborted):
        engine.reply(prompt, BUDGET, stop.signal)
    hook.remove()
    answer = reply(engine, prompt)
    assert (answer.cached_tokens, answer.text) == (256, reply(fresh, prompt).text)


@pytest.mark.model
def test_after_an_error_nothing_is_reused(engines: Engines) -> None:
    """`C-74`: a cache in which a layer may be missing a token is dropped."""
    engine = engines(CROPPABLE, True)
    prompt = [1, 5, 9, 7]
    reply(engine, prompt)

    def fail(*_: object) -> None:
        raise RuntimeError("broken on purpose")

    hook = engine.model.model.layers[1].register_forward_hook(fail)
    with pytest.raises(RuntimeError, match="broken on purpose"):
        reply(engine, [*prompt, 8])
    hook.remove()
    assert reply(engine, prompt).cached_tokens == 0
