"""Tool calls as text: `write_call`, `parse_tool_calls`, and what is left of a reply without them.

Both call formats are read whatever the provider's is, for small models mix them. A reply's calls
are taken all or nothing: when one cannot be read, none counts. Nothing is guessed, nothing is
evaluated, and every repair is recorded. Whether a tool exists and its arguments fit is not judged
here.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from webmcp_agent.agent.call_bodies import BodyReader
from webmcp_agent.agent.call_meaning import (
    KnownTools,
    Refused,
    WrittenCall,
    meaning_of,
)
from webmcp_agent.agent.call_values import Unreadable, ValueReader, shown
from webmcp_agent.agent.foreign_text import break_markers, escape_markers, whole_characters
from webmcp_agent.agent.wording import CUT_OFF_PROBLEM, THINKING_PROBLEM
from webmcp_agent.browser.tools import PageTool
from webmcp_agent.providers.base import (
    CALL_MARKERS,
    END_MARKERS,
    REASONING_MARKERS,
    CallFormat,
    JsonObject,
)

TEXT_LIMIT = 20_000
"""Characters of a reply that are read."""
CALLS_LIMIT = 8
"""Calls that one reply may make."""
_STRAY_BRACKETS_LIMIT = 3
_SNIPPET = 12

_OPENERS = tuple(opener for opener, _ in CALL_MARKERS.values())
_CLOSERS = tuple(closer for _, closer in CALL_MARKERS.values())
_THINK, _END_THINK = REASONING_MARKERS


def _any_of(*texts: str) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, texts)))


_SCANNED = _any_of(*_OPENERS, *_CLOSERS, *REASONING_MARKERS)
_CALL_MARKER = _any_of(*_OPENERS, *_CLOSERS)
_END_MARKER = _any_of(*END_MARKERS)
_ANY_MARKER = _any_of(*_OPENERS, *_CLOSERS, *REASONING_MARKERS, *END_MARKERS)
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
_BRACKETS = re.compile(r"[()\[\]{}]")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_BARE_JSON = re.compile(r"(?:```(?:[A-Za-z0-9_+-]*\s)?\s*)?(?:\{|\[\s*\{)")
_BARE_PYTHON = re.compile(r"""(?:```(?:[A-Za-z0-9_+-]*\s)?\s*)?\[?\s*([^\s=,:()\[\]{}"'*<>]+)\(""")


@dataclass(frozen=True, slots=True)
class ParsedCall:
    """A call that could be read; the name may be one that no tool has."""

    name: str
    args: JsonObject


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """A reply taken apart."""

    text: str
    """The prose, without markers and reasoning; empty when there is an error."""
    calls: list[ParsedCall]
    """In order; empty when there is an error."""
    errors: list[str]
    """Sentences for the model, without "Error:" and "Try again."."""
    repairs: list[str]
    """What was mended, in words, each once."""
    asked: str | None
    """The first tool name that could be read, even from an unreadable call."""


def write_call(name: str, args: JsonObject, call_format: CallFormat) -> str:
    """A call as the model would write it; `parse_tool_calls` reads exactly the same back.

    `args` is a JSON object with finite numbers."""
    opener, closer = CALL_MARKERS[call_format]
    call = _json_text({"name": name, "arguments": args})
    if call_format == "tags":
        return f"{opener}\n{call}\n{closer}"
    if _PLAIN_NAME.fullmatch(name) and all(_PLAIN_KEY.fullmatch(key) for key in args):
        written = ", ".join(f"{key}={_json_text(value)}" for key, value in args.items())
        return f"{opener}[{name}({written})]{closer}"
    return f"{opener}[{call}]{closer}"


def parse_tool_calls(
    text: str,
    tools: Sequence[PageTool] = (),
    *,
    tools_inline: bool = False,
    finish_reason: Literal["stop", "length"] = "stop",
) -> ParsedReply:
    """The prose, the calls and the mistakes of a reply. Never raises.

    `tools` are all tools that a call may name; with none, no name is known. `tools_inline` says
    that the prompt asked for `{"tool": …, "args": …}`."""
    repairs: list[str] = []
    if len(text) > TEXT_LIMIT:
        text, finish_reason = text[:TEXT_LIMIT], "length"
        repairs.append(f"reply cut at {TEXT_LIMIT} characters")
    if end := _END_MARKER.search(text):
        if _ANY_MARKER.sub("", text[end.start() :]).strip():
            repairs.append("text after the end of the turn left out")
        text, finish_reason = text[: end.start()], "stop"
    known = KnownTools(tools)
    scan = _scan(text, known)
    if not scan.opened:
        _read_bare(scan, known, tools_inline)
    errors = _errors(scan, finish_reason == "length")
    return ParsedReply(
        text="" if errors else _prose(scan.prose),
        calls=[] if errors else scan.calls,
        errors=[break_markers(whole_characters(error)) for error in errors],
        repairs=list(dict.fromkeys(repairs + scan.repairs)),
        asked=None if scan.asked is None else _harmless_name(scan.asked),
    )


def visible_text(text: str) -> str:
    """A reply without markers and reasoning, trimmed; calls stay as they were written."""
    text = text[:TEXT_LIMIT]
    if end := _END_MARKER.search(text):
        text = text[: end.start()]
    pieces: list[str] = []
    at = 0
    while found := _SCANNED.search(text, at):
        pieces.append(text[at : found.start()])
        at = found.end()
        if found[0] == _END_THINK:
            pieces.clear()
        elif found[0] == _THINK:
            closed = text.find(_END_THINK, at)
            at = len(text) if closed < 0 else closed + len(_END_THINK)
    pieces.append(text[at:])
    return break_markers(whole_characters("".join(pieces)).strip())


@dataclass(slots=True)
class _Scan:
    """What the scan of a reply has found so far."""

    prose: list[str] = field(default_factory=list[str])
    calls: list[ParsedCall] = field(default_factory=list[ParsedCall])
    errors: list[str] = field(default_factory=list[str])
    repairs: list[str] = field(default_factory=list[str])
    asked: str | None = None
    opened: bool = False
    """A call marker was found."""
    strays: bool = False
    """An end marker stood without its opener."""
    unfinished: bool = False
    """Something had no end: a cut reply, when the token limit ended it."""
    thinking: bool = False
    """A call marker stands in reasoning that never closes."""

    def settle(
        self, written: Sequence[WrittenCall], known: KnownTools, *, asked_form: bool = False
    ) -> None:
        """Take calls that were read, or what is wrong with them."""
        for call in written:
            try:
                name, args = meaning_of(call, known, self.repairs, asked_form=asked_form)
            except Refused as refusal:
                self.errors.append(str(refusal))
            else:
                self.calls.append(ParsedCall(_harmless_name(name), args))


def _scan(text: str, known: KnownTools) -> _Scan:
    """Go over the reply once; prose and calls in order."""
    scan = _Scan()
    at = 0
    while found := _SCANNED.search(text, at):
        scan.prose.append(text[at : found.start()])
        at = found.end()
        if found[0] == _END_THINK:
            scan = _Scan()  # the template wrote the opener: all before was reasoning
        elif found[0] == _THINK:
            closed = text.find(_END_THINK, at)
            if closed < 0:
                scan.thinking = _CALL_MARKER.search(text, at) is not None
                scan.unfinished |= not scan.thinking
                return scan
            at = closed + len(_END_THINK)
        elif found[0] in _OPENERS:
            at = _read_marked(scan, text, at, known)
        else:
            scan.strays = True
    scan.prose.append(text[at:])
    return scan


def _read_marked(scan: _Scan, text: str, begin: int, known: KnownTools) -> int:
    """Read the body that begins here; gives the place after it."""
    scan.opened = True
    body = BodyReader(ValueReader(text, begin, mend=True), known)
    try:
        written = body.calls()
        end = _SCANNED.search(text, body.values.at)
        closed = end is not None and end[0] in _CLOSERS
        after = text[body.values.at : end.start() if end else len(text)]
        left_out = _left_out(after, body.values.at) if closed else []
    except Unreadable as problem:
        scan.asked = scan.asked or body.asked
        scan.errors.append(_sentence(text, begin, body.name, problem))
        end = _SCANNED.search(text, problem.at)
        scan.unfinished |= problem.at_end or end is None
    else:
        scan.asked = scan.asked or body.asked
        scan.repairs += ["code fence removed"] if body.fenced else []
        scan.repairs += body.values.repairs
        scan.repairs += ["several calls in one marker"] if body.several else []
        scan.settle(written, known)
        scan.repairs += left_out if closed else ["missing end marker"]
        if not closed:
            scan.unfinished = True
            scan.prose.append(after if _LETTER_OR_DIGIT.search(after) else "")
    if end is None:
        return len(text)
    return end.end() if end[0] in _CLOSERS else end.start()


def _left_out(after: str, at: int, *, text_allowed: bool = True) -> list[str]:
    """Repairs for what stands between a call and its end; more than a slip is unreadable."""
    brackets = list(_BRACKETS.finditer(after))
    text = _BRACKETS.sub("", after).strip()
    too_many = len(brackets) > _STRAY_BRACKETS_LIMIT
    if too_many or any(found[0] in "([{" for found in brackets) or (text and not text_allowed):
        first = len(after) - len(after.lstrip())
        raise Unreadable(at + first, "there is something after the call")
    repairs = ["extra closing brackets left out"] if brackets else []
    return [*repairs, "text after the call left out"] if text else repairs


def _read_bare(scan: _Scan, known: KnownTools, tools_inline: bool) -> None:
    """Take a reply that is nothing but calls without markers; any other stays prose."""
    text = "\n".join(piece for piece in scan.prose if piece.strip()).strip()
    python = _BARE_PYTHON.match(text)
    names_a_tool = python is not None and known.exact(python[1]) in known
    if not names_a_tool and not _BARE_JSON.match(text):
        return
    inline = tools_inline and text.startswith("{")
    body = BodyReader(ValueReader(text), known)
    try:
        written = body.calls()
        after = text[body.values.at :]
        if _is_reply(written, after):
            scan.prose = [str(written[0].others["reply"])]
            return
        if after.strip(" \t\r\n)]}") and not inline:
            return
        left_out = _left_out(after, body.values.at, text_allowed=False)
    except Unreadable as problem:
        if not inline and not _means_a_call(text, body, problem, python is not None):
            return
        scan.errors.append(_sentence(text, 0, body.name, problem))
    else:
        if not all(_is_bare_call(call, known, tools_inline) for call in written):
            return
        if python and not all(known.exact(str(call.names[0][1])) in known for call in written):
            return
        asked_form = tools_inline and all(_is_asked_form(call) for call in written)
        scan.repairs += [] if asked_form else ["bare call read"]
        scan.repairs += body.values.repairs
        scan.settle(written, known, asked_form=asked_form)
        scan.repairs += left_out
        scan.repairs += ["missing start marker"] if scan.strays else []
    # It has no end marker, so it counts as a cut reply when the token limit ended it.
    scan.unfinished, scan.strays, scan.prose = True, False, []
    scan.asked = body.asked


def _means_a_call(text: str, body: BodyReader, problem: Unreadable, python: bool) -> bool:
    """Whether text that cannot be read was meant as a call: it names a tool.

    `name(…` may also begin a sentence; a call of that form ends with its bracket or breaks off."""
    if body.asked is None or body.asked not in body.known:
        return False
    return not python or problem.at_end or text.endswith((")", "]", "```"))


def _is_reply(written: Sequence[WrittenCall], after: str) -> bool:
    """`{"reply": TEXT}`, the asked-for form of an answer."""
    if len(written) != 1 or after.strip():
        return False
    call = written[0]
    plain = not call.names and not call.arguments and set(call.others) == {"reply"}
    return plain and isinstance(call.others["reply"], str)


def _is_bare_call(call: WrittenCall, known: KnownTools, tools_inline: bool) -> bool:
    """Whether an object without markers is a call and not data."""
    if not call.names:
        return False
    key, name = call.names[0]
    if not isinstance(name, str):
        return False
    if known.exact(name) in known or (tools_inline and key == "tool"):
        return True
    return len(call.names) == 1 and len(call.arguments) == 1 and not call.others


def _is_asked_form(call: WrittenCall) -> bool:
    names, arguments = [key for key, _ in call.names], [key for key, _ in call.arguments]
    return names == ["tool"] and arguments in (["args"], [])


def _errors(scan: _Scan, cut: bool) -> list[str]:
    """What is wrong with the reply; a cut one has no other mistake."""
    if cut and scan.unfinished:
        return [CUT_OFF_PROBLEM]
    errors = [*scan.errors]
    if scan.thinking:
        errors.append(THINKING_PROBLEM)
    if scan.strays and not scan.opened:
        errors.append("there is a call marker without a call")
    if len(scan.calls) > CALLS_LIMIT:
        errors.append(f"{len(scan.calls)} calls in one reply; make at most {CALLS_LIMIT}")
    return errors


def _sentence(text: str, begin: int, name: str | None, problem: Unreadable) -> str:
    """An unreadable call as the model is told of it; places count from `begin`."""
    if problem.whole:
        return problem.reason
    who = "the call" if name is None else shown(name)
    around = text[max(begin, problem.at - _SNIPPET) : problem.at + _SNIPPET]
    near = " ".join(around.split())
    place = problem.at - begin + 1
    return f"{who} cannot be read at character {place}, near «{near}»: {problem.reason}"


def _prose(pieces: Sequence[str]) -> str:
    trimmed = [piece.strip() for piece in pieces]
    joined = "\n".join(piece for piece in trimmed if piece)
    return break_markers(whole_characters(re.sub(r"\n{3,}", "\n\n", joined)))


def _harmless_name(name: str) -> str:
    """A name out of a reply: a tool's own unchanged, any other without markers and short."""
    return break_markers(whole_characters(name))[:200]


def _json_text(value: object) -> str:
    """JSON without markers; half characters stay escapes, so that the text can be encoded."""
    text = json.dumps(value, ensure_ascii=False)
    halves = re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text)
    return escape_markers(halves)
