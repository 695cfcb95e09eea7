"""GGUF files become folders that load as what transformers reads from the same file."""

import json
import logging
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from webmcp_agent.providers.abort import AbortController, AbortSignal
from webmcp_agent.providers.conversion import convert
from webmcp_agent.providers.errors import Aborted, ModelUnavailable

pytestmark = pytest.mark.model

TEXTS = (
    "Hello the 1234 things, it's in\n\n the  cart ",
    "<|im_start|>user\nhi<|im_end|>\n<tool_call>{}</tool_call>",
    "é 🌱 中文",
)
"""Texts whose blanks, digits, markers and other scripts have to come through."""


def load(folder: Path, **options: Any) -> tuple[Any, Any]:
    transformers: Any = import_module("transformers")
    torch: Any = import_module("torch")
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, local_files_only=True, **options
    )
    return model, model.state_dict()


def converted(gguf_file: Path, folder: Path) -> list[float]:
    folder.mkdir()
    told: list[float] = []
    convert(gguf_file, folder, told.append, AbortSignal())
    return told


@pytest.mark.parametrize("arch", ["llama", "qwen2", "qwen3"])
def test_the_folder_holds_the_weights_that_transformers_reads(
    arch: str, write_gguf: Callable[..., Path], tmp_path: Path
) -> None:
    torch: Any = import_module("torch")
    file = write_gguf(tmp_path / "tiny.gguf", arch=arch, rules="qwen2")

    told = converted(file, tmp_path / "folder")
    ours, our_weights = load(tmp_path / "folder")
    theirs, their_weights = load(tmp_path, gguf_file="tiny.gguf")

    assert (told == sorted(told), told[-1]) == (True, 1.0)
    assert sorted(our_weights) == sorted(their_weights)
    for name, values in our_weights.items():
        # float16 keeps 11 bits of each value.
        torch.testing.assert_close(values, their_weights[name], rtol=2**-11, atol=1e-6)
    ids = torch.tensor([[5, 80, 133, 7, 260, 12]])
    with torch.no_grad():
        torch.testing.assert_close(ours(ids).logits, theirs(ids).logits, rtol=0.01, atol=0.01)
    assert ours.config.rms_norm_eps == pytest.approx(theirs.config.rms_norm_eps, rel=1e-6)
    same = ("num_attention_heads", "num_key_value_heads", "tie_word_embeddings")
    assert [getattr(ours.config, name) for name in same] == [
        getattr(theirs.config, name) for name in same
    ]


@pytest.mark.parametrize(
    ("rules", "numbers"),
    [
        pytest.param("smollm", ["Ġ", "1", "2", "3"], id="digits one by one"),
        pytest.param("qwen2", ["Ġ", "1", "2", "3"], id="digits one by one, as Qwen does"),
        pytest.param("gpt-2", ["Ġ", "12", "3"], id="digits together"),
    ],
)
def test_the_tokenizer_splits_as_the_file_says(
    rules: str, numbers: list[str], write_gguf: Callable[..., Path], tmp_path: Path
) -> None:
    """C-68: decode(encode(x)) = x, and markers are one token each."""
    converted(write_gguf(tmp_path / "tiny.gguf", rules=rules), tmp_path / "folder")
    tokenizer: Any = import_module("transformers").AutoTokenizer.from_pretrained(
        tmp_path / "folder", local_files_only=True
    )

    assert tokenizer.tokenize(" 123") == numbers
    for text in TEXTS:
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert tokenizer.decode(ids, clean_up_tokenization_spaces=False) == text
    markers = ["<|im_end|>", "<tool_call>", "</tool_call>"]
    assert [len(tokenizer(marker)["input_ids"]) for marker in markers] == [1, 1, 1]
    # Call markers are plain added tokens: they survive a decoding without special tokens.
    shown = tokenizer.decode(tokenizer(TEXTS[1])["input_ids"], skip_special_tokens=True)
    assert shown == "user\nhi\n<tool_call>{}</tool_call>"


def test_template_and_end_tokens_come_along(
    write_gguf: Callable[..., Path], tmp_path: Path
) -> None:
    converted(write_gguf(tmp_path / "tiny.gguf"), tmp_path / "folder")
    tokenizer: Any = import_module("transformers").AutoTokenizer.from_pretrained(
        tmp_path / "folder", local_files_only=True
    )
    ends = json.loads((tmp_path / "folder" / "generation_config.json").read_text(encoding="utf-8"))

    assert tokenizer.apply_chat_template(
        [{"role": "user", "content": "hi"}], tokenize=False, add_generation_prompt=True
    ) == ("<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n")
    assert (tokenizer.eos_token, tokenizer.pad_token) == ("<|im_end|>", "<|endoftext|>")
    assert [tokenizer.decode([id]) for id in ends["eos_token_id"]] == [
        "<|im_end|>",
        "<|endoftext|>",
    ]


def test_a_kind_that_is_not_known_here_is_left_to_transformers(
    write_gguf: Callable[..., Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    torch: Any = import_module("torch")
    file = write_gguf(tmp_path / "tiny.gguf", rules="unheard-of", scaled=True)

    with caplog.at_level(logging.WARNING, logger="webmcp_agent.providers.conversion"):
        converted(file, tmp_path / "folder")

    ours, _ = load(tmp_path / "folder")
    theirs, _ = load(tmp_path, gguf_file="tiny.gguf")
    ids = torch.tensor([[5, 80, 133, 7]])
    with torch.no_grad():
        torch.testing.assert_close(ours(ids).logits, theirs(ids).logits, rtol=0.01, atol=0.01)
    assert caplog.messages == [
        "tiny.gguf: tokenizer rules gpt2/unheard-of are left to transformers"
    ]


@pytest.mark.parametrize("content", [b"", b"GGUF", b"GGUF\3\0\0\0" + b"\xff" * 40])
def test_a_broken_file_is_said_to_be_one(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_bytes(content)
    with pytest.raises(ModelUnavailable, match="tiny.gguf is no readable GGUF file"):
        converted(tmp_path / "tiny.gguf", tmp_path / "folder")


def test_stop_ends_a_conversion(write_gguf: Callable[..., Path], tmp_path: Path) -> None:
    """B-016."""
    file, stop, told = write_gguf(tmp_path / "tiny.gguf"), AbortController(), list[float]()
    (tmp_path / "folder").mkdir()

    def tell(done: float) -> None:
        told.append(done)
        if done > 0.3:
            stop.abort("enough")

    with pytest.raises(Aborted, match="enough"):
        convert(file, tmp_path / "folder", tell, stop.signal)
    assert len([done for done in told if done > 0.3]) == 1
