"""Random weights in a known shape, with a tokenizer of the real size."""

import pytest

from webmcp_agent.providers.base import ChatTurn, GenerateRequest, NeedsDownload
from webmcp_agent.providers.errors import ModelUnavailable
from webmcp_agent.providers.random_model import SHAPES, RandomModelProvider, random_tokenizer

pytestmark = pytest.mark.model

TEXTS = ['{"name": "search_products", "arguments": {"query": "blue mug"}}', "Find a blue mug."] * 3


async def test_random_weights_answer_like_any_model_and_the_same_each_time() -> None:
    request = GenerateRequest("", (ChatTurn("user", "Find a blue mug."),), ())
    replies: list[str] = []
    for _ in range(2):
        provider = RandomModelProvider("tiny", TEXTS, device="cpu")
        state = await provider.availability()
        assert isinstance(state, NeedsDownload)
        assert state.cached
        await provider.prepare(lambda _: None)
        assert provider.notes == []
        assert not provider.tools_inline
        provider.max_new_tokens = 5
        result = await provider.generate(request)
        assert result.usage is not None
        replies.append(result.text)
        provider.dispose()
    assert replies[0] == replies[1]


def test_the_tokenizer_has_the_shapes_size_and_gives_texts_back() -> None:
    size = int(SHAPES["tiny"]["vocab_size"])
    tokenizer = random_tokenizer(size, TEXTS)
    ids = tokenizer(TEXTS[0] + "<tool_call>", add_special_tokens=False)["input_ids"]
    assert len(tokenizer) == size
    assert tokenizer.decode(ids) == TEXTS[0] + "<tool_call>"
    # Words of the texts are one token each, as in a vocabulary learnt from much more.
    assert len(tokenizer(" blue mug", add_special_tokens=False)["input_ids"]) == 2


def test_an_unknown_shape_is_told_with_the_known_ones() -> None:
    with pytest.raises(ModelUnavailable, match="tiny, smollm2-135m, .*qwen3-4b"):
        RandomModelProvider("qwen9-1t", TEXTS)
