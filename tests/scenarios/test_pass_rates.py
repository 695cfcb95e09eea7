"""Pass rates, intervals, pass^k, causes and comparisons of results."""

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from webmcp_agent.scenarios.causes import Cause
from webmcp_agent.scenarios.pass_rates import Comparison, Rate, Statistics, all_of
from webmcp_agent.scenarios.rate_text import comparison_rows, statistics_lines, verdict_text
from webmcp_agent.scenarios.results import CaseRecord, Times, Tokens


def record(
    case: str, why: Cause | None = None, repeat: int = 1, *, file: str = "a.yaml", ms: float = 100
) -> CaseRecord:
    return CaseRecord(
        file=file,
        case=case,
        repeat=repeat,
        model="tiny",
        passed=why is None,
        why=why,
        ms=Times(total=ms, model=ms * 0.8, page=ms * 0.15, own=ms * 0.05),
        tokens=Tokens(prompt=1000, cached=400, completion=20),
    )


def records(case: str, passed: int, failed: int, file: str = "a.yaml") -> list[CaseRecord]:
    right = [record(case, None, n + 1, file=file) for n in range(passed)]
    wrong = [record(case, "wrong-tool", passed + n + 1, file=file) for n in range(failed)]
    return [*right, *wrong]


# E. B. Wilson's interval without continuity correction, as printed in R. G. Newcombe, Statistics in
# Medicine 17 (1998), 857-872, table I.
WILSON = [
    (81, 263, 0.2553, 0.3662),
    (15, 148, 0.0624, 0.1605),
    (0, 20, 0.0, 0.1611),
    (1, 29, 0.0061, 0.1718),
]


@pytest.mark.parametrize(("passed", "total", "low", "high"), WILSON)
def test_the_interval_of_a_rate_is_the_published_one(
    passed: int, total: int, low: float, high: float
) -> None:
    assert Rate(passed, total).interval == (
        pytest.approx(low, abs=5e-5),
        pytest.approx(high, abs=5e-5),
    )


@given(st.integers(0, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_an_interval_holds_its_rate_and_stays_within_bounds(counts: tuple[int, int]) -> None:
    rate = Rate(*counts)
    low, high = rate.interval
    assert 0 <= low <= rate.share <= high <= 1
    assert low < high


def test_passing_k_times_in_a_row_is_estimated_without_bias() -> None:
    # Of 4 repeats 2 passed: 1 of the 6 pairs has both.
    assert all_of([Rate(2, 4)], 1) == 0.5
    assert all_of([Rate(2, 4)], 2) == pytest.approx(1 / 6)
    assert all_of([Rate(2, 4), Rate(4, 4)], 2) == pytest.approx((1 / 6 + 1) / 2)
    assert all_of([Rate(2, 4), Rate(1, 1)], 2) == pytest.approx(1 / 6)
    assert all_of([Rate(1, 1)], 2) is None


def test_results_are_counted_with_rates_causes_times_and_tokens() -> None:
    results = [
        *records("buys", 1, 1),
        record("reads", None, 1, ms=300),
        record("reads", "no-call", 2, ms=300),
        record("reads", "not-judged", 3, ms=9_000),
    ]
    assert Statistics(results).to_json() == {
        "passed": 2,
        "total": 4,
        "rate": 0.5,
        "interval": [0.15, 0.85],
        "pass_k": {"1": 0.5, "2": 0.0},
        "why": {"wrong-tool": 1, "no-call": 1},
        "ms": {"total": 200.0, "model": 160.0, "page": 30.0, "own": 10.0},
        "tokens": {"prompt": 1000.0, "cached": 400.0, "completion": 20.0},
        "cases": [
            {
                "file": "a.yaml",
                "case": name,
                "passed": 1,
                "total": 2,
                "rate": 0.5,
                "interval": [0.0945, 0.9055],
                "why": {why: 1},
            }
            for name, why in (("buys", "wrong-tool"), ("reads", "no-call"))
        ],
    }
    assert statistics_lines(Statistics(results)) == [
        ("rate", "50 % of 4; 95 % sure: 15 to 85 %"),
        ("in a row", "2 times 0 %"),
        ("why", "1 wrong-tool, 1 no-call"),
        ("", "1 could not be judged and count in no rate"),
        (
            "a case",
            "200 ms: model 160 ms, page 30 ms, own 10 ms; 1000 tokens read (400 kept), 20 written",
        ),
    ]


def test_nothing_that_was_judged_is_no_division_by_nothing() -> None:
    statistics = Statistics([record("a", "not-judged")])
    assert (statistics.rate.interval, statistics.powers) == ((0.0, 1.0), {})
    assert statistics.to_json()["rate"] == 0.0


# Newcombe, Statistics in Medicine 17 (1998), 873-890, table II: differences p1 - p2 by method 10.
NEWCOMBE = [
    (56, 70, 48, 80, 0.0524, 0.3339),
    (9, 10, 3, 10, 0.1705, 0.8090),
    (0, 10, 0, 20, -0.1611, 0.2775),
    (10, 10, 0, 20, 0.6791, 1.0),
]


@pytest.mark.parametrize(("new", "of_new", "old", "of_old", "low", "high"), NEWCOMBE)
def test_the_interval_of_a_difference_is_the_published_one(
    new: int, of_new: int, old: int, of_old: int, low: float, high: float
) -> None:
    compared = Comparison.of(records("a", old, of_old - old), records("a", new, of_new - new))
    assert compared.interval == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


DECIDED = [((2, 18), (18, 2), "better"), ((18, 2), (2, 18), "worse"), ((2, 2), (3, 1), "undecided")]


@pytest.mark.parametrize(("old", "new", "verdict"), DECIDED)
def test_a_difference_counts_only_when_it_is_more_than_chance(
    old: tuple[int, int], new: tuple[int, int], verdict: str
) -> None:
    compared = Comparison.of(records("a", *old), records("a", *new))
    assert compared.verdict == verdict
    assert verdict_text(compared).startswith(f"{verdict}: ")


def test_only_cases_of_both_sides_are_compared_and_a_file_may_have_moved() -> None:
    old = [*records("a", 2, 0, "old/x.yaml"), *records("gone", 5, 0), *records("b", 1, 1)]
    new = [*records("a", 0, 2, "new/x.yaml"), *records("fresh", 0, 5), *records("b", 1, 1)]
    compared = Comparison.of(old, new)
    assert compared.before.rate == Rate(3, 4)
    assert compared.after.rate == Rate(1, 4)
    assert compared.changed == {("new/x.yaml", "a"): (Rate(2, 2), Rate(0, 2))}
    assert comparison_rows(compared) == [
        ("passed", "3 of 4", "1 of 4"),
        ("rate", "75 %", "25 %"),
        ("95 % sure", "30 to 95 %", "5 to 70 %"),
        ("wrong-tool", "1", "3"),
        ("total a case", "100 ms", "100 ms"),
        ("model a case", "80 ms", "80 ms"),
        ("page a case", "15 ms", "15 ms"),
        ("own a case", "5 ms", "5 ms"),
        ("tokens read", "1000", "1000"),
        ("tokens written", "20", "20"),
        ("model", "tiny", "tiny"),
    ]


def test_a_name_that_stands_twice_on_one_side_is_not_guessed_at() -> None:
    old = [*records("a", 1, 0, "x"), *records("a", 0, 1, "y")]
    assert Comparison.of(old, records("a", 1, 0, "z")).after.rate == Rate(0, 0)
    assert verdict_text(Comparison.of(old, records("a", 1, 0, "z"))) == (
        "undecided: no case was judged in both"
    )


def test_pass_k_never_grows_with_k() -> None:
    powers = Statistics([*records("a", 3, 2), *records("b", 5, 0)]).powers
    assert list(powers) == [1, 2, 3, 4, 5]
    assert all(one >= other for one, other in pairwise(powers.values()))
