"""Scenario files: what they say, and mistakes told with file, line and key."""

from pathlib import Path

import pytest

from webmcp_agent.agent.request import user_message
from webmcp_agent.scenarios.checks import Checks
from webmcp_agent.scenarios.errors import BadFile, WrongUsage
from webmcp_agent.scenarios.scenario import Case, read_scenario
from webmcp_agent.scenarios.suite import cases_of, folder_names

WHOLE = """
# A comment
name: Two mugs
start: "shop:"
setup:
  - tool: open_product
    args: { id: grid-notebook }
requests:
  - Find mugs.
  - |
    Add two
    of the first.
max_steps: 8
instructions: Prices are in euros.
approval: all
allow: [add_to_cart]
deny: ["start_*"]
origins: [https://pay.example]
timeout_ms: 1000
checks:
  calls:
    - search_products
    - unordered:
        - { tool: open_product, args: { id: { $pattern: mug$ } } }
        - { tool: view_cart, optional: true }
  finish: [stop, max-steps]
"""

SMALL = "requests: [Find a mug.]\nchecks: { calls: [] }\n"


def write(folder: Path, text: str, name: str = "mugs.scenario.yaml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_everything_that_a_scenario_says_is_read(tmp_path: Path) -> None:
    path = write(tmp_path, WHOLE)
    assert read_scenario(path) == Case(
        file=path,
        name="Two mugs",
        group=str(tmp_path),
        turns=(
            (user_message("Find mugs.", "u1"),),
            (user_message("Add two\nof the first.\n", "u2"),),
        ),
        checks=Checks.model_validate(
            {
                "calls": [
                    {"tool": "search_products"},
                    {
                        "unordered": [
                            {"tool": "open_product", "args": {"id": {"$pattern": "mug$"}}},
                            {"tool": "view_cart", "optional": True},
                        ]
                    },
                ],
                "finish": ["stop", "max-steps"],
            }
        ),
        turn_checks=(None, None),
        start="shop:",
        setup=(("open_product", {"id": "grid-notebook"}),),
        max_steps=8,
        instructions="Prices are in euros.",
        approval="all",
        allow=("add_to_cart",),
        deny=("start_*",),
        origins=("https://pay.example",),
        timeout_ms=1000,
    )


def test_a_small_scenario_has_the_file_for_a_name_and_the_loops_own_limits(tmp_path: Path) -> None:
    case = read_scenario(write(tmp_path, SMALL))
    assert (case.name, case.start, case.max_steps, case.approval) == ("mugs", None, 6, "yes")
    assert case.checks is not None
    assert case.checks.finish == ["stop"]


STARTS = [
    ("site", "{folder}/site"),
    ("../site/index.html", "{folder}/../site/index.html"),
    ("shop:cart.html", "shop:cart.html"),
    ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/"),
    ("/srv/site", "/srv/site"),
]


@pytest.mark.parametrize(("start", "meant"), STARTS)
def test_a_local_start_is_seen_from_the_file(start: str, meant: str, tmp_path: Path) -> None:
    case = read_scenario(write(tmp_path, f'start: "{start}"\n{SMALL}'))
    assert case.start == meant.format(folder=tmp_path)


TEXTS = ["yes", "no", "on", "Off", "12:30", "2026-01-20", "0x1F", "1_000", ".inf", "=", "<<"]


@pytest.mark.parametrize("text", TEXTS)
def test_words_dates_and_times_are_texts(text: str, tmp_path: Path) -> None:
    case = read_scenario(write(tmp_path, f"name: {text}\n{SMALL}"))
    assert case.name == text


CHECKED = "requests: [x]\nchecks:\n"
MISTAKES = [
    ("", ": the file is empty"),
    ("- a\n", ":1: input should be a valid dictionary or instance of Scenario"),
    ("requests: [x]\n", ":1: 'checks' is missing"),
    ("requests: []\nchecks: { calls: [] }\n", ":1: requests: list should have at least 1 item"),
    ("requests: ['  ']\nchecks: { calls: [] }\n", ":1: requests.1: string should match pattern"),
    (f"{SMALL}anser: x\n", ":3: anser: there is no such key"),
    (f"{SMALL}max_steps: 0\n", ":3: max_steps: input should be greater than or equal to 1"),
    (f"{SMALL}max_steps: '6'\n", ":3: max_steps: input should be a valid integer"),
    (f"{SMALL}approval: maybe\n", ":3: approval: input should be 'ask', 'yes' or 'all'"),
    (f"{SMALL}name: 5\n", ":3: name: input should be a valid string"),
    (f"{SMALL}setup:\n  - args: {{}}\n", ":4: setup.1: 'tool' is missing"),
    (
        f"{CHECKED}  answer:\n    contains: a\n    contain: b\n",
        ":5: checks.answer.contain: there is no such key",
    ),
    (f"{CHECKED}  cart: 1\n", ":3: checks.cart: there is no such key"),
    (f"{CHECKED}  finish: stop\n", ":2: checks: there is nothing to check but how it ended"),
    (f"{CHECKED}  finish: [stop, done]\n", ":3: checks.finish.2: input should be 'stop'"),
    (
        f"{CHECKED}  calls:\n    - tool: a\n      args:\n        n: {{ $ne: 1 }}\n",
        ":5: checks.calls.1.args: there is no operator '$ne'",
    ),
    (
        f"{CHECKED}  calls:\n    - a\n    - unordered:\n        - b\n        - {{ tol: c }}\n",
        ":7: checks.calls.2.unordered.2: 'tool' is missing; ",
    ),
    (f"{CHECKED}  answer: {{ matches: '(' }}\n", ":3: checks.answer.matches: the pattern '('"),
    (f"{CHECKED}  url: '['\n", ":3: checks.url: the pattern '['"),
    (f"{CHECKED}  page:\n    - js: 1 + 1\n", ":4: checks.page.1: give either 'equals' or 'like'"),
    (f"{SMALL}name: a\nname: b\n", ":4: name: this key stands here twice"),
    (f"{SMALL}name: &a x\nstart: *a\n", ":4: aliases are not supported"),
    (f"{SMALL}name: !!python/name:os x\n", ":3: the tag 'os' is not supported"),
    (f"{SMALL}name: !!binary aGk=\n", ":3: the tag 'binary' is not supported"),
    (f"{SMALL}start: shop: here\n", ":3: mapping values are not allowed here"),
    (f"{SMALL}? [a]\n: b\n", ":1: a key must be a text"),
    (f"{SMALL}---\n{SMALL}", ":3: but found another document"),
    ("name: \t- x\x07\n", ": this cannot be read as YAML"),
    ("a: " + "[" * 5_000, ": this cannot be read as YAML"),
]


@pytest.mark.parametrize(("text", "told"), MISTAKES, ids=[told for _, told in MISTAKES])
def test_a_mistake_is_told_with_file_line_and_key(text: str, told: str, tmp_path: Path) -> None:
    path = write(tmp_path, text)
    with pytest.raises(BadFile) as refused:
        read_scenario(path)
    assert str(refused.value).startswith(f"{path}{told}")


def test_all_mistakes_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, "request: x\nchecks:\n  cals: []\n  finish: [gone]\n")
    with pytest.raises(BadFile) as refused:
        read_scenario(path)
    places = [(problem.line, problem.key) for problem in refused.value.problems]
    assert places == [(1, ""), (4, "checks.finish.1"), (3, "checks.cals"), (1, "request")]


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.scenario.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadFile, match="it is no UTF-8 text"):
        read_scenario(path)


def test_a_folder_gives_its_scenario_and_eval_files_in_order_and_each_file_once(
    tmp_path: Path,
) -> None:
    said = '{"role": "user", "type": "message", "content": "Hi"}'
    evals = f'[{{"messages": [{said}], "expectedCall": null}}]'
    write(tmp_path, SMALL, "b/two.scenario.yml")
    one = write(tmp_path, SMALL, "a/one.scenario.yaml")
    write(tmp_path, evals, "c/shop-evals.json")
    for ignored in (".hidden/x.scenario.yaml", "node_modules/p/evals.json", "other.yaml", "x.json"):
        write(tmp_path, "[", ignored)
    cases = cases_of([tmp_path, one])
    assert [str(case.file.relative_to(tmp_path)) for case in cases] == [
        "a/one.scenario.yaml",
        "b/two.scenario.yml",
        "c/shop-evals.json",
    ]
    assert [case.name for case in cases] == ["one", "two", "case 1"]


def test_a_path_without_any_case_is_refused(tmp_path: Path) -> None:
    other = write(tmp_path, "", "notes.txt")
    with pytest.raises(WrongUsage, match="no file or folder .*nowhere"):
        cases_of([tmp_path / "nowhere"])
    with pytest.raises(WrongUsage, match=r"notes\.txt is neither"):
        cases_of([other])
    with pytest.raises(WrongUsage, match="no \\*.scenario.yaml and no \\*evals\\*.json file in"):
        cases_of([tmp_path])


def test_each_repeat_of_a_case_has_a_folder_of_its_own(tmp_path: Path) -> None:
    case = read_scenario(write(tmp_path, f"name: 'Buy “Mug” no. 7!'\n{SMALL}"))
    assert folder_names([case, case], 1) == [["001-buy-mug-no-7"], ["002-buy-mug-no-7"]]
    assert folder_names([case], 2) == [["001-buy-mug-no-7-1", "001-buy-mug-no-7-2"]]
