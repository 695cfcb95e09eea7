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
from webmcp_agent.providers.base import REASONING_MARKERS, ToolConstraint
from webmcp_agent.providers.errors import Aborted
from webmcp_agent.providers.grammar import CallGuide, Grammars
from webmcp_agent.providers.prefix_cache import PrefixCache, common_prefix
from webmcp_agent.providers.prompt_lookup import DRAFT, PromptLookup
from webmcp_agent.providers.triggers import ReplyWatch, Start

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer
    from tokenizers.decoders import DecodeStream

CPU_PIECE, GPU_PIECE = 256, 2048
"""Tokens of a prompt that are read at once: Stop is looked at in between."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How long a reply may become, in tokens."""

    answer: int
    reasoning: int
    total: int
    """Prompt and reply together: the model's window."""


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
        writer = _Writer(self, budget, len(prompt), watch, held, on_text)
        try:
            with torch.inference_mode():
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
        import torch

        piece = self._piece if self._attends else (len(tokens) if position == 0 else 1)
        logits: torch.Tensor | None = None
        for start in range(0, len(tokens), piece):
            signal.throw_if_aborted()
            part = tokens[start : start + piece]
            position += len(part)
            arguments: dict[str, Any] = {self._cache_name: cache}
            if self._keeps:
                arguments["logits_to_keep"] = last
            if self._attends:
                arguments["attention_mask"] = torch.ones(
                    1, position, dtype=torch.long, device=self.device
                )
            ids = torch.tensor([part], device=self.device)
            logits = self.model(input_ids=ids, use_cache=True, **arguments).logits
            self.cache.fed(part)
        assert logits is not None
        return logits[0, -last:, : self.vocabulary]


def _confirmed(
    writer: "_Writer", rows: "torch.Tensor", draft: Sequence[int]
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


class _Writer:
    """A reply as it grows."""

    def __init__(
        self,
        engine: Engine,
        budget: Budget,
        prompt_tokens: int,
        watch: ReplyWatch,
        constraints: Sequence[ToolConstraint],
        on_text: Callable[[str], None] | None,
    ) -> None:
        self.tokens: list[int] = []
        self.text: list[str] = []
        self.finish: Literal["stop", "length"] = "stop"
        self._engine = engine
        self._budget = budget
        self._prompt_tokens = prompt_tokens
        self._watch = watch
        self._constraints = constraints
        self._on_text = on_text
        self._guide: CallGuide | None = None
        self._reasoned = 0
        self._over = False
        self._stream = _decode_stream([])

    def write(self, logits: "torch.Tensor") -> list[int]:
        """Add the next token and those it forces; returns what to feed, nothing at the end."""
        before = len(self.tokens)
        token = self._guide.choose(logits) if self._guide is not None else None
        if token is None:
            self._guide = None
            token = int(logits.argmax())
            if token in self._engine.end_ids:
                return []
        self._take(token)
        self._add_forced()
        self._close_reasoning()
        return [] if self._over else self.tokens[before:]

    def allowed(self, draft: list[int]) -> list[int]:
        """As much of a draft as could be written: by the grammar, by the budget, in one turn."""
        room = min(
            self._budget.answer - len(self.tokens) + self._reasoned,
            self._budget.total - self._prompt_tokens - len(self.tokens),
        )
        ends = (at for at, token in enumerate(draft) if token in self._engine.end_ids)
        draft = draft[: max(0, min(room - 1, next(ends, len(draft))))]
        return draft if self._guide is None else self._guide.beginning(draft)

    def _take(self, token: int) -> None:
        reasoning = self._watch.reasoning
        self.tokens.append(token)
        self._reasoned += reasoning
        piece = self._stream.step(self._engine.tokenizer, token) or ""
        if self._guide is None and (start := self._watch.read(piece)) is not None:
            piece = self._begin(start, piece)
        if piece:
            self.text.append(piece)
            if self._on_text is not None:
                self._on_text(piece)
        if self._watch.ended:
            self._over = True
        elif (
            len(self.tokens) - self._reasoned >= self._budget.answer
            or self._prompt_tokens + len(self.tokens) >= self._budget.total
        ):
            self._over, self.finish = True, "length"

    def _begin(self, start: Start, piece: str) -> str:
        """A call has begun, its grammar decides from here; returns what stays of the text."""
        grammars = self._engine.grammars
        if grammars is None or not self._constraints:
            self._watch.resume()
            return piece
        self._guide = grammars.begin(start.how, self._constraints)
        if start.rest and not self._guide.accepts(start.rest):
            # The token that began the call already goes on as no call may: keep its beginning.
            piece = piece[: len(piece) - len(start.rest)]
            self.tokens[-1:] = grammars.tokens(piece)
            self._stream = _decode_stream(self.tokens)
        return piece

    def _add_forced(self) -> None:
        if self._guide is None:
            return
        for token in self._guide.forced():
            if self._over:
                return
            self._take(token)
        if not self._guide.done:
            return
        if self._guide.ends_reply:
            self._over, self.finish = True, "stop"
        self._guide = None
        self._watch.resume()

    def _close_reasoning(self) -> None:
        """Write the end of reasoning that has used up its budget."""
        if self._over or not self._watch.reasoning or self._reasoned < self._budget.reasoning:
            return
        end = f"{REASONING_MARKERS[1]}\n\n"
        for token in self._engine.tokenizer.encode(end, add_special_tokens=False).ids:
            if not self._over:
                self._take(token)


def _layer_kinds(cache: Any) -> set[str]:
    return {type(layer).__name__ for layer in cache.layers}


def _decode_stream(tokens: Sequence[int]) -> "DecodeStream":
    """Turns tokens into text as they come, behind `tokens`; never gives half a character."""
    from tokenizers.decoders import DecodeStream

    return DecodeStream(ids=list(tokens), skip_special_tokens=False)
