"""Training a LoRA adapter: loss on the model's own replies, resumable, with Stop."""

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path

from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.packing import TokenExample, packed
from webmcp_agent.providers.trainer import Trainer
from webmcp_agent.providers.training_values import (
    Conversation,
    Plan,
    Progress,
    TrainingOptions,
    TrainingResult,
)

CHECKPOINT = "checkpoint.safetensors"


def train(
    base: Path,
    conversations: Sequence[Conversation],
    out: Path,
    *,
    template: str,
    options: TrainingOptions | None = None,
    held_out: Sequence[Conversation] = (),
    start: Path | None = None,
    on_plan: Callable[[Plan], None] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    signal: AbortSignal | None = None,
    resume: bool = True,
) -> TrainingResult:
    """Train an adapter for the model in the folder `base` and save it in the folder `out`.

    Blocking. `template` is the chat template in which the model will be asked. `start` is an
    adapter of the same base and rank to begin with, in place of a fresh one. With `resume`, a
    checkpoint of the same recipe and data in `out` is gone on from; the end is the same as without
    the interruption. On Stop the checkpoint is written and the result is not `finished`."""
    options = options or TrainingOptions()
    trainer = Trainer(base, options)
    examples = trainer.encode(conversations, template)
    judged = trainer.encode(held_out, template)
    packs = [
        batch
        for epoch in range(options.epochs)
        for batch in packed(examples, options.pack_tokens, options.seed + epoch)
    ]
    out.mkdir(parents=True, exist_ok=True)
    file = out / CHECKPOINT
    recipe = _recipe(options, examples, start)
    if start is not None:
        trainer.start_from(start)
    result = (trainer.load_checkpoint(file, recipe) if resume else None) or TrainingResult()
    result.seed, result.examples = options.seed, len(examples)
    result.tokens = options.epochs * sum(len(e.ids) for e in examples)
    result.reply_tokens = options.epochs * sum(
        end - start for e in examples for start, end in e.replies
    )
    if on_plan is not None:
        left = packs[result.steps :]
        tokens = sum(batch.tokens for batch in left)
        on_plan(Plan(len(examples), len(left), tokens, trainer.seconds_for(left)))
    begun, first = time.monotonic(), result.steps
    for index in range(result.steps, len(packs)):
        if signal is not None and signal.aborted:
            trainer.save_checkpoint(file, result, recipe)
            return result
        started = time.monotonic()
        batch = packs[index]
        result.losses.append(trainer.step(batch, rate_at(index, len(packs), options)))
        result.steps = index + 1
        result.computed_tokens += batch.tokens
        result.seconds += time.monotonic() - started
        if on_progress is not None:
            left = (time.monotonic() - begun) / (index + 1 - first) * (len(packs) - index - 1)
            speed = result.computed_tokens / max(result.seconds, 1e-9)
            on_progress(Progress(index + 1, len(packs), result.losses[-1], speed, left))
        last = index + 1 == len(packs)
        if judged and (last or (index + 1) % options.validate_every == 0):
            result.validations.append(trainer.validate(judged, index + 1))
        if (index + 1) % options.checkpoint_every == 0:
            trainer.save_checkpoint(file, result, recipe)
    result.finished = True
    trainer.save_adapter(out, template)
    file.unlink(missing_ok=True)
    return result


def rate_at(step: int, steps: int, options: TrainingOptions) -> float:
    """The learning rate of a step, counted from 0: a short rise, level, a cosine at the end."""
    rising = max(1, round(options.warmup * steps))
    if step < rising:
        return options.learning_rate * (step + 1) / rising
    falling = max(1, round(options.falling * steps))
    done = max(0.0, (step - (steps - falling)) / falling)
    low = options.lowest_rate
    return options.learning_rate * (low + (1 - low) * (1 + math.cos(math.pi * done)) / 2)


def _recipe(options: TrainingOptions, examples: Sequence[TokenExample], start: Path | None) -> str:
    """Names recipe and data: a checkpoint of another one is not gone on from."""
    digest = sha256(json.dumps(asdict(options), sort_keys=True).encode())
    if start is not None:
        digest.update((start / "adapter_model.safetensors").read_bytes())
    for example in examples:
        digest.update(repr(example).encode())
    return digest.hexdigest()
