"""Attention of a few tokens to a long cache, on a CPU in 16 bits.

torch's fused attention handles a single query there one key at a time. Two batched products do
the same many times quicker (1,500 cached tokens, 9 heads over 3, bfloat16, one core with
AVX512-BF16, torch 2.13: 76 µs in place of 1,166 µs), and decoding is all single queries. Longer
pieces, other devices and other formats keep torch's own.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

NAME = "webmcp_agent_short"
"""Under which the library knows this attention."""

SHORT = 32
"""Query tokens: up to 64 the products were quicker at 1,500 cached tokens, at 256 slower."""


def use_short_attention(model: Any) -> bool:
    """Let a model with torch's attention, on a CPU in 16 bits, take this one for short queries.

    Returns whether it does; any other model stays as it is."""
    import torch

    weight: torch.Tensor = model.get_input_embeddings().weight
    sixteen = weight.dtype in (torch.bfloat16, torch.float16)
    if weight.device.type != "cpu" or not sixteen or attention_of(model) != "sdpa":
        return False
    modeling: Any = import_module("transformers.modeling_utils")
    masking: Any = import_module("transformers.masking_utils")
    modeling.AttentionInterface.register(NAME, short_attention)
    masking.AttentionMaskInterface.register(NAME, masking.sdpa_mask)
    model.set_attn_implementation(NAME)
    return attention_of(model) == NAME


def attention_of(model: Any) -> str:
    """The name of the attention that a model uses."""
    return str(model.config._attn_implementation)


def short_attention(
    module: Any,
    query: "torch.Tensor",
    key: "torch.Tensor",
    value: "torch.Tensor",
    attention_mask: "torch.Tensor | None",
    dropout: float = 0.0,
    scaling: float | None = None,
    **others: Any,
) -> "tuple[torch.Tensor, None]":
    """Attention as the library calls it.

    `query` is (batch, heads, queries, size), `key` and `value` (batch, groups, keys, size), a
    mask (batch, 1, queries, keys) with True, or 0, where a query may look. The result is (batch,
    queries, heads, size). Weights are summed up in 32 bits, as torch does."""
    batch, heads, queries, size = query.shape
    groups, keys = key.shape[1], key.shape[2]
    unusual = any(others.get(name) is not None for name in ("position_bias", "s_aux", "softcap"))
    unmasked = attention_mask is None and queries > 1  # causal by shape alone
    if queries > SHORT or dropout or unusual or unmasked or value.shape[-1] != size:
        library: Any = import_module("transformers.integrations.sdpa_attention")
        return library.sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **others
        )
    # The heads of a group share their keys, so they are queries of one product.
    rows = query.reshape(batch * groups, heads // groups * queries, size)
    weights = rows @ key.reshape(batch * groups, keys, size).transpose(1, 2)
    weights = weights.float() * (size**-0.5 if scaling is None else scaling)
    if attention_mask is not None:
        weights = weights.view(batch, groups, heads // groups, queries, keys)
        mask = attention_mask[..., :keys].unsqueeze(2)
        if mask.is_floating_point():
            weights = weights + mask
        else:
            weights = weights.masked_fill(~mask, float("-inf"))
        weights = weights.view(batch * groups, -1, keys)
    result = weights.softmax(-1).to(value.dtype) @ value.reshape(batch * groups, keys, size)
    return result.view(batch, heads, queries, size).transpose(1, 2).contiguous(), None
