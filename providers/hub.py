"""The Hugging Face hub: what it has, what is here of it already, and fetching the rest.

Everything on the hub is asked with a short limit: a hub that has not answered by then is silent,
and what is on this machine has to do. Models land in the hub's own cache, shared with other tools.
"""

import json
import os
import re
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.downloads import last_line, run_watched
from webmcp_agent.providers.embedded import EmbeddedModel
from webmcp_agent.providers.errors import DownloadFailed, ModelUnavailable
from webmcp_agent.providers.model_folder import is_whole

HUB_WAIT_MS = 4_000
"""How long the hub may take to answer one question."""

_HUB_ID = re.compile(r"[\w][\w.-]*(/[\w][\w.-]*)?")
_WEIGHTS = re.compile(r"model(-\d+-of-\d+)?\.safetensors")
_WANTED = re.compile(r"[^/]+\.(json|jinja|txt|model)")

# Run by a Python of its own, which can be ended at once; its last line is the place of a file, or
# what went wrong.
_PROGRAM = """
import json, sys
from huggingface_hub import hf_hub_download
job = json.loads(sys.argv[1])
try:
    for name in job.pop("files"):
        place = hf_hub_download(filename=name, **job)
except Exception as problem:
    sys.exit(" ".join(f"{type(problem).__name__}: {problem}".split()))
print(place)
"""


class HubSilent(Exception):
    """The hub gave no answer in time; nobody outside these modules sees it."""


@dataclass(frozen=True, slots=True)
class HubModel:
    """A model on the hub: the files of one commit that loading it needs."""

    id: str
    commit: str
    revision: str
    """The branch, tag or commit that was asked for."""
    files: tuple[tuple[str, int], ...]
    """Names and bytes."""

    @property
    def size_bytes(self) -> int:
        """All files together."""
        return sum(size for _, size in self.files)


def is_hub_id(name: str) -> bool:
    """Whether `name` can be a hub id: `owner/model`, or one word for the oldest models."""
    return _HUB_ID.fullmatch(name) is not None


def hub_allowed(local_files_only: bool) -> bool:
    """Whether the hub may be asked at all."""
    offline = os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}
    return not (local_files_only or offline)


def hub_model(name: str, revision: str | None, *, trust_remote_code: bool) -> HubModel:
    """What the hub has under `name`.

    Raises `HubSilent`, and `ModelUnavailable` when it answers that there is nothing to load."""
    hub: Any = import_module("huggingface_hub")
    info: Any = _ask(
        lambda: hub.HfApi(endpoint=_endpoint()).model_info(
            name, revision=revision, files_metadata=True, timeout=HUB_WAIT_MS / 1000
        ),
        name if revision is None else f"{name} at {revision}",
    )
    if "custom_code" in (info.tags or []) and not trust_remote_code:
        raise ModelUnavailable(
            f"{name} brings its own code, which is not run; "
            "trust_remote_code=True with a full commit id as revision would allow it"
        )
    files: list[tuple[str, int]] = []
    siblings: list[Any] = info.siblings or []
    for sibling in siblings:
        file = str(sibling.rfilename)
        code = trust_remote_code and file.endswith(".py")
        if _WEIGHTS.fullmatch(file) or _WANTED.fullmatch(file) or code:
            files.append((file, int(sibling.size or 0)))
    if not any(_WEIGHTS.fullmatch(file) for file, _ in files):
        raise ModelUnavailable(f"{name} has no safetensors weights on the hub")
    return HubModel(name, str(info.sha), revision or "main", tuple(files))


def hub_has_file(model: EmbeddedModel) -> bool:
    """Whether the hub answers and has exactly the embedded model's file."""
    hub: Any = import_module("huggingface_hub")
    file = model.hub_file
    try:
        found = _ask(
            lambda: hub.get_hf_file_metadata(
                hub.hf_hub_url(file.repo, file.file, revision=file.revision, endpoint=_endpoint()),
                timeout=HUB_WAIT_MS / 1000,
                endpoint=_endpoint(),
            ),
            file.repo,
        )
    except (HubSilent, ModelUnavailable):
        return False
    return bool(found.etag == model.sha256)


def hub_snapshot(name: str, revision: str | None, cache: Path | None) -> Path | None:
    """The folder of a model whose files are all in the hub's cache; None otherwise."""
    hub: Any = import_module("huggingface_hub")
    try:
        config = hub.try_to_load_from_cache(name, "config.json", cache_dir=cache, revision=revision)
    except ValueError:  # what the hub's library makes of an id that cannot be one
        return None
    if not isinstance(config, str):
        return None
    folder = Path(config).parent
    return folder if is_whole(folder) else None


def download_snapshot(
    model: HubModel,
    cache: Path | None,
    log: Path,
    on_progress: Callable[[float], None],
    signal: AbortSignal,
) -> Path:
    """Fetch what is missing of a model into the hub's cache; returns its folder.

    Raises `DownloadFailed` and `Aborted`; what had arrived is used by the next try."""
    folder = hub_cache(cache) / f"models--{model.id.replace('/', '--')}"
    job: dict[str, Any] = {
        "repo_id": model.id,
        "revision": model.commit,
        "files": [name for name, _ in model.files],
        "cache_dir": str(hub_cache(cache)),
    }
    total = max(1, model.size_bytes)
    place = _run(
        job,
        model.id,
        folder / "blobs",
        log,
        lambda arrived: on_progress(min(1.0, arrived / total)),
        signal,
    )
    # The name is noted as the library would, so that it is found without the hub the next time.
    named = folder / "refs" / model.revision
    named.parent.mkdir(parents=True, exist_ok=True)
    named.write_text(model.commit, encoding="utf-8")
    return place.parent


def download_hub_file(
    model: EmbeddedModel,
    folder: Path,
    on_progress: Callable[[float], None],
    signal: AbortSignal,
) -> Path:
    """Fetch the embedded model's file from the hub into `folder`; sha256 unchecked."""
    file = model.hub_file
    folder.mkdir(parents=True, exist_ok=True)
    job: dict[str, Any] = {
        "repo_id": file.repo,
        "files": [file.file],
        "revision": file.revision,
        "local_dir": str(folder / "hub"),
    }
    return _run(
        job,
        file.repo,
        folder / "hub",
        folder / "hub.log",
        lambda arrived: on_progress(min(1.0, arrived / model.size_bytes)),
        signal,
    )


def hub_cache(cache: Path | None) -> Path:
    """The folder of the hub's cache."""
    if cache is not None:
        return cache
    return Path(import_module("huggingface_hub.constants").HF_HUB_CACHE)


def cached_snapshots(cache: Path | None) -> list[tuple[str, Path]]:
    """The models in the hub's cache that can be loaded, id and folder, by id."""
    found: list[tuple[str, Path]] = []
    for repo in sorted(hub_cache(cache).glob("models--*")):
        name = repo.name.removeprefix("models--").replace("--", "/")
        snapshot = hub_snapshot(name, None, cache)
        if snapshot is not None:
            found.append((name, snapshot))
    return found


def _endpoint() -> str | None:
    """Another hub than the public one; read at each question, as `HF_HUB_OFFLINE` is."""
    return os.environ.get("HF_ENDPOINT") or None


def _ask(question: Callable[[], Any], name: str) -> Any:
    """Ask the hub in a thread: looking up a name may take longer than any limit of the library."""
    answers: list[Any] = []
    failures: list[Exception] = []

    def ask() -> None:
        try:
            answers.append(question())
        except Exception as exc:  # noqa: BLE001  # judged below, in the asking thread
            failures.append(exc)

    thread = threading.Thread(target=ask, name="hub question", daemon=True)
    thread.start()
    thread.join(HUB_WAIT_MS / 1000)
    if answers:
        return answers[0]
    if not failures:
        raise HubSilent("no answer in time")
    errors: Any = import_module("huggingface_hub.errors")
    problem = failures[0]
    if isinstance(problem, errors.GatedRepoError):
        raise ModelUnavailable(
            f"{name} is only for people who accepted its terms: do that on the hub, "
            "then log in with `hf auth login`"
        ) from problem
    if isinstance(problem, errors.RepositoryNotFoundError | errors.RevisionNotFoundError):
        raise ModelUnavailable(
            f"the hub has no model {name}; a private one needs `hf auth login`"
        ) from problem
    if isinstance(problem, errors.HFValidationError):
        raise ModelUnavailable(f"{name!r} is no hub id") from problem
    raise HubSilent(str(problem)) from problem


def _run(
    job: dict[str, Any],
    name: str,
    watched: Path,
    log: Path,
    on_bytes: Callable[[int], None],
    signal: AbortSignal,
) -> Path:
    log.parent.mkdir(parents=True, exist_ok=True)
    code = run_watched(
        [sys.executable, "-c", _PROGRAM, json.dumps(job)],
        watched=watched,
        on_bytes=on_bytes,
        signal=signal,
        log=log,
        env={"HF_HUB_DISABLE_PROGRESS_BARS": "1"},
    )
    if code != 0:
        raise DownloadFailed(f"{name} could not be had from the hub: {last_line(log)}")
    return Path(last_line(log))
