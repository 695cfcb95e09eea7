"""The decoding loop: greedy, one reply at a time, over a kept cache and under a grammar.

Our own and not the library's `generate`, because a reply here changes its rules midway (free
text, then a grammar, then free text), forced tokens go through the model together, and so do
looked-up ones that it only has to confirm, reasoning has a budget of its own, and Stop is looked
at before every token and every piece of a long prompt.
Blocking: it runs in the provider's worker thread.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.base import ToolConstraint
from webmcp_agent.providers.compiled_decoding import CompiledDecoder, why_not_compiled
from webmcp_agent.providers.errors import Aborted
from webmcp_agent.providers.grammar import Grammars
from webmcp_agent.providers.prefix_cache import PrefixCache, common_prefix
from webmcp_agent.providers.prompt_lookup import DRAFT, PromptLookup
from webmcp_agent.providers.reply_writer import Budget, ReplyWriter
from webmcp_agent.providers.triggers import ReplyWatch

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer

CPU_PIECE, GPU_PIECE = 256, 2048
"""Tokens of a prompt that are read at once: Stop is looked at in between."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply as it was written, markers included, without the token that ended it."""

    text: str
    finish_reason: Literal["stop", "length"]
    cached_tokens: int
    completion_tokens: int


class Engine:
    """A loaded model with its tokenizer, its cache and its grammars."""

    def __init__(
        self,
        model: Any,
        tokenizer: "Tokenizer",
        *,
        end_ids: Sequence[int],
        grammars: Grammars | None,
        reuse_prefix: bool,
        prompt_lookup: bool = False,
    ) -> None:
        """`end_ids` end a turn. Without `grammars` nothing is held to a schema. `prompt_lookup`
        lets the model confirm what was looked up, where its cache can forget what it rejects."""
        self.model = model
        self.tokenizer = tokenizer
        self.grammars = grammars
        self.end_ids = frozenset(end_ids)
        self.vocabulary = tokenizer.get_vocab_size(with_added_tokens=True)
        self.device: torch.device = model.get_input_embeddings().weight.device
        parameters = inspect.signature(model.forward).parameters
        # The argument has been renamed; the old name warns where the new one is known.
        self._cache_name = "cache" if "cache" in parameters else "past_key_values"
        self._keeps = "logits_to_keep" in parameters
        kinds = _layer_kinds(self._new_cache())
        # Layers that only sum up (Mamba) read a prompt in one piece, then token by token.
        self._attends = kinds != {"LinearAttentionLayer"}
        self._piece = CPU_PIECE if self.device.type == "cpu" else GPU_PIECE
        croppable = kinds == {"DynamicLayer"}
        self.cache = PrefixCache(self._new_cache, croppable=croppable, enabled=reuse_prefix)
        self.looks_up = prompt_lookup and croppable
        """Whether the model confirms looked-up tokens; may be switched between replies."""
        self._layers = kinds
        self.compiled: CompiledDecoder | None = None
        """Decodes in place of the model's own passes; see `compile_steps`."""

    def compile_steps(self, length: int, *, backend: str = "inductor") -> str:
        """From now on decode in fixed shapes, up to so many tokens; blocks for up to minutes.

        Returns why that cannot be, and then all stays as it was; empty when it can."""
        if reason := why_not_compiled(self.model, self._layers):
            return reason
        try:
            decoder = CompiledDecoder(
                self.model,
                length,
                cache_name=self._cache_name,
                keeps=self._keeps,
                backend=backend,
            )
            decoder.warm_up()
        except Exception as exc:  # noqa: BLE001  # a compiler, its tools and its cache fail in many ways
            return next(iter(str(exc).splitlines()), "") or type(exc).__name__
        self.compiled = decoder
        self.cache = PrefixCache(decoder.empty, croppable=True, enabled=self.cache.enabled)
        return ""

    def _new_cache(self) -> Any:
        from importlib import import_module

        transformers: Any = import_module("transformers")
        return transformers.DynamicCache(config=self.model.config)

    def reply(
        self,
        prompt: Sequence[int],
        budget: Budget,
        signal: AbortSignal,
        *,
        constraints: Sequence[ToolConstraint] = (),
        inline: bool = False,
        reasoning: bool = False,
        on_text: Callable[[str], None] | None = None,
    ) -> Reply:
        """Write one reply to the prompt's tokens.

        `inline`: the tools are listed in the prompt text. `reasoning`: the prompt ends inside
        reasoning. Raises `Aborted` once the signal is set; the cache stays exact then. After any
        other exception it is dropped."""
        import torch

        held = tuple(constraints) if self.grammars is not None else ()
        watch = ReplyWatch(reasoning=reasoning, inline=inline)
        writer = ReplyWriter(
            self.tokenizer, self.grammars, self.end_ids, budget, len(prompt), watch, held, on_text
        )
        try:
            with torch.no_grad() if self.compiled is not None else torch.inference_mode():
                cache, reused = self.cache.open(prompt)
                tokens, position = list(prompt[reused:]), reused
                lookup = PromptLookup(prompt) if self.looks_up else None
                draft: list[int] = []
                while tokens:
                    rows = self._read(cache, [*tokens, *draft], position, signal, 1 + len(draft))
                    position += len(tokens)
                    written, right = _confirmed(writer, rows, draft)
                    self.cache.crop(len(draft) - right)
                    position += right
                    tokens = written[right:]
                    draft = []
                    if lookup is not None and tokens:
                        lookup.add(written)
                        draft = writer.allowed(lookup.draft(min(DRAFT, self._piece - len(tokens))))
        except Aborted:
            raise
        except Exception:
            self.cache.drop()
            raise
        return Reply("".join(writer.text), writer.finish, reused, len(writer.tokens))

    def _read(
        self, cache: Any, tokens: Sequence[int], position: int, signal: AbortSignal, last: int
    ) -> "torch.Tensor":
        """Feed tokens at a position; the logits behind each of the `last` ones, a row each.

        A row has one entry per word of the vocabulary. More than one row fits one piece."""
        piece = self._piece if self._attends else (len(tokens) if position == 0 else 1)
        logits: torch.Tensor | None = None
        for start in range(0, len(tokens), piece):
            signal.throw_if_aborted()
            part = tokens[start : start + piece]
            if self.compiled is not None:
                logits = self.compiled.read(part, position, last)
            else:
                logits = self._pass(cache, part, position + len(part), last)
            position += len(part)
            self.cache.fed(part)
        assert logits is not None
        return logits[-last:, : self.vocabulary]

    def _pass(self, cache: Any, tokens: Sequence[int], end: int, last: int) -> "torch.Tensor":
        """One pass of the model, up to the position `end`; all it gives of one reply."""
        import torch

        arguments: dict[str, Any] = {self._cache_name: cache}
        if self._keeps:
            arguments["logits_to_keep"] = last
        if self._attends:
            arguments["attention_mask"] = torch.ones(1, end, dtype=torch.long, device=self.device)
        ids = torch.tensor([tokens], device=self.device)
        return self.model(input_ids=ids, use_cache=True, **arguments).logits[0]


def _confirmed(
    writer: ReplyWriter, rows: "torch.Tensor", draft: Sequence[int]
) -> tuple[list[int], int]:
    """Write on from the rows for as long as the draft is what is written.

    Returns what was written, and how many tokens of the draft it begins with; when the reply is
    over, the draft's part of it alone."""
    written: list[int] = []
    right = 0
    while right == len(written):
        more = writer.write(rows[right])
        if not more:
            return written, right
        written += more
        right += common_prefix(more, draft[right:])
    return written, right


def _layer_kinds(cache: Any) -> set[str]:
    return {type(layer).__name__ for layer in cache.layers}
