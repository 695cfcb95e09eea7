"""Models with random weights in the shape of known ones: for figures, without network or files.

What a model costs depends on its shape and not on its weights. The tokenizer is made up as well: it
learns the words of the texts that will be read and is filled up to the real vocabulary's size, so
that prompts have about as many tokens, and grammars as many entries to look at, as with a real one.
"""

import json
import random
from collections.abc import Mapping, Sequence
from importlib import import_module
from string import ascii_lowercase
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from webmcp_agent.providers.base import NeedsDownload, ProviderAvailability, Unavailable
from webmcp_agent.providers.errors import ModelUnavailable
from webmcp_agent.providers.huggingface import TransformersProvider
from webmcp_agent.providers.quantization import Quantize, missing_library, quantization
from webmcp_agent.providers.worker import SharedJob

if TYPE_CHECKING:
    from webmcp_agent.providers.loading import LoadedModel

_QWEN3 = {
    "architecture": "Qwen3Config",
    "vocab_size": 151_936,
    "head_dim": 128,
    "num_key_value_heads": 8,
    "max_position_embeddings": 40_960,
}
_LLAMA3 = {
    "architecture": "LlamaConfig",
    "vocab_size": 128_256,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 131_072,
}

SHAPES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "tiny": {
            "architecture": "Qwen3Config",
            "vocab_size": 2_048,
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": 16,
            "max_position_embeddings": 8_192,
            "tie_word_embeddings": True,
        },
        "smollm2-135m": {
            "architecture": "LlamaConfig",
            "vocab_size": 49_152,
            "hidden_size": 576,
            "intermediate_size": 1_536,
            "num_hidden_layers": 30,
            "num_attention_heads": 9,
            "num_key_value_heads": 3,
            "max_position_embeddings": 8_192,
            "tie_word_embeddings": True,
        },
        "qwen2.5-0.5b": {
            "architecture": "Qwen2Config",
            "vocab_size": 151_936,
            "hidden_size": 896,
            "intermediate_size": 4_864,
            "num_hidden_layers": 24,
            "num_attention_heads": 14,
            "num_key_value_heads": 2,
            "max_position_embeddings": 32_768,
            "tie_word_embeddings": True,
        },
        "qwen3-0.6b": {
            **_QWEN3,
            "hidden_size": 1_024,
            "intermediate_size": 3_072,
            "num_hidden_layers": 28,
            "num_attention_heads": 16,
            "tie_word_embeddings": True,
        },
        "qwen3-1.7b": {
            **_QWEN3,
            "hidden_size": 2_048,
            "intermediate_size": 6_144,
            "num_hidden_layers": 28,
            "num_attention_heads": 16,
            "tie_word_embeddings": True,
        },
        "qwen3-4b": {
            **_QWEN3,
            "hidden_size": 2_560,
            "intermediate_size": 9_728,
            "num_hidden_layers": 36,
            "num_attention_heads": 32,
            "tie_word_embeddings": True,
        },
        "qwen3-8b": {
            **_QWEN3,
            "hidden_size": 4_096,
            "intermediate_size": 12_288,
            "num_hidden_layers": 36,
            "num_attention_heads": 32,
            "tie_word_embeddings": False,
        },
        "llama3.2-1b": {
            **_LLAMA3,
            "hidden_size": 2_048,
            "intermediate_size": 8_192,
            "num_hidden_layers": 16,
            "tie_word_embeddings": True,
        },
        "llama3.1-8b": {
            **_LLAMA3,
            "hidden_size": 4_096,
            "intermediate_size": 14_336,
            "num_hidden_layers": 32,
            "tie_word_embeddings": False,
        },
    }
)
"""Sizes by name, from the `config.json` files that are published with these models."""

CHAT_TEMPLATE = """\
{%- set talk = messages -%}
{%- set system = '' -%}
{%- if talk and talk[0].role == 'system' -%}
  {%- set system = talk[0].content -%}
  {%- set talk = talk[1:] -%}
{%- endif -%}
{%- if system or tools -%}
  {{- '<|im_start|>system\\n' + system -}}
  {%- if tools -%}
    {{- '\\n\\nYou have these tools:\\n' -}}
    {%- for tool in tools -%}{{- tool | tojson + '\\n' -}}{%- endfor -%}
    {{- 'Write a call between <tool_call> and </tool_call>, as JSON with name and arguments.' -}}
  {%- endif -%}
  {{- '<|im_end|>\\n' -}}
{%- endif -%}
{%- for turn in talk -%}
  {%- if turn.role == 'tool' -%}
    {{- '<|im_start|>user\\n<tool_response>\\n' + turn.content -}}
    {{- '\\n</tool_response><|im_end|>\\n' -}}
  {%- else -%}
    {{- '<|im_start|>' + turn.role + '\\n' + turn.content + '<|im_end|>\\n' -}}
  {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}
"""
"""Turns as ChatML writes them, tools as JSON lines in the system turn."""

_SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_MARKERS = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>")


class RandomModelProvider(TransformersProvider):
    """The `transformers` provider over a model that is made up when it is loaded."""

    label = "Random weights"

    def __init__(
        self,
        shape: str,
        texts: Sequence[str],
        *,
        device: str = "auto",
        dtype: str = "auto",
        quantize: Quantize | None = None,
        compiled: bool = False,
    ) -> None:
        """`shape` is one of `SHAPES`; the tokenizer learns its words from `texts`.

        Raises `ModelUnavailable` for an unknown shape."""
        if shape not in SHAPES:
            raise ModelUnavailable(f"there is no shape {shape!r}; there are: {', '.join(SHAPES)}")
        super().__init__(
            model=f"random:{shape}",
            device=device,
            dtype=dtype,
            quantize=quantize,
            compiled=compiled,
        )
        self._fields = SHAPES[shape]
        self._texts = tuple(texts)

    def _look(self) -> ProviderAvailability:
        if self._quantize is not None and (missing := missing_library()):
            return Unavailable(missing)
        return NeedsDownload(bytes=0, note=self._model, cached=True)

    def _load(self, loading: SharedJob) -> "LoadedModel":
        from webmcp_agent.providers.loading import assembled

        transformers: Any = import_module("transformers")
        tokenizer = random_tokenizer(int(self._fields["vocab_size"]), self._texts)
        fields = {name: value for name, value in self._fields.items() if name != "architecture"}
        config: Any = getattr(transformers, self._fields["architecture"])(
            **fields,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
        return assembled(
            tokenizer, config, lambda: self._weights(config), self._wanted(), self._note
        )

    def _weights(self, config: Any) -> tuple[Any, str]:
        """A random model in eval mode, made where it will run, and where that is."""
        from webmcp_agent.providers.loading import this_machine, without_bars
        from webmcp_agent.providers.placement import place

        torch: Any = import_module("torch")
        transformers: Any = import_module("transformers")
        with torch.device("meta"):
            empty = transformers.AutoModelForCausalLM.from_config(config)
        parameters = sum(int(each.numel()) for each in empty.parameters())
        placement = place(self._device, self._dtype, parameters, this_machine(), self._quantize)
        if placement.device_map == "auto":
            raise ModelUnavailable(f"{self._model} does not fit one GPU")
        torch.manual_seed(0)
        with torch.device(placement.device_map):
            model = transformers.AutoModelForCausalLM.from_config(
                config, dtype=getattr(torch, placement.dtype)
            )
        if self._quantize is not None:
            with without_bars():
                model = model.from_pretrained(
                    None,
                    config=config,
                    state_dict=model.state_dict(),
                    dtype=getattr(torch, placement.dtype),
                    device_map={"": placement.device_map},
                    quantization_config=quantization(
                        self._quantize, placement.device_map, placement.dtype
                    ),
                )
        return model.eval(), placement.text


def random_tokenizer(size: int, texts: Sequence[str]) -> Any:
    """A byte-level BPE tokenizer of `size` entries that splits `texts` as a real one would.

    Entries that no text leads to are made-up words, equal on every run."""
    tokenizers: Any = import_module("tokenizers")
    transformers: Any = import_module("transformers")
    added = len(_SPECIAL) + len(_MARKERS)
    learnt: Any = _byte_level(tokenizers, tokenizers.models.BPE())
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=max(300, min(size - added, 8_000)),
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    learnt.train_from_iterator(list(texts), trainer)
    model: dict[str, Any] = _model_of(learnt)
    vocabulary = _filled(model["vocab"], size - added)
    merges = [tuple(merge) for merge in model["merges"]]
    whole = _byte_level(tokenizers, tokenizers.models.BPE(vocab=vocabulary, merges=merges))
    whole.add_special_tokens(list(_SPECIAL))
    whole.add_tokens(
        [tokenizers.AddedToken(text, special=False, normalized=False) for text in _MARKERS]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=whole,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        chat_template=CHAT_TEMPLATE,
    )


def _byte_level(tokenizers: Any, model: Any) -> Any:
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    return tokenizer


def _model_of(tokenizer: Any) -> dict[str, Any]:
    return json.loads(tokenizer.to_str())["model"]


def _filled(vocabulary: Mapping[str, int], size: int) -> dict[str, int]:
    """The vocabulary, filled up with words of three to eight letters."""
    filled = dict(vocabulary)
    source = random.Random(0)
    while len(filled) < size:
        word = "".join(source.choices(ascii_lowercase, k=source.randint(3, 8)))
        # `Ġ` stands for a blank in byte-level vocabularies; about half of their words have one.
        filled.setdefault(f"Ġ{word}" if source.random() < 0.5 else word, len(filled))
    return filled
