"""Adapters: merged once into the base; another content is another model; a foreign one fails."""

import json
import shutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from webmcp_agent.providers.abort import AbortController
from webmcp_agent.providers.adapters import read_adapter
from webmcp_agent.providers.errors import Aborted, ModelUnavailable
from webmcp_agent.providers.weights import cached_models, fetch_model, find_model, remove_model

pytestmark = [
    pytest.mark.model,
    # peft asks transformers by a name that is going away.
    pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning"),
]


@pytest.fixture
def base(write_gguf: Callable[..., Path], tmp_path: Path) -> Path:
    """A converted tiny model; its cache is `tmp_path / "cache"`."""
    file = write_gguf(tmp_path / "tiny.gguf")
    return fetch_model(find_model(str(file), cache_dir=tmp_path / "cache"))


def load(folder: Path) -> Any:
    torch: Any = import_module("torch")
    return import_module("transformers").AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, local_files_only=True
    )


def write_adapter(base: Path, folder: Path, seed: int = 1) -> Any:
    """A LoRA adapter with random weights; gives the model with it, unmerged."""
    torch: Any = import_module("torch")
    peft: Any = import_module("peft")
    torch.manual_seed(seed)
    config = peft.LoraConfig(
        r=4, target_modules=["q_proj", "down_proj"], task_type="CAUSAL_LM", init_lora_weights=False
    )
    model = peft.get_peft_model(load(base), config)
    model.save_pretrained(folder)
    (folder / "chat_template.jinja").write_text("TUNED {{ messages[0]['content'] }}", "utf-8")
    return model


def test_a_merged_model_answers_as_base_and_adapter_do(base: Path, tmp_path: Path) -> None:
    torch: Any = import_module("torch")
    unmerged = write_adapter(base, tmp_path / "adapter")
    ids = torch.tensor([[5, 80, 133, 7, 260, 12]])
    told: list[float] = []

    source = find_model(str(base), adapter=tmp_path / "adapter", cache_dir=tmp_path / "cache")
    folder = fetch_model(source, told.append)
    merged = load(folder)

    assert (source.cached, source.missing_bytes) == (True, 0)
    assert source.chat_template == "TUNED {{ messages[0]['content'] }}"
    assert source.label == f"folder {base} with adapter adapter"
    assert told == [1.0]
    with torch.no_grad():
        with_adapter, alone = unmerged(ids).logits, load(base)(ids).logits
        torch.testing.assert_close(merged(ids).logits, with_adapter, rtol=0.01, atol=0.01)
    assert (with_adapter - alone).abs().max() > 0.1
    tokenizer: Any = import_module("transformers").AutoTokenizer.from_pretrained(folder)
    turns = [{"role": "user", "content": "hi"}]
    assert tokenizer.apply_chat_template(turns, tokenize=False) == "TUNED hi"
    assert (folder / "generation_config.json").read_bytes() == (
        base / "generation_config.json"
    ).read_bytes()


def test_merging_happens_once_for_each_content(base: Path, tmp_path: Path) -> None:
    write_adapter(base, tmp_path / "adapter")
    shutil.copytree(tmp_path / "adapter", tmp_path / "copy")
    write_adapter(base, tmp_path / "other", seed=2)
    cache = tmp_path / "cache"

    def fetch(adapter: str) -> Path:
        return fetch_model(find_model(str(base), adapter=tmp_path / adapter, cache_dir=cache))

    first = fetch("adapter")
    built = first.stat().st_ctime_ns

    assert fetch("copy") == fetch("adapter") == first
    assert first.stat().st_ctime_ns == built
    assert fetch("other") != first
    (tmp_path / "adapter" / "chat_template.jinja").write_text("OTHER", "utf-8")
    assert fetch("adapter") != first


def test_a_model_goes_with_all_that_was_merged_into_it(base: Path, tmp_path: Path) -> None:
    write_adapter(base, tmp_path / "adapter")
    file, cache = tmp_path / "tiny.gguf", tmp_path / "cache"
    merged = fetch_model(find_model(str(file), adapter=tmp_path / "adapter", cache_dir=cache))

    assert [(model.name, model.kind, model.folder) for model in cached_models(cache)] == [
        (str(file), "gguf", base),
        (f"{file}+{tmp_path / 'adapter'}", "merged", merged),
    ]
    remove_model(str(file), cache)
    assert cached_models(cache) == []
    assert file.exists()


def test_an_adapter_of_another_model_is_refused(
    base: Path, write_gguf: Callable[..., Path], tmp_path: Path
) -> None:
    write_adapter(base, tmp_path / "adapter")
    config = json.loads((tmp_path / "adapter" / "adapter_config.json").read_text("utf-8"))
    other = write_gguf(tmp_path / "other.gguf", arch="qwen3")
    unknown = {**config, "target_modules": ["no_such_layer"]}
    (tmp_path / "lost").mkdir()
    (tmp_path / "lost" / "adapter_config.json").write_text(json.dumps(unknown), "utf-8")
    weights = (tmp_path / "adapter" / "adapter_model.safetensors").read_bytes()
    (tmp_path / "lost" / "adapter_model.safetensors").write_bytes(weights)
    cache = tmp_path / "cache"

    for model, adapter in ((other, "adapter"), (base, "lost")):
        source = find_model(str(model), adapter=tmp_path / adapter, cache_dir=cache)
        with pytest.raises(ModelUnavailable) as raised:
            fetch_model(source)
        said = f"the adapter {tmp_path / adapter} does not fit the model: "
        assert str(raised.value).startswith(said)
        assert "\n" not in str(raised.value)
    assert [model.kind for model in cached_models(cache)] == ["gguf", "gguf"]


def test_a_folder_that_is_no_adapter_is_refused(base: Path, tmp_path: Path) -> None:
    """Pickled adapters are never loaded."""
    pickled = tmp_path / "pickled"
    pickled.mkdir()
    (pickled / "adapter_config.json").write_text("{}", "utf-8")
    (pickled / "adapter_model.bin").write_bytes(b"pickle")
    problems: list[str] = []
    for folder in (tmp_path / "nowhere", base, pickled):
        with pytest.raises(ModelUnavailable) as raised:
            read_adapter(folder)
        problems.append(str(raised.value))

    assert problems == [
        f"there is no adapter folder {tmp_path / 'nowhere'}",
        f"{base} is no adapter: adapter_config.json is missing",
        f"{pickled} is no adapter: adapter_model.safetensors is missing",
    ]


def test_a_stopped_merge_leaves_no_model(base: Path, tmp_path: Path) -> None:
    """B-016."""
    write_adapter(base, tmp_path / "adapter")
    cache, stop = tmp_path / "cache", AbortController()
    source = find_model(str(base), adapter=tmp_path / "adapter", cache_dir=cache)
    stop.abort("enough")

    with pytest.raises(Aborted, match="enough"):
        fetch_model(source, signal=stop.signal)
    assert [model.kind for model in cached_models(cache)] == ["gguf"]


def test_an_embedded_model_brings_its_own_adapter(
    base: Path, offer: Callable[..., Any], tmp_path: Path
) -> None:
    """B-040: merged once; from then on it needs neither the download nor the unmerged base."""
    write_adapter(base, tmp_path / "own")
    write_adapter(base, tmp_path / "other", seed=2)
    content, cache = (tmp_path / "tiny.gguf").read_bytes(), tmp_path / "fresh"
    model = offer(content, 2, adapter=tmp_path / "own")
    told: list[float] = []

    before = find_model("tiny", cache_dir=cache)
    folder = fetch_model(before, told.append)

    assert (before.cached, before.missing_bytes) == (False, len(content))
    assert before.label == "The tiny model"
    assert before.chat_template == "TUNED {{ messages[0]['content'] }}"
    assert (told == sorted(told), told[-1]) == (True, 1.0)
    assert (folder / "chat_template.jinja").read_text("utf-8") == before.chat_template
    unmerged = next(each.folder for each in cached_models(cache) if each.kind == "embedded")
    shutil.rmtree(unmerged)
    after = find_model("tiny", cache_dir=cache)
    assert (after.cached, after.missing_bytes, fetch_model(after)) == (True, 0, folder)
    # An adapter that is asked for takes the place of its own.
    other = find_model("tiny", adapter=tmp_path / "other", cache_dir=cache)
    assert (other.label, other.cached) == ("The tiny model with adapter other", False)
    assert other.embedded == model
    remove_model("tiny", cache)
    assert cached_models(cache) == []
