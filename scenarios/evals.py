"""webmcp-evals JSON files, unchanged, as cases: expected calls for messages, and tools to call.

Format of GoogleChromeLabs/webmcp-tools (2026-08). With a `schema.json` beside it a file needs no
page: its tools answer with the mock outputs of the expected calls, or `{}`. Read strictly: an
unknown key or operator is refused, and a case that no model could pass is an error. Not read: the
simulations of the same project.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, JsonValue, Tag, TypeAdapter

from webmcp_agent.agent.request import CallPart, ChatMessage, TextPart
from webmcp_agent.agent.stream import FinishReason
from webmcp_agent.browser.tools import JsonObject, PageTool
from webmcp_agent.scenarios.checks import Checks
from webmcp_agent.scenarios.errors import BadFile
from webmcp_agent.scenarios.expected_calls import ExpectedCall, Node, Ordered, Unordered, flat
from webmcp_agent.scenarios.matching import Matcher, Matchers
from webmcp_agent.scenarios.scenario import MAX_STEPS, Case
from webmcp_agent.scenarios.source_file import read_json
from webmcp_agent.scenarios.stand_ins import StandIn, answer_text
from webmcp_agent.scenarios.unreachable import unknown_argument

SCHEMA_FILE = "schema.json"

_NO_CALL: tuple[FinishReason, ...] = ("stop", "max-steps", "loop")
"""How a run may end where no call is wanted. Not with `repair-failed`: a model whose replies could
not be used has not decided against a call."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _Said(_Strict):
    type: Literal["message"]
    role: Literal["user", "model"]
    content: str


class _Called(_Strict):
    type: Literal["functioncall"]
    role: Literal["model"]
    name: str
    arguments: dict[str, JsonValue]


class _Answered(_Strict):
    type: Literal["functionresponse"]
    role: Literal["user"]
    name: str
    response: dict[str, JsonValue]


_Message = Annotated[_Said | _Called | _Answered, Field(discriminator="type")]


class _Call(_Strict):
    functionName: str = Field(min_length=1)
    arguments: Matchers | None = None
    result: Matcher = None
    mockOutput: JsonValue = None
    optional: bool = False

    def node(self) -> ExpectedCall:
        """The call in our own words."""
        given: JsonObject = {"tool": self.functionName, "optional": self.optional}
        if self.arguments is not None:
            given["args"] = dict(self.arguments)
        if "result" in self.model_fields_set:
            given["result"] = self.result
        return ExpectedCall.model_validate(given)


class _Ordered(_Strict):
    ordered: "list[_Node]" = Field(min_length=1)

    def node(self) -> Ordered:
        return Ordered(ordered=[each.node() for each in self.ordered])


class _Unordered(_Strict):
    unordered: "list[_Node]" = Field(min_length=1)

    def node(self) -> Unordered:
        return Unordered(unordered=[each.node() for each in self.unordered])


def _kind(value: Any) -> str:
    found = (key for key in ("ordered", "unordered") if isinstance(value, dict) and key in value)
    return next(found, "call")


_Node = Annotated[
    Annotated[_Call, Tag("call")]
    | Annotated[_Ordered, Tag("ordered")]
    | Annotated[_Unordered, Tag("unordered")],
    Discriminator(_kind),
]
_Ordered.model_rebuild()
_Unordered.model_rebuild()


class _Eval(_Strict):
    name: str | None = None
    messages: list[_Message] = Field(min_length=1)
    expectedCall: list[_Node] | None


class _Hints(BaseModel):
    model_config = ConfigDict(strict=True)

    readOnlyHint: bool = False
    untrustedContentHint: bool = False
    consequentialHint: bool = False


class _Tool(BaseModel):
    """A tool of a schema file; whatever else it says of itself is of no use here."""

    model_config = ConfigDict(strict=True)

    name: str = Field(pattern=r"^[A-Za-z0-9_.-]{1,128}$")
    description: str = ""
    title: str | None = None
    inputSchema: dict[str, JsonValue] | None = None
    annotations: _Hints | None = None

    def page_tool(self) -> PageTool:
        hints = self.annotations or _Hints()
        return PageTool(
            name=self.name,
            description=self.description,
            input_schema=self.inputSchema,
            title=self.title,
            read_only=hints.readOnlyHint,
            untrusted=hints.untrustedContentHint,
            consequential=hints.consequentialHint,
            fingerprint=self.model_dump_json(),
        )


class _Schema(BaseModel):
    tools: list[_Tool] = Field(min_length=1)


_EVALS = TypeAdapter(list[_Eval])
_SCHEMA = TypeAdapter(_Schema)
_OBJECTS: TypeAdapter[list[JsonObject]] = TypeAdapter(list[JsonObject])


def read_evals(path: Path) -> list[Case]:
    """The cases of an eval file, with the tools of the schema file beside it when there is one.

    Raises: `BadFile`, with line and key of each problem."""
    source = read_json(path)
    evals = source.as_type(_EVALS)
    schema = path.parent / SCHEMA_FILE
    tools: list[PageTool] | None = None
    if schema.is_file():
        tools = [tool.page_tool() for tool in read_json(schema).as_type(_SCHEMA).tools]
    raw = _OBJECTS.validate_python(source.value)
    cases: list[Case] = []
    for index, each in enumerate(evals):
        try:
            cases.append(replace(_case(path, index, each, tools), source=raw[index]))
        except ValueError as exc:
            raise BadFile(path, [source.problem([index, "messages"], str(exc))]) from exc
    return cases


def _case(path: Path, index: int, each: _Eval, tools: list[PageTool] | None) -> Case:
    nodes: list[Node] = [node.node() for node in each.expectedCall or ()]
    mocks = _mocks(each.expectedCall or ())
    case = Case(
        file=path,
        name=each.name or f"case {index + 1}",
        group=str(path),
        turns=(tuple(_conversation(each.messages)),),
        checks=Checks(calls=nodes, finish=None if nodes else [*_NO_CALL]),
        mocks=tuple(mocks),
        max_steps=max(MAX_STEPS, len(flat(nodes)) + 1),
    )
    if tools is None:
        return case
    return replace(
        case,
        stand_ins=tuple(_stand_in(tool, mocks) for tool in tools),
        stand_in_steps=_steps(flat(nodes), mocks),
        problem=_unreachable(flat(nodes), tools, mocks),
    )


def _conversation(messages: Sequence[_Message]) -> list[ChatMessage]:
    """The messages as a chat; one assistant message for each call or prose.

    Raises: `ValueError` when it does not end on something that the model has to go on from."""
    chat: list[ChatMessage] = []
    for number, message in enumerate(messages, 1):
        match message:
            case _Said(role="user"):
                chat.append(ChatMessage(f"u{number}", "user", (TextPart(message.content),)))
            case _Said():
                chat.append(ChatMessage(f"m{number}", "assistant", (TextPart(message.content),)))
            case _Called():
                call = CallPart(f"c{number}.1", message.name, message.arguments)
                chat.append(ChatMessage(f"m{number}", "assistant", (call,)))
            case _Answered():
                at = _open_call(chat, message.name)
                if at is None:
                    raise ValueError(f"message {number} answers no call of {message.name}")
                chat[at] = _answered(chat[at], message.response)
    if not any(message.role == "user" for message in chat):
        raise ValueError("the user says nothing")
    for message in chat:
        for part in message.parts:
            if isinstance(part, CallPart) and part.state == "running":
                raise ValueError(f"the call of {part.name} is never answered")
    if chat[-1].role == "assistant" and isinstance(chat[-1].parts[0], TextPart):
        raise ValueError("the last message is the model's own, so there is nothing to do")
    return chat


def _open_call(chat: Sequence[ChatMessage], name: str) -> int | None:
    """The first message that is a call of this tool without an answer."""
    for at, message in enumerate(chat):
        part = message.parts[0]
        if isinstance(part, CallPart) and (part.name, part.state) == (name, "running"):
            return at
    return None


def _answered(message: ChatMessage, response: JsonObject) -> ChatMessage:
    """`{"result": …}` is how the format wraps an answer of any kind."""
    value: JsonValue = response["result"] if set(response) == {"result"} else response
    call = message.parts[0]
    assert isinstance(call, CallPart)
    done = replace(call, state="done", result=answer_text(value), value=value)
    return replace(message, parts=(done,))


def _mocks(nodes: Sequence[_Node]) -> list[tuple[ExpectedCall, JsonValue]]:
    """The calls that have a mock output, in the order of the file."""
    found: list[tuple[ExpectedCall, JsonValue]] = []
    for node in nodes:
        match node:
            case _Ordered():
                found += _mocks(node.ordered)
            case _Unordered():
                found += _mocks(node.unordered)
            case _:
                if "mockOutput" in node.model_fields_set:
                    found.append((node.node(), node.mockOutput))
    return found


def _stand_in(tool: PageTool, mocks: Sequence[tuple[ExpectedCall, JsonValue]]) -> StandIn:
    return StandIn(tool, tuple((call, mock) for call, mock in mocks if call.tool == tool.name))


def _steps(calls: Sequence[ExpectedCall], mocks: Sequence[tuple[ExpectedCall, JsonValue]]) -> int:
    """One step a call, and one more to see that the model stops when its calls got real answers.

    After the answer `{}`, which is all there is without mock outputs, a further step tells nothing.
    """
    return max(1, len(calls) + (0 < len(calls) <= len(mocks)))


def _unreachable(
    calls: Sequence[ExpectedCall],
    tools: Sequence[PageTool],
    mocks: Sequence[tuple[ExpectedCall, JsonValue]],
) -> str | None:
    """Why no model could make the expected calls; None when one could."""
    by_name = {tool.name: tool for tool in tools}
    mocked = [call for call, _ in mocks]
    for call in calls:
        tool = by_name.get(call.tool)
        if tool is None:
            return f"there is no tool {call.tool!r} in {SCHEMA_FILE}"
        if why := unknown_argument(call, tool):
            return f"{why} in {SCHEMA_FILE}"
        if "result" in call.model_fields_set and call not in mocked:
            return f"the result of {call.tool} can be judged on a page only; give one with --url"
    return None
