"""What a page's answer or error means: from texts of page and browser to `ToolOk` and `ToolFail`.

Pure. The texts that are recognised here are Chromium's own (156), in the page and in the protocol
alike; what a page throws passes through as the page's words.
"""

import json
import re

from pydantic import JsonValue

from webmcp_agent.browser.tools import JsonObject, ToolFail, ToolOk
from webmcp_agent.browser.witness import Response

NO_RESULT = "(no result)"
MESSAGE_LIMIT = 500

_NOTHING = {"", "undefined", "null", "Operation succeeded"}
"""How Chromium writes that a tool returned nothing; the last one stands for an empty text."""

_MASK = re.compile(r"^Tool was executed but the invocation failed\.[^:]*?threw an error:?\s*")
"""What the page sees of any error; a polyfill puts the reason after it."""

_NOT_RUN = re.compile(
    r"^(Input contains a parameter|Invalid value |Form validation failed)"
    r"|Failed to parse input arguments|invalid input|not an object"
    r"|Failed to execute 'executeTool'",
    re.IGNORECASE,
)
_MISSING = re.compile(r"^Tool .*not found|invalid (tool )?name", re.IGNORECASE)
_ENDED_EARLY = re.compile(r"by a form reset|by abort signal|definition was updated|was cancelled")
_LOST = re.compile(r"unknown transient reason")
_UNWRITABLE = re.compile(r"^TypeError: (Converting circular structure|Do not know how to serial)")
_STACK = re.compile(r"\n\s+at ")

_FORM_TROUBLE = {
    "No submit button": "the form has no submit button",
    "called preventDefault()": "the page swallowed the form's submission without an answer",
    "respondWith promise was rejected": "the page refused the form's submission without a reason",
}
_BARE_MEMBERS = {"detail", "description", "error", "message", "reason", "title"}
"""Members of a thrown object that speak for themselves; others are shown with their name."""

NO_REASON = "The tool failed and gave no reason."


def clean(text: str) -> str:
    """`text` with half surrogate pairs replaced: a page may send them, UTF-8 cannot hold them."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def message(text: str) -> str:
    """`text` as an error message: one line, at most 500 characters."""
    line = " ".join(clean(text).split())
    return line if len(line) <= MESSAGE_LIMIT else line[: MESSAGE_LIMIT - 1] + "…"


def compact(value: JsonValue) -> str:
    """`value` as JSON without blanks."""
    return clean(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def read_answer(answer: str | None) -> ToolOk | ToolFail:
    """A tool's own answer, as the page gives it.

    A result in MCP's shape is its text items; one that says `isError` is a failure."""
    if answer is None or answer in _NOTHING:
        return ToolOk(NO_RESULT)
    text = clean(answer)
    value = _structure(text)
    if not isinstance(value, dict):
        return ToolOk(text, text if value is None else value)
    items = value.get("content")
    told = _text_items(items) if isinstance(items, list) else None
    if value.get("isError") is True:
        return ToolFail("failed", message("\n".join(told)) if told else NO_REASON)
    if told:
        return ToolOk("\n".join(told), value.get("structuredContent", value))
    return ToolOk(text, value)


def read_output(output: JsonValue) -> ToolOk | ToolFail:
    """A tool's answer as the protocol gives it: texts that hold JSON arrive as values."""
    if output is None or isinstance(output, str):
        return read_answer(output)
    try:
        return read_answer(compact(output))
    except RecursionError:
        return ToolFail("no-answer", "The tool finished, but its answer cannot be read.")


def read_response(response: Response, members: JsonObject) -> ToolOk | ToolFail:
    """How the protocol says that a call ended; `members` are those of a thrown object."""
    if response.status == "Completed":
        return read_output(response.output)
    if response.status == "Canceled":
        return ToolFail("cancelled", _ended(response.error_text))
    exception = response.exception
    if exception is None:
        return read_error("", response.error_text)
    description = exception.get("description")
    if (
        isinstance(description, str)
        and _UNWRITABLE.match(description)
        and not _STACK.search(description)
    ):
        return ToolFail("no-answer", "The tool finished, but its answer cannot be written as JSON.")
    return ToolFail("failed", _thrown(exception, members))


def read_error(name: str, text: str) -> ToolFail:
    """An error that the page saw, by its name and message, without a word of the protocol's."""
    text = clean(text)
    if name in {"NotAllowedError", "SecurityError"}:
        return ToolFail("blocked", message(f"The browser does not allow it: {text}"))
    if name == "AbortError" or _ENDED_EARLY.search(text):
        return ToolFail("cancelled", _ended(text))
    if _LOST.search(text):
        return ToolFail("no-answer", "The answer was lost; the tool or its frame went away.")
    if _MISSING.search(text):
        return ToolFail("not-found", message(text))
    if name == "DataError" or _NOT_RUN.search(text):
        return ToolFail("invalid-args", message(text))
    for sign, said in _FORM_TROUBLE.items():
        if sign in text:
            return ToolFail("failed", said)
    reason = message(_first_lines(_MASK.sub("", text)))
    return ToolFail("failed", reason or NO_REASON)


def _ended(text: str) -> str:
    if "form reset" in text:
        return "The form was reset before it was submitted."
    if "definition was updated" in text:
        return "The form changed or went away before it was submitted."
    return "The page cancelled the call; it may have worked."


def _structure(text: str) -> JsonValue:
    """The object or list that `text` is; None for other texts, which stay as they are."""
    if not text.startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _text_items(items: list[JsonValue]) -> list[str] | None:
    """The texts among MCP's content items; None when these are no such items."""
    texts: list[str] = []
    for item in items:
        if not isinstance(item, dict) or not isinstance(item.get("type"), str):
            return None
        text = item.get("text")
        if item["type"] == "text" and isinstance(text, str):
            texts.append(text)
    return texts


def _thrown(exception: JsonObject, members: JsonObject) -> str:
    """In one line what a tool threw: an Error's message, a plain value, an object's members."""
    match exception:
        case {"type": "undefined"} | {"subtype": "null"}:
            return NO_REASON
        case {"value": str() as value}:
            return message(value) or NO_REASON
        case {"value": value}:
            return message(compact(value))
        case {"className": "Object"}:
            told = [_member(key, value) for key, value in members.items()]
            return message(", ".join(told)) or NO_REASON
        case {"description": str() as description}:
            kind = str(exception.get("className", ""))
            said = _first_lines(description)
            for prefix in (f"{kind}: ", "Error: "):
                said = said.removeprefix(prefix)
            bare = said.strip() in {"", kind, "Error"}
            return NO_REASON if bare else message(said)
        case _:
            return NO_REASON


def _member(key: str, value: JsonValue) -> str:
    shown = value if isinstance(value, str) else compact(value)
    return shown if isinstance(value, str) and key in _BARE_MEMBERS else f"{key} {shown}"


def _first_lines(text: str) -> str:
    """`text` without its stack."""
    return _STACK.split(text, maxsplit=1)[0]
