"""Decoding in fixed shapes writes what plain decoding writes, and gives way where it cannot."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.compiled_decoding import STEPS, why_not_compiled
from webmcp_agent.providers.generation import Budget, Engine, Reply

# torch's own compiler imports what torch has deprecated.
pytestmark = [
    pytest.mark.model,
    pytest.mark.filterwarnings("ignore:.torch.jit.script_method. is deprecated:DeprecationWarning"),
]

Engines = Callable[..., Engine]
LENGTH = 400


@pytest.fixture(scope="module")
def engines(new_model: Callable[..., Any], tiny_tokenizer: Any) -> Engines:
    """Engines, each over a random model of its own; all are alike."""

    def engine(*, prompt_lookup: bool = False, **fields: Any) -> Engine:
        return Engine(
            new_model(len(tiny_tokenizer), **fields),
            tiny_tokenizer.backend_tokenizer,
            end_ids=[2],
            grammars=None,
            reuse_prefix=True,
            prompt_lookup=prompt_lookup,
        )

    return engine


def conversation(engine: Engine, answer: int = 12) -> list[Reply]:
    """Replies to prompts that go on, go back, begin anew, and fill the window to its end."""
    series = [5, 6, 7, 8, 9, 40, 41] * 40
    prompts = [series[:70], series[:90], series[:30], series[3:60], series[: LENGTH - 125]]
    replies = [reply(engine, prompt, answer) for prompt in prompts]
    return [*replies, reply(engine, series[: LENGTH - 122], 300)]


def reply(engine: Engine, prompt: list[int], answer: int) -> Reply:
    return engine.reply(prompt, Budget(answer, 4, LENGTH), AbortSignal())


@pytest.mark.parametrize("prompt_lookup", [False, True], ids=["token by token", "with drafts"])
def test_captured_steps_write_the_same_replies(engines: Engines, prompt_lookup: bool) -> None:
    """torch's capture alone, which needs no compiler: shapes, masks, filling up, going back."""
    expected = conversation(engines(prompt_lookup=prompt_lookup))
    engine = engines(prompt_lookup=prompt_lookup)
    assert engine.compile_steps(LENGTH, backend="eager") == ""
    assert conversation(engine) == expected


def test_compiled_steps_write_the_same_replies(engines: Engines) -> None:
    """With the compiler that this machine has."""
    expected = conversation(engines(), answer=5)
    engine = engines()
    reason = engine.compile_steps(LENGTH)
    if reason:
        pytest.skip(f"torch cannot compile here: {reason}")
    assert conversation(engine, answer=5) == expected


def test_a_model_that_cannot_be_captured_goes_on_as_it_was(engines: Engines) -> None:
    engine = engines()
    expected = conversation(engines())
    assert "no-such-backend" in engine.compile_steps(LENGTH, backend="no-such-backend")
    assert engine.compiled is None
    assert conversation(engine) == expected


def test_a_cache_that_forgets_is_not_of_a_fixed_size(engines: Engines) -> None:
    engine = engines(kind="MistralConfig", sliding_window=8)
    assert engine.compile_steps(LENGTH, backend="eager") == (
        "its cache has other layers than plain attention"
    )
    assert engine.compiled is None


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        pytest.param({}, "", id="nothing speaks against it"),
        pytest.param({"hf_device_map": {"": "cuda:0"}}, "", id="one device"),
        pytest.param(
            {"hf_device_map": {"a": 0, "b": 1}}, "it lies on several devices", id="several devices"
        ),
        pytest.param(
            {"hf_quantizer": SimpleNamespace(is_compileable=False)},
            "its quantized weights cannot be compiled",
            id="weights that cannot",
        ),
        pytest.param(
            {"config": SimpleNamespace(_attn_implementation="eager")},
            "its attention is eager, and sdpa is needed",
            id="another attention",
        ),
    ],
)
def test_what_speaks_against_compiling_is_said(fields: dict[str, Any], reason: str) -> None:
    model = SimpleNamespace(config=SimpleNamespace(_attn_implementation="sdpa"))
    for name, value in fields.items():
        setattr(model, name, value)
    assert why_not_compiled(model, {"DynamicLayer"}) == reason


def test_the_cache_ends_behind_the_window_and_is_the_same_all_along(engines: Engines) -> None:
    """A graph has its address; and the last token of the window may be filled up."""
    engine = engines()
    assert engine.compile_steps(LENGTH, backend="eager") == ""
    assert engine.compiled is not None
    cache = engine.compiled.cache
    assert cache.layers[0].get_max_length() == LENGTH + max(STEPS)
    addresses = [layer.keys.data_ptr() for layer in cache.layers]
    conversation(engine)
    assert engine.cache.open([1])[0] is cache
    assert [layer.keys.data_ptr() for layer in cache.layers] == addresses
