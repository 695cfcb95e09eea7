"""A model that is led: every way of decoding writes the given reply, and nothing else changes."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest

from webmcp_agent.agent.tool_calls import write_call
from webmcp_agent.providers.base import (
    ChatTurn,
    CompactTool,
    GenerateRequest,
    JsonObject,
    ToolConstraint,
)
from webmcp_agent.providers.errors import NotReady
from webmcp_agent.providers.huggingface import TransformersProvider
from webmcp_agent.providers.rehearsal import Rehearsal

pytestmark = pytest.mark.model

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "max_price": {"type": "number"}},
    "required": ["query"],
}
REQUEST = GenerateRequest(
    "You act with the page's tools.",
    (ChatTurn("user", "Find a blue mug."),),
    (CompactTool("search_products", "Find products.", SCHEMA),),
)
HELD = replace(REQUEST, constraints=(ToolConstraint("search_products", SCHEMA, "1"),))
CALL = write_call("search_products", {"query": "blue mug", "max_price": 20}, "tags")


@pytest.fixture
async def provider(tiny_model: Path) -> AsyncGenerator[TransformersProvider]:
    provider = TransformersProvider(model=str(tiny_model), device="cpu", max_new_tokens=120)
    await provider.prepare(lambda _: None)
    yield provider
    provider.dispose()


def _nothing() -> None:
    return


@pytest.mark.parametrize("text", [CALL, "The blue mug costs 8 euros."], ids=["call", "prose"])
async def test_a_led_model_writes_the_reply_in_each_way_of_decoding(
    provider: TransformersProvider, text: str
) -> None:
    rehearsal = Rehearsal(provider)
    replies: list[str] = []
    for request in (REQUEST, HELD):
        rehearsal.lead(request, text)
        replies.append((await provider.generate(request)).text)
    usage = (await provider.generate(REQUEST)).usage
    bare = rehearsal.generate(REQUEST, text, _nothing)
    assert replies == [text, text]
    assert usage is not None
    assert bare.tokens == usage.completion_tokens
    assert bare.first_ms > 0
    assert bare.rest_ms > 0


async def test_a_model_is_left_to_itself_at_the_end(provider: TransformersProvider) -> None:
    own = (await provider.generate(REQUEST)).text
    rehearsal = Rehearsal(provider)
    rehearsal.lead(REQUEST, CALL)
    led = (await provider.generate(REQUEST)).text
    rehearsal.end()
    assert (led, (await provider.generate(REQUEST)).text) == (CALL, own)


async def test_what_was_kept_comes_back_after_a_reply_from_an_empty_cache(
    provider: TransformersProvider,
) -> None:
    rehearsal = Rehearsal(provider)
    cached: list[int | None] = []

    async def reply() -> None:
        rehearsal.lead(REQUEST, CALL)
        usage = (await provider.generate(REQUEST)).usage
        cached.append(usage and usage.cached_tokens)

    await reply()
    with rehearsal.nothing_kept():
        await reply()
    await reply()
    prompt = rehearsal.lead(REQUEST, CALL)
    assert cached == [0, 0, prompt - 1]


async def test_a_led_model_writes_the_reply_with_looked_up_tokens(
    provider: TransformersProvider,
) -> None:
    """The call was read before: many rows are led in one pass."""
    read = replace(REQUEST, messages=(ChatTurn("user", f"Write {CALL} again."),))
    rehearsal = Rehearsal(provider)
    passes: list[int] = []
    assert provider.loaded is not None

    def count(*_: object) -> None:
        passes.append(1)

    hook = provider.loaded.engine.model.register_forward_hook(count)
    counts: list[int] = []
    for on in (False, True):
        with rehearsal.looking_up(on=on):
            rehearsal.lead(read, CALL)
            passes.clear()
            assert (await provider.generate(read)).text == CALL
            counts.append(len(passes))
    hook.remove()
    rehearsal.end()
    assert counts[1] < counts[0] / 2


# torch's own compiler imports what torch has deprecated.
@pytest.mark.filterwarnings("ignore:.torch.jit.script_method. is deprecated:DeprecationWarning")
async def test_a_compiled_model_is_led_outside_of_its_steps(
    provider: TransformersProvider,
) -> None:
    assert provider.loaded is not None
    engine = provider.loaded.engine
    assert engine.compile_steps(provider.loaded.window, backend="eager") == ""
    rehearsal = Rehearsal(provider)
    for request in (REQUEST, HELD):
        for on in (False, True):
            with rehearsal.looking_up(on=on):
                rehearsal.lead(request, CALL)
                assert (await provider.generate(request)).text == CALL
    with rehearsal.nothing_kept():
        rehearsal.lead(REQUEST, CALL)
        assert (await provider.generate(REQUEST)).text == CALL
    rehearsal.lead(REQUEST, CALL)
    assert (await provider.generate(REQUEST)).text == CALL
    rehearsal.end()
    assert engine.compiled is not None
    assert engine.compiled.behind is None


async def test_generate_stops_when_the_check_raises(provider: TransformersProvider) -> None:
    class Stopped(Exception):
        pass

    def stop() -> None:
        raise Stopped

    rehearsal = Rehearsal(provider)
    with pytest.raises(Stopped):
        rehearsal.generate(REQUEST, CALL, stop)


async def test_the_weights_that_a_token_needs_are_counted_once(
    provider: TransformersProvider,
) -> None:
    assert provider.loaded is not None
    model = provider.loaded.engine.model
    numbers = sum(each.numel() for each in model.parameters())
    table = model.get_input_embeddings().weight.numel()
    size = model.dtype.itemsize
    assert Rehearsal(provider).weight_bytes() == (numbers - table) * size


def test_a_model_that_is_not_loaded_cannot_be_led() -> None:
    with pytest.raises(NotReady):
        Rehearsal(TransformersProvider(model="nowhere"))
