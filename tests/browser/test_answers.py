import pytest
from hypothesis import given, strategies as st
from pydantic import JsonValue

from webmcp_agent.browser.answers import (
    NO_REASON,
    NO_RESULT,
    clean,
    message,
    read_answer,
    read_error,
    read_output,
    read_response,
)
from webmcp_agent.browser.tools import JsonObject, ToolErrorCode, ToolFail, ToolOk
from webmcp_agent.browser.witness import Response


@pytest.mark.parametrize("answer", [None, "", "undefined", "null", "Operation succeeded"])
def test_nothing_is_an_answer_without_a_result(answer: str | None) -> None:
    """C-55."""
    assert read_answer(answer) == ToolOk(NO_RESULT)


@pytest.mark.parametrize(
    ("answer", "text", "value"),
    [
        ("Two boats", "Two boats", "Two boats"),
        ("false", "false", "false"),
        ("007", "007", "007"),
        ('{"a": 1}', '{"a": 1}', {"a": 1}),
        ("[1,2]", "[1,2]", [1, 2]),
        ("{no JSON", "{no JSON", "{no JSON"),
        ('{"content":[]}', '{"content":[]}', {"content": []}),
        ('{"content":[{"id":1}]}', '{"content":[{"id":1}]}', {"content": [{"id": 1}]}),
        ('{"isError":"no"}', '{"isError":"no"}', {"isError": "no"}),
        (
            '{"content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}],'
            '"structuredContent":{"n":1}}',
            "a\nb",
            {"n": 1},
        ),
    ],
)
def test_an_answer_is_read_as_the_page_meant_it(answer: str, text: str, value: JsonValue) -> None:
    """C-51."""
    assert read_answer(answer) == ToolOk(text, value)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ('{"isError":true,"content":[{"type":"text","text":"no such row"}]}', "no such row"),
        ('{"isError":true,"content":[]}', NO_REASON),
        ('{"isError":true}', NO_REASON),
    ],
)
def test_an_answer_that_says_it_is_an_error_is_a_failure(answer: str, reason: str) -> None:
    """C-54."""
    assert read_answer(answer) == ToolFail("failed", reason)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (None, ToolOk(NO_RESULT)),
        ("a\ud800b", ToolOk("a\ufffdb", "a\ufffdb")),
        (42, ToolOk("42", "42")),
        (True, ToolOk("true", "true")),
        ({"a": "é"}, ToolOk('{"a":"é"}', {"a": "é"})),
    ],
)
def test_an_output_of_the_protocol_reads_like_the_text_it_was(
    output: JsonValue, expected: ToolOk
) -> None:
    assert read_output(output) == expected


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("UnknownError", 'Input contains a parameter "q" but there is no such', "invalid-args"),
        ("UnknownError", 'Invalid value "x" for parameter p', "invalid-args"),
        ("UnknownError", "Form validation failed: n: too large", "invalid-args"),
        ("UnknownError", "Failed to parse input arguments", "invalid-args"),
        ("DataError", "[]", "invalid-args"),
        ("NotAllowedError", "no", "blocked"),
        ("SecurityError", "no", "blocked"),
        ("UnknownError", "Tool was executed but the invocation failed. For example, the script "
         "function threw an error", "failed"),
        ("UnknownError", "No submit button was found, but", "failed"),
        ("TypeError", "x is not a function", "failed"),
        ("AbortError", "signal is aborted", "cancelled"),
        ("UnknownError", "Tool execution cancelled by a form reset", "cancelled"),
        ("UnknownError", "The operation failed for an unknown transient reason", "no-answer"),
        ("NotFoundError", "Tool x not found", "not-found"),
    ],
)  # fmt: skip
def test_an_error_of_the_page_has_a_code(name: str, text: str, code: ToolErrorCode) -> None:
    """C-51."""
    assert read_error(name, text).code == code


def test_a_reason_behind_the_mask_comes_through_and_the_mask_does_not() -> None:
    """C-54."""
    mask = (
        "Tool was executed but the invocation failed. "
        "For example, the script function threw an error"
    )
    assert read_error("UnknownError", f"{mask}: out of stock").message == "out of stock"
    assert read_error("UnknownError", mask).message == NO_REASON


STACK = "\n    at pay (http://127.0.0.1/pay.js:3:9)\n    at http://127.0.0.1/pay.js:9:1"


@pytest.mark.parametrize(
    ("exception", "members", "reason"),
    [
        ({"className": "Error", "description": f"Error: sold out{STACK}"}, {}, "sold out"),
        ({"className": "Error", "description": f"Error: two\nlines{STACK}"}, {}, "two lines"),
        ({"className": "Error", "description": f"Error{STACK}"}, {}, NO_REASON),
        (
            {"className": "DOMException", "description": "NotAllowedError: nope"},
            {},
            "NotAllowedError: nope",
        ),
        ({"type": "string", "value": "closed"}, {}, "closed"),
        ({"type": "number", "value": 42}, {}, "42"),
        ({"type": "undefined"}, {}, NO_REASON),
        ({"type": "object", "subtype": "null", "value": None}, {}, NO_REASON),
        ({"className": "Object"}, {"code": 9, "reason": "taken"}, "code 9, taken"),
        ({"className": "Object"}, {}, NO_REASON),
    ],
)
def test_a_failure_carries_the_tools_own_reason(
    exception: JsonObject, members: JsonObject, reason: str
) -> None:
    """C-54."""
    response = Response("Error", exception=exception)
    assert read_response(response, members) == ToolFail("failed", reason)


def test_a_tool_that_finished_with_an_unwritable_answer_did_not_fail() -> None:
    told = "TypeError: Converting circular structure to JSON\n    --> starting at object"
    written = Response("Error", exception={"className": "TypeError", "description": told})
    thrown = Response("Error", exception={"className": "TypeError", "description": told + STACK})
    assert read_response(written, {}) == ToolFail(
        "no-answer", "The tool finished, but its answer cannot be written as JSON."
    )
    assert read_response(thrown, {}) == ToolFail(
        "failed", "Converting circular structure to JSON --> starting at object"
    )


def test_a_message_is_one_line_of_at_most_500_characters() -> None:
    line = message("a\n\tb " + "x" * 600)
    assert (line[:4], len(line), line[-1]) == ("a b ", 500, "…")


@given(st.text(st.characters(codec=None), max_size=50))
def test_cleaned_text_can_be_written_and_whole_text_is_unchanged(text: str) -> None:
    clean(text).encode("utf-8")
    whole = text.encode("utf-8", "ignore").decode("utf-8")
    assert clean(whole) == whole
