"""Training a LoRA adapter on conversations: loss on the model's own replies, resumable, with Stop.

The base model stays as it is, in bfloat16 where the device is quicker in it; the adapter's own
weights are kept in float32 beside it and copied over after each step. Only this module imports
torch and peft for training. It saves what peft loads: `adapter_config.json` and
`adapter_model.safetensors`. Checkpoints are safetensors too and land by rename.
"""

import json
import math
import os
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.base import PromptParts
from webmcp_agent.providers.errors import ModelUnavailable
from webmcp_agent.providers.load_lock import load_lock
from webmcp_agent.providers.loading import cpu_bfloat16
from webmcp_agent.providers.packed_attention import ATTENTION, Layout, register_attention
from webmcp_agent.providers.packing import Pack, TokenExample, pack, packed
from webmcp_agent.providers.templates import ChatForm

CHECKPOINT = "checkpoint.safetensors"


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


class Trainer:
    """A base model with a fresh adapter, or with the one of a checkpoint."""

    def __init__(self, base: Path, options: TrainingOptions) -> None:
        """Load `base`, a folder that `from_pretrained` reads. Takes seconds."""
        torch: Any = import_module("torch")
        peft: Any = import_module("peft")
        transformers: Any = import_module("transformers")

        register_attention()
        torch.manual_seed(options.seed)
        self.options = options
        self.base = base
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        dtype = torch.bfloat16 if self.device == "cuda" or cpu_bfloat16() else torch.float32
        self.tokenizer: Any = transformers.AutoTokenizer.from_pretrained(str(base))
        with load_lock:
            model: Any = transformers.AutoModelForCausalLM.from_pretrained(
                str(base), dtype=dtype, attn_implementation=ATTENTION
            )
        model.config.use_cache = False
        config = peft.LoraConfig(
            r=options.rank,
            lora_alpha=options.alpha,
            target_modules="all-linear",
            task_type="CAUSAL_LM",
        )
        with warnings.catch_warnings():
            # peft 0.21 asks transformers 5.24 by names that are going away; nobody can act on it.
            warnings.simplefilter("ignore", FutureWarning)
            self.model: Any = peft.get_peft_model(model, config, autocast_adapter_dtype=False)
        self.model.to(self.device).train()
        named = [(n, p) for n, p in self.model.named_parameters() if p.requires_grad]
        self.names = [name for name, _ in named]
        self.weights: list[Any] = [weight for _, weight in named]
        self.master = [w.detach().float().clone() for w in self.weights]
        for weight in self.master:
            weight.requires_grad_(True)
        self.optimizer = torch.optim.AdamW(
            self.master, lr=options.learning_rate, weight_decay=options.weight_decay
        )

    def encode(self, conversations: Sequence[Conversation], template: str) -> list[TokenExample]:
        """The conversations as token ids, rendered with a chat template."""
        return [self._encoded(one, template) for one in conversations]

    def _encoded(self, one: Conversation, template: str) -> TokenExample:
        end: int = self.tokenizer.eos_token_id
        turns = one.prompt.messages
        whole = self._rendered(one.prompt, len(turns), template)
        ids: list[int] = []
        replies: list[tuple[int, int]] = []
        done = 0
        for index in one.learnt:
            before = self._rendered(one.prompt, index, template)
            if not whole.startswith(before + turns[index].content):
                continue
            ids += self._ids(whole[done : len(before)])
            start = len(ids)
            ids += self._ids(turns[index].content)
            done = len(before) + len(turns[index].content)
            # The template writes the end-of-turn token itself.
            replies.append((start, len(ids) + 1))
        ids += self._ids(whole[done:])
        start = len(ids)
        ids += [*self._ids(one.reply), end]
        return TokenExample(tuple(ids), (*replies, (start, len(ids))))

    def _rendered(self, prompt: PromptParts, turns: int, template: str) -> str:
        """The prompt up to that turn, with the opening of the reply that comes then."""
        form = ChatForm()
        return self.tokenizer.apply_chat_template(
            form.messages(prompt.system, prompt.messages[:turns]),
            tools=form.tools(prompt.tools),
            chat_template=template,
            add_generation_prompt=True,
            tokenize=False,
        )

    def _ids(self, text: str) -> list[int]:
        return self.tokenizer(text, add_special_tokens=False)["input_ids"]

    def loss(self, batch: Pack) -> Any:
        """Mean loss over the replies of a pack."""
        torch: Any = import_module("torch")

        logits = self.logits(batch)
        targets = torch.tensor(batch.targets, device=self.device)
        return torch.nn.functional.cross_entropy(logits, targets)

    def logits(self, batch: Pack) -> Any:
        """Float logits where a reply is predicted, (len(predicting), vocabulary)."""
        torch: Any = import_module("torch")

        layout = Layout.of(batch, next(iter(self.weights)).dtype, self.device)
        out = self.model(
            input_ids=torch.tensor([batch.ids], device=self.device),
            position_ids=torch.tensor([batch.positions], device=self.device),
            logits_to_keep=torch.tensor(batch.predicting, device=self.device),
            use_cache=False,
            packing=layout,
        )
        return out.logits[0].float()

    def step(self, batch: Pack, rate: float) -> float:
        """One step of the optimizer; the loss before it."""
        torch: Any = import_module("torch")

        loss = self.loss(batch)
        loss.backward()
        for weight, master in zip(self.weights, self.master, strict=True):
            assert weight.grad is not None, "every adapter weight takes part"
            master.grad = weight.grad.float()
            weight.grad = None
        torch.nn.utils.clip_grad_norm_(self.master, self.options.clip)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self._spread()
        return float(loss.detach())

    def _spread(self) -> None:
        """Copy the float32 weights into the model."""
        torch: Any = import_module("torch")

        with torch.no_grad():
            for weight, master in zip(self.weights, self.master, strict=True):
                weight.copy_(master)

    def validate(self, examples: Sequence[TokenExample], step: int) -> Validation:
        """Loss and share of exact replies on `examples`, without learning from them."""
        torch: Any = import_module("torch")

        losses: list[float] = []
        exact: list[bool] = []
        with torch.no_grad():
            for batch in (pack(examples[i : i + 4]) for i in range(0, len(examples), 4)):
                logits = self.logits(batch)
                targets = torch.tensor(batch.targets, device=self.device)
                each = torch.nn.functional.cross_entropy(logits, targets, reduction="none")
                right = logits.argmax(-1) == targets
                start = 0
                for length in batch.replies:
                    losses.append(float(each[start : start + length].mean()))
                    exact.append(bool(right[start : start + length].all()))
                    start += length
        return Validation(step, sum(losses) / len(losses), sum(exact) / len(exact))

    def seconds_for(self, packs: Sequence[Pack]) -> float:
        """How long steps on `packs` will take, from trying the first one; changes nothing."""
        if not packs:
            return 0.0
        started = time.monotonic()
        self.loss(packs[0]).backward()
        for weight in self.weights:
            weight.grad = None
        return (time.monotonic() - started) / packs[0].tokens * sum(p.tokens for p in packs)

    def start_from(self, adapter: Path) -> None:
        """Begin with the weights of an adapter of the same base and rank."""
        torch: Any = import_module("torch")
        peft: Any = import_module("peft")

        state: dict[str, Any] = import_module("safetensors.torch").load_file(
            str(adapter / "adapter_model.safetensors")
        )
        own: dict[str, Any] = peft.get_peft_model_state_dict(
            self.model,
            save_embedding_layers=False,  # "auto" would ask the hub
        )
        if {k: v.shape for k, v in own.items()} != {k: v.shape for k, v in state.items()}:
            raise ModelUnavailable(f"the adapter {adapter} has another base model or another rank")
        peft.set_peft_model_state_dict(self.model, state)
        with torch.no_grad():
            for weight, master in zip(self.weights, self.master, strict=True):
                master.copy_(weight)

    def save_checkpoint(self, file: Path, result: TrainingResult, recipe: str) -> None:
        """Everything needed to go on from here, by rename."""
        tensors: dict[str, Any] = {}
        for index, master in enumerate(self.master):
            tensors[f"weight.{index}"] = master.detach()
            for key, value in self.optimizer.state.get(master, {}).items():
                tensors[f"{key}.{index}"] = value
        state = json.dumps(asdict(result))
        partial = file.with_name(file.name + ".partial")
        import_module("safetensors.torch").save_file(
            tensors, partial, metadata={"result": state, "recipe": recipe}
        )
        os.replace(partial, file)

    def load_checkpoint(self, file: Path, recipe: str) -> TrainingResult | None:
        """Go on from a checkpoint; None when there is none of this very recipe."""
        safetensors: Any = import_module("safetensors")
        if not file.is_file():
            return None
        with safetensors.safe_open(str(file), framework="pt") as opened:
            metadata: dict[str, str] = opened.metadata()
            if metadata.get("recipe") != recipe:
                return None
            tensors: dict[str, Any] = {key: opened.get_tensor(key) for key in opened.keys()}
        state = self.optimizer.state_dict()
        for index, master in enumerate(self.master):
            master.data.copy_(tensors[f"weight.{index}"])
            kept = {
                key.partition(".")[0]: value
                for key, value in tensors.items()
                if key.endswith(f".{index}") and not key.startswith("weight.")
            }
            if kept:
                state["state"][index] = kept
        self.optimizer.load_state_dict(state)
        self._spread()
        plain = json.loads(metadata["result"])
        plain["validations"] = [Validation(**each) for each in plain["validations"]]
        return TrainingResult(**plain)

    def save_adapter(self, out: Path, template: str | None) -> None:
        """The adapter as peft loads it, in bfloat16, and the chat template it was trained with."""
        torch: Any = import_module("torch")
        peft: Any = import_module("peft")

        out.mkdir(parents=True, exist_ok=True)
        config = self.model.peft_config["default"]
        config.base_model_name_or_path = self.options.base_name or str(self.base)
        config.inference_mode = True
        config.save_pretrained(str(out))
        state: dict[str, Any] = peft.get_peft_model_state_dict(
            self.model,
            save_embedding_layers=False,  # "auto" would ask the hub
        )
        tensors = {k: v.detach().to("cpu", torch.bfloat16).contiguous() for k, v in state.items()}
        partial = out / "adapter_model.safetensors.partial"
        import_module("safetensors.torch").save_file(tensors, partial, metadata={"format": "pt"})
        os.replace(partial, out / "adapter_model.safetensors")
        if template is not None:
            (out / "chat_template.jinja").write_text(template, encoding="utf-8")


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
    result.examples = len(examples)
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
