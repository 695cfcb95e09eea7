"""The Transformers provider with a tiny real model: states, replies, Stop, memory, freeing."""

import asyncio
import gc
import shutil
import threading
import weakref
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from webmcp_agent.providers.abort import AbortController
from webmcp_agent.providers.base import (
    CALL_MARKERS,
    Available,
    ChatTurn,
    CompactTool,
    Disposable,
    Fits,
    GenerateRequest,
    JsonObject,
    ModelChoice,
    NeedsDownload,
    OffersModels,
    PromptParts,
    ToolConstraint,
    Unavailable,
    Usage,
)
from webmcp_agent.providers.errors import Aborted, ModelUnavailable, NotReady, PromptTooLong
from webmcp_agent.providers.generation import Engine
from webmcp_agent.providers.huggingface import TransformersProvider
from webmcp_agent.providers.loading import LoadedModel

pytestmark = pytest.mark.model

Lead = Callable[[Engine, int, str], None]
NewProvider = Callable[..., TransformersProvider]

PARAMETERS: JsonObject = {
    "type": "object",
    "properties": {"query": {"type": "string"}},
    "required": ["query"],
}
TOOLS = (CompactTool("search_products", "Finds products.", PARAMETERS),)
PARTS = PromptParts("Be kind.", (ChatTurn("user", "Find a blue mug"),), TOOLS)
REQUEST = GenerateRequest(PARTS.system, PARTS.messages, PARTS.tools)
CALL = '<tool_call>\n{"name": "search_products", "arguments": {"query": "blue mug"}}\n</tool_call>'


@pytest.fixture
async def new_provider(tiny_model: Path, tmp_path: Path) -> AsyncIterator[NewProvider]:
    """Builds providers of the tiny model, and frees them at the end."""
    made: list[TransformersProvider] = []

    def build(**fields: Any) -> TransformersProvider:
        settings: dict[str, Any] = {"model": str(tiny_model), "cache_dir": tmp_path / "cache"}
        settings |= {"max_new_tokens": 40, **fields}
        made.append(TransformersProvider(**settings))
        return made[-1]

    yield build
    for provider in made:
        provider.dispose()


async def prepared(provider: TransformersProvider) -> LoadedModel:
    await provider.prepare(lambda _: None)
    assert provider.loaded is not None
    return provider.loaded


def prompt_text(loaded: LoadedModel, parts: PromptParts = PARTS) -> str:
    return loaded.engine.tokenizer.decode(loaded.prompt_tokens(parts), skip_special_tokens=False)


# States


async def test_a_local_model_is_cached_and_available_once_it_is_prepared(
    new_provider: NewProvider,
) -> None:
    """`B-013`, `B-014`, `B-015`: progress goes from 0 to 1 and never falls."""
    provider = new_provider()
    before = await provider.availability()
    assert isinstance(before, NeedsDownload)
    assert (before.cached, before.bytes) == (True, 0)
    told: list[float] = []
    await provider.prepare(told.append)
    assert await provider.availability() == Available()
    assert (told == sorted(told), min(told) >= 0, told[-1]) == (True, True, 1.0)
    assert provider.placement.startswith("on the CPU in ")


async def test_nothing_is_generated_before_prepare(new_provider: NewProvider) -> None:
    provider = new_provider()
    with pytest.raises(NotReady):
        await provider.generate(REQUEST)
    with pytest.raises(NotReady):
        await provider.fits(PARTS)


async def test_whoever_prepares_at_the_same_time_waits_for_the_same_load(
    new_provider: NewProvider,
) -> None:
    """`B-014`: and hears of its end."""
    provider = new_provider()
    told: list[list[float]] = [[], []]
    await asyncio.gather(*(provider.prepare(one.append) for one in told))
    first = provider.loaded
    assert [one[-1] for one in told] == [1.0, 1.0]
    await provider.prepare(told[0].append)
    assert provider.loaded is first


async def test_stop_before_and_during_prepare_leaves_the_state_as_it_was(
    new_provider: NewProvider,
) -> None:
    """`B-016`: and no progress comes after it."""
    provider = new_provider()
    before = await provider.availability()
    stop = AbortController()
    told: list[float] = []

    def note(progress: float) -> None:
        told.append(progress)
        stop.abort()

    with pytest.raises(Aborted):
        await provider.prepare(note, stop.signal)
    with pytest.raises(Aborted):
        await provider.prepare(told.append, stop.signal)
    assert len(told) == 1
    assert await provider.availability() == before
    await prepared(provider)


async def test_one_who_leaves_does_not_stop_the_load_of_the_others(
    new_provider: NewProvider,
) -> None:
    """`B-016`."""
    provider = new_provider()
    stop = AbortController()
    leaving = asyncio.ensure_future(provider.prepare(lambda _: stop.abort(), stop.signal))
    staying = asyncio.ensure_future(provider.prepare(lambda _: None))
    with pytest.raises(Aborted):
        await leaving
    await staying
    assert await provider.availability() == Available()


def copied(tiny_model: Path, folder: Path) -> Path:
    shutil.copytree(tiny_model, folder)
    return folder


async def test_a_model_without_a_chat_template_is_refused_by_name_with_the_way_out(
    new_provider: NewProvider, tiny_model: Path, tmp_path: Path
) -> None:
    """`C-66`: and works with one that is passed."""
    folder = copied(tiny_model, tmp_path / "mute")
    template = (folder / "chat_template.jinja").read_text(encoding="utf-8")
    (folder / "chat_template.jinja").unlink()
    expected = f"{folder} has no chat template; pass one as chat_template"
    mute = new_provider(model=str(folder))
    assert await mute.availability() == Unavailable(expected)
    with pytest.raises(ModelUnavailable) as raised:
        await mute.prepare(lambda _: None)
    assert str(raised.value) == expected
    given = new_provider(model=str(folder), chat_template=template)
    assert isinstance(await given.availability(), NeedsDownload)
    assert "Find a blue mug" in prompt_text(await prepared(given))


async def test_code_of_a_model_folder_never_runs(
    new_provider: NewProvider, tiny_model: Path, tmp_path: Path
) -> None:
    """`C-78`: refused by name; the flag alone is no permission."""
    folder = copied(tiny_model, tmp_path / "mynet")
    witness = tmp_path / "ran"
    (folder / "modeling_mynet.py").write_text(
        f"open({str(witness)!r}, 'w', encoding='utf-8').close()\n", encoding="utf-8"
    )
    (folder / "config.json").write_text(
        '{"architectures": ["MyNetForCausalLM"], "model_type": "mynet",'
        ' "auto_map": {"AutoModelForCausalLM": "modeling_mynet.MyNet"}}',
        encoding="utf-8",
    )
    provider = new_provider(model=str(folder))
    answer = await provider.availability()
    assert isinstance(answer, Unavailable)
    assert str(folder) in answer.reason
    with pytest.raises(ModelUnavailable):
        await provider.prepare(lambda _: None)
    assert not witness.exists()
    with pytest.raises(ValueError, match="full commit id"):
        TransformersProvider(model="a/b", trust_remote_code=True)
    with pytest.raises(ValueError, match="full commit id"):
        TransformersProvider(model="a/b", trust_remote_code=True, revision="main")
    TransformersProvider(model="a/b", trust_remote_code=True, revision="0" * 40)


@pytest.mark.parametrize(
    "fields",
    [
        {"max_context": 0},
        {"max_new_tokens": 0},
        {"max_thinking_tokens": -1},
        {"device": "gpu"},
        {"dtype": "int8"},
    ],
)
def test_fields_that_cannot_be_are_refused_at_once(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(fields))):
        TransformersProvider(**fields)


async def test_a_device_that_is_not_here_is_told_before_anything_is_loaded(
    new_provider: NewProvider,
) -> None:
    """`C-79`."""
    torch: Any = import_module("torch")
    missing = f"cuda:{torch.cuda.device_count()}"
    provider = new_provider(device=missing)
    answer = await provider.availability()
    assert isinstance(answer, Unavailable)
    assert missing in answer.reason
    with pytest.raises(ModelUnavailable):
        await provider.prepare(lambda _: None)


async def test_pickled_weights_are_not_loaded(
    new_provider: NewProvider, tiny_model: Path, tmp_path: Path
) -> None:
    """`C-78`."""
    folder = copied(tiny_model, tmp_path / "pickled")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    answer = await new_provider(model=str(folder)).availability()
    assert isinstance(answer, Unavailable)
    assert "pickled" in answer.reason


# Replies


async def test_the_raw_reply_comes_back_with_its_markers(
    new_provider: NewProvider, lead: Lead
) -> None:
    """`B-018`, `B-031`, `B-033`, `C-64`: with or without somebody who listens."""
    provider = new_provider(max_new_tokens=80)
    loaded = await prepared(provider)
    prompt = len(loaded.prompt_tokens(PARTS))
    text = f"I look — for «mugs» 🌱 .\n{CALL}"
    lead(loaded.engine, prompt, text)
    pieces: list[str] = []
    listened = await provider.generate(replace(REQUEST, on_token=pieces.append))
    silent = await provider.generate(REQUEST)
    tokens = len(loaded.engine.tokenizer.encode(text, add_special_tokens=False).ids)
    assert listened.text == silent.text == "".join(pieces) == text
    assert (listened.finish_reason, len(pieces) > 5) == ("stop", True)
    assert listened.usage == Usage(prompt, 0, tokens)
    assert silent.usage == Usage(prompt, prompt - 1, tokens)


async def test_no_piece_holds_half_a_character(new_provider: NewProvider, lead: Lead) -> None:
    """`C-68`: not even the last one of a reply that the limit ends inside one."""
    provider = new_provider(max_new_tokens=6)
    loaded = await prepared(provider)
    lead(loaded.engine, len(loaded.prompt_tokens(PARTS)), "é🌱🌱🌱")
    pieces: list[str] = []
    result = await provider.generate(replace(REQUEST, on_token=pieces.append))
    assert (pieces, result.text, result.finish_reason) == (["é", "🌱"], "é🌱", "length")


async def test_the_token_limit_ends_a_reply_and_says_so(
    new_provider: NewProvider, lead: Lead
) -> None:
    """`C-64`."""
    provider = new_provider(max_new_tokens=3)
    loaded = await prepared(provider)
    lead(loaded.engine, len(loaded.prompt_tokens(PARTS)), "The blue mug costs 8 euros.")
    result = await provider.generate(REQUEST)
    assert result.usage is not None
    assert (result.finish_reason, result.usage.completion_tokens) == ("length", 3)


async def test_calls_are_held_to_the_schemas_that_the_request_carries(
    new_provider: NewProvider, lead: Lead
) -> None:
    """`C-70`, `C-71`, `C-73`: and are free when it carries none, or the provider is told so."""
    wrong = '<tool_call>\n{"name": "nope", "arguments": 1}\n</tool_call>'
    schema: JsonObject = {
        "type": "object",
        "properties": {"query": {"const": "mug"}},
        "required": ["query"],
    }
    held = replace(REQUEST, constraints=(ToolConstraint("search_products", schema, "1"),))
    told: list[str] = []
    for constrained, request in ((True, held), (True, REQUEST), (False, held)):
        provider = new_provider(constrained=constrained)
        loaded = await prepared(provider)
        lead(loaded.engine, len(loaded.prompt_tokens(PARTS)), wrong)
        told.append((await provider.generate(request)).text)
    right = '<tool_call>\n{"name": "search_products", "arguments": {"query": "mug"}}\n</tool_call>'
    assert told == [right, wrong, wrong]


async def test_stop_ends_a_generation_within_a_few_tokens(
    new_provider: NewProvider, lead: Lead
) -> None:
    """`B-030`, `B-045`."""
    provider = new_provider(max_new_tokens=2000)
    loaded = await prepared(provider)
    lead(loaded.engine, len(loaded.prompt_tokens(PARTS)), "mug " * 1500)
    stop = AbortController()
    pieces: list[str] = []

    def listen(piece: str) -> None:
        pieces.append(piece)
        if len(pieces) == 5:
            stop.abort()

    async with asyncio.timeout(60):
        with pytest.raises(Aborted):
            await provider.generate(replace(REQUEST, signal=stop.signal, on_token=listen))
    assert len(pieces) == 5


async def test_a_task_that_is_cancelled_ends_its_generation(
    new_provider: NewProvider, lead: Lead
) -> None:
    """`B-030`: the next request does not wait for the whole abandoned reply."""
    provider = new_provider(max_new_tokens=2000)
    loaded = await prepared(provider)
    prompt = len(loaded.prompt_tokens(PARTS))
    lead(loaded.engine, prompt, "mug " * 1500)
    started = asyncio.Event()
    loop = asyncio.get_running_loop()
    count: list[str] = []

    def listen(piece: str) -> None:
        count.append(piece)
        loop.call_soon_threadsafe(started.set)

    async with asyncio.timeout(60):
        task = asyncio.ensure_future(provider.generate(replace(REQUEST, on_token=listen)))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        lead(loaded.engine, prompt, "Yes.")
        assert (await provider.generate(REQUEST)).text == "Yes."
    assert len(count) < 1000


async def test_a_request_behind_one_that_does_not_end_says_that_the_model_is_busy(
    new_provider: NewProvider, lead: Lead
) -> None:
    """`B-045`: once its own time is over; the first one goes on."""
    provider = new_provider()
    loaded = await prepared(provider)
    lead(loaded.engine, len(loaded.prompt_tokens(PARTS)), "Yes.")
    held, go_on = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def hold(_: str) -> None:
        loop.call_soon_threadsafe(held.set)
        assert go_on.wait(60)

    async with asyncio.timeout(60):
        first = asyncio.ensure_future(provider.generate(replace(REQUEST, on_token=hold)))
        await held.wait()
        stop = AbortController()
        second = asyncio.ensure_future(provider.generate(replace(REQUEST, signal=stop.signal)))
        loop.call_soon(stop.abort)
        with pytest.raises(Aborted, match="the model is still busy"):
            await second
        go_on.set()
        assert (await first).text == "Yes."


async def test_a_generation_that_dies_reaches_the_caller_and_the_next_one_works(
    new_provider: NewProvider, lead: Lead
) -> None:
    """`C-69`: the error keeps its own text."""
    provider = new_provider()
    loaded = await prepared(provider)
    lead(loaded.engine, len(loaded.prompt_tokens(PARTS)), "Yes.")

    def fail(*_: object) -> None:
        raise RuntimeError("CUDA error: device-side assert triggered")

    hook = loaded.engine.model.model.layers[0].register_forward_hook(fail)
    async with asyncio.timeout(60):
        with pytest.raises(RuntimeError, match="CUDA error: device-side assert triggered"):
            await provider.generate(REQUEST)
        hook.remove()
        result = await provider.generate(REQUEST)
    # The model is on a CPU, so whatever the text says, the device is alive.
    assert (result.text, provider.broken) == ("Yes.", None)


# Window and memory


async def test_a_prompt_fits_exactly_up_to_the_window_less_the_room_for_a_reply(
    new_provider: NewProvider,
) -> None:
    """`B-019`."""
    loaded = await prepared(new_provider())
    tokens = len(loaded.prompt_tokens(PARTS))
    answers: list[bool] = []
    for context in (tokens + 40, tokens + 39):
        provider = new_provider(max_context=context)
        await prepared(provider)
        answers.append(await provider.fits(PARTS))
    assert answers == [True, False]
    assert loaded.window == 2048  # the model's own, which is less than the default of 4096


async def test_a_prompt_that_fills_the_window_is_too_long_and_a_reply_ends_at_it(
    new_provider: NewProvider, lead: Lead
) -> None:
    """`B-019`, `C-64`."""
    loaded = await prepared(new_provider())
    tokens = len(loaded.prompt_tokens(PARTS))
    full = new_provider(max_context=tokens)
    await prepared(full)
    with pytest.raises(PromptTooLong, match=f"{tokens} tokens, and the window is {tokens}"):
        await full.generate(REQUEST)
    tight = new_provider(max_context=tokens + 2)
    engine = (await prepared(tight)).engine
    lead(engine, tokens, "The blue mug costs 8 euros.")
    result = await tight.generate(REQUEST)
    assert result.usage is not None
    assert (result.finish_reason, result.usage.completion_tokens) == ("length", 2)


class FakeOOM(RuntimeError):
    """What a device says."""


def fail_over(model: Any, tokens: int) -> Any:
    def check(_: Any, __: Any, given: dict[str, Any]) -> None:
        if given["attention_mask"].shape[1] > tokens:
            raise FakeOOM("CUDA out of memory. Tried to allocate 2.00 GiB")

    return model.register_forward_pre_hook(check, with_kwargs=True)


async def test_out_of_memory_frees_lowers_the_window_and_says_so(
    new_provider: NewProvider, lead: Lead
) -> None:
    """`C-76`: a shorter prompt then works; nothing holds the failed tensors."""
    provider = new_provider()
    loaded = await prepared(provider)
    fail_over(loaded.engine.model, 700)
    long = replace(REQUEST, messages=(ChatTurn("user", "mug " * 900),))
    size = len(loaded.prompt_tokens(PromptParts(long.system, long.messages, long.tools)))
    with pytest.raises(PromptTooLong) as raised:
        await provider.generate(long)
    assert str(raised.value) == (
        f"not enough memory for a prompt of {size} tokens; the window is {size - 1} from now on "
        "(CUDA out of memory. Tried to allocate 2.00 GiB)"
    )
    assert (raised.value.__context__, raised.value.__cause__) == (None, None)
    assert not await provider.fits(PromptParts(long.system, long.messages, long.tools))
    assert await provider.fits(PARTS)
    lead(loaded.engine, len(loaded.prompt_tokens(PARTS)), "Yes.")
    result = await provider.generate(REQUEST)
    assert result.usage is not None
    assert (result.text, result.usage.cached_tokens, provider.broken) == ("Yes.", 0, None)


async def test_a_device_too_small_for_a_short_prompt_is_given_up(
    new_provider: NewProvider,
) -> None:
    """`C-76`, `B-047`: `broken` is set before the error, so an adapter moves on."""
    provider = new_provider()
    loaded = await prepared(provider)
    fail_over(loaded.engine.model, 10)
    with pytest.raises(ModelUnavailable, match="not enough memory for a prompt"):
        await provider.generate(REQUEST)
    assert provider.broken is not None


# Prompts


async def test_tools_and_turns_are_in_the_prompt_as_the_template_writes_them(
    new_provider: NewProvider,
) -> None:
    """`B-034`, `C-65`."""
    provider = new_provider()
    loaded = await prepared(provider)
    turns = (
        *PARTS.messages,
        ChatTurn("assistant", CALL),
        ChatTurn("tool", "1 result", "search_products"),
    )
    assert (provider.tools_inline, provider.call_format, provider.notes) == (False, "tags", [])
    assert prompt_text(loaded, replace(PARTS, messages=turns)) == (
        "<|im_start|>system\nBe kind.\nTools, one a line:\n"
        '{"type": "function", "function": {"name": "search_products", "description": '
        '"Finds products.", "parameters": {"type": "object", "properties": {"query": {"type": '
        '"string"}}, "required": ["query"]}}}\n'
        'Calls are written <tool_call>{"name": NAME, "arguments": {}}</tool_call><|im_end|>\n'
        "<|im_start|>user\nFind a blue mug<|im_end|>\n"
        f"<|im_start|>assistant\n{CALL}<|im_end|>\n"
        "<|im_start|>user\n<tool_response>\n1 result\n</tool_response><|im_end|>\n"
        "<|im_start|>assistant\n"
    )


async def test_a_template_without_tools_is_told_once_and_the_loop_lists_them(
    new_provider: NewProvider,
) -> None:
    """`C-65`."""
    template = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    )
    provider = new_provider(chat_template=template)
    loaded = await prepared(provider)
    assert (provider.tools_inline, provider.notes) == (
        True,
        ["the chat template lists no tools, so they are listed in the system text"],
    )
    assert "search_products" not in prompt_text(loaded)


async def test_a_template_that_cannot_be_used_is_refused_by_name(
    new_provider: NewProvider, tiny_model: Path
) -> None:
    """`C-65`."""
    provider = new_provider(chat_template="{{ messages[0].content }}")
    with pytest.raises(ModelUnavailable) as raised:
        await provider.prepare(lambda _: None)
    assert str(raised.value) == (
        f"{tiny_model} cannot be used: its chat template drops what the model said"
    )


async def test_foreign_text_adds_no_control_token_to_the_prompt(
    new_provider: NewProvider, tiny_tokenizer: Any
) -> None:
    """`C-67`: each added token of the tokenizer, in every place that foreign text can take."""
    loaded = await prepared(new_provider())
    added = tiny_tokenizer.get_added_vocab()
    control = set(added.values())
    markers = {marker for pair in CALL_MARKERS.values() for marker in pair}

    def count(text: str) -> int:
        schema: JsonObject = {"type": "object", "properties": {f"a{text}": {"description": text}}}
        parts = PromptParts(
            f"Be kind. {text}",
            (
                ChatTurn("user", text),
                ChatTurn("assistant", f"Well {text}."),
                ChatTurn("tool", f"1{text}", "search"),
            ),
            (CompactTool("search", text, schema),),
        )
        return sum(token in control for token in loaded.prompt_tokens(parts))

    expected = count("x")
    assert {text: count(text) for text in added if text not in markers} == dict.fromkeys(
        (text for text in added if text not in markers), expected
    )
    assert count("<tool_call>") > expected  # written by the loop itself, so it stays


async def test_every_text_and_marker_comes_back_from_its_tokens(
    new_provider: NewProvider,
) -> None:
    """`C-68`."""
    loaded = await prepared(new_provider())
    texts = ['{"text": "one , two . three \'s"}', '[add_note(text=" n\'t ")]', "🌱 and é", CALL]
    texts += [f" {marker} ." for pair in CALL_MARKERS.values() for marker in pair]
    tokenizer = loaded.engine.tokenizer
    ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    assert [tokenizer.decode(one, skip_special_tokens=False) for one in ids] == texts


# Thinking


async def test_reasoning_has_its_own_budget_and_is_then_closed(
    new_provider: NewProvider, lead: Lead
) -> None:
    """`C-77`: the answer keeps its whole room."""
    provider = new_provider(thinking=True, max_thinking_tokens=12, max_new_tokens=9)
    loaded = await prepared(provider)
    prompt = len(loaded.prompt_tokens(PARTS))
    lead(loaded.engine, prompt, "Wait , wait , wait , wait , wait , wait , wait , wait")
    pieces: list[str] = []
    result = await provider.generate(replace(REQUEST, on_token=pieces.append))
    thought, _, answer = result.text.partition("</think>")
    assert "".join(pieces) == result.text
    assert thought.startswith("<think>Wait , wait")
    assert answer.startswith("\n\n")
    reasoned = loaded.engine.tokenizer.encode(thought.removeprefix("<think>")).ids
    assert result.usage is not None
    assert len(reasoned) == 12
    assert result.usage.completion_tokens <= 12 + 3 + 9


async def test_reasoning_that_the_model_closes_stays_as_it_is(
    new_provider: NewProvider, lead: Lead
) -> None:
    """`C-77`: the opener that the prompt wrote is part of the reply."""
    provider = new_provider(thinking=True)
    loaded = await prepared(provider)
    lead(loaded.engine, len(loaded.prompt_tokens(PARTS)), "A mug.</think>\n\nYes.")
    assert (await provider.generate(REQUEST)).text == "<think>A mug.</think>\n\nYes."


async def test_thinking_takes_its_room_from_the_window(new_provider: NewProvider) -> None:
    """`C-77`, `B-019`."""
    tokens = len((await prepared(new_provider(thinking=True))).prompt_tokens(PARTS))
    answers: list[bool] = []
    for context in (tokens + 40 + 1024, tokens + 40 + 1023):
        provider = new_provider(thinking=True, max_context=context)
        await prepared(provider)
        answers.append(await provider.fits(PARTS))
    assert answers == [True, False]


# Models


async def test_models_are_those_that_were_given_with_the_selected_one_marked(
    new_provider: NewProvider, tiny_model: Path
) -> None:
    """`B-022`, `B-023`: none for a provider of one model."""
    choices = (ModelChoice(str(tiny_model), "Tiny"), ModelChoice("other/model", "Other", bytes=5))
    provider = new_provider(models=choices)
    assert provider.models() == [replace(choices[0], selected=True), choices[1]]
    assert new_provider().models() == []
    assert isinstance(provider, OffersModels)
    assert isinstance(provider, Fits)
    assert isinstance(provider, Disposable)


async def test_another_model_frees_the_current_one_and_is_described_next(
    new_provider: NewProvider, tiny_model: Path, tmp_path: Path
) -> None:
    """`B-024`, `B-025`, `C-74`: nothing of the first one stays."""
    other = copied(tiny_model, tmp_path / "other")
    provider = new_provider(
        models=[ModelChoice(str(tiny_model), "Tiny"), ModelChoice(str(other), "Other")]
    )
    await prepared(provider)
    await provider.generate(REQUEST)
    assert provider.loaded is not None
    model = weakref.ref(provider.loaded.engine.model)
    provider.broken = "for a test"
    await provider.select_model(str(other))
    gc.collect()
    answer = await provider.availability()
    assert (model(), provider.broken, provider.placement) == (None, None, "")
    assert isinstance(answer, NeedsDownload)
    assert answer.note is not None
    assert str(other) in answer.note
    assert [choice.selected for choice in provider.models()] == [False, True]
    loaded = await prepared(provider)
    assert len(loaded.prompt_tokens(PARTS)) > 10


async def test_selecting_a_model_stops_what_is_running(
    new_provider: NewProvider, lead: Lead, tiny_model: Path
) -> None:
    """`B-024`."""
    provider = new_provider(
        max_new_tokens=2000, models=[ModelChoice(str(tiny_model), "Tiny"), ModelChoice("x", "X")]
    )
    loaded = await prepared(provider)
    lead(loaded.engine, len(loaded.prompt_tokens(PARTS)), "mug " * 1500)
    started = asyncio.Event()
    loop = asyncio.get_running_loop()

    def listen(_: str) -> None:
        loop.call_soon_threadsafe(started.set)

    async with asyncio.timeout(60):
        running = asyncio.ensure_future(provider.generate(replace(REQUEST, on_token=listen)))
        await started.wait()
        await provider.select_model("x")
        with pytest.raises(Aborted, match="another model was selected"):
            await running


async def test_a_model_that_is_not_offered_cannot_be_selected(new_provider: NewProvider) -> None:
    with pytest.raises(ValueError, match="no model 'nope' to choose; there are: none"):
        await new_provider().select_model("nope")


async def test_dispose_frees_the_model_and_may_be_called_twice(new_provider: NewProvider) -> None:
    """`B-026`: `generate` afterwards raises."""
    provider = new_provider()
    await prepared(provider)
    assert provider.loaded is not None
    model = weakref.ref(provider.loaded.engine.model)
    provider.dispose()
    provider.dispose()
    assert model() is None
    with pytest.raises(NotReady):
        await provider.generate(REQUEST)
