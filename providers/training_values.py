"""What a training is told and what it tells: conversations, recipe, plan, progress and result."""

import json
from dataclasses import dataclass, field
from typing import Self

from webmcp_agent.providers.base import PromptParts


@dataclass(frozen=True, slots=True)
class Conversation:
    """A prompt and the reply to learn."""

    prompt: PromptParts
    reply: str
    learnt: tuple[int, ...] = ()
    """Indices of earlier assistant turns of the prompt that are learnt, too."""


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """The recipe; the values are those of the shipped adapter."""

    rank: int = 32
    alpha: int = 32
    learning_rate: float = 8e-4
    warmup: float = 0.04
    """Share of the steps over which the rate rises."""
    falling: float = 0.3
    """Share of the steps over which the rate falls, along a cosine, to `lowest_rate` of it."""
    lowest_rate: float = 0.02
    weight_decay: float = 0.0
    clip: float = 1.0
    """Longest gradient."""
    pack_tokens: int = 3000
    """Tokens that are computed in one step, about."""
    epochs: int = 1
    seed: int = 1
    checkpoint_every: int = 20
    """Steps."""
    validate_every: int = 100
    """Steps; held-out examples are judged this often, and at the end."""
    base_name: str | None = None
    """What the adapter's configuration names as its base; the folder when None."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a training is going to do, before it does it."""

    examples: int
    steps: int
    """Those still to do."""
    tokens: int
    """Tokens that they compute."""
    seconds: float
    """Estimated from one pack; 0 when there is nothing left to do."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where the training stands."""

    step: int
    steps: int
    loss: float
    tokens_per_second: float
    seconds_left: float


@dataclass(frozen=True, slots=True)
class Validation:
    """Held-out examples at one step."""

    step: int
    loss: float
    exact: float
    """Share of the replies that greedy decoding would write token for token."""


@dataclass(slots=True)
class TrainingResult:
    """What was learnt, step by step."""

    seed: int = 1
    """Of the recipe."""
    steps: int = 0
    losses: list[float] = field(default_factory=list[float])
    validations: list[Validation] = field(default_factory=list[Validation])
    examples: int = 0
    tokens: int = 0
    """Tokens of all examples, were each computed alone."""
    reply_tokens: int = 0
    """Tokens that were learnt from."""
    computed_tokens: int = 0
    seconds: float = 0.0
    finished: bool = False
    """False after Stop: the checkpoint is there, and training can go on."""

    @classmethod
    def read(cls, text: str) -> Self:
        """What was written as JSON."""
        plain = json.loads(text)
        plain["validations"] = [Validation(**each) for each in plain["validations"]]
        return cls(**plain)
