"""Models that are loaded at the same time in one process."""

import asyncio
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from webmcp_agent.providers.huggingface import TransformersProvider


@pytest.mark.model
async def test_models_loaded_at_the_same_time_leave_the_library_as_it_was(tiny_model: Path) -> None:
    transformers: Any = import_module("transformers")
    ties = transformers.PreTrainedModel.tie_weights
    providers = [TransformersProvider(model=str(tiny_model), device="cpu") for _ in range(4)]
    await asyncio.gather(*(provider.prepare(lambda progress: None) for provider in providers))
    for provider in providers:
        provider.dispose()
    assert transformers.PreTrainedModel.tie_weights is ties
