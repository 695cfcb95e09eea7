"""A reply as it grows, token by token: what is free, held to a grammar, forced, and where it ends.

Chooses the tokens from what the model says of them, and never asks the model itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from webmcp_agent.providers.base import REASONING_MARKERS, ToolConstraint
from webmcp_agent.providers.grammar import CallGuide, Grammars
from webmcp_agent.providers.triggers import ReplyWatch, Start

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer
    from tokenizers.decoders import DecodeStream


@dataclass(frozen=True, slots=True)
class Budget:
    """How long a reply may become, in tokens."""

    answer: int
    reasoning: int
    total: int
    """Prompt and reply together: the model's window."""


class ReplyWriter:
    """A reply as it grows.

    `tokens` and `text` are what was written so far, `finish` is why it ended."""

    def __init__(
        self,
        tokenizer: "Tokenizer",
        grammars: Grammars | None,
        end_ids: frozenset[int],
        budget: Budget,
        prompt_tokens: int,
        watch: ReplyWatch,
        constraints: Sequence[ToolConstraint],
        on_text: Callable[[str], None] | None,
    ) -> None:
        self.tokens: list[int] = []
        self.text: list[str] = []
        self.finish: Literal["stop", "length"] = "stop"
        self._tokenizer = tokenizer
        self._grammars = grammars
        self._end_ids = end_ids
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
            if token in self._end_ids:
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
        ends = (at for at, token in enumerate(draft) if token in self._end_ids)
        draft = draft[: max(0, min(room - 1, next(ends, len(draft))))]
        return draft if self._guide is None else self._guide.beginning(draft)

    def _take(self, token: int) -> None:
        reasoning = self._watch.reasoning
        self.tokens.append(token)
        self._reasoned += reasoning
        piece = self._stream.step(self._tokenizer, token) or ""
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
        if self._grammars is None or not self._constraints:
            self._watch.resume()
            return piece
        self._guide = self._grammars.begin(start.how, self._constraints)
        if start.rest and not self._guide.accepts(start.rest):
            # The token that began the call already goes on as no call may: keep its beginning.
            piece = piece[: len(piece) - len(start.rest)]
            self.tokens[-1:] = self._grammars.tokens(piece)
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
        for token in self._tokenizer.encode(end, add_special_tokens=False).ids:
            if not self._over:
                self._take(token)


def _decode_stream(tokens: Sequence[int]) -> "DecodeStream":
    """Turns tokens into text as they come, behind `tokens`; never gives half a character."""
    from tokenizers.decoders import DecodeStream

    return DecodeStream(ids=list(tokens), skip_special_tokens=False)
