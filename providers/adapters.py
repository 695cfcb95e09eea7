"""A peft adapter: checked, named by its content, and merged into its base model once.

An adapter folder holds `adapter_config.json` and `adapter_model.safetensors`; a
`chat_template.jinja` beside them takes the place of the base model's. Pickled adapters are never
loaded.
"""

import hashlib
import os
import shutil
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.errors import ModelUnavailable
from webmcp_agent.providers.load_lock import load_lock

_FILES = ("adapter_config.json", "adapter_model.safetensors")
_TEMPLATE = "chat_template.jinja"


@dataclass(frozen=True, slots=True)
class Adapter:
    """An adapter folder that has what it needs."""

    folder: Path
    sha256: str
    """Over configuration, weights and chat template: another adapter is another model."""
    chat_template: str | None


def read_adapter(folder: Path) -> Adapter:
    """The adapter in `folder`; `ModelUnavailable` when it is none or has pickled weights only."""
    if not folder.is_dir():
        raise ModelUnavailable(f"there is no adapter folder {folder}")
    for file in _FILES:
        if not (folder / file).is_file():
            raise ModelUnavailable(f"{folder} is no adapter: {file} is missing")
    digest = hashlib.sha256()
    for file in (*_FILES, _TEMPLATE):
        if (folder / file).is_file():
            content = (folder / file).read_bytes()
            digest.update(f"{file}\0{len(content)}\0".encode() + content)
    template = folder / _TEMPLATE
    return Adapter(
        folder,
        digest.hexdigest(),
        template.read_text(encoding="utf-8") if template.is_file() else None,
    )


def mean_adapter(adapters: Mapping[Path, float], out: Path) -> None:
    """Write into `out` the mean of adapters that one training went through, by their weights.

    Stages of a training each forget a little of the one before; their mean keeps more of both
    (Wortsman et al. 2022, "Model soups"). Averaged in float32, in the form of the last one, and
    landing by rename, the tensors last."""
    torch: Any = import_module("torch")
    tensors: Any = import_module("safetensors.torch")

    every = [(tensors.load_file(str(each / _FILES[1])), adapters[each]) for each in adapters]
    whole = sum(adapters.values())
    mean: dict[str, Any] = {}
    for name, weight in every[-1][0].items():
        parts = [one[name].float() * share for one, share in every]
        mean[name] = (torch.stack(parts).sum(0) / whole).to(weight.dtype)
    last = [*adapters][-1]
    out.mkdir(parents=True, exist_ok=True)
    for file in (_FILES[0], _TEMPLATE):
        if (last / file).is_file():
            shutil.copyfile(last / file, out / file)
    partial = out / f"{_FILES[1]}.partial"
    tensors.save_file(mean, partial, metadata={"format": "pt"})
    os.replace(partial, out / _FILES[1])


def merge_adapter(base: Path, adapter: Adapter, folder: Path, signal: AbortSignal) -> None:
    """Fill the empty `folder` with `base` after the adapter, in the base model's own dtype.

    Raises `ModelUnavailable` when the adapter was made for another model."""
    torch: Any = import_module("torch")
    transformers: Any = import_module("transformers")
    config = transformers.AutoConfig.from_pretrained(base, local_files_only=True)
    with load_lock:
        model = transformers.AutoModelForCausalLM.from_pretrained(
            base, dtype=torch.float32, local_files_only=True, use_safetensors=True
        )
    signal.throw_if_aborted()
    merged = _merged(model, adapter).to(config.dtype or torch.float32)
    signal.throw_if_aborted()
    merged.save_pretrained(folder)
    _copy_the_rest(base, folder)
    if adapter.chat_template is not None:
        (folder / _TEMPLATE).write_text(adapter.chat_template, encoding="utf-8")


def _merged(model: Any, adapter: Adapter) -> Any:
    peft: Any = import_module("peft")
    weights = import_module("safetensors.torch").load_file(adapter.folder / _FILES[1])
    try:
        with warnings.catch_warnings():
            # peft 0.21 asks transformers 5.24 by names that are going away; nobody can act on it.
            warnings.simplefilter("ignore", FutureWarning)
            config = peft.PeftConfig.from_pretrained(str(adapter.folder))
            wrapped = peft.PeftModel(model, config)
        loaded = peft.set_peft_model_state_dict(wrapped, weights)
    except (RuntimeError, ValueError, TypeError, KeyError) as exc:
        raise _does_not_fit(adapter, str(exc)) from exc
    own = [key for key in loaded.missing_keys if ".lora_" in key or "modules_to_save" in key]
    if loaded.unexpected_keys or own:
        raise _does_not_fit(
            adapter, f"no place or no weights for {[*loaded.unexpected_keys, *own][0]}"
        )
    if not hasattr(wrapped, "merge_and_unload"):
        raise _does_not_fit(adapter, "adapters of its kind cannot be merged")
    return wrapped.merge_and_unload()


def _does_not_fit(adapter: Adapter, why: str) -> ModelUnavailable:
    first = (why.strip().splitlines() or ["unknown reason"])[-1].strip()
    return ModelUnavailable(f"the adapter {adapter.folder} does not fit the model: {first}")


def _copy_the_rest(base: Path, folder: Path) -> None:
    """Tokenizer, chat template and generation settings, as they are."""
    for file in base.iterdir():
        taken = (folder / file.name).exists() and file.name != "generation_config.json"
        if file.suffix in {".json", ".jinja", ".txt", ".model"} and not taken:
            if file.name not in {"model-source.json", "model.safetensors.index.json"}:
                shutil.copyfile(file, folder / file.name)
