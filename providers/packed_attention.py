"""Attention in a pack of examples: each one sees the shared beginning and itself.

Written with plain products rather than the library's fused kernel, which on a CPU takes several
times as long in the backward pass (measured: half of a training step, against a fifth).
"""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from webmcp_agent.providers.packing import Pack

ATTENTION = "webmcp_packed"
"""Its name in transformers; the model's call gets the pack's `Layout` as `packing`."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Who may look at whom in a pack."""

    prefix: int
    prefix_mask: Any
    """(prefix, prefix), added to the scores."""
    segments: list[tuple[int, int, Any]]
    """Start, end and the mask (length, prefix + length)."""

    @staticmethod
    def of(batch: Pack, dtype: Any, device: str) -> "Layout":
        """The layout of a pack for scores of that dtype."""
        torch: Any = import_module("torch")

        def mask(length: int, before: int) -> Any:
            later = torch.ones(length, length, dtype=torch.bool, device=device).triu(1)
            made = torch.zeros(length, before + length, dtype=dtype, device=device)
            made[:, before:].masked_fill_(later, float("-inf"))
            return made

        segments = [(a, b, mask(b - a, batch.prefix)) for a, b in batch.segments]
        return Layout(batch.prefix, mask(batch.prefix, 0), segments)


def _packed_attention(
    module: Any,
    query: Any,
    key: Any,
    value: Any,
    attention_mask: Any,
    *,
    packing: Layout,
    scaling: float | None = None,
    **_: Any,
) -> tuple[Any, None]:
    """Attention of a pack; queries, keys and values are (1, heads, tokens, size)."""
    torch: Any = import_module("torch")

    size = query.shape[-1]
    scale = size**-0.5 if scaling is None else scaling
    heads = key.shape[1]
    # The queries of the heads that share a key stand together, so that keys are never repeated.
    grouped = (query[0] * scale).view(heads, query.shape[1] // heads, -1, size)

    def attended(start: int, end: int, own_from: int, mask: Any) -> Any:
        own = slice(own_from, end)
        keys, values = key[0][:, own], value[0][:, own]
        if own_from and packing.prefix:
            keys = torch.cat([key[0][:, : packing.prefix], keys], 1)
            values = torch.cat([value[0][:, : packing.prefix], values], 1)
        asked = grouped[:, :, start:end].flatten(1, 2)
        scores = (asked @ keys.transpose(1, 2)).unflatten(1, (-1, end - start))
        scores += mask
        seen = scores.flatten(1, 2).softmax(-1) @ values
        return seen.view(query.shape[1], end - start, size)

    pieces: list[Any] = []
    if packing.prefix:
        pieces.append(attended(0, packing.prefix, 0, packing.prefix_mask))
    pieces += [attended(start, end, start, mask) for start, end, mask in packing.segments]
    return torch.cat(pieces, 1).transpose(0, 1)[None].contiguous(), None


def _no_mask(*_: Any, **__: Any) -> None:
    """The masks are made per pack, in `Layout`."""


def register_attention() -> None:
    """Make it known to transformers as `ATTENTION`; twice is fine."""
    transformers: Any = import_module("transformers")
    transformers.AttentionInterface.register(ATTENTION, _packed_attention)
    transformers.AttentionMaskInterface.register(ATTENTION, _no_mask)
