"""Decoding in few shapes that never change: a cache of a fixed size, and a step compiled for them.

At one token a time a GPU mostly waits for the next small kernel. A step whose shapes and addresses
are always the same is compiled once and then started as a whole (on CUDA as a graph). The cache is
as long as the window from the start and is never made anew. Prompts are read as ever, into it.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from webmcp_agent.providers.attention import NAME as SHORT_ATTENTION, attention_of
from webmcp_agent.providers.prompt_lookup import DRAFT

if TYPE_CHECKING:
    import torch

STEPS = (1, DRAFT + 2)
"""Tokens that a compiled step takes: one, or a token with its draft or with a few forced ones,
filled up. Each is compiled by itself."""

_WARM_UP = 3
"""Times that a step runs before it counts: CUDA graphs are tried, then recorded, then replayed."""


class CompiledDecoder:
    """A model's passes over one cache of a fixed size; from one thread, outside inference mode.

    torch's graphs belong to the thread that made them, and do not take inference tensors."""

    def __init__(
        self,
        model: Any,
        length: int,
        *,
        cache_name: str,
        keeps: bool,
        backend: str = "inductor",
    ) -> None:
        """`length` bounds prompt and reply together, in tokens. Compiles nothing yet.

        `cache_name` is what the model calls its cache, `keeps` whether it can be told how many
        rows of logits are wanted."""
        import torch

        transformers: Any = import_module("transformers")
        self._model = model
        self._cache_name = cache_name
        self.behind: Callable[[Sequence[int], int, torch.Tensor], None] | None = None
        """Hears the tokens that were fed, the position behind them, and the rows, which it may
        change: for who leads the model, since hooks have no place in a compiled step."""
        self._keeps = keeps
        self._device: torch.device = model.get_input_embeddings().weight.device
        # Filled-up tokens behind the window are written as well, and then forgotten.
        size = length + max(STEPS)
        self._cache: Any = transformers.StaticCache(config=model.config, max_cache_len=size)
        self._places = torch.arange(size, device=self._device)
        # Its own types are partial.
        compiling: Any = import_module("torch").compile
        graphs = self._device.type == "cuda" and backend == "inductor"
        self._step: Callable[[torch.Tensor, torch.Tensor, int], torch.Tensor] = compiling(
            self._pass,
            backend=backend,
            dynamic=False,
            mode="reduce-overhead" if graphs else None,
        )

    @property
    def cache(self) -> Any:
        """The one cache, emptied by `empty`."""
        return self._cache

    def empty(self) -> Any:
        """The cache with nothing in it; what was in it is lost."""
        if self._cache.is_initialized:
            self._cache.reset()
        return self._cache

    def warm_up(self) -> None:
        """Compile every step; takes up to minutes. Raises whatever torch raises when it cannot."""
        self.empty()
        self.read([0, 0], 0)
        for count in STEPS:
            for _ in range(_WARM_UP):
                self.read([0] * count, 2)
                self._cache.crop(-count)
        self.empty()

    def read(self, tokens: Sequence[int], position: int, last: int = 1) -> "torch.Tensor":
        """Feed tokens at a position; the logits behind each of the `last` ones, a row each.

        Behind a prompt's beginning few tokens go through a compiled step, many as they are."""
        import torch

        count = len(tokens)
        filled = next((size for size in STEPS if count <= size), count)
        compiled = position > 0 and filled in STEPS
        ids = [*tokens, *[0] * (filled - count)] if compiled else list(tokens)
        positions = torch.arange(position, position + len(ids), device=self._device)[None]
        with torch.no_grad():
            if compiled:
                torch.compiler.cudagraph_mark_step_begin()
            step = self._step if compiled else self._pass
            # A compiled step gives all rows, so that there is one of each size.
            given = torch.tensor([ids], device=self._device)
            logits = step(given, positions, 0 if compiled else last)[0]
            # The next replay of the graph writes over it.
            rows = (logits[:count] if compiled else logits)[-last:].clone()
            if len(ids) > count:
                self._cache.crop(count - len(ids))
        if self.behind is not None:
            self.behind(tokens, position + count, rows)
        return rows

    def _pass(self, ids: "torch.Tensor", positions: "torch.Tensor", keep: int) -> "torch.Tensor":
        # Not `__call__`: what is hooked behind the model is not part of a step.
        return self._model.forward(
            input_ids=ids,
            **({"logits_to_keep": keep} if self._keeps else {}),
            position_ids=positions,
            attention_mask=(self._places <= positions[..., None])[:, None],
            use_cache=True,
            **{self._cache_name: self._cache},
        ).logits


def why_not_compiled(model: Any, layers: set[str]) -> str:
    """Why a model cannot decode in fixed shapes; empty when nothing speaks against trying.

    `layers` are the kinds of its cache's layers."""
    if layers != {"DynamicLayer"}:
        return "its cache has other layers than plain attention"
    if len({str(place) for place in getattr(model, "hf_device_map", {}).values()}) > 1:
        return "it lies on several devices"
    if attention_of(model) not in ("sdpa", SHORT_ATTENTION):
        return f"its attention is {attention_of(model)}, and sdpa is needed"
    if getattr(model, "hf_quantizer", None) is not None and not model.hf_quantizer.is_compileable:
        return "its quantized weights cannot be compiled"
    return ""
