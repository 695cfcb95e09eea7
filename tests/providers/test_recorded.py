"""The recorded provider: replies recorded once and given again, and what is told on a miss."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from page_double import PageDouble, collect, request as ask

from webmcp_agent.agent.loop import LocalLoopOptions
from webmcp_agent.agent.tool_calls import write_call
from webmcp_agent.providers.abort import AbortController
from webmcp_agent.providers.base import (
    Available,
    ChatTurn,
    CompactTool,
    GenerateRequest,
    GenerateResult,
    JsonObject,
    NeedsDownload,
    PromptParts,
    ToolConstraint,
    Unavailable,
    Usage,
    call_format_of,
    tools_inline_of,
)
from webmcp_agent.providers.detection import provider_from_name
from webmcp_agent.providers.errors import (
    Aborted,
    ModelUnavailable,
    PromptTooLong,
    RecordingMissing,
    ScriptExhausted,
)
from webmcp_agent.providers.recorded import RecordedProvider
from webmcp_agent.providers.scripted import ScriptedProvider

SCHEMA: JsonObject = {"type": "object", "properties": {"query": {"type": "string"}}}
REQUEST = GenerateRequest(
    "You help.\nBe kind.",
    (ChatTurn("user", "Find a mug"), ChatTurn("tool", "3 mugs", "search")),
    (CompactTool("search", "Finds products.", SCHEMA),),
    constraints=(ToolConstraint("search", SCHEMA, "f1"),),
)
PROMPT = PromptParts(REQUEST.system, REQUEST.messages, REQUEST.tools)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "mugs.jsonl"


def content_of(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def put(path: Path, content: bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)


async def recorded_at(path: Path, *replies: str | GenerateResult) -> None:
    provider = RecordedProvider(path, ScriptedProvider(replies))
    for number, _ in enumerate(replies, 1):
        await provider.generate(replace(REQUEST, system=f"System {number}"))


async def test_a_run_is_recorded_once_and_replayed_without_a_model(path: Path) -> None:
    """C-62: same parts, offline, also the form in which the recorded model wants its tools."""
    replies = [write_call("open_product", {"id": 7}, "pythonic"), "It is open."]
    model = ScriptedProvider(replies, call_format="pythonic", tools_inline=True)
    options = LocalLoopOptions(tools_inline=True)
    live = await collect(
        RecordedProvider(path, model), ask(PageDouble(), "Open product 7"), options
    )
    model.assert_complete()

    replay = RecordedProvider(path)
    parts = await collect(replay, ask(PageDouble(), "Open product 7"), options)

    assert parts == live
    assert (replay.id, replay.label) == ("recorded", "Recorded mugs.jsonl")
    assert (call_format_of(replay), tools_inline_of(replay)) == ("pythonic", True)
    assert await replay.availability() == Available()
    await replay.prepare(lambda _: None)
    replay.dispose()


async def test_a_line_has_the_request_the_settings_and_the_reply(path: Path) -> None:
    """C-62: one line a generation."""
    result = GenerateResult("cut", "length", Usage(3, 1, 2))
    heard: list[str] = []
    await RecordedProvider(path, ScriptedProvider([result])).generate(REQUEST)

    (line,) = content_of(path).splitlines()
    recorded = json.loads(line)
    assert len(recorded.pop("hash")) == 64
    assert recorded == {
        "settings": {
            "provider": "scripted",
            "label": "Scripted replies",
            "call_format": "tags",
            "tools_inline": False,
        },
        "request": {
            "system": "You help.\nBe kind.",
            "messages": [
                {"role": "user", "content": "Find a mug", "name": None},
                {"role": "tool", "content": "3 mugs", "name": "search"},
            ],
            "tools": [{"name": "search", "description": "Finds products.", "parameters": SCHEMA}],
            "constraints": [{"name": "search", "schema": SCHEMA, "fingerprint": "f1"}],
        },
        "reply": {
            "text": "cut",
            "finish_reason": "length",
            "usage": {"prompt_tokens": 3, "cached_tokens": 1, "completion_tokens": 2},
        },
        "too_long": [],
    }
    again = await RecordedProvider(path).generate(replace(REQUEST, on_token=heard.append))
    assert again == result
    assert heard == ["cut"]


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(replace(REQUEST, system="You help."), id="system prompt"),
        pytest.param(replace(REQUEST, messages=REQUEST.messages[:1]), id="turns"),
        pytest.param(replace(REQUEST, tools=()), id="tools"),
        pytest.param(replace(REQUEST, constraints=None), id="constraints"),
    ],
)
async def test_whatever_a_reply_hangs_on_is_part_of_the_request(
    changed: GenerateRequest, path: Path
) -> None:
    """C-62."""
    await RecordedProvider(path, ScriptedProvider(["Hi"])).generate(REQUEST)

    with pytest.raises(RecordingMissing):
        await RecordedProvider(path).generate(changed)


async def test_a_miss_shows_the_difference_to_the_nearest_recording(path: Path) -> None:
    """C-62."""
    far = replace(REQUEST, system="Far away", messages=(), tools=(), constraints=None)
    recorder = RecordedProvider(path, ScriptedProvider(["far", "near"]))
    await recorder.generate(far)
    await recorder.generate(REQUEST)

    changed = replace(
        REQUEST, messages=(ChatTurn("user", "Find a blue mug"), *REQUEST.messages[1:])
    )
    with pytest.raises(RecordingMissing) as raised:
        await RecordedProvider(path).generate(changed)

    assert str(raised.value) == (
        "mugs.jsonl has no recording of this request; what is new (+) and gone (-) against the "
        "nearest, number 2 of 2:\n-user: Find a mug\n+user: Find a blue mug"
    )
    with pytest.raises(RecordingMissing) as raised:
        await RecordedProvider(path).generate(replace(far, system="\n".join("abcdefghijklmnop")))
    assert str(raised.value).endswith("+system: k\n… and 5 more")


async def test_an_empty_recording_says_that_it_is(path: Path) -> None:
    put(path, b"")
    with pytest.raises(RecordingMissing, match="it is empty"):
        await RecordedProvider(path).generate(REQUEST)


async def test_what_is_missing_is_recorded_and_what_is_there_costs_nothing(path: Path) -> None:
    """C-62."""
    await recorded_at(path, "one")
    model = ScriptedProvider(["two"])
    provider = RecordedProvider(path, model)

    answers = [
        (await provider.generate(replace(REQUEST, system=f"System {number}"))).text
        for number in (1, 2, 2)
    ]

    assert answers == ["one", "two", "two"]
    assert len(model.requests) == 1
    assert len(content_of(path).splitlines()) == 2


@pytest.mark.parametrize("torn", [b'{"hash": "12', b"x" * 200_000], ids=["short", "long"])
async def test_a_line_torn_by_a_crash_is_ignored_and_written_over(torn: bytes, path: Path) -> None:
    """C-62."""
    await recorded_at(path, "one", "two")
    whole = content_of(path)
    put(path, whole + torn)

    replay = RecordedProvider(path)
    assert (await replay.generate(replace(REQUEST, system="System 2"))).text == "two"
    assert content_of(path) == whole + torn  # a replay writes nothing

    await RecordedProvider(path, ScriptedProvider(["three"])).generate(REQUEST)
    assert content_of(path).startswith(whole)
    assert len(content_of(path).splitlines()) == 3
    assert (await RecordedProvider(path).generate(REQUEST)).text == "three"


async def test_a_file_that_is_no_recording_is_refused_with_the_line(path: Path) -> None:
    await recorded_at(path, "one")
    whole = content_of(path)
    for wrong in (b"[]", b"no JSON", b'{"hash": "1"}', b"[" * 100_000, b"\xff"):
        put(path, whole + wrong + b"\n")
        with pytest.raises(ModelUnavailable, match=r"line 2 of .*mugs\.jsonl is no recording"):
            RecordedProvider(path)
    with pytest.raises(ModelUnavailable, match="there is no recording"):
        RecordedProvider(path.with_name("nowhere.jsonl"))
    with pytest.raises(ModelUnavailable, match="cannot be read"):
        RecordedProvider(path.parent)


async def test_a_file_that_cannot_be_written_is_told(path: Path) -> None:
    provider = RecordedProvider(path / "run.jsonl", ScriptedProvider(["Hi"]))
    put(path, b"")
    with pytest.raises(ModelUnavailable, match="cannot be written"):
        await provider.generate(REQUEST)


async def test_replies_of_two_models_do_not_mix_in_one_file(path: Path) -> None:
    await recorded_at(path, "one")
    other = RecordedProvider(path, ScriptedProvider(["two"], call_format="pythonic"))

    with pytest.raises(ModelUnavailable, match="record into another file"):
        await other.generate(REQUEST)


async def test_prompts_that_did_not_fit_do_not_fit_in_the_replay_either(path: Path) -> None:
    """C-62: so that the loop leaves out the same, whether `fits` or the model said so."""
    short = PromptParts("", REQUEST.messages[:1], ())

    def too_long(_: GenerateRequest) -> str:
        raise PromptTooLong("40 tokens too many")

    model = ScriptedProvider([too_long, "Hi"], fits=lambda prompt: bool(prompt.system))
    provider = RecordedProvider(path, model)
    assert not await provider.fits(short)
    assert await provider.fits(PROMPT)
    with pytest.raises(PromptTooLong):
        await provider.generate(REQUEST)
    await provider.generate(replace(REQUEST, system="Shorter."))

    replay = RecordedProvider(path)
    assert not await replay.fits(short)
    assert not await replay.fits(PROMPT)
    assert await replay.fits(replace(PROMPT, system="Shorter."))


async def test_states_and_failures_of_the_recorded_provider_are_its_own(path: Path) -> None:
    model = ScriptedProvider([], availability=NeedsDownload(5))
    provider = RecordedProvider(path, model)
    progress: list[float] = []

    assert await provider.availability() == NeedsDownload(5)
    await provider.prepare(progress.append)
    assert await provider.availability() == Available()
    assert progress == [1.0]
    with pytest.raises(ScriptExhausted):
        await provider.generate(REQUEST)
    assert content_of(path) == b""
    model.broken = "out of memory"
    assert provider.broken == "out of memory"
    broken = RecordedProvider(path, ScriptedProvider([], availability=Unavailable("no GPU")))
    assert await broken.availability() == Unavailable("no GPU")


async def test_a_replay_hears_stop(path: Path) -> None:
    """B-045."""
    await recorded_at(path, "one")
    stop = AbortController()
    stop.abort("enough")
    with pytest.raises(Aborted, match="enough"):
        await RecordedProvider(path).generate(replace(REQUEST, signal=stop.signal))


async def test_half_of_a_surrogate_pair_in_a_schema_is_recorded(path: Path) -> None:
    odd = replace(REQUEST, constraints=(ToolConstraint("s", {"title": "\ud800"}, "f"),))
    await RecordedProvider(path, ScriptedProvider(["Hi"])).generate(odd)
    assert (await RecordedProvider(path).generate(odd)).text == "Hi"


async def test_a_name_on_the_command_line_replays_or_records(path: Path, tmp_path: Path) -> None:
    """C-60: `recorded:FILE`, and `recorded:FILE#NAME` for any provider's name."""
    script = tmp_path / "replies.json"
    script.write_text('["hello"]', encoding="utf-8")

    live = await provider_from_name(f"recorded:{path}#scripted:{script}").generate(REQUEST)
    replayed = await provider_from_name(f"recorded:{path}").generate(REQUEST)

    assert live == replayed == GenerateResult("hello")
