"""What makes a folder a model that can be loaded: whole, safetensors only, no code of its own."""

import json
from pathlib import Path

from pydantic import JsonValue

from webmcp_agent.providers.errors import ModelUnavailable

_TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json")
_PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt")


def check_model_folder(folder: Path, name: str, *, trust_remote_code: bool = False) -> None:
    """Raise `ModelUnavailable` with the first thing that keeps `folder` from being loaded."""
    if not (folder / "config.json").is_file():
        if (folder / "adapter_config.json").is_file():
            raise ModelUnavailable(
                f"{name} is an adapter, not a model: name its base model, and this with --adapter"
            )
        raise ModelUnavailable(f"{name} holds no model: config.json is missing{_hint(folder)}")
    if not trust_remote_code and (modules := _own_code(folder)):
        raise ModelUnavailable(
            f"{name} brings its own code ({', '.join(modules)}), which is not run; "
            "trust_remote_code=True with a full commit id as revision would allow it"
        )
    missing = _missing_weights(folder)
    if missing is None:
        pickled = any(next(folder.glob(pattern), None) for pattern in _PICKLED)
        why = (
            "only pickled weights, which are never loaded" if pickled else "no safetensors weights"
        )
        raise ModelUnavailable(f"{name} holds {why}{_hint(folder)}")
    if missing:
        raise ModelUnavailable(f"{name} is not whole: {missing[0]} is missing")
    if not any((folder / file).is_file() for file in _TOKENIZERS):
        raise ModelUnavailable(f"{name} is not whole: tokenizer.json is missing")


def is_whole(folder: Path) -> bool:
    """Whether nothing is missing; says nothing about code of its own."""
    try:
        check_model_folder(folder, "", trust_remote_code=True)
    except ModelUnavailable:
        return False
    return True


def weight_files(folder: Path) -> list[Path]:
    """The safetensors files that make up the model, by name; empty when there are none."""
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        shards = _json(index).get("weight_map")
        if not isinstance(shards, dict) or not shards:
            raise ModelUnavailable(f"{index} lists no weights")
        # A shard is a file beside its index, wherever a made-up one may point.
        names = {Path(str(shard)).name for shard in shards.values()}
        return [folder / name for name in sorted(names)]
    single = folder / "model.safetensors"
    return [single] if single.is_file() else []


def _missing_weights(folder: Path) -> list[str] | None:
    """Names of shards that are not there; None when there are no safetensors at all."""
    files = weight_files(folder)
    return [file.name for file in files if not file.is_file()] if files else None


def _own_code(folder: Path) -> list[str]:
    """The modules that config files name for classes of their own."""
    modules: set[str] = set()
    for file in ("config.json", "tokenizer_config.json"):
        named = _json(folder / file).get("auto_map") if (folder / file).is_file() else None
        targets = list(named.values()) if isinstance(named, dict) else [named]
        for target in targets:
            for one in target if isinstance(target, list) else [target]:
                if one:
                    modules.add(str(one).rsplit(".", 1)[0])
    return sorted(modules)


def _json(path: Path) -> dict[str, JsonValue]:
    try:
        value: JsonValue = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as exc:
        raise ModelUnavailable(f"{path} cannot be read: {exc}") from exc
    if not isinstance(value, dict):
        raise ModelUnavailable(f"{path} holds no JSON object")
    return value


def _hint(folder: Path) -> str:
    ggufs = sorted(folder.glob("*.gguf"))
    return f"; to load a GGUF file, name it itself ({ggufs[0]})" if ggufs else ""
