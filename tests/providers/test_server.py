"""The server provider: requests, replies, refusals, Stop and the key, over real HTTP."""

import asyncio
import json
from collections.abc import Iterator

import pytest
from model_server import Answer, ModelServer, model_server, piece, streamed
from page_double import PageDouble, collect, request as ask

from webmcp_agent.agent.loop import LocalLoopOptions
from webmcp_agent.agent.stream import report_of
from webmcp_agent.agent.trace import TraceEvent
from webmcp_agent.providers import detection
from webmcp_agent.providers.abort import AbortController
from webmcp_agent.providers.base import (
    Available,
    ChatTurn,
    CompactTool,
    GenerateRequest,
    GenerateResult,
    JsonObject,
    PromptParts,
    ToolConstraint,
    Unavailable,
    Usage,
)
from webmcp_agent.providers.chat_completion import ReplyAssembly
from webmcp_agent.providers.detection import create_server_provider, provider_from_name
from webmcp_agent.providers.errors import Aborted, ModelFailed, ModelUnavailable, PromptTooLong
from webmcp_agent.providers.reply_schema import reply_schema
from webmcp_agent.providers.server import ServerProvider

KEY = "sk-very-secret-0123"
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"query": {"type": "string"}},
    "required": ["query"],
}
TOOLS = (CompactTool("search", "Finds products.", SCHEMA),)
HELD = (ToolConstraint("search", SCHEMA, "f1"),)
TURNS = (
    ChatTurn("user", "Find a mug"),
    ChatTurn("assistant", '<tool_call>\n{"name": "search", "arguments": {}}\n</tool_call>'),
    ChatTurn("tool", "Error [invalid-args]: query is missing", "search"),
    ChatTurn("user", "Next step for my request: Find a mug"),
)
REQUEST = GenerateRequest("Be kind.", TURNS, TOOLS, constraints=HELD)
HELLO = GenerateRequest("", (ChatTurn("user", "hello"),), ())


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as running:
        yield running


def provider_of(server: ModelServer, **fields: bool | int | str | None) -> ServerProvider:
    return ServerProvider(server.url, "tiny", **fields)  # pyright: ignore[reportArgumentType]  # each test names fields that exist


async def test_a_request_is_a_greedy_streamed_completion_in_roles_that_every_template_takes(
    server: ModelServer,
) -> None:
    """C-63: the whole body, tools in the prompt text and the reply held to the form asked for."""
    server.answers = [streamed('{"reply": "Hi"}')]

    result = await provider_of(server).generate(REQUEST)

    assert result == GenerateResult('{"reply": "Hi"}')
    assert server.asked == [
        {
            "model": "tiny",
            "messages": [
                {"role": "system", "content": "Be kind."},
                {"role": "user", "content": "Find a mug"},
                {"role": "assistant", "content": TURNS[1].content},
                {
                    "role": "user",
                    "content": "<tool_response>\nError [invalid-args]: query is missing\n"
                    "</tool_response>\n\nNext step for my request: Find a mug",
                },
            ],
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": 0,
            "max_tokens": 1024,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "reply", "schema": reply_schema(HELD), "strict": True},
            },
        }
    ]


async def test_native_tools_go_into_the_request_and_nothing_is_held(server: ModelServer) -> None:
    """C-63."""
    server.answers = [streamed("Hi")]
    provider = provider_of(server, native_tools=True)

    await provider.generate(REQUEST)

    assert not provider.tools_inline
    assert "response_format" not in server.asked[0]
    assert server.asked[0]["tools"] == [
        {
            "type": "function",
            "function": {"name": "search", "description": "Finds products.", "parameters": SCHEMA},
        }
    ]


def test_a_reply_is_one_call_of_a_shown_tool_or_an_answer() -> None:
    refers: JsonObject = {"properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {}}}

    assert reply_schema([*HELD, ToolConstraint("odd", refers, "f2")]) == {
        "anyOf": [
            {
                "type": "object",
                "properties": {
                    "tool": {"enum": ["search"]},
                    "args": {**SCHEMA, "additionalProperties": False},
                },
                "required": ["tool", "args"],
                "additionalProperties": False,
            },
            {
                "type": "object",
                "properties": {"tool": {"enum": ["odd"]}, "args": {"type": "object"}},
                "required": ["tool", "args"],
                "additionalProperties": False,
            },
            {
                "type": "object",
                "properties": {"reply": {"type": "string"}},
                "required": ["reply"],
                "additionalProperties": False,
            },
        ]
    }


async def test_text_usage_and_the_end_of_a_reply_are_taken_over(server: ModelServer) -> None:
    """B-018, B-031, C-64: a server's `length` and its tokens, with those from its cache."""
    usage: JsonObject = {
        "prompt_tokens": 20,
        "completion_tokens": 3,
        "prompt_tokens_details": {"cached_tokens": 16},
    }
    server.answers = [
        streamed("Blue ", "mügs", finish_reason="length", usage=usage),
        streamed("Hi", finish_reason="content_filter"),
    ]
    heard: list[str] = []
    provider = provider_of(server)

    first = await provider.generate(GenerateRequest("", TURNS[:1], (), on_token=heard.append))

    assert first == GenerateResult("Blue mügs", "length", Usage(20, 16, 3))
    assert heard == ["Blue ", "mügs"]
    assert await provider.generate(HELLO) == GenerateResult("Hi", "stop")


async def test_a_server_that_does_not_stream_is_understood(server: ModelServer) -> None:
    call: JsonObject = {"id": "1", "function": {"name": "search", "arguments": '{"query":"mug"}'}}
    message: JsonObject = {"role": "assistant", "content": None, "tool_calls": [call]}
    server.answers = [
        Answer(
            body={
                "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
                "usage": {"prompt_tokens": 2, "completion_tokens": 1},
            }
        )
    ]

    assert await provider_of(server).generate(HELLO) == GenerateResult(
        '<tool_call>\n{"name": "search", "arguments": {"query":"mug"}}\n</tool_call>',
        "stop",
        Usage(2, 0, 1),
    )


def call(text: str | None, *, index: int | None = 0, **more: str) -> JsonObject:
    function: JsonObject = {"arguments": text, **({"name": more["name"]} if "name" in more else {})}
    return {"index": index, "id": more.get("id"), "function": function}


@pytest.mark.parametrize(
    ("pieces", "written"),
    [
        pytest.param(
            [call('{"query"', name="search", id="a"), call(': "mug"}')],
            ['{"name": "search", "arguments": {"query": "mug"}}'],
            id="in pieces",
        ),
        pytest.param(
            [call("{}", name="a", id="1"), call("{}", index=1, name="b", id="2")],
            ['{"name": "a", "arguments": {}}', '{"name": "b", "arguments": {}}'],
            id="two by index",
        ),
        pytest.param(
            [call("{}", name="a", id="1"), call("{}", name="b", id="2")],
            ['{"name": "a", "arguments": {}}', '{"name": "b", "arguments": {}}'],
            id="two by id alone",
        ),
        pytest.param(
            [call("{", index=None, name="a"), call("}", index=None)],
            ['{"name": "a", "arguments": {}}'],
            id="without an index",
        ),
        pytest.param(
            [call('{"q": oops', name='say "hi"')],
            ['{"name": "say \\"hi\\"", "arguments": {"q": oops}'],
            id="broken arguments stay broken",
        ),
        pytest.param([call("", name="a")], ['{"name": "a"}'], id="no arguments"),
        pytest.param([call(None, name="a")], ['{"name": "a"}'], id="arguments left out"),
    ],
)
def test_structured_calls_are_written_as_text_and_nothing_is_mended(
    pieces: list[JsonObject], written: list[str]
) -> None:
    """C-63."""
    reply = ReplyAssembly()
    for one in pieces:
        reply.add(piece(tool_calls=[one]))
    assert reply.calls_text() == "\n".join(f"<tool_call>\n{text}\n</tool_call>" for text in written)


async def test_structured_calls_are_judged_by_the_loop_like_any_others(
    server: ModelServer,
) -> None:
    """C-63: a broken call goes back as an error, a good one runs; the server sees the result."""
    server.answers = [
        streamed(calls=[call('{"id": seven}', name="open_product", id="1")]),
        streamed("Opening.", calls=[call('{"id": 7}', name="open_product", id="2")]),
        streamed("It is open."),
    ]
    page = PageDouble()

    parts = await collect(provider_of(server, native_tools=True), ask(page, "Open product 7"))

    report = report_of(parts)
    assert (report.finish, report.answer) == ("stop", "It is open.")
    assert page.calls == [("open_product", {"id": 7})]
    last = [json.dumps(body["messages"]) for body in server.asked]
    assert "Try again." in last[1]
    assert "Opened Blue mug." in last[2]


async def test_calls_in_the_form_of_the_prompt_run(server: ModelServer) -> None:
    """C-63, B-008: tools in the prompt text, and a call as the held reply spells it."""
    server.answers = [
        streamed('{"tool": "open_product", "args": {"id": 7}}'),
        streamed('{"reply": "It is open."}'),
    ]
    page = PageDouble()
    options = LocalLoopOptions(tools_inline=True)

    parts = await collect(provider_of(server), ask(page, "Open product 7"), options)

    assert report_of(parts).answer == "It is open."
    assert page.calls == [("open_product", {"id": 7})]
    assert "- open_product: " in json.dumps(server.asked[0]["messages"])


# --- refusals and failures ---------------------------------------------------------------------


def refusal(text: str, status: int = 400) -> Answer:
    return Answer(status, {"error": {"message": text, "type": "invalid_request_error"}})


async def test_what_a_server_refuses_is_left_out_from_then_on(server: ModelServer) -> None:
    """C-73: held decoding is asked for once; a server without it gives the same replies."""
    server.answers = [
        refusal("response_format of this type is not supported"),
        refusal("unknown field", 422),
        streamed("Hi"),
        streamed("Hi again"),
    ]
    provider = provider_of(server)

    assert await provider.generate(REQUEST) == GenerateResult("Hi")
    assert await provider.generate(REQUEST) == GenerateResult("Hi again")

    optional = [sorted({"response_format", "stream_options"} & set(body)) for body in server.asked]
    assert optional == [["response_format", "stream_options"], ["stream_options"], [], []]


async def test_a_refusal_for_another_reason_is_told_and_nothing_is_given_up(
    server: ModelServer,
) -> None:
    server.answers = [refusal("the roles are odd")] * 5 + [streamed("Hi")]
    provider = provider_of(server)

    with pytest.raises(ModelFailed, match="answered 400: the roles are odd"):
        await provider.generate(REQUEST)
    await provider.generate(REQUEST)

    assert "response_format" in server.asked[-1]


async def test_a_prompt_that_is_too_long_there_is_fitted_once_more(server: ModelServer) -> None:
    """B-021, C-49: the provider then measures by what the server said."""
    server.answers = [refusal("This model's maximum context length is 64 tokens")]
    provider = provider_of(server)
    prompt = PromptParts(REQUEST.system, REQUEST.messages, REQUEST.tools)
    assert await provider.fits(prompt)

    with pytest.raises(PromptTooLong, match="maximum context length is 64"):
        await provider.generate(REQUEST)

    assert not await provider.fits(prompt)
    assert await provider.fits(PromptParts("", TURNS[:1], ()))


async def test_a_window_is_measured_at_three_characters_a_token(server: ModelServer) -> None:
    """B-019."""
    inline = provider_of(server, max_context=12, max_new_tokens=10)
    native = provider_of(server, max_context=12, max_new_tokens=10, native_tools=True)

    assert await inline.fits(PromptParts("abc", (ChatTurn("user", "def"),), TOOLS))
    assert not await inline.fits(PromptParts("abc", (ChatTurn("user", "defg"),), ()))
    assert not await native.fits(PromptParts("abc", (ChatTurn("user", "def"),), TOOLS))


async def test_only_what_has_not_begun_is_tried_again(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that starts, then one that drops the connection, then one that stops in mid-reply.

    The waits are cut short here; how often is tried is the same."""
    monkeypatch.setattr("webmcp_agent.providers.server.RETRY_MS", (1, 1))
    server.answers = [refusal("starting", 503), Answer(cuts=True), streamed("Hi")]
    provider = provider_of(server)
    assert await provider.generate(HELLO) == GenerateResult("Hi")

    server.answers = [Answer(pieces=[piece(content="Hal")], cuts=True), streamed("never asked")]
    with pytest.raises(ModelFailed, match="broke off in mid-reply"):
        await provider.generate(HELLO)
    assert len(server.answers) == 1

    server.answers = [refusal("overloaded", 503)] * 3
    with pytest.raises(ModelFailed, match="answered 503: overloaded"):
        await provider.generate(HELLO)
    assert server.answers == []


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (Answer(pieces=['{"error": {"message": "no memory left"}}']), "no memory left"),
        (Answer(pieces=["{not json"]), "something else than a reply: {not json"),
        (Answer(pieces=[piece(content="half")]), "broke off in mid-reply"),
        (Answer(body=["a list"]), "something else than a reply"),
        (refusal("no such model", 404), "answered 404: no such model"),
    ],
    ids=["error in the stream", "no JSON", "no end", "another shape", "unknown model"],
)
async def test_whatever_else_a_server_does_is_told(
    server: ModelServer, answer: Answer, problem: str
) -> None:
    """B-048, C-69: in one line, and the next generation works."""
    server.answers = [answer, streamed("Hi")]
    provider = provider_of(server)

    with pytest.raises(ModelFailed) as raised:
        await provider.generate(HELLO)

    assert problem in str(raised.value)
    assert "\n" not in str(raised.value)
    assert await provider.generate(HELLO) == GenerateResult("Hi")


async def test_stop_closes_the_connection(server: ModelServer) -> None:
    """B-045: the server sees it, which is how it learns to stop."""
    server.answers = [Answer(pieces=[piece(content="Once ")], holds=True), streamed("Hi")]
    provider = provider_of(server)
    stop = AbortController()

    async with asyncio.timeout(20):
        task = asyncio.create_task(
            provider.generate(GenerateRequest("", TURNS[:1], (), signal=stop.signal))
        )
        assert await asyncio.to_thread(server.holding.wait, 10)
        stop.abort("the person pressed Stop")
        with pytest.raises(Aborted, match="pressed Stop"):
            await task
        assert await asyncio.to_thread(server.left.wait, 10)
    assert await provider.generate(HELLO) == GenerateResult("Hi")


async def test_a_cancelled_generation_closes_the_connection(server: ModelServer) -> None:
    """C-10."""
    server.answers = [Answer(holds=True)]
    async with asyncio.timeout(20):
        task = asyncio.create_task(provider_of(server).generate(HELLO))
        assert await asyncio.to_thread(server.holding.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(server.left.wait, 10)


# --- states and the key ------------------------------------------------------------------------


async def test_a_server_that_lists_its_models_is_available(server: ModelServer) -> None:
    """B-012, B-014, B-038."""
    provider = provider_of(server)
    progress: list[float] = []

    assert await provider.availability() == Available()
    await provider.prepare(progress.append)

    assert progress == [1.0]
    assert (provider.id, provider.tools_inline) == ("server", True)
    assert provider.label == f"tiny at {server.url.removeprefix('http://')}"


async def test_a_server_that_cannot_be_used_says_why(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B-042."""
    provider = provider_of(server)
    base = f"{server.url}/v1"

    server.models = refusal("who are you?", 401)
    assert await provider.availability() == Unavailable(f"{base} answered 401: who are you?")
    server.models = Answer(body={"hello": "world"})
    assert await provider.availability() == Unavailable(
        f"{base} lists no models; is it an OpenAI-compatible server?"
    )
    server.models = Answer(holds=True)
    monkeypatch.setattr("webmcp_agent.providers.server.MODEL_LIST_MS", 200)
    assert await provider.availability() == Unavailable(f"{base} did not answer within 200 ms")
    nobody = ServerProvider("http://127.0.0.1:9", "tiny")
    state = await nobody.availability()
    assert isinstance(state, Unavailable)
    assert state.reason.startswith("http://127.0.0.1:9/v1 cannot be reached: ")
    with pytest.raises(ModelUnavailable, match="cannot be reached"):
        await nobody.prepare(lambda _: None)


async def test_the_key_is_sent_and_is_in_no_error_and_no_trace(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C-63: even when the server repeats it."""
    monkeypatch.setenv("SHOP_MODEL_KEY", f"{KEY}\n")
    server.models = refusal(f"Incorrect key provided: {KEY}", 401)
    server.answers = [
        streamed('{"tool": "open_product", "args": {"id": 7}}'),
        refusal(f"Incorrect key provided: {KEY}", 401),
        Answer(pieces=[f'{{"error": "key {KEY} has no money left"}}']),
    ]
    provider = provider_of(server, api_key_env="SHOP_MODEL_KEY")
    events: list[TraceEvent] = []
    options = LocalLoopOptions(tools_inline=True, trace=events.append)

    state = await provider.availability()
    parts = await collect(provider, ask(PageDouble(), "Open product 7"), options)
    with pytest.raises(ModelFailed) as raised:
        await provider.generate(HELLO)

    assert [one.get("authorization") for one in server.headers] == [f"Bearer {KEY}"] * 4
    said = f"{state} {parts} {events} {raised.value!r} {provider.label} {vars(provider)}"
    assert KEY not in said
    assert "Incorrect key provided: …" in said
    assert "key … has no money left" in said


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "the environment variable SHOP_MODEL_KEY is not set"),
        ("schlüssel", "what SHOP_MODEL_KEY holds cannot be a key"),
    ],
)
async def test_a_key_that_is_not_there_or_cannot_be_sent_is_told(
    value: str | None, reason: str, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SHOP_MODEL_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("SHOP_MODEL_KEY", value)
    provider = provider_of(server, api_key_env="SHOP_MODEL_KEY")

    assert await provider.availability() == Unavailable(reason)
    with pytest.raises(ModelUnavailable, match=reason):
        await provider.generate(HELLO)
    assert server.headers == []


async def test_a_missing_library_is_told_with_the_command(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(name: str) -> None: ...

    monkeypatch.setattr("webmcp_agent.providers.server.find_spec", nothing)
    provider = provider_of(server)
    install = 'httpx2 is not installed: pip install "webmcp-agent[server]"'

    assert await provider.availability() == Unavailable(install)
    with pytest.raises(ModelUnavailable) as raised:
        await provider.generate(HELLO)
    assert str(raised.value) == install


@pytest.mark.parametrize(
    ("given", "base"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/v1"),
        ("https://models.example/api/v1/", "https://models.example/api/v1"),
        ("http://h:1/v1/chat/completions", "http://h:1/v1"),
        ("http://me:secret@h:1/v1?x=1", "http://h:1/v1"),
    ],
)
def test_an_address_is_completed_and_shown_without_secrets(given: str, base: str) -> None:
    assert ServerProvider(given, "m").url == base


def test_an_address_or_a_limit_that_cannot_be_is_refused() -> None:
    for url in ("ftp://h/v1", "127.0.0.1:8000", "http://", ""):
        with pytest.raises(ValueError, match="begins with http"):
            create_server_provider(url, "m")
    with pytest.raises(ValueError, match="empty name"):
        create_server_provider("http://h", "")
    with pytest.raises(ValueError, match="max_context must be at least 1, not 0"):
        create_server_provider("http://h", "m", max_context=0)


async def test_a_name_on_the_command_line_is_url_and_model(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C-60: with the key of the variable that is there for this alone."""
    monkeypatch.setenv(detection.SERVER_KEY, KEY)
    server.answers = [streamed("Hi")]
    provider = provider_from_name(f"server:{server.url}#Org/tiny", constrained=False)

    assert await provider.generate(REQUEST) == GenerateResult("Hi")
    assert server.asked[0]["model"] == "Org/tiny"
    assert "response_format" not in server.asked[0]
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
