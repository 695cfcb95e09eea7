"""A GGUF file becomes a folder that `from_pretrained` loads in seconds.

Weights are dequantised once, piece by piece, and written as float16 safetensors: a quantised value
is a 4 to 6 bit number times a float16 scale, so float16 keeps what bfloat16 would round away, in
half the space of float32. Vectors (norms, biases) stay float32. Llama, Qwen2 and Qwen3 files and
their byte-level tokenizers are read here, tensor by tensor; every other kind goes through
transformers' own reader, which knows more kinds and takes minutes and the memory for all weights.
"""

import json
import logging
import os
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.errors import ModelUnavailable
from webmcp_agent.providers.load_lock import load_lock
from webmcp_agent.providers.model_cache import check_space

_log = logging.getLogger(__name__)

_ARCHITECTURES = {
    "llama": "LlamaForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
}
_CONTROL, _USER_DEFINED = 3, 4
"""Kinds of token in `tokenizer.ggml.token_type`: added and special, added and plain text."""

_QWEN_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_TOKENIZERS = ("gpt-2", "smollm", "qwen2")
"""The values of `tokenizer.ggml.pre` whose splitting rules are built here."""

_END_TOKENS = ("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>")
_PIECE = 1 << 24
"""Values that are dequantised at a time: 64 MB as float32."""


@dataclass(frozen=True, slots=True)
class _Tensor:
    name: str
    shape: tuple[int, ...]
    heads: int
    """Rows are stored interleaved for so many attention heads; 0 when they are in order."""
    source: Any

    @property
    def dtype(self) -> str:
        return "F32" if len(self.shape) < 2 else "F16"

    @property
    def size_bytes(self) -> int:
        count = 1
        for side in self.shape:
            count *= side
        return count * (4 if self.dtype == "F32" else 2)


def convert(
    gguf_file: Path, folder: Path, on_progress: Callable[[float], None], signal: AbortSignal
) -> None:
    """Fill the empty `folder` with config, tokenizer, chat template and weights.

    Raises `ModelUnavailable` for a file that is no GGUF of a causal language model, and
    `DownloadFailed` when the disk has no room."""
    reader = _read(gguf_file)
    fields = _fields(reader)
    tensors = _named_tensors(reader, fields)
    if tensors is None:
        _convert_with_transformers(gguf_file, folder, on_progress, signal)
    else:
        check_space(folder, sum(t.size_bytes for t in tensors), f"converting {gguf_file.name}")
        _write_json(folder / "config.json", _config(fields, tensors))
        _write_weights(folder / "model.safetensors", tensors, on_progress, signal)
    signal.throw_if_aborted()
    _save_tokenizer(gguf_file, fields, folder)


def _read(gguf_file: Path) -> Any:
    gguf = import_module("gguf")
    try:
        return gguf.GGUFReader(gguf_file)
    except (OSError, ValueError, IndexError, KeyError) as exc:
        raise ModelUnavailable(f"{gguf_file} is no readable GGUF file: {exc}") from exc


def _fields(reader: Any) -> dict[str, Any]:
    """The metadata, long lists left unread until they are asked for."""
    return {str(key): field for key, field in reader.fields.items()}


def _value(fields: dict[str, Any], key: str, default: Any = None) -> Any:
    return fields[key].contents() if key in fields else default


def _named_tensors(reader: Any, fields: dict[str, Any]) -> list[_Tensor] | None:
    """The tensors under transformers' names; None when this file is not of a kind known here."""
    arch = _value(fields, "general.architecture")
    if arch not in _ARCHITECTURES or any(key.startswith(f"{arch}.rope.scaling") for key in fields):
        return None
    gguf = import_module("gguf")
    kind = next(key for key, name in gguf.MODEL_ARCH_NAMES.items() if name == arch)
    layers = int(_value(fields, f"{arch}.block_count"))
    heads = int(_value(fields, f"{arch}.attention.head_count"))
    kv_heads = int(_value(fields, f"{arch}.attention.head_count_kv", heads))
    names = _their_names(gguf.get_tensor_name_map(kind, layers), layers)
    found: list[_Tensor] = []
    for tensor in reader.tensors:
        name = names.get(str(tensor.name))
        if name is None:
            return None
        interleaved = 0
        if arch == "llama" and name.endswith("q_proj.weight"):
            interleaved = heads
        elif arch == "llama" and name.endswith("k_proj.weight"):
            interleaved = kv_heads
        shape = tuple(int(side) for side in reversed(tensor.shape.tolist()))
        found.append(_Tensor(name, shape, interleaved, tensor))
    return found


def _their_names(names: Any, layers: int) -> dict[str, str]:
    """From the names in a file to those of transformers' Llama and its relatives."""
    stems = ["model.embed_tokens", "model.norm", "lm_head"]
    for layer in range(layers):
        stems += [
            f"model.layers.{layer}.{part}"
            for part in (
                *(f"self_attn.{p}" for p in ("q_proj", "k_proj", "v_proj", "o_proj")),
                *(f"self_attn.{p}" for p in ("q_norm", "k_norm")),
                *(f"mlp.{p}" for p in ("gate_proj", "up_proj", "down_proj")),
                "input_layernorm",
                "post_attention_layernorm",
            )
        ]
    found: dict[str, str] = {}
    for stem in stems:
        inside = names.get_name(stem)
        if inside is not None:
            found |= {f"{inside}{end}": f"{stem}{end}" for end in (".weight", ".bias")}
    return found


def _config(fields: dict[str, Any], tensors: list[_Tensor]) -> dict[str, JsonValue]:
    arch = str(_value(fields, "general.architecture"))
    names = {tensor.name: tensor for tensor in tensors}
    heads = int(_value(fields, f"{arch}.attention.head_count"))
    hidden = int(_value(fields, f"{arch}.embedding_length"))
    config: dict[str, JsonValue] = {
        "architectures": [_ARCHITECTURES[arch]],
        "model_type": arch,
        "dtype": "float16",
        "hidden_size": hidden,
        "intermediate_size": int(_value(fields, f"{arch}.feed_forward_length")),
        "num_hidden_layers": int(_value(fields, f"{arch}.block_count")),
        "num_attention_heads": heads,
        "num_key_value_heads": int(_value(fields, f"{arch}.attention.head_count_kv", heads)),
        "head_dim": int(_value(fields, f"{arch}.attention.key_length", hidden // heads)),
        "max_position_embeddings": int(_value(fields, f"{arch}.context_length")),
        "rms_norm_eps": _short(_value(fields, f"{arch}.attention.layer_norm_rms_epsilon")),
        "rope_theta": _short(_value(fields, f"{arch}.rope.freq_base", 10000.0)),
        "vocab_size": names["model.embed_tokens.weight"].shape[0],
        "tie_word_embeddings": "lm_head.weight" not in names,
        "attention_bias": "model.layers.0.self_attn.q_proj.bias" in names,
    }
    for key in ("bos", "eos"):
        token = _value(fields, f"tokenizer.ggml.{key}_token_id")
        if token is not None:
            config[f"{key}_token_id"] = int(token)
    return config


def _short(value: Any) -> float:
    """A float32 of the file without the digits that float64 adds: 1e-05, not 9.99999974e-06."""
    return float(f"{float(value):.7g}")


def _write_weights(
    path: Path, tensors: list[_Tensor], on_progress: Callable[[float], None], signal: AbortSignal
) -> None:
    """Write one safetensors file, a piece at a time, so that memory stays small.

    The format: 8 bytes of header length, a JSON header, then the values in its order."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    # Sorted by size of a value, so that every tensor starts at a multiple of it.
    ordered = sorted(tensors, key=lambda tensor: tensor.dtype != "F32")
    for tensor in ordered:
        start, end = end, end + tensor.size_bytes
        header[tensor.name] = {
            "dtype": tensor.dtype,
            "shape": list(tensor.shape),
            "data_offsets": [start, end],
        }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    written = 0
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in ordered:
            for piece in _pieces(tensor):
                signal.throw_if_aborted()
                file.write(piece)
                written += len(piece)
                on_progress(written / end)
        file.flush()
        os.fsync(file.fileno())


def _pieces(tensor: _Tensor) -> Iterator[bytes]:
    """The values of a tensor as little-endian bytes of its dtype, whole rows at a time."""
    np = import_module("numpy")
    quants = import_module("gguf.quants")
    data = tensor.source.data
    rows = tensor.shape[0]
    step = rows
    if not tensor.heads and len(tensor.shape) > 1:
        step = max(1, _PIECE // max(1, tensor.shape[-1]))
    for start in range(0, rows, step):
        part = data[start : start + step]
        values = quants.dequantize(part, tensor.source.tensor_type).reshape(-1, *tensor.shape[1:])
        if tensor.heads:
            values = _in_order(values, tensor.heads)
        yield np.ascontiguousarray(
            values, dtype="<f4" if tensor.dtype == "F32" else "<f2"
        ).tobytes()


def _in_order(rows: Any, heads: int) -> Any:
    """Undo the pairing of rows that llama.cpp's rotary embedding wants, head by head."""
    pairs = rows.reshape(heads, rows.shape[0] // heads // 2, 2, *rows.shape[1:])
    return pairs.swapaxes(1, 2).reshape(rows.shape)


def _convert_with_transformers(
    gguf_file: Path, folder: Path, on_progress: Callable[[float], None], signal: AbortSignal
) -> None:
    """Config and weights of a kind that is not known here."""
    torch = import_module("torch")
    transformers = import_module("transformers")
    auto = transformers.AutoModelForCausalLM
    try:
        with load_lock:
            read = auto.from_pretrained(
                gguf_file.parent,
                gguf_file=gguf_file.name,
                dtype=torch.float16,
                local_files_only=True,
                # Else the weights may stay packed, in layers that only a GGUF file can fill.
                quantization_config=transformers.GgufConfig(dequantize=True),
            )
    except (ValueError, KeyError, NotImplementedError, RuntimeError) as exc:
        raise ModelUnavailable(f"{gguf_file} cannot be converted: {exc}") from exc
    signal.throw_if_aborted()
    on_progress(0.8)
    # A model that was read from a GGUF file refuses to be saved; a plain one takes its weights.
    config = read.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    with torch.device("meta"):
        plain = auto.from_config(config)
    plain.load_state_dict(read.state_dict(), assign=True)
    plain.tie_weights()
    plain.save_pretrained(folder)


def _save_tokenizer(gguf_file: Path, fields: dict[str, Any], folder: Path) -> None:
    kind = _value(fields, "tokenizer.ggml.model")
    rules = _value(fields, "tokenizer.ggml.pre", "gpt-2")
    transformers = import_module("transformers")
    if kind == "gpt2" and rules in _TOKENIZERS:
        tokenizer = _byte_level_tokenizer(fields, str(rules))
    else:
        _log.warning(
            "%s: tokenizer rules %s/%s are left to transformers", gguf_file.name, kind, rules
        )
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                gguf_file.parent, gguf_file=gguf_file.name, local_files_only=True
            )
        except (ValueError, KeyError, NotImplementedError) as exc:
            raise ModelUnavailable(f"{gguf_file}: its tokenizer is not known: {exc}") from exc
    tokenizer.chat_template = _value(fields, "tokenizer.chat_template") or tokenizer.chat_template
    tokenizer.save_pretrained(folder)
    _write_json(folder / "generation_config.json", {"eos_token_id": _end_ids(fields, tokenizer)})


def _byte_level_tokenizer(fields: dict[str, Any], rules: str) -> Any:
    """The tokenizer as its makers publish it, from vocabulary, merges and the rules' name."""
    tokenizers = import_module("tokenizers")
    tokens: list[str] = _value(fields, "tokenizer.ggml.tokens")
    kinds: list[int] = _value(fields, "tokenizer.ggml.token_type")
    added = [i for i, kind in enumerate(kinds) if kind in {_CONTROL, _USER_DEFINED}]
    words = {token: i for i, token in enumerate(tokens) if kinds[i] == 1}
    merges = [tuple(pair.split(" ", 1)) for pair in _value(fields, "tokenizer.ggml.merges")]
    # Tokens of the model's own vocabulary that are special, too, have to keep their number.
    first = min(added, default=len(words))
    vocabulary = words if first >= len(words) else words | {tokens[i]: i for i in added}
    byte_level = tokenizers.pre_tokenizers.ByteLevel
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, merges))
    match rules:
        case "qwen2":
            tokenizer.normalizer = tokenizers.normalizers.NFC()
            split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(_QWEN_SPLIT), "isolated")
            steps = [split, byte_level(add_prefix_space=False, use_regex=False)]
        case "smollm":
            digits = tokenizers.pre_tokenizers.Digits(individual_digits=True)
            steps = [digits, byte_level(add_prefix_space=False)]
        case _:
            steps = [byte_level(add_prefix_space=False)]
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(steps)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    for i in added:
        token = tokenizers.AddedToken(tokens[i], special=kinds[i] == _CONTROL, normalized=False)
        tokenizer.add_tokens([token])
        if tokenizer.token_to_id(tokens[i]) != i:
            raise ModelUnavailable(f"the vocabulary of this GGUF file has a gap before {tokens[i]}")
    special: dict[str, Any] = {}
    for ours, theirs in (("eos", "eos"), ("pad", "padding"), ("unk", "unknown"), ("bos", "bos")):
        token = _value(fields, f"tokenizer.ggml.{theirs}_token_id")
        if token is not None:
            special[f"{ours}_token"] = tokens[int(token)]
    if _value(fields, "tokenizer.ggml.add_bos_token", False) and "bos_token" in special:
        bos = special["bos_token"]
        tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
            single=f"{bos} $A", special_tokens=[(bos, tokens.index(bos))]
        )
    architecture = _value(fields, "general.architecture")
    return import_module("transformers").PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=int(_value(fields, f"{architecture}.context_length")),
        clean_up_tokenization_spaces=False,
        **special,
    )


def _end_ids(fields: dict[str, Any], tokenizer: Any) -> list[JsonValue]:
    """The ids that end a reply: the file's own, and the usual ones that are special here."""
    ids: list[JsonValue] = []
    own = _value(fields, "tokenizer.ggml.eos_token_id", tokenizer.eos_token_id)
    if own is not None:
        ids.append(int(own))
    vocabulary = tokenizer.get_vocab()
    for token in _END_TOKENS:
        if token in vocabulary and vocabulary[token] not in ids:
            ids.append(int(vocabulary[token]))
    return ids


def _write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
