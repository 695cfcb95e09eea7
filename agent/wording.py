"""The fixed sentences that a person or a model reads, and `gist`, the short form of a result.

Texts with braces are filled with `str.format` by the function that stands beside them or by the
one place that uses them. They are part of what a tuned model was trained on: change with care.
"""

import json
from collections.abc import Sequence

from pydantic import JsonValue

from webmcp_agent.agent.digest_parts import without_note

RESULT_LIMIT = 1500
"""Characters of a tool's result that go into a turn, the "…" included."""
GIST_LIMIT = 200

TOO_LONG = (
    "This request is too long for the on-device model. "
    "Ask for something shorter, or start a new chat."
)
TOO_SLOW = "The on-device model took too long. Try again, or ask for something simpler."
FAILED = "The on-device model failed: {reason}"
CIRCLES = "I stopped because I was going in circles. {gist}"
MAX_STEPS = "I stopped after {steps} without finishing. Tell me to continue, or say it another way."
APOLOGY = "Sorry, I couldn't work out how to do that with this page's tools."
NEXT = "Next step for my request: {request}"
RESTATE = (
    "My request: {request}\n"
    "If the result above answers it, tell me in a sentence. If not, make the next call."
)
REPEATED = (
    "You already called {name} with these arguments and got the same answer. "
    "Do something else, or answer me."
)
MOVED = "The page changed, so {names} did not run."
FOLDED = "Result of {name}: {gist}"
NO_CLAIM = (
    "Your last call, {name}, failed: {error} Don't say it worked. "
    "Fix the call, or tell me plainly that it failed."
)
YOU_DO_IT = "The tool {tool} is right here: you do it. Call now."
ONLY_LOOKED = "So far you have only looked, and nothing was done. Call the next tool now."
SAY_IT = (
    "Don't tell me whether it answers me. If it does, say what it says; if not, call the next tool."
)
NOT_CALLED = (
    "No tool was called, so nothing was done. Call a tool now, or tell me plainly that you can't."
)
PROBLEM = "Error: {problem}. Try again."
UNKNOWN = "Error: there is no tool {name}; you have {names}. Try again."
NEAR_NAME = "Error: there is no tool {name}; did you mean {names}? Try again."
EMPTY = "Error: your reply was empty. Try again."
CUT_OFF_PROBLEM = "your reply was cut off, make it shorter"
THINKING_PROBLEM = "close your reasoning, then call"
INTERRUPTED = "Error [no-answer]: The call was interrupted. It may or may not have worked."
STOPPED = "The person pressed Stop."
NEEDS_LOAD = "The model needs a download of {size} first."
LOADING = "The model is still downloading ({percent}%)."
NO_TOOLS = "This page has no tools right now."
NO_PAGE = "The page's tools could not be read: {reason}"


def steps_text(count: int) -> str:
    """`1 step`, `2 steps`."""
    return "1 step" if count == 1 else f"{count} steps"


def names_text(names: Sequence[str]) -> str:
    """Names joined by commas, `none` when there is none."""
    return ", ".join(names) or "none"


def one_line(text: str, limit: int = 200) -> str:
    """`text` on one line, blanks collapsed, at most `limit` characters."""
    return cut(" ".join(text.split()), limit)


def cut(text: str, limit: int) -> str:
    """`text`, at most `limit` characters, a "…" in place of what is missing."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def error_line(code: str, message: str) -> str:
    """A failed call as the model reads it."""
    return f"Error [{code}]: {message}"


_SAID = ("message", "summary", "text", "result", "status", "title", "name")
_LABELS = ("title", "name", "label", "text", "message", "summary", "id")


def gist(text: str) -> str:
    """The result in at most 200 characters; empty when there is nothing short to say.

    A JSON object gives its message-like member, else its first list as a count with the first
    three labels, else its plain members; a list gives the count; other text is cut. What a document
    says of its own protocol (`ucp`) is nothing to say, and its only other object is read for it."""
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return one_line(text, GIST_LIMIT)
    match value:
        case dict():
            said = _gist_of_object(value)
        case list():
            said = _counted(value, "results")
        case _:
            said = text
    return one_line(said, GIST_LIMIT)


def _gist_of_object(value: dict[str, JsonValue]) -> str:
    if "ucp" in value:
        value = {key: member for key, member in value.items() if key != "ucp"}
        if len(value) == 1 and isinstance(only := next(iter(value.values())), dict):
            value = only
    for key in _SAID:
        member = value.get(key)
        if isinstance(member, str) and member.strip():
            return member
    for key, member in value.items():
        if isinstance(member, list):
            return _counted(member, key)
    return ", ".join(
        f"{key}: {_spelled(member)}"
        for key, member in value.items()
        if not isinstance(member, dict | list)
    )


def _counted(items: list[JsonValue], noun: str) -> str:
    """`4 results: Blue mug, Red mug, Mug rack, …`; what a digest left out is counted too."""
    items, hidden = without_note(items)
    count = len(items) + hidden
    word = noun[:-1] if count == 1 and noun.endswith("s") else noun
    labels = [label for item in items[:3] if (label := _label(item))]
    if not labels:
        return f"{count} {word}"
    more = ", …" if count > 3 else ""
    return f"{count} {word}: {', '.join(labels)}{more}"


def _label(item: JsonValue) -> str:
    match item:
        case dict():
            inner = item.get("item")
            labelled = inner if isinstance(inner, dict) else item  # the line of a cart
            for key in _LABELS:
                member = labelled.get(key)
                if isinstance(member, str | int | float) and str(member).strip():
                    return _spelled(member)
            return ""
        case list() | None:
            return ""
        case _:
            return _spelled(item)


def _spelled(value: str | int | float | None) -> str:
    """Text as it is, anything else as JSON spells it."""
    return value if isinstance(value, str) else json.dumps(value)
