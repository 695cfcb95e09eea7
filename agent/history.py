"""The conversation as turns of the prompt, and the parts of a run as messages again.

A history that ends on a finished call is resumed: the request goes on, nothing is run again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from webmcp_agent.agent.digest import cut_result
from webmcp_agent.agent.foreign_text import clean
from webmcp_agent.agent.request import (
    CallPart,
    ChatMessage,
    TextPart,
    last_user_text,
    message_text,
)
from webmcp_agent.agent.stream import (
    AgentStreamPart,
    MessageStart,
    TextDelta,
    ToolCall,
    ToolError,
    ToolResult,
)
from webmcp_agent.agent.tool_calls import write_call
from webmcp_agent.agent.wording import INTERRUPTED, NEXT, RESULT_LIMIT, error_line
from webmcp_agent.agent.wrappers import written_args
from webmcp_agent.browser.tools import PageTool
from webmcp_agent.providers.base import CallFormat, ChatTurn

WINDOW = 12
"""Turns of the incoming history that are kept."""


@dataclass(frozen=True, slots=True)
class History:
    """A conversation, ready for the prompt."""

    turns: list[ChatTurn]
    ask: str | None
    """The last thing the person said; None when they have said nothing."""
    finished: list[CallPart]
    """The finished calls of the request that is resumed; empty for a new request."""


def read_history(
    messages: Sequence[ChatMessage],
    call_format: CallFormat,
    tools: Mapping[str, PageTool] | None = None,
) -> History:
    """The last 12 turns, beginning with a user turn, with a "next step" turn when resumed.

    Calls of `tools` are written as the model writes them; other calls as they were sent."""
    said = last_user_text(messages)
    if said is None:
        return History([], None, [])
    ask = clean(said).strip()
    known = tools or {}
    turns = _window([turn for message in messages for turn in _turns(message, call_format, known)])
    finished = _finished_calls(messages) if _is_resumed(messages) else []
    if finished:
        turns.append(ChatTurn("user", NEXT.format(request=ask)))
    return History(turns, ask, finished)


def result_text(call: CallPart) -> str:
    """A call's answer as the model reads it, whole."""
    if call.state == "running":
        return INTERRUPTED
    if call.state == "error":
        return error_line(call.code or "failed", call.error or "")
    return call.result or ""


def _turns(
    message: ChatMessage, call_format: CallFormat, tools: Mapping[str, PageTool]
) -> list[ChatTurn]:
    text = clean(message_text(message)).strip()
    if message.role == "user":
        return [ChatTurn("user", text)]
    calls = [part for part in message.parts if isinstance(part, CallPart)]
    written = [
        write_call(call.name, written_args(tools.get(call.name), call.args), call_format)
        for call in calls
    ]
    content = "\n".join(piece for piece in (text, *written) if piece)
    if not content:
        return []
    results = [
        ChatTurn("tool", cut_result(clean(result_text(call)), RESULT_LIMIT), call.name)
        for call in calls
    ]
    return [ChatTurn("assistant", content), *results]


def _window(turns: list[ChatTurn]) -> list[ChatTurn]:
    kept = turns[-WINDOW:]
    for index, turn in enumerate(kept):
        if turn.role == "user":
            return kept[index:]
    newest = max((i for i, turn in enumerate(turns) if turn.role == "user"), default=None)
    return kept if newest is None else [turns[newest], *turns[-(WINDOW - 1) :]]


def _is_resumed(messages: Sequence[ChatMessage]) -> bool:
    """Whether the last message, empty ones aside, ends on a finished call."""
    for message in reversed(messages):
        if message.role == "user":
            return False
        if message.parts:
            part = message.parts[-1]
            return isinstance(part, CallPart) and part.state != "running"
    return False


def _finished_calls(messages: Sequence[ChatMessage]) -> list[CallPart]:
    calls: list[CallPart] = []
    for message in messages:
        if message.role == "user":
            calls.clear()
        calls += [p for p in message.parts if isinstance(p, CallPart) and p.state != "running"]
    return calls


def messages_of(parts: Iterable[AgentStreamPart]) -> list[ChatMessage]:
    """The assistant messages that a run's parts make; messages without any part are left out."""
    messages: list[ChatMessage] = []
    for part in parts:
        match part:
            case MessageStart():
                messages.append(ChatMessage(part.id, "assistant", ()))
            case TextDelta():
                _add(messages, TextPart(part.delta))
            case ToolCall():
                _add(messages, CallPart(part.id, part.name, part.args))
            case ToolResult():
                _answer(messages, part.id, "done", result=part.text, value=part.result)
            case ToolError():
                _answer(messages, part.id, "error", code=part.code, error=part.error)
            case _:
                pass
    return [message for message in messages if message.parts]


def _add(messages: list[ChatMessage], part: TextPart | CallPart) -> None:
    messages[-1] = replace(messages[-1], parts=(*messages[-1].parts, part))


def _answer(messages: list[ChatMessage], id: str, state: str, **fields: object) -> None:
    parts = [
        replace(part, state=state, **fields)
        if isinstance(part, CallPart) and part.id == id
        else part
        for part in messages[-1].parts
    ]
    messages[-1] = replace(messages[-1], parts=tuple(parts))


def cut_to_last_call(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """The history for a retry: what came after the last finished call of the request is dropped.

    Finished calls stay, so that nothing on the page is done twice. Without one, the history ends
    on the person's message."""
    kept = list(messages)
    while kept and kept[-1].role == "assistant":
        parts = list(kept[-1].parts)
        while parts and not (isinstance(parts[-1], CallPart) and parts[-1].state != "running"):
            parts.pop()
        if parts:
            kept[-1] = replace(kept[-1], parts=tuple(parts))
            break
        kept.pop()
    return kept
