"""How a conversation becomes a prompt: what a chat template can do, found out by trying it.

A template is foreign code. It may ignore tools, refuse a role, drop a text or print a Python
object, and it tells nobody. So one conversation full of marker words is rendered before the first
run, and what does not come through is put into the prompt in another way. Pure: rendering itself
is handed in.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from pydantic import JsonValue

from webmcp_agent.providers.base import (
    CALL_MARKERS,
    CallFormat,
    ChatTurn,
    CompactTool,
    JsonObject,
)
from webmcp_agent.providers.errors import ModelUnavailable

Message = dict[str, JsonValue]

Render = Callable[[list[Message], list[JsonObject] | None], str]
"""Messages and tools to prompt text; raises whatever the template raises."""

RESULT_MARKERS = ("<tool_response>", "</tool_response>")
"""Around a result that has to go into a user turn; Qwen and Hermes models are trained on it."""

BREAK = "\u200b"
"""Put behind the first character of a control token in foreign text: reads the same, is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatForm:
    """How turns and tools are handed to one chat template."""

    call_format: CallFormat = "tags"
    tools_inline: bool = False
    """The tools go into the system text, which the loop writes."""
    flat_tools: bool = False
    """A tool is `{name, description, parameters}`, without the `function` envelope."""
    fold_system: bool = False
    """The system text stands in front of the first user turn."""
    fold_results: bool = False
    """Results are user turns between `RESULT_MARKERS`."""
    merge: bool = False
    """Neighbours of one role become one turn."""
    empty_list: bool = False
    """No tools are an empty list: the template walks through them without asking for any."""

    @property
    def notes(self) -> list[str]:
        """What the template cannot do and what happens instead, as sentences for a person."""
        told = [
            (self.tools_inline, "lists no tools, so they are listed in the system text"),
            (self.fold_results, "has no tool turns, so results go into user turns"),
            (self.fold_system, "has no system turn, so its text goes into the first user turn"),
            (self.merge, "wants alternating roles, so neighbours of one role are joined"),
        ]
        return [f"the chat template {text}" for applies, text in told if applies]

    def messages(self, system: str, turns: Sequence[ChatTurn]) -> list[Message]:
        """The conversation as the template takes it, `system` (when not empty) first."""
        spoken: list[tuple[str, str, str | None]] = []
        if system and not self.fold_system:
            spoken.append(("system", system, None))
        for turn in turns:
            if turn.role == "tool" and self.fold_results:
                result = f"{RESULT_MARKERS[0]}\n{turn.content}\n{RESULT_MARKERS[1]}"
                spoken.append(("user", result, None))
            else:
                spoken.append((turn.role, turn.content, turn.name))
        if system and self.fold_system:
            if spoken and spoken[0][0] == "user":
                spoken[0] = ("user", f"{system}\n\n{spoken[0][1]}", None)
            else:
                spoken.insert(0, ("user", system, None))
        if self.merge:
            spoken = _merged(spoken)
        return [_message(role, content, name) for role, content, name in spoken]

    def tools(self, tools: Sequence[CompactTool]) -> list[JsonObject] | None:
        """The tools as the template takes them."""
        if self.tools_inline or not tools:
            return [] if self.empty_list else None
        flat: list[JsonObject] = [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in tools
        ]
        return flat if self.flat_tools else [{"type": "function", "function": one} for one in flat]


def _message(role: str, content: str, name: str | None) -> Message:
    message: Message = {"role": role, "content": content}
    if name:
        message["name"] = name
    return message


def _merged(spoken: Sequence[tuple[str, str, str | None]]) -> list[tuple[str, str, str | None]]:
    merged: list[tuple[str, str, str | None]] = []
    for role, content, name in spoken:
        if merged and merged[-1][0] == role:
            merged[-1] = (role, f"{merged[-1][1]}\n\n{content}", merged[-1][2])
        else:
            merged.append((role, content, name))
    return merged


_SYSTEM, _FIRST, _RESULT_A, _RESULT_B, _SECOND, _PROSE, _THIRD = _WORDS = (
    "zqsystem",
    "zqfirst",
    "zqresulta",
    "zqresultb",
    "zqsecond",
    "zqprose",
    "zqthird",
)
_CALLED = "zqcalled"

PROBE_TOOL = CompactTool(
    name="zq_probe",
    description="zqdescription",
    parameters={
        "type": "object",
        "properties": {
            # A template that writes `value.items` gets Python's dict method instead.
            "items": {"type": "array", "items": {"type": "string"}},
            "zq_list": {"type": "array", "items": {"type": "string"}},
            "zq_kinds": {"type": ["array", "null"], "items": {"type": "string"}},
        },
        "required": ["items"],
    },
)

_PYTHON_LEFTOVERS = ("<built-in method", "object at 0x")


def _probe_turns(call_format: CallFormat) -> list[ChatTurn]:
    opener, closer = CALL_MARKERS[call_format]
    call = f'{opener}\n{{"name": "zq_probe", "arguments": {{"zq_kinds": "{_CALLED}"}}}}\n{closer}'
    return [
        ChatTurn("user", _FIRST),
        ChatTurn("assistant", call),
        ChatTurn("tool", _RESULT_A, "zq_probe"),
        ChatTurn("tool", _RESULT_B, "zq_probe"),
        ChatTurn("user", _SECOND),
        ChatTurn("assistant", _PROSE),
        ChatTurn("user", _THIRD),
    ]


def choose_form(render: Render, source: str, vocabulary: Collection[str]) -> ChatForm:
    """The form with the fewest fallbacks in which a whole conversation comes through.

    `source` is the template's text, `vocabulary` the tokenizer's added tokens. Raises
    `ModelUnavailable`, the sentence beginning with "its chat template", when there is none."""
    pythonic = _is_pythonic(source, vocabulary)
    problem = ""
    fallbacks = sorted(product((False, True), repeat=5), key=sum)
    for inline, results, system, merge, empty in fallbacks:
        form = ChatForm(
            call_format="pythonic" if pythonic and not inline else "tags",
            flat_tools=pythonic and not inline,
            tools_inline=inline,
            fold_results=results,
            fold_system=system,
            merge=merge,
            empty_list=empty,
        )
        problem = _problem(render, form)
        if not problem:
            return form
    raise ModelUnavailable(f"its chat template {problem}")


def _is_pythonic(source: str, vocabulary: Collection[str]) -> bool:
    if CALL_MARKERS["pythonic"][0] in source or "<|tool_list_start|>" in source:
        return True
    # The first LFM2 templates write the list of tools as plain text.
    return "List of tools: " in source and CALL_MARKERS["pythonic"][0] in vocabulary


def _problem(render: Render, form: ChatForm) -> str:
    turns = _probe_turns(form.call_format)
    try:
        text = render(form.messages(_SYSTEM, turns), form.tools([PROBE_TOOL]))
        render(form.messages(_SYSTEM, turns), form.tools([]))  # a page may have none
    except Exception as exc:  # noqa: BLE001  # a template is foreign code and raises anything
        return f"refuses a conversation ({str(exc).splitlines()[0] if str(exc) else type(exc)})"
    lost = [word for word in (*_WORDS, _CALLED) if text.count(word) != 1]
    if _CALLED in lost or _PROSE in lost:
        return "drops what the model said"
    if lost:
        return f"loses or repeats turns ({', '.join(word.removeprefix('zq') for word in lost)})"
    if any(leftover in text for leftover in _PYTHON_LEFTOVERS):
        return "prints Python objects"
    needed = ("zq_probe", "zq_list", "zq_kinds") if not form.tools_inline else ()
    # The call itself names the tool once.
    if any(text.count(word) < (2 if word != "zq_list" else 1) for word in needed):
        return "lists no tools"
    return ""


def control_pattern(added: Mapping[str, bool]) -> re.Pattern[str] | None:
    """What has to be broken in foreign text: the tokenizer's added tokens, longest first.

    `added` tells of each added token whether it is a special one. The call markers stay: those
    that are still whole were written by the loop. Runs of blanks and plain words that a tokenizer
    happens to have added are text. None when there is nothing to break."""
    markers = {marker for pair in CALL_MARKERS.values() for marker in pair}
    tokens = [
        token
        for token, special in added.items()
        if len(token) > 1
        and token not in markers
        and token.strip()
        and (special or not token.replace(" ", "").isalnum())
    ]
    if not tokens:
        return None
    return re.compile("|".join(re.escape(token) for token in sorted(tokens, key=len, reverse=True)))


def without_control_tokens(value: JsonValue, pattern: re.Pattern[str] | None) -> JsonValue:
    """`value` with every control token in its texts and keys broken."""
    if pattern is None:
        return value
    if isinstance(value, str):
        return pattern.sub(lambda match: match[0][0] + BREAK + match[0][1:], value)
    if isinstance(value, list):
        return [without_control_tokens(item, pattern) for item in value]
    if isinstance(value, dict):
        return {
            str(without_control_tokens(key, pattern)): without_control_tokens(item, pattern)
            for key, item in value.items()
        }
    return value
