"""What a model's name means here: an embedded model, a folder, a GGUF file, or a hub id.

Finding downloads nothing. Keys name folders of the cache by the content that they are made from.
"""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from webmcp_agent.providers.adapters import Adapter, read_adapter
from webmcp_agent.providers.downloads import arrived_bytes
from webmcp_agent.providers.embedded import EmbeddedModel, embedded_for_hub_id, embedded_model
from webmcp_agent.providers.errors import ModelUnavailable
from webmcp_agent.providers.hub import (
    HubModel,
    HubSilent,
    hub_allowed,
    hub_model,
    hub_snapshot,
    is_hub_id,
)
from webmcp_agent.providers.model_cache import ModelCache, cache_dir as user_cache_dir
from webmcp_agent.providers.model_folder import check_model_folder, weight_files

_T = TypeVar("_T")

INSTALL = 'pip install "webmcp-agent[model]"'
"""What brings the libraries that run a model."""

_FORMAT = "v1"
"""Part of every key: another way to convert makes other folders."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSource:
    """What a model's name means here, and what is missing to load it."""

    name: str
    """As it was asked for, `default` resolved."""
    kind: Literal["folder", "gguf", "hub", "embedded"]
    label: str
    """For people: the model, and where it comes from."""
    cached: bool
    """Nothing has to be downloaded; it may still have to be converted or merged, once."""
    missing_bytes: int | None
    """What a download would bring; 0 when there is none, None when that is not known."""
    adapter: Path | None = None
    chat_template: str | None = None
    """The adapter's template; it is in the fetched folder, too."""
    path: Path | None = None
    """The folder or GGUF file; for the hub, the folder when its files are here."""
    hub: HubModel | None = None
    embedded: EmbeddedModel | None = None
    cache: Path
    hub_cache: Path | None = None
    ask_hub: bool = True
    trust_remote_code: bool = False


def find_model(
    name: str,
    *,
    revision: str | None = None,
    adapter: Path | str | None = None,
    cache_dir: Path | str | None = None,
    local_files_only: bool = False,
    trust_remote_code: bool = False,
) -> ModelSource:
    """What `name` means: an embedded model or `default`, a folder, a `.gguf` file, or a hub id.

    Downloads nothing; may ask the hub one question, for at most 4 seconds. `revision` is for hub
    ids. `ModelUnavailable` when there is no such model, with the reason in one line."""
    if not name.strip():
        raise ModelUnavailable("the model has an empty name")
    common = _Common(
        ModelCache(Path(cache_dir) if cache_dir is not None else user_cache_dir()),
        Path(cache_dir) / "hub" if cache_dir is not None else None,
        hub_allowed(local_files_only),
        trust_remote_code,
        read_adapter(Path(adapter).expanduser()) if adapter is not None else None,
    )
    embedded = embedded_model(name)
    if embedded is not None:
        return _embedded_source(embedded, common)
    path = Path(name).expanduser()
    if path.is_dir():
        check_model_folder(path, name, trust_remote_code=trust_remote_code)
        return common.source(name, "folder", f"folder {name}", path=path.resolve())
    if name.lower().endswith(".gguf") or path.is_file():
        _check_gguf(path)
        return common.source(name, "gguf", f"GGUF file {path.name}", path=path.resolve())
    if not is_hub_id(name) or name.startswith(("/", ".", "~")):
        raise ModelUnavailable(f"there is no folder or file {name}, and it is no hub id")
    return _hub_source(name, revision, common)


@dataclass(frozen=True, slots=True)
class _Common:
    """What every source of one `find_model` shares."""

    cache: ModelCache
    hub_cache: Path | None
    ask_hub: bool
    trust_remote_code: bool
    adapter: Adapter | None

    def source(
        self,
        name: str,
        kind: Literal["folder", "gguf", "hub", "embedded"],
        label: str,
        *,
        missing_bytes: int = 0,
        path: Path | None = None,
        hub: HubModel | None = None,
        embedded: EmbeddedModel | None = None,
        adapter: Adapter | None = None,
    ) -> ModelSource:
        """A source with the shared fields; the adapter that was asked for comes first."""
        used = self.adapter or adapter
        if self.adapter is not None:
            label = f"{label} with adapter {self.adapter.folder.name}"
        return ModelSource(
            name=name,
            kind=kind,
            label=label,
            cached=missing_bytes == 0,
            missing_bytes=missing_bytes,
            adapter=None if used is None else used.folder.resolve(),
            chat_template=None if used is None else used.chat_template,
            path=path,
            hub=hub,
            embedded=embedded,
            cache=self.cache.root,
            hub_cache=self.hub_cache,
            ask_hub=self.ask_hub,
            trust_remote_code=self.trust_remote_code,
        )


def _embedded_source(model: EmbeddedModel, common: _Common) -> ModelSource:
    adapter = read_adapter(model.adapter) if model.adapter is not None else None
    key = embedded_key(model)
    here = common.cache.folder(key) is not None
    missing = 0 if here else model.size_bytes - arrived_bytes(common.cache.download_folder(key))
    found = common.source(
        model.name,
        "embedded",
        model.label,
        missing_bytes=max(0, missing),
        embedded=model,
        adapter=adapter,
    )
    if missing and _is_merged(found, common.cache):
        return common.source(model.name, "embedded", model.label, embedded=model, adapter=adapter)
    return found


def _is_merged(source: ModelSource, cache: ModelCache) -> bool:
    if source.adapter is None:
        return False
    return cache.folder(merged_key(source, read_adapter(source.adapter))) is not None


def _hub_source(name: str, revision: str | None, common: _Common) -> ModelSource:
    snapshot = _library(lambda: hub_snapshot(name, revision, common.hub_cache))
    if snapshot is not None:
        check_model_folder(snapshot, name, trust_remote_code=common.trust_remote_code)
        return common.source(name, "hub", name, path=snapshot)
    stand_in = embedded_for_hub_id(name) if revision is None else None
    reason = "the hub may not be asked"
    if common.ask_hub:
        try:
            model = _library(
                lambda: hub_model(name, revision, trust_remote_code=common.trust_remote_code)
            )
            return common.source(
                name, "hub", f"{name} from the hub", missing_bytes=model.size_bytes, hub=model
            )
        except HubSilent:
            reason = "the hub cannot be reached"
    if stand_in is not None:
        return _embedded_source(stand_in, common)
    raise ModelUnavailable(f"{name}: not downloaded, and {reason}")


def _library(question: Callable[[], _T]) -> _T:
    try:
        return question()
    except ImportError as exc:
        raise ModelUnavailable(f"{exc.name or exc} is not installed: {INSTALL}") from exc


def _check_gguf(path: Path) -> None:
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as exc:
        raise ModelUnavailable(f"there is no file {path} that can be read") from exc
    if magic != b"GGUF":
        raise ModelUnavailable(f"{path} is no GGUF file")


def embedded_key(model: EmbeddedModel) -> str:
    """The key of an embedded model: by content, so that it serves with and without an adapter."""
    return f"{model.hub_id.split('/')[-1].lower()}-{model.sha256[:12]}-{_FORMAT}"


def file_key(path: Path) -> str:
    """The key of a GGUF file: by place, size and time, since to hash gigabytes takes a while."""
    stat = path.stat()
    return _key(path.stem, f"{path}\0{stat.st_size}\0{stat.st_mtime_ns}")


def base_key(source: ModelSource) -> str:
    """The key of the model before any adapter."""
    if source.embedded is not None:
        return embedded_key(source.embedded)
    if source.kind == "gguf" and source.path is not None:
        return file_key(source.path)
    if source.hub is not None:
        return _key(source.hub.id, source.hub.commit)
    assert source.path is not None
    if source.kind == "hub":
        # A snapshot's folder is named for its commit, so the key is the one of its download.
        return _key(source.name, source.path.name)
    files = [(file.name, file.stat()) for file in weight_files(source.path)]
    content = "\0".join(f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in files)
    return _key(source.path.name, f"{source.path}\0{content}")


def merged_key(source: ModelSource, adapter: Adapter) -> str:
    """The key of the model with an adapter merged into it."""
    return f"{base_key(source)}+{adapter.sha256[:16]}"


def _key(name: str, content: str) -> str:
    readable = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-.")[:60]
    return f"{readable}-{hashlib.sha256(content.encode()).hexdigest()[:12]}-{_FORMAT}"
