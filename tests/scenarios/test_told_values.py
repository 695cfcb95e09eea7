"""Values that people say otherwise than they are sent."""

import re

import pytest

from webmcp_agent.scenarios.told_values import drawn, pairs_of, schema_of
from webmcp_agent.scenarios.vocabulary import Draw

MANY = 300


def heard(kind: str) -> set[tuple[str, object]]:
    values = [drawn(Draw(f"{kind} {number}"), kind) for number in range(MANY)]
    return {(value.said, repr(value.sent)) for value in values}


def test_a_time_of_day_is_sent_in_24_hours() -> None:
    for said, sent in heard("clock"):
        found = re.fullmatch(r"(\d+)(?::(\d\d))?( ?[ap]m)?", said, re.IGNORECASE)
        if said == "noon":
            assert sent == "'12:00'"
            continue
        assert found is not None, said
        hour, minute, half = int(found[1]), int(found[2] or 0), (found[3] or "").strip().lower()
        if half:
            hour = hour % 12 + (12 if half == "pm" else 0)
        assert sent == f"'{hour:02}:{minute:02}'"


def test_a_sum_is_sent_in_full() -> None:
    sizes = {"k": 1000, " thousand": 1000, "M": 1_000_000, " million": 1_000_000, "": 1}
    seen: set[str] = set()
    for said, sent in heard("sum:3000..4000000"):
        found = re.fullmatch(r"[$€]?([\d.,]+)(k| thousand|M| million|)", said)
        assert found is not None, said
        seen.add(found[2])
        assert int(str(sent)) == round(float(found[1].replace(",", "")) * sizes[found[2]])
    assert seen == set(sizes)


def test_a_choice_is_sent_as_the_page_lists_it() -> None:
    kind = "pairs(apples=🍎, on site=ON_SITE)"
    assert pairs_of(kind) == {"apples": "🍎", "on site": "ON_SITE"}
    assert heard(kind) == {("apples", "'🍎'"), ("on site", "'ON_SITE'")}
    assert schema_of(Draw("1"), kind) == {"type": "string", "enum": ["🍎", "ON_SITE"]}


@pytest.mark.parametrize("kind", ["first", "last", "postcode", "phone", "city", "email"])
def test_what_is_copied_is_sent_as_it_is_said(kind: str) -> None:
    assert all(repr(said) == sent for said, sent in heard(kind))
