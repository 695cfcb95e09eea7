"""The calls of a file as calls to be made: what they take from the page's own answers."""

import json
from pathlib import Path

from pydantic import JsonValue

from webmcp_agent.scenarios.evals import read_evals
from webmcp_agent.scenarios.replay_case import segments_of
from webmcp_agent.scenarios.scenario import Case, read_scenario


def evals(folder: Path, said: str, expected: JsonValue) -> Case:
    message = {"role": "user", "type": "message", "content": said}
    path = folder / "evals.json"
    path.write_text(json.dumps([{"messages": [message], "expectedCall": expected}]), "utf-8")
    return read_evals(path)[0]


def linked(case: Case) -> list[list[str]]:
    """What each call takes from earlier answers."""
    segments = segments_of(case)
    assert segments is not None
    calls = [call for segment in segments for call in segment.calls]
    return [[link.text(calls[link.call].tool) for link in call.links] for call in calls]


def made(name: str, arguments: JsonValue = None, **more: JsonValue) -> JsonValue:
    return {"functionName": name, "arguments": arguments or {}, **more}


SEARCH = made("search", mockOutput={"results": [{"id": "blue-mug"}, {"id": "red-mug"}]})
ORDER = made("order", {"id": "red-mug"}, mockOutput="Added as order 4711.")
PAY = made("pay", {"order": 4711})
LINKED = [
    [],
    ["id ← results[1].id of call 1 (search)"],
    ["order ← what follows `order` in the answer of call 2 (order)"],
]


def test_values_from_mock_outputs_are_linked_to_what_the_page_answers(tmp_path: Path) -> None:
    assert linked(evals(tmp_path, "Buy a red one", [SEARCH, ORDER, PAY])) == LINKED
    group: JsonValue = [{"ordered": [SEARCH, {"unordered": [ORDER, PAY]}]}]
    assert linked(evals(tmp_path, "Buy a red one", group)) == LINKED


def test_what_the_person_says_is_linked_to_nothing(tmp_path: Path) -> None:
    case = evals(tmp_path, "Buy red-mug, and pay order 4711", [SEARCH, ORDER, PAY])
    assert linked(case) == [[], [], []]


def test_each_of_two_equal_calls_has_its_own_mock_output(tmp_path: Path) -> None:
    calls = [made("add", mockOutput=f"Added as order {number}.") for number in (4711, 4712)]
    assert linked(evals(tmp_path, "x", [*calls, made("pay", {"order": "4712"})]))[2] == [
        "order ← what follows `order` in the answer of call 2 (add)"
    ]


def test_a_call_that_may_be_missing_is_no_source(tmp_path: Path) -> None:
    optional = made("search", optional=True, mockOutput={"id": "red-mug"})
    assert linked(evals(tmp_path, "x", [optional, ORDER, PAY])) == [
        [],
        ["order ← what follows `order` in the answer of call 1 (order)"],
    ]


def test_values_from_expected_results_are_linked_across_requests(tmp_path: Path) -> None:
    file = tmp_path / "a.scenario.yaml"
    file.write_text(
        """
start: "shop:"
requests:
  - request: Find a red one.
    checks:
      calls:
        - tool: search
          result: { results: [{ id: { $contains: blue-mug } }, { id: red-mug }] }
  - request: Take it.
    checks: { calls: [{ tool: order, args: { id: red-mug, other: blue-mug } }] }
""",
        encoding="utf-8",
    )
    assert linked(read_scenario(file)) == [[], ["id ← results[1].id of call 1 (search)"]]
