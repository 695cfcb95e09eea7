"""Weights in 8 and 4 bits: a real model on the CPU, and what is told where it cannot be."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from webmcp_agent.providers import quantization as module
from webmcp_agent.providers.base import ChatTurn, GenerateRequest, Unavailable
from webmcp_agent.providers.errors import ModelUnavailable
from webmcp_agent.providers.huggingface import TransformersProvider
from webmcp_agent.providers.quantization import LIBRARY, Quantize, quantization
from webmcp_agent.providers.random_model import RandomModelProvider

pytestmark = pytest.mark.model

NewModel = Callable[..., Any]

TEXTS = ['{"name": "search_products", "arguments": {"query": "blue mug"}}', "Find a blue mug."] * 3
REQUEST = GenerateRequest("", (ChatTurn("user", "Find a blue mug."),), ())

needs_library = pytest.mark.skipif(
    find_spec(LIBRARY) is None, reason="needs the extra `quantize`, which is not installed"
)


@asynccontextmanager
async def prepared(provider: TransformersProvider) -> AsyncGenerator[Any]:
    """The loaded model of a provider, which is freed afterwards."""
    await provider.prepare(lambda _: None)
    assert provider.loaded is not None
    try:
        yield provider.loaded.engine.model
    finally:
        provider.dispose()


def logits_of(model: Any) -> Any:
    torch: Any = import_module("torch")
    with torch.inference_mode():
        return model(torch.arange(5, 60)[None]).logits[0].float()


def kinds_of(model: Any) -> dict[str, str]:
    layer = model.model.layers[0]
    modules = {"up": layer.mlp.up_proj, "query": layer.self_attn.q_proj, "head": model.lm_head}
    return {name: type(each).__name__ for name, each in modules.items()}


@needs_library
@pytest.mark.parametrize(
    ("quantize", "kind", "alike"), [("int8", "Linear8bitLt", 0.999), ("int4", "Linear4bit", 0.98)]
)
async def test_a_random_model_has_weights_of_few_bits_and_says_nearly_the_same(
    quantize: Quantize, kind: str, alike: float
) -> None:
    """`C-79`: what is not a layer's product keeps its format; told with the device."""
    torch: Any = import_module("torch")
    async with prepared(RandomModelProvider("tiny", TEXTS, device="cpu", dtype="bfloat16")) as full:
        exact = logits_of(full)
    few = RandomModelProvider("tiny", TEXTS, device="cpu", dtype="bfloat16", quantize=quantize)
    async with prepared(few) as model:
        assert kinds_of(model) == {"up": kind, "query": kind, "head": "Linear"}
        assert model.get_input_embeddings().weight.dtype == torch.bfloat16
        both = torch.stack([exact.flatten(), logits_of(model).flatten()])
        assert torch.corrcoef(both)[0, 1] > alike
        assert few.placement == f"on the CPU in bfloat16, weights in {quantize}"
        few.max_new_tokens = 5
        assert (await few.generate(REQUEST)).usage is not None


@needs_library
@pytest.mark.parametrize(("quantize", "kind"), [("int8", "Linear8bitLt"), ("int4", "Linear4bit")])
async def test_a_model_folder_is_loaded_with_weights_of_few_bits(
    new_model: NewModel, tiny_tokenizer: Any, tmp_path: Path, quantize: Quantize, kind: str
) -> None:
    # 4 bits come in blocks of 64 along a row.
    folder = tmp_path / "model"
    new_model(len(tiny_tokenizer), head_dim=16, kind="Qwen3Config", size=64).save_pretrained(folder)
    tiny_tokenizer.save_pretrained(folder)
    provider = TransformersProvider(
        model=str(folder), device="cpu", quantize=quantize, max_new_tokens=5
    )
    async with prepared(provider) as model:
        assert kinds_of(model) == {"up": kind, "query": kind, "head": "Linear"}
        assert provider.placement.endswith(f", weights in {quantize}")
        first = await provider.generate(REQUEST)
        assert (await provider.generate(REQUEST)).text == first.text


@needs_library
def test_a_device_that_the_library_does_not_serve_is_told() -> None:
    with pytest.raises(ModelUnavailable, match=r"bitsandbytes [\d.]+ has no int8 for meta"):
        quantization("int8", "meta", "bfloat16")


async def test_a_missing_library_is_told_before_anything_is_downloaded(
    tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(_: str) -> None:
        return None

    monkeypatch.setattr(module, "find_spec", nothing)
    missing = 'bitsandbytes is not installed: pip install "webmcp-agent[quantize]"'
    for provider in (
        TransformersProvider(model=str(tiny_model), quantize="int8"),
        RandomModelProvider("tiny", TEXTS, quantize="int4"),
    ):
        assert await provider.availability() == Unavailable(missing)
        with pytest.raises(ModelUnavailable, match="is not installed"):
            await provider.prepare(lambda _: None)


def test_another_number_of_bits_is_refused() -> None:
    fields: dict[str, Any] = {"quantize": "int3"}
    with pytest.raises(ValueError, match="quantize must be one of int8, int4, not 'int3'"):
        TransformersProvider(**fields)
