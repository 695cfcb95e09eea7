"""The `server` provider: a model behind an OpenAI-compatible endpoint, on any machine.

vLLM, SGLang, llama.cpp, Ollama and `transformers serve` are such servers. The tools stand in the
prompt text and calls come back as text, so that the loop reads and checks them like any others.
How requests and replies look is in `chat_completion.py`; httpx2 sends them and is imported here
only.
"""

import asyncio
import json
import os
import ssl
from collections.abc import Callable
from dataclasses import asdict
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from pydantic import BaseModel, ValidationError

from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.base import (
    Available,
    CallFormat,
    GenerateRequest,
    GenerateResult,
    JsonObject,
    PromptParts,
    ProviderAvailability,
    Unavailable,
)
from webmcp_agent.providers.chat_completion import (
    ReplyAssembly,
    fields_to_drop,
    is_too_long,
    problem_text,
    request_body,
)
from webmcp_agent.providers.errors import (
    Aborted,
    ModelFailed,
    ModelUnavailable,
    PromptTooLong,
    ProviderError,
)

if TYPE_CHECKING:
    from httpx2 import AsyncClient, Response

MODEL_LIST_MS = 2_000
"""How long a server may take to list its models."""

CONNECT_MS = 5_000

RETRY_MS = (250, 1_000)
"""Waits before another try, which there is only while no byte of an answer has come."""

RETRIED_STATUS = frozenset({429, 502, 503, 504})
"""Too many requests, and what a proxy says while the server behind it starts."""

CHARS_PER_TOKEN = 3
"""An estimate on the safe side: English prose has four, JSON and code about three."""

_SHOWN = 300
"""Characters of a server's own words in an error."""


class _Listed(BaseModel):
    id: str


class _ModelList(BaseModel):
    data: list[_Listed]


class ServerProvider:
    """Generates on a server; holds nothing between two generations."""

    id = "server"
    call_format: CallFormat = "tags"

    def __init__(
        self,
        url: str,
        model: str,
        *,
        api_key_env: str | None = None,
        native_tools: bool = False,
        max_context: int | None = None,
        max_new_tokens: int = 1024,
        constrained: bool = True,
    ) -> None:
        """Asks nothing yet. `ValueError` for an address or a limit that cannot be.

        `url` is the API's base; without a path, `/v1` is meant. `api_key_env` names the
        environment variable with the key, read at each request. `max_context` bounds prompt and
        reply together, in tokens; without it everything is sent."""
        parts = urlsplit(url.strip())
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("the address of a server begins with http:// or https://")
        if not model:
            raise ValueError("the server's model has an empty name")
        for name, value in (("max_context", max_context), ("max_new_tokens", max_new_tokens)):
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, not {value}")
        path = parts.path.rstrip("/").removesuffix("/chat/completions") or "/v1"
        self._base = urlunsplit((parts.scheme, parts.netloc, path, "", ""))
        # What people see has no name and password in it.
        host = parts.netloc.rpartition("@")[2]
        self.url = urlunsplit((parts.scheme, host, path, "", ""))
        self.label = f"{model} at {host}"
        self.broken: str | None = None
        self.tools_inline = not native_tools
        self.max_new_tokens = max_new_tokens
        self._model = model
        self._api_key_env = api_key_env
        self._native_tools = native_tools
        self._constrained = constrained
        self._limit = max_context
        self._is_local = parts.hostname in ("localhost", "127.0.0.1", "::1")
        self._refused: frozenset[str] = frozenset()
        self._trust: ssl.SSLContext | None = None

    async def availability(self) -> ProviderAvailability:
        """Available when the server lists its models within 2,000 ms; loads nothing there."""
        if find_spec("httpx2") is None:
            return Unavailable('httpx2 is not installed: pip install "webmcp-agent[server]"')
        try:
            async with self._client() as client, asyncio.timeout(MODEL_LIST_MS / 1000):
                response = await client.get(f"{self._base}/models")
                if not response.is_success:
                    problem = self._shown(problem_text(response.text))
                    said = f"{self.url} answered {response.status_code}: {problem}"
                    return Unavailable(said)
                _ModelList.model_validate_json(response.text)
        except TimeoutError:
            return Unavailable(f"{self.url} did not answer within {MODEL_LIST_MS} ms")
        except ValidationError:
            return Unavailable(f"{self.url} lists no models; is it an OpenAI-compatible server?")
        except ProviderError as exc:
            return Unavailable(str(exc))
        except self._network_errors() as exc:
            return Unavailable(self._unreachable(exc))
        return Available()

    async def prepare(
        self, on_progress: Callable[[float], None], signal: AbortSignal | None = None
    ) -> None:
        """Nothing to load here; raises `ModelUnavailable` when the server cannot be used."""
        if signal is not None:
            signal.throw_if_aborted()
        state = await self.availability()
        if isinstance(state, Unavailable):
            raise ModelUnavailable(state.reason)
        on_progress(1.0)

    async def fits(self, prompt: PromptParts) -> bool:
        """Whether prompt and reply stay within `max_context`, by an estimate from characters."""
        return self._limit is None or self._tokens(prompt) <= self._limit

    async def generate(self, req: GenerateRequest) -> GenerateResult:
        """One greedy reply; closes the connection and raises `Aborted` once `req.signal` is set.

        Raises `PromptTooLong` when the server says so, and `ModelFailed` with the server's words
        for everything else. Tried again only while nothing of an answer has come."""
        req.signal.throw_if_aborted()
        work = asyncio.ensure_future(self._reply(req))
        stopped = asyncio.ensure_future(req.signal.wait())
        try:
            await asyncio.wait({work, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise Aborted(req.signal.reason or "stopped")
            return work.result()
        finally:
            # Behind this the connection is closed, which is how a server learns to stop.
            work.cancel()
            stopped.cancel()
            await asyncio.gather(work, stopped, return_exceptions=True)

    async def _reply(self, req: GenerateRequest) -> GenerateResult:
        if find_spec("httpx2") is None:
            raise ModelUnavailable('httpx2 is not installed: pip install "webmcp-agent[server]"')
        prompt = PromptParts(req.system, req.messages, req.tools)
        body = request_body(
            self._model,
            req,
            native_tools=self._native_tools,
            constrained=self._constrained,
            max_new_tokens=self.max_new_tokens,
        )
        without = self._refused
        async with self._client() as client:
            while True:
                sent = {name: value for name, value in body.items() if name not in without}
                response = await self._asked(client, sent)
                try:
                    if response.is_success:
                        reply = await self._read(response, req.on_token)
                        self._refused = without
                        return reply
                    problem = problem_text((await response.aread()).decode("utf-8", "replace"))
                except self._network_errors() as exc:
                    raise ModelFailed(f"{self.url} broke off in mid-reply: {exc}") from exc
                finally:
                    await response.aclose()
                if is_too_long(problem):
                    self._limit = self._tokens(prompt) - 1
                    raise PromptTooLong(f"the prompt is too long: {self._shown(problem)}")
                dropped = fields_to_drop(problem, sent)
                if response.status_code not in (400, 422, 501) or not dropped:
                    said = f"{self.url} answered {response.status_code}: {self._shown(problem)}"
                    raise ModelFailed(said)
                without |= dropped

    async def _asked(self, client: "AsyncClient", body: JsonObject) -> "Response":
        """The head of an answer, its body still to be read; whoever asks closes it."""
        waits: list[int | None] = [*RETRY_MS, None]
        for wait_ms in waits:
            request = client.build_request("POST", f"{self._base}/chat/completions", json=body)
            try:
                response = await client.send(request, stream=True)
            except self._network_errors() as exc:
                if wait_ms is None:
                    raise ModelFailed(self._unreachable(exc)) from exc
            else:
                if wait_ms is None or response.status_code not in RETRIED_STATUS:
                    return response
                await response.aclose()
            await asyncio.sleep((wait_ms or 0) / 1000)
        raise AssertionError("the last try returns or raises")

    async def _read(
        self, response: "Response", on_token: Callable[[str], None] | None
    ) -> GenerateResult:
        from httpx2 import EventSource

        reply = ReplyAssembly()
        on_text = on_token or _nothing
        try:
            if "text/event-stream" not in response.headers.get("content-type", ""):
                on_text(reply.add((await response.aread()).decode("utf-8", "replace")))
                reply.finish_reason = reply.finish_reason or "stop"
            else:
                async for event in EventSource(response):
                    if event.data.strip() == "[DONE]":
                        reply.finish_reason = reply.finish_reason or "stop"
                        break
                    if event.data and (text := reply.add(event.data)):
                        on_text(text)
        except ModelFailed as exc:
            raise ModelFailed(self._shown(str(exc))) from None
        if reply.finish_reason is None:
            raise ModelFailed(f"{self.url} broke off in mid-reply")
        if calls := reply.calls_text():
            on_text(calls)
        return reply.result()

    def _tokens(self, prompt: PromptParts) -> int:
        """Tokens of prompt and reply together, estimated."""
        texts = [prompt.system, *(turn.content for turn in prompt.messages)]
        if self._native_tools:
            texts += [json.dumps(asdict(tool), ensure_ascii=False) for tool in prompt.tools]
        return -(-sum(map(len, texts)) // CHARS_PER_TOKEN) + self.max_new_tokens

    def _client(self) -> "AsyncClient":
        import httpx2

        if self._trust is None:
            # Reading the machine's certificates takes longer than a short reply: once is enough.
            # A context without any is what a plain address gets; it would trust nobody.
            plain = self._base.startswith("http:")
            self._trust = (
                ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else httpx2.create_ssl_context()
            )
        key = self._key()
        return httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {key}"} if key else None,
            verify=self._trust,
            # How long a generation may take is its caller's to say.
            timeout=httpx2.Timeout(None, connect=CONNECT_MS / 1000),
            trust_env=not self._is_local,  # a proxy cannot reach this machine's own addresses
        )

    def _key(self) -> str:
        if self._api_key_env is None:
            return ""
        key = os.environ.get(self._api_key_env, "").strip()
        if not key:
            raise ModelUnavailable(f"the environment variable {self._api_key_env} is not set")
        if not key.isascii() or not key.isprintable():
            raise ModelUnavailable(f"what {self._api_key_env} holds cannot be a key")
        return key

    def _shown(self, text: str) -> str:
        """A server's words on one short line, without the key, which some servers repeat."""
        key = os.environ.get(self._api_key_env or "", "").strip()
        line = " ".join((text.replace(key, "…") if key else text).split())
        return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"

    def _unreachable(self, exc: Exception) -> str:
        return f"{self.url} cannot be reached: {self._shown(str(exc)) or type(exc).__name__}"

    def _network_errors(self) -> tuple[type[Exception], ...]:
        import httpx2

        return (httpx2.HTTPError,)


def _nothing(text: str) -> None:
    """For a generation that nobody listens to."""
