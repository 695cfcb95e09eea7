"""The known providers: which can run here, and the one that a name on the command line means.

Each provider is imported inside the function that builds it, so asking costs nothing.
"""

import asyncio
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

if TYPE_CHECKING:
    from webmcp_agent.providers.huggingface import TransformersProvider

KNOWN_PROVIDERS = ("transformers", "scripted")
"""Ids of the providers that can be built here."""

_ANSWER_MS = 5_000
_NOT_BUILT = ("prompt-api", "server")


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


def create_transformers_provider(**fields: Unpack[TransformersFields]) -> "TransformersProvider":
    """A provider that runs a Hugging Face model in this process; loads nothing before `prepare`.

    `ValueError` for fields that contradict each other."""
    from webmcp_agent.providers.huggingface import TransformersProvider

    return TransformersProvider(**fields)


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
    for transformers, with `fields`; `scripted:FILE` is a JSON list of replies.
    Raises `ModelUnavailable` for a script that cannot be read and a provider that is not here."""
    text = "default" if name is None else name.strip()
    kind, colon, rest = text.partition(":")
    if not text:
        raise ModelUnavailable("the model has an empty name")
    if kind == "scripted" and colon:
        from webmcp_agent.providers.scripted import scripted_from_file

        return scripted_from_file(Path(rest).expanduser())
    if kind in _NOT_BUILT:
        raise ModelUnavailable(f"this version has no {kind} provider; name a model that runs here")
    return create_transformers_provider(**{**fields, "model": text})
