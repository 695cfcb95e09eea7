"""Figures of a model: loading, prompts, decoding, and what reuse and constraints cost or save.

A conversation of six steps is written in several ways: with the cache of the step before, from an
empty cache (the first token only), freely, held to the tools' schemas, so with looked-up tokens,
and by the library's own `generate`. Other switches of decoding are in `bench_switches.py`. The
replies are given and the model is led to them, so that all ways write the same tokens: what is
compared is the work, not the words. Nothing here passes or fails.
"""

import asyncio
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from platform import machine, python_version
from statistics import median
from typing import TYPE_CHECKING

from pydantic import JsonValue

from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.base import (
    ChatTurn,
    GenerateRequest,
    NeedsDownload,
)
from webmcp_agent.scenarios.bench_shop import Exchange, shop_conversation
from webmcp_agent.scenarios.bench_switches import SwitchFigure
from webmcp_agent.scenarios.bench_writing import Timed, write_reply
from webmcp_agent.scenarios.runner import Told, load_model

if TYPE_CHECKING:
    from webmcp_agent.providers.huggingface import TransformersProvider
    from webmcp_agent.providers.rehearsal import Rehearsal

LIBRARIES = ("torch", "transformers", "llguidance")

_WARM_UP = Exchange(
    GenerateRequest("", (ChatTurn("user", "Good morning."),), ()), "Good morning to you."
)


@dataclass(frozen=True, slots=True)
class ModelStep:
    """One step of the conversation, written in each way."""

    opening: Timed
    """The first way: with what the step before left in the cache."""
    fresh_first_ms: float
    """Up to the first token from an empty cache."""
    free: Timed
    """Not held to a schema, like the opening, but with the prompt read before."""
    constrained: Timed
    looked_up: Timed | None
    """As the constrained one, with looked-up tokens; None where the cache cannot take them."""
    bare_per_token_ms: float
    """A token of the library's own `generate`."""
    led: bool
    """Whether each way wrote the given reply; otherwise they cannot be compared."""

    def to_json(self) -> JsonObject:
        """The step's figures."""
        return {
            "prompt_tokens": self.opening.prompt_tokens,
            "cached_tokens": self.opening.cached_tokens,
            "tokens": self.free.tokens,
            "led": self.led,
            "ms": {
                "first_token": round(self.opening.first_ms, 2),
                "first_token_without_reuse": round(self.fresh_first_ms, 2),
                "per_token": round(self.free.per_token_ms, 3),
                "constrained_per_token": round(self.constrained.per_token_ms, 3),
                "looked_up_per_token": (
                    None if self.looked_up is None else round(self.looked_up.per_token_ms, 3)
                ),
                "generate_per_token": round(self.bare_per_token_ms, 3),
            },
        }


@dataclass(frozen=True, slots=True)
class ModelFigures:
    """What `bench model` found."""

    model: str
    device: str
    placement: str
    """Where the model ran and in which number format, for people."""
    load_ms: float
    """From files on this disk to a model that is ready."""
    steps: tuple[ModelStep, ...]
    """Two or more; the last one's reply is prose, the others are calls."""
    weight_bytes: int
    """Read for each token."""
    memory_bytes_per_s: float
    """Of a large copy on the device."""
    switches: tuple[SwitchFigure, ...] = ()

    @property
    def held_ms(self) -> float:
        """All replies that were held to schemas, behind their first tokens."""
        return sum(step.constrained.rest_ms for step in self.steps)

    @property
    def lookup(self) -> SwitchFigure:
        """What looked-up tokens save of it."""
        looked_up = [step.looked_up.rest_ms for step in self.steps if step.looked_up is not None]
        if len(looked_up) < len(self.steps):
            return SwitchFigure("prompt_lookup", skipped="its cache cannot forget what was wrong")
        return SwitchFigure("prompt_lookup", per_token=sum(looked_up) / self.held_ms)

    @property
    def ttft_reuse(self) -> float:
        """Time to the first token with reuse to that without, from step 2 on; below 1 is better."""
        return median(step.opening.first_ms / step.fresh_first_ms for step in self.steps[1:])

    @property
    def constrained_per_token(self) -> float:
        """A token of a call that is held to its schema to one that is not; below 1 is better."""
        calls = self.steps[:-1]
        return median(step.constrained.per_token_ms / step.free.per_token_ms for step in calls)

    @property
    def decode_vs_generate(self) -> float:
        """Our decoding's speed to that of the library's `generate`; above 1 is better."""
        return median(step.bare_per_token_ms / step.free.per_token_ms for step in self.steps)

    @property
    def prefill_per_s(self) -> float:
        """Tokens of a prompt that are read in a second."""
        return median(
            step.opening.prompt_tokens * 1000 / step.fresh_first_ms for step in self.steps
        )

    @property
    def decode_per_s(self) -> float:
        """Tokens that are written freely in a second."""
        return 1000 / median(step.free.per_token_ms for step in self.steps)

    @property
    def memory_share(self) -> float:
        """Decoding's share of what the memory allows, were nothing but the weights read."""
        return self.decode_per_s * self.weight_bytes / self.memory_bytes_per_s

    def to_json(self) -> JsonObject:
        """The figures that stand for the whole."""
        return {
            "ratios": {
                "ttft_reuse": round(self.ttft_reuse, 3),
                "constrained_per_token": round(self.constrained_per_token, 3),
                "decode_vs_generate": round(self.decode_vs_generate, 3),
            },
            "tokens_per_s": {
                "prefill": round(self.prefill_per_s, 1),
                "decode": round(self.decode_per_s, 1),
            },
            "switches": {each.name: each.to_json() for each in (self.lookup, *self.switches)},
            "device": self.device,
            "model": self.model,
        }

    def details(self) -> JsonObject:
        """The same, what was measured in each step, and with what."""
        steps: list[JsonValue] = [step.to_json() for step in self.steps]
        versions: JsonObject = {name: version(name) for name in LIBRARIES}
        return {
            **self.to_json(),
            "placement": self.placement,
            "load_ms": round(self.load_ms, 1),
            "weight_bytes": self.weight_bytes,
            "memory_gb_per_s": round(self.memory_bytes_per_s / 1e9, 1),
            "memory_share": round(self.memory_share, 4),
            "steps": steps,
            "date": datetime.now(UTC).strftime("%Y-%m-%d"),
            "python": f"{python_version()} on {machine()}",
            "versions": versions,
        }


async def measure_model(
    provider: "TransformersProvider", told: Told, signal: AbortSignal
) -> ModelFigures:
    """Load the model and measure; whoever made the provider frees it.

    `told` hears what goes on. Raises `ProviderError`; `Aborted` within a token of Stop."""
    from webmcp_agent.providers.rehearsal import Rehearsal

    state = await provider.availability()
    name = state.note if isinstance(state, NeedsDownload) and state.note else provider.label
    if isinstance(state, NeedsDownload) and not state.cached:
        # A download would say more of the network than of the model.
        await load_model(provider, told, signal)
        provider.dispose()
    began = time.perf_counter()
    await load_model(provider, told, signal)
    load_ms = (time.perf_counter() - began) * 1000
    assert provider.loaded is not None
    conversation = await shop_conversation(provider.call_format, tools_inline=provider.tools_inline)
    rehearsal = Rehearsal(provider)
    try:
        measured = _Measured(provider, rehearsal, signal)
        told.say("warming up")
        steps: list[ModelStep] = []
        with rehearsal.looking_up(on=False):
            await measured.step(_WARM_UP)
            for number, exchange in enumerate(conversation, 1):
                told.say(f"step {number} of {len(conversation)}")
                steps.append(await measured.step(exchange))
        told.say("measuring the memory")
        memory = await asyncio.to_thread(rehearsal.memory_bytes_per_s)
        return ModelFigures(
            model=name,
            device=str(provider.loaded.engine.device),
            placement=provider.placement,
            load_ms=load_ms,
            steps=tuple(steps),
            weight_bytes=rehearsal.weight_bytes(),
            memory_bytes_per_s=memory,
        )
    finally:
        rehearsal.end()


@dataclass(frozen=True, slots=True)
class _Measured:
    """A model and the ways of writing a reply with it."""

    provider: "TransformersProvider"
    rehearsal: "Rehearsal"
    signal: AbortSignal

    async def step(self, exchange: Exchange) -> ModelStep:
        """Write the reply in each way.

        Whoever comes first at a length of the cache pays for it: on a CPU, torch compiles its
        products anew for each. That is the opening, so the others are measured alike. The held one
        comes last of ours and leaves in the cache what a run leaves there, for the step after."""
        request = replace(exchange.request, constraints=None, signal=self.signal)
        opening, _ = await self._write(request, exchange.reply)
        free, free_text = await self._write(request, exchange.reply)
        constrained = replace(request, constraints=exchange.request.constraints)
        looked_up: Timed | None = None
        looked_text = exchange.reply
        if self.rehearsal.can_look_up:
            with self.rehearsal.looking_up(on=True):
                # Drafts have shapes of their own, which somebody comes first at as well.
                await self._write(constrained, exchange.reply)
                looked_up, looked_text = await self._write(constrained, exchange.reply)
        held, held_text = await self._write(constrained, exchange.reply)
        bare = await asyncio.to_thread(
            self.rehearsal.generate, request, exchange.reply, self.signal.throw_if_aborted
        )
        with self.rehearsal.nothing_kept():
            most, self.provider.max_new_tokens = self.provider.max_new_tokens, 1
            try:
                fresh, _ = await self._write(request, exchange.reply)
            finally:
                self.provider.max_new_tokens = most
        texts = {free_text, held_text, looked_text}
        led = texts == {exchange.reply} and bare.tokens == free.tokens
        bare_ms = bare.rest_ms / bare.tokens
        return ModelStep(opening, fresh.first_ms, free, held, looked_up, bare_ms, led)

    async def _write(self, request: GenerateRequest, text: str) -> tuple[Timed, str]:
        return await write_reply(self.provider, self.rehearsal, request, text)
