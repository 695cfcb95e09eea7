"""The model that is measured, and one given reply that it is led to: how long that took."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from webmcp_agent.providers.base import REASONING_MARKERS, GenerateRequest
from webmcp_agent.scenarios.bench_shop import Exchange, shop_conversation
from webmcp_agent.scenarios.errors import WrongUsage
from webmcp_agent.scenarios.runner import ModelSettings

if TYPE_CHECKING:
    from webmcp_agent.providers.huggingface import TransformersProvider
    from webmcp_agent.providers.rehearsal import Rehearsal


@dataclass(frozen=True, slots=True)
class Timed:
    """One reply and how long it took, in ms."""

    prompt_tokens: int
    cached_tokens: int
    tokens: int
    first_ms: float
    """Up to the first token."""
    rest_ms: float
    """From there to the end of the reply."""

    @property
    def per_token_ms(self) -> float:
        """A token after the first; the one that ends the reply takes the first one's place."""
        return self.rest_ms / self.tokens


async def write_reply(
    provider: "TransformersProvider", rehearsal: "Rehearsal", request: GenerateRequest, text: str
) -> tuple[Timed, str]:
    """Lead the model to reply with `text`; returns what it wrote, which may have gone astray.

    Raises `Aborted`, and whatever the model raises."""
    rehearsal.lead(request, text)
    first: list[float] = []

    def on_token(piece: str) -> None:
        # Where a template opens reasoning, its marker is told before anything was computed.
        if not first and piece != REASONING_MARKERS[0]:
            first.append(time.perf_counter())

    began = time.perf_counter()
    result = await provider.generate(replace(request, on_token=on_token))
    ended = time.perf_counter()
    usage = result.usage
    assert usage is not None
    [came] = first or [ended]
    timed = Timed(
        prompt_tokens=usage.prompt_tokens,
        cached_tokens=usage.cached_tokens,
        tokens=max(1, usage.completion_tokens),
        first_ms=(came - began) * 1000,
        rest_ms=(ended - came) * 1000,
    )
    return timed, result.text


async def model_to_measure(settings: ModelSettings, shape: str | None) -> "TransformersProvider":
    """The provider that is meant, not loaded: a model, or random weights in a known shape.

    Raises `WrongUsage` for one that does not run in this process, and `ModelUnavailable`."""
    from webmcp_agent.providers.huggingface import TransformersProvider
    from webmcp_agent.providers.random_model import RandomModelProvider

    if shape is not None:
        conversation = await shop_conversation("tags", tools_inline=False)
        return RandomModelProvider(
            shape,
            _texts(conversation),
            device=settings.device,
            quantize=settings.quantize,
            compiled=settings.compiled,
        )
    provider = settings.provider(settings.model)
    if not isinstance(provider, TransformersProvider):
        raise WrongUsage(f"{settings.model} does not run in this process, so it has no figures")
    return provider


def _texts(conversation: Sequence[Exchange]) -> list[str]:
    """All that a model reads and writes in a conversation."""
    last = conversation[-1]
    tools = [f"{tool.name} {tool.description} {tool.parameters}" for tool in last.request.tools]
    turns = [turn.content for turn in last.request.messages]
    return [last.request.system, *tools, *turns, last.reply]
