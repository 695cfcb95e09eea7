"""Training examples laid side by side behind one copy of the beginning that they share.

Every prompt of this agent begins with the same few hundred tokens. A pack computes them once: its
examples attend to the shared beginning and to themselves, never to each other, and their positions
continue from it, so the result is exactly that of each example alone. Lists of ids only; no torch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

SHORTEST_PREFIX = 16
"""Tokens. A shorter shared beginning is not worth a shared copy."""

WINDOW = 256
"""Examples that are shuffled together."""


@dataclass(frozen=True, slots=True)
class TokenExample:
    """A conversation as token ids, and which of them are replies to learn."""

    ids: tuple[int, ...]
    replies: tuple[tuple[int, int], ...]
    """Start and end of each reply, its end-of-turn token included; in order, the first after 0."""

    @property
    def prompt(self) -> tuple[int, ...]:
        """What stands before the first reply."""
        return self.ids[: self.replies[0][0]]

    @property
    def computed(self) -> tuple[int, ...]:
        """The ids from which something is predicted: all before the last reply's last token."""
        return self.ids[: self.replies[-1][1] - 1]


@dataclass(frozen=True, slots=True)
class Pack:
    """Several examples as one sequence."""

    ids: list[int]
    positions: list[int]
    prefix: int
    """Length of the shared beginning, 0 for none."""
    segments: list[tuple[int, int]]
    """Start and end of what each example has after it."""
    predicting: list[int]
    """Indices at which a token of a reply is predicted, example after example."""
    targets: list[int]
    """The token that is right at each of them."""
    replies: list[int]
    """Tokens of each reply."""

    @property
    def tokens(self) -> int:
        """How many tokens are computed."""
        return len(self.ids)


def pack(examples: Sequence[TokenExample]) -> Pack:
    """One pack of all `examples`, in their order."""
    prefix = _shared(examples)
    ids = list(examples[0].ids[:prefix])
    positions = list(range(prefix))
    segments: list[tuple[int, int]] = []
    predicting: list[int] = []
    targets: list[int] = []
    for example in examples:
        start = len(ids)
        ids += example.computed[prefix:]
        positions += range(prefix, len(example.computed))
        segments.append((start, len(ids)))
        for first, end in example.replies:
            predicting += range(start + first - prefix - 1, start + end - prefix - 1)
            targets += example.ids[first:end]
    replies = [end - first for example in examples for first, end in example.replies]
    return Pack(ids, positions, prefix, segments, predicting, targets, replies)


def packed(examples: Sequence[TokenExample], size: int, seed: int) -> list[Pack]:
    """All examples in packs of about `size` computed tokens, in an order that `seed` decides.

    They are shuffled among their next `WINDOW` neighbours only, so that more examples at the end
    leave the packs before them as they were."""
    random = Random(seed)
    order: list[TokenExample] = []
    for start in range(0, len(examples), WINDOW):
        window = list(examples[start : start + WINDOW])
        random.shuffle(window)
        order += window
    return [pack(group) for group in _groups(order, size)]


def _groups(examples: Sequence[TokenExample], size: int) -> Iterator[list[TokenExample]]:
    group: list[TokenExample] = []
    for example in examples:
        if group and _computed([*group, example]) > size:
            yield group
            group = []
        group.append(example)
    if group:
        yield group


def _computed(examples: Sequence[TokenExample]) -> int:
    prefix = _shared(examples)
    return prefix + sum(len(example.computed) - prefix for example in examples)


def _shared(examples: Sequence[TokenExample]) -> int:
    """Length of the beginning that all prompts share, their last token never among it."""
    if len(examples) < 2:
        return 0
    low, high = (pick(example.prompt for example in examples) for pick in (min, max))
    limit = min(len(example.prompt) for example in examples) - 1
    length = 0
    while length < limit and low[length] == high[length]:
        length += 1
    return length if length >= SHORTEST_PREFIX else 0
