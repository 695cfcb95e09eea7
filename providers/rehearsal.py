"""A loaded model made to write given replies, and the library's own `generate` beside it.

So that two ways of decoding can be compared, both have to write the same tokens. The model does all
of its work; only behind its last layer the token that the reply goes on with is made the likeliest.
"""

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from webmcp_agent.providers.base import GenerateRequest, PromptParts
from webmcp_agent.providers.errors import NotReady
from webmcp_agent.providers.generation import Engine
from webmcp_agent.providers.huggingface import TransformersProvider

if TYPE_CHECKING:
    import torch

    from webmcp_agent.providers.loading import LoadedModel

LEAD = 1_000.0
"""Added to the wanted token's logit; those of language models stay below 100."""

COPIED_BYTES = 2**28
"""Of the copy that the memory's speed is taken from: larger than any cache."""


@dataclass(frozen=True, slots=True)
class Bare:
    """One reply of the library's own `generate`."""

    tokens: int
    """Without the one that ended it."""
    first_ms: float
    """Up to its first token."""
    rest_ms: float
    """From there to its end."""


class Rehearsal:
    """Leads the model of a provider that is ready; `end` gives it back as it was.

    One reply at a time, in ASCII: half a character would look like a reply gone astray."""

    def __init__(self, provider: TransformersProvider) -> None:
        """Raises `NotReady` before the provider's `prepare`."""
        if provider.loaded is None:
            raise NotReady("the model is not loaded; call prepare first")
        self._loaded: LoadedModel = provider.loaded
        self._engine: Engine = provider.loaded.engine
        self._text = ""
        self._prompt_tokens = 0
        self._read: dict[int, int] = {}
        self._end = 0
        self.can_look_up = self._engine.looks_up
        """Whether the model can confirm looked-up tokens, and was to."""
        if self._engine.compiled is not None:
            self._engine.compiled.behind = self._raise
        self._hook = self._engine.model.register_forward_hook(self._behind, with_kwargs=True)

    def end(self) -> None:
        """Leave the model to itself again."""
        self._hook.remove()
        if self._engine.compiled is not None:
            self._engine.compiled.behind = None

    def lead(self, request: GenerateRequest, text: str) -> int:
        """From now on the reply to `request` is `text`; returns the prompt's length in tokens."""
        prompt = self._prompt(request)
        self._text, self._prompt_tokens = text, len(prompt)
        self._read, self._end = {}, 0
        return len(prompt)

    @contextmanager
    def nothing_kept(self) -> Generator[None]:
        """While inside, the model begins with an empty cache; what was kept comes back after."""
        kept = self._engine.cache
        self._engine.cache = copy(kept)
        self._engine.cache.drop()
        try:
            yield
        finally:
            self._engine.cache = kept
            if self._engine.compiled is not None:
                kept.drop()  # there is one cache of a fixed size, and it has been used

    @contextmanager
    def looking_up(self, *, on: bool) -> Generator[None]:
        """While inside, the model confirms looked-up tokens, where it can, or does not."""
        before, self._engine.looks_up = self._engine.looks_up, on and self.can_look_up
        try:
            yield
        finally:
            self._engine.looks_up = before

    def generate(self, request: GenerateRequest, text: str, check: Callable[[], None]) -> Bare:
        """Write `text` with the library's `generate`, greedy, with a cache of its own; blocks.

        `check` is called at each token and may raise."""
        import torch

        transformers: Any = import_module("transformers")
        prompt = self._prompt(request)
        self.lead(request, text)
        clock = _Clock(check)
        end_ids = sorted(self._engine.end_ids)
        config = transformers.GenerationConfig(
            max_new_tokens=len(self._tokens(text)) + 8,
            do_sample=False,
            repetition_penalty=1.0,
            eos_token_id=end_ids,
            pad_token_id=end_ids[0],
        )
        ids = torch.tensor([prompt], device=self._engine.device)
        began = time.perf_counter()
        with torch.inference_mode():
            self._engine.model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                generation_config=config,
                streamer=clock,
            )
        first, *_, last = clock.times
        return Bare(len(clock.times) - 1, (first - began) * 1000, (last - first) * 1000)

    def weight_bytes(self) -> int:
        """What has to be read for one token: every weight, and of an input table only a row."""
        model = self._engine.model
        size = sum(int(each.numel() * each.element_size()) for each in model.parameters())
        table, head = model.get_input_embeddings().weight, model.get_output_embeddings()
        if head is not None and head.weight is not table:
            size -= int(table.numel() * table.element_size())
        return size

    def memory_bytes_per_s(self) -> float:
        """How fast this device's memory is: read and written by the best of five copies."""
        import torch

        source = torch.empty(COPIED_BYTES, dtype=torch.uint8, device=self._engine.device)
        target = torch.empty_like(source)
        best = float("inf")
        for _ in range(6):
            self._wait()
            began = time.perf_counter()
            target.copy_(source)
            self._wait()
            best = min(best, time.perf_counter() - began)
        return 2 * COPIED_BYTES / best

    def _wait(self) -> None:
        import torch

        if self._engine.device.type == "cuda":
            torch.cuda.synchronize(self._engine.device)

    def _prompt(self, request: GenerateRequest) -> Sequence[int]:
        parts = PromptParts(request.system, request.messages, request.tools)
        return self._loaded.prompt_tokens(parts)

    def _tokens(self, text: str) -> list[int]:
        return self._engine.tokenizer.encode(text, add_special_tokens=False).ids

    def _behind(self, _: Any, __: Any, given: dict[str, Any], output: Any) -> None:
        """Behind the last layer: raise the token that goes on with the text, or the end."""
        ids: Any = given["input_ids"][0]
        mask: Any = given.get("attention_mask")
        # `generate` gives no mask that hides nothing, and begins with an empty cache.
        end = self._end + int(ids.shape[-1]) if mask is None else int(mask.shape[-1])
        self._end = end
        # Of the prompt nothing is needed, and copying it from a GPU would cost time.
        fed = min(int(ids.shape[-1]), max(0, end - self._prompt_tokens))
        self._raise(ids[-fed:].tolist() if fed else [], end, output.logits[0])

    def _raise(self, fed: Sequence[int], end: int, rows: "torch.Tensor") -> None:
        """Raise what goes on behind each of the tokens that were fed last, up to `end`."""
        fed = fed[max(0, len(fed) - max(0, end - self._prompt_tokens)) :]
        self._read.update(zip(range(end - len(fed), end), fed, strict=True))
        written = [self._read[at] for at in range(self._prompt_tokens, end)]
        # One row, or where looked-up tokens are checked one behind each of them.
        for row in range(min(int(rows.shape[0]), len(written) + 1)):
            rows[-1 - row, self._next(written[: len(written) - row])] += LEAD

    def _next(self, written: Sequence[int]) -> int:
        """The token that goes on with the text behind what was written, or the end."""
        said = self._engine.tokenizer.decode(written, skip_special_tokens=False)
        if said != self._text and self._text.startswith(said):
            return self._tokens(self._text[len(said) :])[0]
        return min(self._engine.end_ids)


class _Clock:
    """What `generate` takes for a streamer: notes when each token was there."""

    def __init__(self, check: Callable[[], None]) -> None:
        self.times: list[float] = []
        self._check = check
        self._prompt = True

    def put(self, _: Any) -> None:
        """The prompt comes first, then each token."""
        if self._prompt:
            self._prompt = False
            return
        self.times.append(time.perf_counter())
        self._check()

    def end(self) -> None:
        """Nothing is held back."""
