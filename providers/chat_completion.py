"""One exchange with an OpenAI-compatible endpoint as values: the request body, and the reply.

Pure: `server.py` sends and receives. The form is that of the chat completions API, as vLLM,
SGLang, llama.cpp, Ollama and `transformers serve` speak it (read in November 2026).
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, JsonValue, ValidationError

from webmcp_agent.providers.base import (
    CALL_MARKERS,
    ChatTurn,
    GenerateRequest,
    GenerateResult,
    JsonObject,
    Usage,
)
from webmcp_agent.providers.errors import ModelFailed
from webmcp_agent.providers.reply_schema import reply_schema

OPTIONAL_FIELDS = ("response_format", "stream_options", "temperature", "max_tokens")
"""What a server may refuse without being unfit, the first to be given up first."""

_TOO_LONG = re.compile(
    r"context[ _-]?(length|window|size)|maximum context|prompt is too long|too many tokens", re.I
)
"""How servers say that the prompt exceeds the window; there is no code that all of them use."""


def request_body(
    model: str, req: GenerateRequest, *, native_tools: bool, constrained: bool, max_new_tokens: int
) -> JsonObject:
    """A greedy, streamed completion.

    Results go into user turns and neighbours of one role are joined, which every chat template
    takes. With `native_tools` the tools are a field of their own; without, and `constrained`,
    the reply is held to the form in which the prompt asks for calls."""
    body: JsonObject = {
        "model": model,
        "messages": messages(req.system, req.messages),
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0,
        "max_tokens": max_new_tokens,
    }
    if native_tools and req.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            }
            for tool in req.tools
        ]
    elif constrained and not native_tools and req.constraints:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {
                "name": "reply",
                "schema": reply_schema(req.constraints),
                "strict": True,
            },
        }
    return body


def messages(system: str, turns: Sequence[ChatTurn]) -> list[JsonValue]:
    """The conversation as `system`, `user` and `assistant` messages."""
    spoken: list[tuple[str, str]] = [("system", system)] if system else []
    for turn in turns:
        role, content = turn.role, turn.content
        if role == "tool":
            role, content = "user", f"<tool_response>\n{content}\n</tool_response>"
        if spoken and spoken[-1][0] == role:
            spoken[-1] = (role, f"{spoken[-1][1]}\n\n{content}")
        else:
            spoken.append((role, content))
    return [{"role": role, "content": content} for role, content in spoken]


def fields_to_drop(problem: str, body: JsonObject) -> set[str]:
    """Which fields to leave out after a refusal: those it names, else the first optional one."""
    sent = [name for name in OPTIONAL_FIELDS if name in body]
    return {name for name in sent if name in problem} or set(sent[:1])


def is_too_long(problem: str) -> bool:
    """Whether a refusal is about the length of the prompt."""
    return _TOO_LONG.search(problem) is not None


def problem_text(content: str) -> str:
    """What a server says went wrong, out of the body of its answer."""
    try:
        value: JsonValue = json.loads(content)
    except (ValueError, RecursionError):
        return content.strip()
    for key in ("error", "message", "detail"):
        if isinstance(value, dict) and value.get(key):
            value = value[key]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class _Function(BaseModel):
    name: str | None = None
    arguments: JsonValue = None


class _Call(BaseModel):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Message(BaseModel):
    content: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(BaseModel):
    delta: _Message | None = None
    message: _Message | None = None
    finish_reason: str | None = None


class _Details(BaseModel):
    cached_tokens: int | None = None


class _Usage(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None


class _Chunk(BaseModel):
    choices: list[_Choice] = []
    usage: _Usage | None = None
    error: JsonValue = None


@dataclass(slots=True)
class _WrittenCall:
    """A structured call, as far as it has arrived."""

    id: str | None
    name: str = ""
    arguments: str = ""


@dataclass(slots=True)
class ReplyAssembly:
    """A reply that arrives in pieces, or whole from a server that does not stream."""

    text: str = ""
    finish_reason: Literal["stop", "length"] | None = None
    """None while the server has not said how the reply ended."""
    _usage: Usage | None = None
    _calls: dict[int, _WrittenCall] = field(default_factory=dict[int, _WrittenCall])

    def add(self, data: str) -> str:
        """Take one piece and return the new text in it; `ModelFailed` when it is none."""
        try:
            chunk = _Chunk.model_validate_json(data)
        except ValidationError:
            raise ModelFailed(f"the server sent something else than a reply: {data}") from None
        if chunk.error:
            raise ModelFailed(f"the server failed in mid-reply: {problem_text(data)}")
        if chunk.usage is not None:
            details = chunk.usage.prompt_tokens_details or _Details()
            self._usage = Usage(
                chunk.usage.prompt_tokens or 0,
                details.cached_tokens or 0,
                chunk.usage.completion_tokens or 0,
            )
        new = ""
        for choice in chunk.choices[:1]:
            message = choice.delta or choice.message or _Message()
            new = message.content or ""
            self.text += new
            for call in message.tool_calls or ():
                self._add_call(call)
            if choice.finish_reason:
                self.finish_reason = "length" if choice.finish_reason == "length" else "stop"
        return new

    def _add_call(self, piece: _Call) -> None:
        function = piece.function or _Function()
        last = max(self._calls, default=-1)
        place = piece.index
        if place is None:
            # Some servers leave the index out; then a name begins a call and the rest goes on.
            place = last if last >= 0 and not function.name else last + 1
        elif place in self._calls and piece.id and self._calls[place].id not in (None, piece.id):
            place = last + 1  # Others number every call 0, and only the ids tell them apart.
        call = self._calls.setdefault(place, _WrittenCall(piece.id))
        call.name += function.name or ""
        arguments = function.arguments
        if arguments is not None:
            call.arguments += arguments if isinstance(arguments, str) else json.dumps(arguments)

    def calls_text(self) -> str:
        """The structured calls in the `tags` form, the text of their arguments untouched."""
        opening, closing = CALL_MARKERS["tags"]
        written: list[str] = []
        for _, call in sorted(self._calls.items()):
            arguments = f', "arguments": {call.arguments}' if call.arguments else ""
            name = json.dumps(call.name, ensure_ascii=False)
            written.append(f'{opening}\n{{"name": {name}{arguments}}}\n{closing}')
        return "\n".join(written)

    def result(self) -> GenerateResult:
        """The whole reply: prose first, then the calls."""
        pieces = [piece for piece in (self.text, self.calls_text()) if piece]
        return GenerateResult("\n".join(pieces), self.finish_reason or "stop", self._usage)
