"""The known providers: which can run here, and the one that a name on the command line means.

Each provider is imported inside the function that builds it, so asking costs nothing.
"""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from webmcp_agent.providers.base import (
    LocalProvider,
    ModelChoice,
    ProviderAvailability,
    Unavailable,
)
from webmcp_agent.providers.errors import ModelUnavailable
from webmcp_agent.providers.quantization import Quantize

if TYPE_CHECKING:
    from webmcp_agent.providers.huggingface import TransformersProvider
    from webmcp_agent.providers.server import ServerProvider

KNOWN_PROVIDERS = ("transformers", "prompt-api", "server", "scripted", "recorded")
"""Ids of the providers that can be built here."""

SERVER_KEY = "WEBMCP_AGENT_SERVER_KEY"
"""The environment variable with the key of a `server:`, when it wants one. It has a name of its
own, so that no key that is there for somebody else is sent to any address that is named."""

_ANSWER_MS = 5_000


@dataclass(frozen=True, slots=True)
class DetectedProvider:
    """A known provider and whether it can run here."""

    id: str
    label: str
    availability: ProviderAvailability


class TransformersFields(TypedDict, total=False):
    """What `create_transformers_provider` takes; every field has a default."""

    model: str
    """A hub id, a folder, a `.gguf` file, the name of an embedded model, or `default`."""
    adapter: Path | str | None
    """A peft adapter for the model; merged into it once."""
    revision: str | None
    device: str
    dtype: str
    max_context: int
    max_new_tokens: int
    thinking: bool
    max_thinking_tokens: int
    constrained: bool
    reuse_prefix: bool
    chat_template: str | None
    cache_dir: Path | str | None
    local_files_only: bool
    trust_remote_code: bool
    """Needs `revision` to be a full commit id."""
    models: Sequence[ModelChoice] | None
    prompt_lookup: bool
    quantize: Quantize | None
    """Needs the extra `quantize`."""
    compiled: bool


def create_transformers_provider(**fields: Unpack[TransformersFields]) -> "TransformersProvider":
    """A provider that runs a Hugging Face model in this process; loads nothing before `prepare`.

    `ValueError` for fields that contradict each other."""
    from webmcp_agent.providers.huggingface import TransformersProvider

    return TransformersProvider(**fields)


def create_server_provider(
    url: str,
    model: str,
    *,
    api_key_env: str | None = None,
    native_tools: bool = False,
    max_context: int | None = None,
    max_new_tokens: int = 1024,
    constrained: bool = True,
) -> "ServerProvider":
    """A provider that generates on an OpenAI-compatible server; asks it nothing yet.

    `api_key_env` names the environment variable with the key. With `native_tools` the tools go
    into the request and not into the prompt text. `max_context` bounds prompt and reply together,
    in tokens. `ValueError` for an address or a limit that cannot be."""
    from webmcp_agent.providers.server import ServerProvider

    return ServerProvider(
        url,
        model,
        api_key_env=api_key_env,
        native_tools=native_tools,
        max_context=max_context,
        max_new_tokens=max_new_tokens,
        constrained=constrained,
    )


def default_providers() -> list[LocalProvider]:
    """The providers that need no setting up, in order of preference, freshly built."""
    return [create_transformers_provider()]


async def detect_local_providers() -> list[DetectedProvider]:
    """The known providers in order of preference, each with what it needs.

    Downloads nothing and raises nothing; who has not answered after 5,000 ms is unavailable."""
    return list(await asyncio.gather(*(_detected(each) for each in default_providers())))


async def _detected(provider: LocalProvider) -> DetectedProvider:
    availability: ProviderAvailability
    try:
        async with asyncio.timeout(_ANSWER_MS / 1000):
            availability = await provider.availability()
    except TimeoutError:
        availability = Unavailable("no answer")
    except Exception as exc:  # noqa: BLE001  # whatever breaks in one provider, the list stands
        availability = Unavailable(str(exc) or type(exc).__name__)
    return DetectedProvider(provider.id, provider.label, availability)


def provider_from_name(
    name: str | None = None, **fields: Unpack[TransformersFields]
) -> LocalProvider:
    """The provider that `name` means; whether it can run is told by its `availability()`.

    None or `default`, a hub id, a folder, a `.gguf` file or an embedded model's name is a model
    for transformers, with `fields`. `server:URL#MODEL` is a model on an OpenAI-compatible server,
    its key in `SERVER_KEY`; `prompt-api` or `prompt-api:ADDRESS` the built-in model of a running
    Chrome; `scripted:FILE` a JSON list of replies; `recorded:FILE` what was recorded before, and
    `recorded:FILE#NAME` that and, where it has nothing, the provider that NAME means.
    Raises `ModelUnavailable` for a file that cannot be read and a name that means nothing."""
    text = "default" if name is None else name.strip()
    kind, colon, rest = text.partition(":")
    if not text:
        raise ModelUnavailable("the model has an empty name")
    if kind == "scripted" and colon:
        from webmcp_agent.providers.scripted import scripted_from_file

        return scripted_from_file(Path(rest).expanduser())
    if kind == "recorded" and colon:
        return _recorded(rest, fields)
    if kind in ("server", "prompt-api"):
        for field, what in (("adapter", "an adapter is"), ("quantize", "int8 and int4 are")):
            if fields.get(field):
                raise ModelUnavailable(f"{what} for a model that runs here, not for {kind}")
        return _server(rest, fields) if kind == "server" else _prompt_api(rest)
    return create_transformers_provider(**{**fields, "model": text})


def _server(where: str, fields: TransformersFields) -> LocalProvider:
    url, _, model = where.partition("#")
    try:
        return create_server_provider(
            url,
            model,
            api_key_env=SERVER_KEY if os.environ.get(SERVER_KEY) else None,
            max_context=fields.get("max_context"),
            constrained=fields.get("constrained", True),
        )
    except ValueError as exc:
        raise ModelUnavailable(f"{exc}; name it as server:URL#MODEL") from exc


def _prompt_api(address: str) -> LocalProvider:
    from webmcp_agent.providers.prompt_api import PromptApiProvider

    return PromptApiProvider(address) if address else PromptApiProvider()


def _recorded(where: str, fields: TransformersFields) -> LocalProvider:
    from webmcp_agent.providers.recorded import RecordedProvider

    path, sharp, name = where.partition("#")
    return RecordedProvider(
        Path(path).expanduser(), provider_from_name(name, **fields) if sharp else None
    )
