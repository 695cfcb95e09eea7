"""The known providers: built by name, asked side by side, nothing heavy before it is needed."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from webmcp_agent.providers import detection
from webmcp_agent.providers.base import (
    Available,
    ChatTurn,
    GenerateRequest,
    GenerateResult,
    LocalProvider,
    NeedsDownload,
    ProviderAvailability,
    Unavailable,
)
from webmcp_agent.providers.detection import (
    KNOWN_PROVIDERS,
    DetectedProvider,
    create_transformers_provider,
    default_providers,
    detect_local_providers,
    provider_from_name,
)
from webmcp_agent.providers.embedded import DEFAULT_MODEL, EMBEDDED
from webmcp_agent.providers.errors import ModelUnavailable
from webmcp_agent.providers.scripted import ScriptedProvider


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No model is on this disk, and the hub is out of reach."""
    monkeypatch.setenv("WEBMCP_AGENT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


class Odd(ScriptedProvider):
    """A provider whose availability does what a test wants."""

    def __init__(self, id: str, answer: Callable[[], ProviderAvailability]) -> None:
        super().__init__([], id=id, label=id.title())
        self._answer = answer

    async def availability(self) -> ProviderAvailability:
        return self._answer()


class Hanging(ScriptedProvider):
    """A provider that never says whether it can run."""

    def __init__(self, id: str) -> None:
        super().__init__([], id=id, label=id.title())
        self.asked = asyncio.Event()

    async def availability(self) -> ProviderAvailability:
        self.asked.set()
        return await asyncio.get_running_loop().create_future()


def fail() -> ProviderAvailability:
    raise RuntimeError("no driver")


@pytest.mark.model
async def test_the_embedded_default_is_detected_with_its_download() -> None:
    """B-013, B-039: what it needs, and nothing is fetched for the answer."""
    default = EMBEDDED[DEFAULT_MODEL]
    assert await detect_local_providers() == [
        DetectedProvider(
            "transformers",
            "Transformers",
            NeedsDownload(bytes=default.size_bytes, note=default.label),
        )
    ]


@pytest.mark.model
async def test_a_model_that_cannot_be_had_is_unavailable_with_the_reason() -> None:
    """B-042."""
    provider = provider_from_name("Owner/unknown")
    assert await provider.availability() == Unavailable(
        "Owner/unknown: not downloaded, and the hub may not be asked"
    )


async def test_one_that_fails_or_hangs_does_not_hide_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The limit is shortened here; the answer is the one of the full 5,000 ms."""

    def providers() -> list[LocalProvider]:
        return [
            Odd("failing", fail),
            Hanging("hanging"),
            Odd("working", Available),
        ]

    monkeypatch.setattr(detection, "default_providers", providers)
    monkeypatch.setattr(detection, "_ANSWER_MS", 50)

    async with asyncio.timeout(5):
        found = await detect_local_providers()

    assert found == [
        DetectedProvider("failing", "Failing", Unavailable("no driver")),
        DetectedProvider("hanging", "Hanging", Unavailable("no answer")),
        DetectedProvider("working", "Working", Available()),
    ]


async def test_a_cancel_from_outside_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    hanging = Hanging("hanging")
    monkeypatch.setattr(detection, "default_providers", lambda: [hanging])
    task = asyncio.create_task(detect_local_providers())
    async with asyncio.timeout(5):
        await hanging.asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_each_known_provider_is_loaded_by_its_id(tmp_path: Path) -> None:
    """C-60."""
    script = tmp_path / "replies.json"
    script.write_text('["hello"]', encoding="utf-8")
    (tmp_path / "run.jsonl").touch()
    names = {
        "transformers": "default",
        "prompt-api": "prompt-api",
        "server": "server:http://127.0.0.1:9#m",
        "scripted": f"scripted:{script}",
        "recorded": f"recorded:{tmp_path / 'run.jsonl'}",
    }

    assert {id: provider_from_name(names[id]).id for id in KNOWN_PROVIDERS} == {
        id: id for id in names
    }
    assert [provider.id for provider in default_providers()] == ["transformers"]


async def test_a_script_is_played_from_its_file(tmp_path: Path) -> None:
    """C-61."""
    script = tmp_path / "replies.json"
    script.write_text(json.dumps(["hello"]), encoding="utf-8")
    request = GenerateRequest("", (ChatTurn("user", "hi"),), ())

    provider = provider_from_name(f"scripted:{script}")

    assert await provider.generate(request) == GenerateResult("hello")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("scripted:nowhere.json", "the script nowhere.json cannot be read"),
        ("server", "the address of a server begins with http:// or https://"),
        ("server:http://127.0.0.1:9", "the server's model has an empty name"),
        ("recorded:nowhere.jsonl", "there is no recording nowhere.jsonl"),
        ("recorded:nowhere.jsonl#", "the model has an empty name"),
        (" ", "the model has an empty name"),
    ],
)
def test_a_name_that_no_provider_has_is_told(name: str, problem: str) -> None:
    with pytest.raises(ModelUnavailable) as raised:
        provider_from_name(name)
    assert str(raised.value).startswith(problem)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["server:http://127.0.0.1:9#m", "prompt-api"])
def test_an_adapter_is_for_a_model_that_runs_here(name: str) -> None:
    with pytest.raises(ModelUnavailable, match="an adapter is for a model that runs here"):
        provider_from_name(name, adapter="./adapter")


def test_fields_that_contradict_each_other_are_refused() -> None:
    """C-78: code of a repository needs a pinned revision."""
    with pytest.raises(ValueError, match="revision"):
        create_transformers_provider(trust_remote_code=True)
    with pytest.raises(ValueError, match="revision"):
        provider_from_name("Owner/tiny", trust_remote_code=True, revision="main")


def test_listing_and_building_load_no_model_library(tmp_path: Path) -> None:
    """A fresh interpreter, so that no other test's imports count."""
    program = (
        "import sys, webmcp_agent.providers as p\n"
        "heavy = {'torch', 'transformers', 'gguf', 'huggingface_hub', 'numpy', 'llguidance'}\n"
        "heavy |= {'playwright', 'httpx2'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
        "p.create_transformers_provider(); p.provider_from_name('default')\n"
        "p.provider_from_name('server:http://127.0.0.1:9#m')\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    env = {**os.environ, "WEBMCP_AGENT_CACHE": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True, env=env
    )
    assert run.stdout == "[]\n[]\n"
