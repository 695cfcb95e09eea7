"""What the switches of decoding cost or save: looked-up tokens, few bits, compiled steps.

Each writes the same given replies, so that the time of a token can be compared with that of the
model as it is, in one run. A switch that cannot be used here is left out, and why is told.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.errors import Aborted
from webmcp_agent.scenarios.bench_shop import shop_conversation
from webmcp_agent.scenarios.bench_writing import model_to_measure, write_reply
from webmcp_agent.scenarios.runner import ModelSettings, Told, load_model

if TYPE_CHECKING:
    from webmcp_agent.providers.huggingface import TransformersProvider

Name = Literal["prompt_lookup", "compiled", "int8", "int4"]

VARIANTS: Mapping[Name, Callable[[ModelSettings], ModelSettings]] = MappingProxyType({
    "compiled": lambda settings: replace(settings, compiled=True),
    "int8": lambda settings: replace(settings, quantize="int8"),
    "int4": lambda settings: replace(settings, quantize="int4"),
})  # fmt: skip
"""The switches for which a model has to be loaded once more."""


@dataclass(frozen=True, slots=True)
class SwitchFigure:
    """One switch, or why it was not measured."""

    name: Name
    per_token: float | None = None
    """Time of a token to that of the model without the switch; below 1 is better."""
    load_ms: float | None = None
    """To load the model with it, compiling included; None where it needs no load of its own."""
    skipped: str = ""

    def to_json(self) -> JsonObject:
        """The ratio, or the reason."""
        if self.per_token is None:
            return {"skipped": self.skipped}
        load: JsonObject = {} if self.load_ms is None else {"load_ms": round(self.load_ms, 1)}
        return {"per_token": round(self.per_token, 3), **load}

    def line(self) -> str:
        """The same for people."""
        if self.per_token is None:
            return f"{self.name}: not measured, {self.skipped}"
        return f"a token with {self.name}: {self.per_token:.2f} of one without"


async def measure_switches(
    settings: ModelSettings,
    shape: str | None,
    held_ms: float,
    device: str,
    told: Told,
    signal: AbortSignal,
) -> tuple[SwitchFigure, ...]:
    """One figure of each name; the model itself should be freed before, to leave room.

    `held_ms` is what the replies of the conversation took without any of them, behind their first
    tokens, on `device`. Raises `Aborted` within a token of Stop."""
    figures: list[SwitchFigure] = []
    for name in VARIANTS:
        told.say(f"the same with {name}")
        if settings.quantize is not None:
            reason = f"the weights are in {settings.quantize} already"
            figures.append(SwitchFigure(name, skipped=reason))
        elif name == "compiled" and device == "cpu":
            figures.append(SwitchFigure(name, skipped="compiling for a CPU takes minutes"))
        else:
            figures.append(await _tried(name, settings, shape, held_ms, told, signal))
    return tuple(figures)


async def _tried(
    name: Name,
    settings: ModelSettings,
    shape: str | None,
    held_ms: float,
    told: Told,
    signal: AbortSignal,
) -> SwitchFigure:
    provider = await model_to_measure(VARIANTS[name](settings), shape)
    try:
        return await _measured(name, provider, held_ms, told, signal)
    except Aborted:
        raise
    except Exception as exc:  # noqa: BLE001  # one switch must not lose the figures of the others
        lines = str(exc).splitlines()
        return SwitchFigure(name, skipped=lines[0] if lines else type(exc).__name__)
    finally:
        provider.dispose()


async def _measured(
    name: Name,
    provider: "TransformersProvider",
    held_ms: float,
    told: Told,
    signal: AbortSignal,
) -> SwitchFigure:
    from webmcp_agent.providers.rehearsal import Rehearsal

    began = time.perf_counter()
    await load_model(provider, told, signal)
    load_ms = (time.perf_counter() - began) * 1000
    assert provider.loaded is not None
    if name == "compiled" and provider.loaded.engine.compiled is None:
        return SwitchFigure(name, skipped=provider.notes[-1])
    conversation = await shop_conversation(provider.call_format, tools_inline=provider.tools_inline)
    rehearsal = Rehearsal(provider)
    rest_ms = 0.0
    with rehearsal.looking_up(on=False):
        for exchange in conversation:
            request = replace(exchange.request, signal=signal)
            # As without the switch: whoever comes first at a length of the cache pays for it.
            await write_reply(provider, rehearsal, request, exchange.reply)
            timed, text = await write_reply(provider, rehearsal, request, exchange.reply)
            if text != exchange.reply:
                return SwitchFigure(name, skipped="a reply went astray")
            rest_ms += timed.rest_ms
    return SwitchFigure(name, per_token=rest_ms / held_ms, load_ms=load_ms)
