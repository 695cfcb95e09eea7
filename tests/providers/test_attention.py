"""Attention of short queries is torch's own attention, only computed in another way."""

from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest

from webmcp_agent.providers.attention import (
    NAME,
    SHORT,
    attention_of,
    short_attention,
    use_short_attention,
)

pytestmark = pytest.mark.model


@pytest.mark.parametrize(
    ("heads", "groups", "queries"), [(4, 4, 1), (6, 2, 1), (6, 2, 5), (6, 2, SHORT + 1)]
)
@pytest.mark.parametrize("kind", ["none", "bool", "float"])
def test_it_gives_what_the_library_gives(heads: int, groups: int, queries: int, kind: str) -> None:
    torch: Any = import_module("torch")
    library: Any = import_module("transformers.integrations.sdpa_attention")
    torch.manual_seed(1)
    keys, size = 50, 16
    query = torch.randn(2, heads, queries, size)
    key, value = torch.randn(2, groups, keys, size), torch.randn(2, groups, keys, size)
    seen = torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)[None, None]
    masks = {"none": None, "bool": seen, "float": torch.where(seen, 0.0, float("-inf"))}
    module = SimpleNamespace(num_key_value_groups=heads // groups, is_causal=True)
    mask = masks[kind]
    expected, _ = library.sdpa_attention_forward(module, query, key, value, mask, scaling=0.3)
    result, nothing = short_attention(module, query, key, value, mask, scaling=0.3)
    assert (result.shape, nothing) == ((2, queries, heads, size), None)
    torch.testing.assert_close(result, expected)


def logits_of(model: Any) -> Any:
    """Behind a prompt, one more token, and four more; the prompt is read by torch's own."""
    torch: Any = import_module("torch")
    transformers: Any = import_module("transformers")
    cache, at, logits = transformers.DynamicCache(config=model.config), 0, list[Any]()
    for length in (70, 1, 4):
        ids = torch.arange(at, at + length)[None]
        at += length
        with torch.inference_mode():
            output = model(input_ids=ids, attention_mask=torch.ones(1, at), cache=cache)
        logits.append(output.logits[0, -1].float())
    return torch.stack(logits[1:])


def test_a_model_in_16_bits_takes_it_and_is_as_exact_as_before(
    new_model: Callable[..., Any],
) -> None:
    torch: Any = import_module("torch")
    exact = logits_of(new_model(200))
    model = new_model(200).to(torch.bfloat16)
    before = (logits_of(model) - exact).abs().mean()
    assert (use_short_attention(model), attention_of(model)) == (True, NAME)
    assert (logits_of(model) - exact).abs().mean() < 1.2 * before


def test_a_model_in_32_bits_keeps_the_attention_of_the_library(
    new_model: Callable[..., Any],
) -> None:
    model = new_model(200)
    assert (use_short_attention(model), attention_of(model)) == (False, "sdpa")
