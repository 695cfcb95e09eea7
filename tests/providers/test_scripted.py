"""The scripted provider: replies in their order, requests as they were."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from webmcp_agent.providers.abort import AbortController
from webmcp_agent.providers.base import (
    Available,
    ChatTurn,
    CompactTool,
    Fits,
    GenerateRequest,
    GenerateResult,
    LocalProvider,
    NeedsDownload,
    PromptParts,
    Usage,
    broken_of,
    call_format_of,
    tools_inline_of,
)
from webmcp_agent.providers.errors import Aborted, ModelUnavailable, ScriptExhausted
from webmcp_agent.providers.scripted import ScriptedProvider, scripted_from_file

REQUEST = GenerateRequest("You help.", (ChatTurn("user", "Water the plants"),), ())


async def test_texts_results_exceptions_and_functions_are_given_in_their_order() -> None:
    """C-61: each kind of script step."""

    async def slowly(req: GenerateRequest) -> GenerateResult:
        return GenerateResult(req.system.upper())

    result = GenerateResult("cut", "length", Usage(3, 1, 2))
    provider = ScriptedProvider(
        ["plain", result, ValueError("broken pipe"), lambda req: req.messages[-1].content, slowly]
    )

    assert await provider.generate(REQUEST) == GenerateResult("plain")
    assert await provider.generate(REQUEST) == result
    with pytest.raises(ValueError, match="broken pipe"):
        await provider.generate(REQUEST)
    assert await provider.generate(REQUEST) == GenerateResult("Water the plants")
    assert await provider.generate(REQUEST) == GenerateResult("YOU HELP.")
    provider.assert_complete()


async def test_one_function_answers_every_request() -> None:
    provider = ScriptedProvider(lambda req: f"{len(req.messages)} turns")

    assert [await provider.generate(REQUEST) for _ in range(3)] == [GenerateResult("1 turns")] * 3
    provider.assert_complete()


async def test_requests_are_kept_as_they_were() -> None:
    """C-61: what the sender changes afterwards does not reach the copy."""
    parameters: dict[str, object] = {"type": "object"}
    tool = CompactTool("water", "Waters.", parameters)  # pyright: ignore[reportArgumentType]  # plain JSON, typed wide to be changed below
    provider = ScriptedProvider(["done"])

    await provider.generate(replace(REQUEST, tools=(tool,)))
    parameters["type"] = "changed"

    assert [request.tools for request in provider.requests] == [
        (CompactTool("water", "Waters.", {"type": "object"}),)
    ]
    assert provider.requests[0].signal is REQUEST.signal


async def test_an_empty_script_shows_the_end_of_the_last_prompt() -> None:
    """C-61: ScriptExhausted."""
    provider = ScriptedProvider(["one"])
    await provider.generate(REQUEST)

    with pytest.raises(ScriptExhausted) as raised:
        await provider.generate(replace(REQUEST, messages=(ChatTurn("user", "x" * 900 + "end"),)))

    assert str(raised.value) == (
        "the script has 1 replies and was asked for one more, "
        f"by a prompt that ends with: {'x' * 297 + 'end'!r}"
    )


async def test_replies_that_nobody_asked_for_are_told() -> None:
    """C-61: assert_complete."""
    provider = ScriptedProvider(["one", "two", "three"])
    await provider.generate(REQUEST)

    with pytest.raises(AssertionError, match="2 of 3 replies were not used, first 'two'"):
        provider.assert_complete()


async def test_it_is_available_at_once_and_prepare_ends_at_one() -> None:
    """B-014, B-015: nothing to load, the full progress all the same."""
    provider = ScriptedProvider([], availability=NeedsDownload(cached=True))
    told: list[float] = []

    assert await ScriptedProvider([]).availability() == Available()
    assert await provider.availability() == NeedsDownload(cached=True)
    await provider.prepare(told.append)
    assert (told, await provider.availability()) == ([1.0], Available())


async def test_a_stopped_prepare_raises_and_tells_no_progress() -> None:
    """B-016."""
    stop, told = AbortController(), list[float]()
    stop.abort("enough")

    with pytest.raises(Aborted, match="enough"):
        await ScriptedProvider([]).prepare(told.append, stop.signal)
    assert told == []


async def test_its_attributes_are_those_of_the_contract() -> None:
    plain = ScriptedProvider([])
    other: LocalProvider = ScriptedProvider(
        [],
        id="oracle",
        label="Oracle",
        call_format="pythonic",
        tools_inline=True,
        fits=lambda prompt: len(prompt.messages) < 2,
    )
    short = PromptParts("", REQUEST.messages, ())
    long = PromptParts("", REQUEST.messages * 2, ())

    assert (plain.id, plain.label, broken_of(plain)) == ("scripted", "Scripted replies", None)
    assert (call_format_of(plain), tools_inline_of(plain)) == ("tags", False)
    assert (other.id, other.label) == ("oracle", "Oracle")
    assert (call_format_of(other), tools_inline_of(other)) == ("pythonic", True)
    assert isinstance(other, Fits)
    assert [await other.fits(prompt) for prompt in (short, long)] == [True, False]
    assert [await plain.fits(prompt) for prompt in (short, long)] == [True, True]


async def test_tokens_are_told_when_somebody_listens() -> None:
    told: list[str] = []
    await ScriptedProvider(["hello", ""]).generate(replace(REQUEST, on_token=told.append))
    assert told == ["hello"]


async def test_a_file_gives_its_replies(tmp_path: Path) -> None:
    """C-61."""
    file = tmp_path / "replies.json"
    file.write_text(json.dumps(["one", "größer"]), encoding="utf-8")
    provider = scripted_from_file(file)

    assert provider.label == "Script replies.json"
    assert [(await provider.generate(REQUEST)).text for _ in range(2)] == ["one", "größer"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(None, "cannot be read: No such file or directory", id="missing"),
        pytest.param(b"[", "is no JSON: ", id="broken"),
        pytest.param(b"\xff", "is no JSON: ", id="no text"),
        pytest.param(b'{"a": 1}', "is no JSON list of replies", id="no list"),
        pytest.param(b'["a", 1]', "is no text", id="a number"),
    ],
)
def test_a_file_that_holds_no_script_is_refused(
    content: bytes | None, problem: str, tmp_path: Path
) -> None:
    file = tmp_path / "replies.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ModelUnavailable) as raised:
        scripted_from_file(file)
    assert problem in str(raised.value)
    assert "\n" not in str(raised.value)
