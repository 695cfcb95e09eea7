"""What matches and what does not: values, calls, answers, and the state of a real page."""

import re
from collections.abc import Awaitable, Callable

import pytest
from pydantic import JsonValue, ValidationError

from webmcp_agent.browser.page_tools import PageTools
from webmcp_agent.scenarios.checks import Checks
from webmcp_agent.scenarios.expected_calls import ExpectedCall, Node, match_calls
from webmcp_agent.scenarios.matching import checked_matcher, mismatch, occurs, same_value
from webmcp_agent.scenarios.outcome import Failure, MadeCall, Outcome
from webmcp_agent.scenarios.page_checks import JsCheck

OpenShop = Callable[[str], Awaitable[PageTools]]

VALUES: list[tuple[JsonValue, JsonValue, str | None]] = [
    ("mug", "mug", None),
    ("mug", "Mug", 'is "Mug", not "mug"'),
    (2, 2.0, None),
    (2, "2", 'is "2", not 2'),
    (1, True, "is true, not 1"),
    (False, 0, "is 0, not false"),
    (None, None, None),
    (None, False, "is false, not null"),
    ({"a": 1}, {"a": 1, "b": 2}, None),
    ({"a": 1, "b": 2}, {"a": 1}, "b is missing"),
    ({"a": {"b": 1}}, {"a": {"b": 2}}, "a.b is 2, not 1"),
    ({}, {"a": 1}, None),
    ({}, [], "is [], not {}"),
    ([1, 2], [1, 2], None),
    ([1, 2], [2, 1], "[1] is 2, not 1"),
    ([1], [1, 2], "is [1, 2], not [1]"),
    ([], "", 'is "", not []'),
    ({"$pattern": "^run"}, "running shoes", None),
    ({"$pattern": "^shoes"}, "running shoes", 'is "running shoes", which does not match "^shoes"'),
    ({"$pattern": "SHOES"}, "running shoes", 'is "running shoes", which does not match "SHOES"'),
    ({"$pattern": "(?i)SHOES"}, "running shoes", None),
    ({"$pattern": "1"}, 1, 'is 1, which does not match "1"'),
    ({"$pattern": "a$"}, "a\n", 'is "a\\n", which does not match "a$"'),
    ({"$contains": "shoe"}, "running shoes", None),
    ({"$contains": "Shoe"}, "running shoes", 'is "running shoes", which does not contain "Shoe"'),
    ({"$contains": "1"}, [1], 'is [1], which does not contain "1"'),
    ({"$gt": 5}, 6, None),
    ({"$gt": 5}, 5, "is 5, not more than 5"),
    ({"$gte": 5}, 5, None),
    ({"$gte": 5}, 4.9, "is 4.9, not at least 5"),
    ({"$lt": 5}, 4, None),
    ({"$lt": 5}, 5, "is 5, not less than 5"),
    ({"$lte": 5}, 5, None),
    ({"$lte": 5}, 6, "is 6, not at most 5"),
    ({"$lte": 5}, "4", 'is "4", not at most 5'),
    ({"$gte": 0}, True, "is true, not at least 0"),
    ({"$gte": 1, "$lte": 3}, 2, None),
    ({"$gte": 1, "$lte": 3}, 4, "is 4, not at most 3"),
    ({"$type": "string"}, "", None),
    ({"$type": "string"}, None, "is null, no string"),
    ({"$type": "number"}, 1.5, None),
    ({"$type": "number"}, False, "is false, no number"),
    ({"$type": "boolean"}, False, None),
    ({"$type": "boolean"}, 0, "is 0, no boolean"),
    ({"$type": "array"}, [], None),
    ({"$type": "array"}, {}, "is {}, no array"),
    ({"$type": "object"}, {}, None),
    ({"$type": "object"}, [], "is [], no object"),
    ({"$type": "null"}, None, None),
    ({"$type": "null"}, 0, "is 0, no null"),
    ({"a": {"$any": True}}, {"a": None}, None),
    ({"a": {"$any": True}}, {}, "a is missing"),
    ([{"$gt": 1}], [2], None),
    ([{"$gt": 1}], [1], "[1] is 1, not more than 1"),
]


@pytest.mark.parametrize(("expected", "actual", "wrong"), VALUES)
def test_a_value_matches_or_the_difference_is_told(
    expected: JsonValue, actual: JsonValue, wrong: str | None
) -> None:
    assert checked_matcher(expected) is expected
    assert mismatch(expected, actual) == wrong


UNUSABLE: list[tuple[JsonValue, str]] = [
    ({"$matches": "a"}, "no operator '$matches'"),
    ({"a": [{"$ne": 1}]}, "no operator '$ne'"),
    ({"$pattern": "("}, "'('"),
    ({"$pattern": "(?x)a"}, "(?x)"),
    ({"$pattern": 1}, "$pattern cannot be 1"),
    ({"$contains": 1}, "$contains cannot be 1"),
    ({"$gt": "1"}, '$gt cannot be "1"'),
    ({"$gte": True}, "$gte cannot be true"),
    ({"$lt": None}, "$lt cannot be null"),
    ({"$lte": []}, "$lte cannot be []"),
    ({"$type": "integer"}, '$type cannot be "integer"'),
    ({"$any": False}, "$any cannot be false"),
    ({"$gt": 1, "unit": "eur"}, "beside a key"),
]


@pytest.mark.parametrize(("matcher", "told"), UNUSABLE)
def test_what_cannot_be_used_as_a_matcher_is_refused(matcher: JsonValue, told: str) -> None:
    with pytest.raises(ValueError, match=re.escape(told)):
        checked_matcher(matcher)


def test_values_are_the_same_as_json_has_it() -> None:
    assert same_value({"a": [1, {"b": None}]}, {"a": [1.0, {"b": None}]})
    assert not same_value({"a": 1}, {"a": 1, "b": 2})
    assert not same_value([True], [1])
    assert not same_value("1", 1)


def test_a_pattern_that_takes_for_ever_counts_as_no_match() -> None:
    assert not occurs("^(a+)+b", "a" * 5_000)


def call(tool: str, optional: bool = False, **args: JsonValue) -> ExpectedCall:
    return ExpectedCall(tool=tool, args=dict(args) if args else None, optional=optional)


def nodes(*expected: JsonValue) -> list[Node]:
    calls = Checks.model_validate({"calls": list(expected)}).calls
    assert calls is not None
    return calls


def made(*calls: str | MadeCall) -> list[MadeCall]:
    return [MadeCall(each, {}) if isinstance(each, str) else each for each in calls]


ANY_ORDER: JsonValue = {"unordered": ["b", "c"]}
NESTED: JsonValue = {"unordered": ["c", {"ordered": ["a", "b"]}]}
MAYBE: JsonValue = {"tool": "a", "optional": True}
SEQUENCES: list[tuple[list[JsonValue], str, str | None]] = [
    ([], "", None),
    ([], "a", "extra-call: call 1: a({}) was not expected"),
    (["a"], "", "no-call: no call was made, a() was expected"),
    (["a"], "a", None),
    (["a"], "b", "wrong-tool: call 1: b was called instead of a"),
    (["a"], "aa", "extra-call: call 2: a({}) was not expected"),
    (["a", "b"], "a", "missing-call: b() was expected after 1 call and not made"),
    (["a", "b"], "ba", "wrong-tool: call 1: b was called instead of a"),
    (["a", "b"], "axb", "wrong-tool: call 2: x was called instead of b"),
    ([MAYBE, "b"], "b", None),
    ([MAYBE, "b"], "ab", None),
    ([MAYBE, "b"], "a", "missing-call: b() was expected after 1 call and not made"),
    ([MAYBE, "b"], "x", "wrong-tool: call 1: x was called instead of b"),
    ([MAYBE], "", None),
    ([MAYBE, "a"], "a", None),
    ([MAYBE, "a"], "aa", None),
    (["a", ANY_ORDER], "abc", None),
    (["a", ANY_ORDER], "acb", None),
    (["a", ANY_ORDER], "abb", "wrong-tool: call 3: b was called instead of c"),
    (["a", ANY_ORDER], "ac", "missing-call: b() was expected after 2 calls and not made"),
    ([ANY_ORDER, "a"], "bac", "wrong-tool: call 2: a was called instead of c"),
    ([NESTED], "cab", None),
    ([NESTED], "abc", None),
    ([NESTED], "acb", "wrong-tool: call 2: c was called instead of b"),
    ([{"ordered": ["a", "b"]}, "c"], "abc", None),
    ([{"unordered": [MAYBE, "b"]}], "b", None),
    ([{"unordered": [MAYBE, "b"]}], "ba", None),
]


@pytest.mark.parametrize(("expected", "calls", "wrong"), SEQUENCES)
def test_calls_match_as_a_whole(expected: list[JsonValue], calls: str, wrong: str | None) -> None:
    failure = match_calls(nodes(*expected), made(*calls))
    assert (f"{failure.kind}: {failure.message}" if failure else None) == wrong


def test_a_group_in_any_order_finds_the_one_assignment_that_works() -> None:
    expected = nodes({"unordered": [{"tool": "a"}, {"tool": "a", "args": {"n": 1}}]})
    calls = made(MadeCall("a", {"n": 1}), MadeCall("a", {"n": 2}))
    assert match_calls(expected, calls) is None
    assert match_calls(expected, list(reversed(calls))) is None


def test_twelve_calls_in_any_order_are_matched_and_thirteen_are_refused() -> None:
    letters = "abcdefghijkl"
    assert match_calls(nodes({"unordered": list(letters)}), made(*reversed(letters))) is None
    with pytest.raises(ValidationError):
        nodes({"unordered": list(letters + "m")})


RESULTS: list[tuple[JsonValue, MadeCall, str | None]] = [
    ("Opened.", MadeCall("a", {}, "ok", "Opened.", None), None),
    ({"total": 2}, MadeCall("a", {}, "ok", '{"total": 2}', None), None),
    ({"total": 2}, MadeCall("a", {}, "ok", "2 found", {"total": 2, "more": []}), None),
    (None, MadeCall("a", {}, "ok", "(no result)", None), None),
    (
        {"total": 2},
        MadeCall("a", {}, "ok", '{"total": 3}', {"total": 3}),
        "wrong-result: call 1: a: the result.total is 3, not 2",
    ),
    (
        {"$any": True},
        MadeCall("a", {}, "failed", "Out of stock"),
        "wrong-result: call 1: a ended with failed: Out of stock",
    ),
]


@pytest.mark.parametrize(("expected", "call", "wrong"), RESULTS)
def test_a_result_is_compared_as_value_as_text_and_as_json(
    expected: JsonValue, call: MadeCall, wrong: str | None
) -> None:
    failure = match_calls(nodes({"tool": "a", "result": expected}), [call])
    assert (f"{failure.kind}: {failure.message}" if failure else None) == wrong


DONE = Outcome(
    calls=(MadeCall("search", {"query": "mug"}), MadeCall("add_to_cart", {"quantity": 2})),
    answer="I added 2 Blue Mugs, 33 euros.",
    finishes=("stop", "stop"),
    steps=5,
    url="http://127.0.0.1/cart.html?x=1",
)
JUDGED: list[tuple[dict[str, JsonValue], list[tuple[str, str]]]] = [
    ({"calls": ["search", "add_to_cart"]}, []),
    ({"calls": ["search"]}, [("calls", "extra-call")]),
    ({"called": ["add_to_cart", {"tool": "search", "args": {"query": "mug"}}]}, []),
    ({"called": [{"tool": "search", "args": {"query": "cup"}}]}, [("called", "wrong-argument")]),
    ({"called": ["checkout"]}, [("called", "missing-call")]),
    ({"not_called": ["checkout", {"tool": "add_to_cart", "args": {"quantity": 1}}]}, []),
    ({"not_called": ["add_*"]}, [("not_called", "forbidden-call")]),
    (
        {"not_called": [{"tool": "add_to_cart", "args": {"quantity": 2}}]},
        [("not_called", "forbidden-call")],
    ),
    ({"answer": {"matches": "BLUE mugs?", "contains": ["33", "ADDED"]}}, []),
    ({"answer": {"matches": ["mug", "red"]}}, [("answer", "wrong-answer")]),
    ({"answer": {"contains": "34"}}, [("answer", "wrong-answer")]),
    ({"answer": {"not_matches": "red|green", "not_contains": ["sorry"]}}, []),
    ({"answer": {"not_matches": "blue"}}, [("answer", "wrong-answer")]),
    ({"answer": {"not_contains": "MUGS"}}, [("answer", "wrong-answer")]),
    ({"url": r"cart\.html"}, []),
    ({"url": r"checkout\.html"}, [("url", "wrong-url")]),
    ({"at_most_steps": 5}, []),
    ({"at_most_steps": 4}, [("at_most_steps", "too-many-steps")]),
    ({"at_most_steps": 5, "finish": "loop"}, [("finish", "wrong-finish")]),
    ({"at_most_steps": 5, "finish": ["loop", "stop"]}, []),
]


@pytest.mark.parametrize(("given", "failed"), JUDGED, ids=[str(row[0])[:60] for row in JUDGED])
async def test_each_check_holds_or_fails_by_what_was_done(
    given: dict[str, JsonValue], failed: list[tuple[str, str]]
) -> None:
    failures = await Checks.model_validate(given).judge(DONE, None)
    assert [(failure.check, failure.kind) for failure in failures] == failed


async def test_a_run_that_did_not_stop_by_itself_fails_unless_that_was_expected() -> None:
    stuck = Outcome(finishes=("stop", "timeout"), error="The model took too long.")
    checks = Checks.model_validate({"calls": []})
    assert await checks.judge(stuck, None) == [
        Failure(
            "finish",
            "wrong-finish",
            "it ended with timeout (The model took too long.), not with stop",
        )
    ]
    any_finish = Checks.model_validate({"calls": [], "finish": None})
    assert await any_finish.judge(Outcome(finishes=("max-steps",)), None) == []
    (failure,) = await any_finish.judge(stuck, None)
    assert failure.message.startswith("it ended with timeout (The model took too long.), not with")


CART_AND_N: JsonValue = {"cart": [], "n": 1, "no": None}


async def test_the_state_of_the_page_is_compared_as_a_whole(open_shop: OpenShop) -> None:
    tools = await open_shop("")
    page = tools.page
    same = JsCheck(js="({ cart: shop.cart(), n: 1, no: null })", equals=CART_AND_N)
    assert await same.judge(page) == []
    subset = JsCheck(js="({ cart: shop.cart(), n: 1 })", equals={"cart": []}, within_ms=0)
    assert [failure.message for failure in await subset.judge(page)] == [
        '({ cart: shop.cart(), n: 1 }) is {"cart": [], "n": 1}, not {"cart": []}'
    ]


async def test_the_page_is_asked_again_until_it_is_as_it_should_be(open_shop: OpenShop) -> None:
    page = (await open_shop("")).page
    counted = "globalThis.looks = (globalThis.looks ?? 0) + 1"
    assert await JsCheck(js=counted, equals=3, within_ms=30_000).judge(page) == []
    assert await page.evaluate("globalThis.looks") == 3


ODD_EXPRESSIONS = [
    ("shop.nothing", "shop.nothing is undefined, not 1"),
    ("shop.nothing.at", "shop.nothing.at could not be evaluated (TypeError"),
    ("shop.(", "shop.( could not be evaluated (SyntaxError"),
]


@pytest.mark.parametrize(("js", "told"), ODD_EXPRESSIONS)
async def test_an_expression_that_gives_nothing_fails_with_its_reason(
    js: str, told: str, open_shop: OpenShop
) -> None:
    page = (await open_shop("")).page
    (failure,) = await JsCheck(js=js, equals=1, within_ms=100).judge(page)
    assert failure.message.startswith(told)


async def test_an_expression_that_never_answers_fails(
    open_shop: OpenShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (await open_shop("")).page
    monkeypatch.setattr("webmcp_agent.scenarios.page_checks.LOOK_LIMIT_MS", 100)
    (failure,) = await JsCheck(js="new Promise(() => {})", equals=1, within_ms=0).judge(page)
    assert failure.message == "new Promise(() => {}) gave no answer"
