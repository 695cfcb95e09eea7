"""A base model with a LoRA adapter that learns: encode, step, judge, keep and save.

The base model stays as it is, in bfloat16 where the device is quicker in it; the adapter's own
weights are kept in float32 beside it and copied over after each step. Only this module imports
torch and peft for training. It saves what peft loads: `adapter_config.json` and
`adapter_model.safetensors`. Checkpoints are safetensors too and land by rename.
"""

import json
import os
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from webmcp_agent.providers.base import PromptParts
from webmcp_agent.providers.errors import ModelUnavailable
from webmcp_agent.providers.load_lock import load_lock
from webmcp_agent.providers.loading import cpu_bfloat16
from webmcp_agent.providers.packed_attention import ATTENTION, Layout, register_attention
from webmcp_agent.providers.packing import Pack, TokenExample, pack
from webmcp_agent.providers.templates import ChatForm
from webmcp_agent.providers.training_values import (
    Conversation,
    TrainingOptions,
    TrainingResult,
    Validation,
)


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
        return TrainingResult.read(metadata["result"])

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
