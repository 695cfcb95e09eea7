"""Variables of a scenario file: `{NAME}` filled in from the file and from the command line."""

from pathlib import Path

import pytest

from webmcp_agent.agent.request import user_message
from webmcp_agent.scenarios.checks import Checks
from webmcp_agent.scenarios.errors import BadFile, WrongUsage
from webmcp_agent.scenarios.scenario import read_scenario
from webmcp_agent.scenarios.suite import cases_of

WITH_VARIABLES = """
vars: { WHAT: mug, MANY: 2, SURE: true, WHERE: null }
start: "http://127.0.0.1/{WHERE}"
setup:
  - { tool: open, args: { words: "the {WHAT}", many: "{MANY}", sure: "{SURE}" } }
requests: ["Put {MANY} times {WHAT} into my {THING}."]
instructions: Only {WHAT}.
checks:
  calls: [{ tool: add, args: { quantity: "{MANY}", id: { $contains: "{WHAT}" } } }]
  page: [{ js: "(() => { const id = {WHAT: 1}; return {id} })()", equals: "{WHAT}" }]
"""
SMALL = "requests: ['Find {WHAT}.']\nchecks: { calls: [] }\n"


def write(folder: Path, text: str, name: str = "a.scenario.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_variable_goes_into_every_text_and_keeps_its_kind_where_it_stands_alone(
    tmp_path: Path,
) -> None:
    path = write(tmp_path, WITH_VARIABLES)
    case = read_scenario(path, {"WHERE": "shop", "THING": "cart", "MANY": "3"})
    assert case.start == "http://127.0.0.1/shop"
    assert case.setup == (("open", {"words": "the mug", "many": 3, "sure": True}),)
    assert case.turns == ((user_message("Put 3 times mug into my cart.", "u1"),),)
    assert case.instructions == "Only mug."
    assert case.checks == Checks.model_validate(
        {
            "calls": [{"tool": "add", "args": {"quantity": 3, "id": {"$contains": "mug"}}}],
            # Braces that are no place of a variable are JavaScript's.
            "page": [
                {"js": "(() => { const id = {WHAT: 1}; return {id} })()", "equals": "mug"},
            ],
        }
    )
    assert case.variables >= {"WHAT", "MANY", "SURE", "WHERE", "THING"}


def test_a_value_is_not_looked_at_again(tmp_path: Path) -> None:
    case = read_scenario(write(tmp_path, SMALL), {"WHAT": "{OTHER}"})
    assert case.turns == ((user_message("Find {OTHER}.", "u1"),),)


def test_a_secret_is_filled_in_like_a_variable(tmp_path: Path) -> None:
    (case,) = cases_of([write(tmp_path, SMALL)], secrets={"WHAT": "hunter2"})
    assert case.turns == ((user_message("Find hunter2.", "u1"),),)


MISTAKES: list[tuple[str, dict[str, str], str]] = [
    (SMALL, {}, ":1: requests.1: {WHAT} has no value; give it under vars or with --var WHAT=…"),
    (f"vars: {{ WHAT: null }}\n{SMALL}", {}, ":2: requests.1: {WHAT} has no value"),
    (f"vars: {{ WHAT: 2 }}\n{SMALL}", {"WHAT": "two"}, ":1: vars.WHAT: it is a number, not 'two'"),
    (f"vars: {{ WHAT: 2 }}\n{SMALL}", {"WHAT": "true"}, ":1: vars.WHAT: it is a number"),
    (f"vars: {{ WHAT: true }}\n{SMALL}", {"WHAT": "1"}, ":1: vars.WHAT: it is true or false"),
    (f"vars: {{ 1st: 2, WHAT: 1 }}\n{SMALL}", {}, ":1: vars.1st: a name has letters, digits and _"),
    (f"vars:\n  WHAT: [1]\n{SMALL}", {}, ":2: vars.WHAT"),
]


@pytest.mark.parametrize(("text", "given", "told"), MISTAKES, ids=[told for *_, told in MISTAKES])
def test_a_variable_without_a_usable_value_is_told_with_line_and_key(
    text: str, given: dict[str, str], told: str, tmp_path: Path
) -> None:
    path = write(tmp_path, text)
    with pytest.raises(BadFile) as refused:
        read_scenario(path, given)
    assert str(refused.value).startswith(f"{path}{told}")


def test_a_variable_that_no_scenario_has_a_place_for_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, f"vars: {{ WHAT: a }}\n{SMALL}")
    with pytest.raises(WrongUsage, match="--var WAHT: no scenario has a place for it"):
        cases_of([path], {"WAHT": "b"})
