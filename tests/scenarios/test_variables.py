"""`{NAME}` in what a person writes."""

import pytest

from webmcp_agent.scenarios.variables import fill, missing_in, names_in

VALUES = {"CITY": "Rome", "PIN": "4711", "again": "{CITY}"}


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        pytest.param("a room in {CITY}", "a room in Rome", id="a place is filled"),
        pytest.param("{CITY}, {CITY}: {PIN}", "Rome, Rome: 4711", id="each place is filled"),
        pytest.param("{again}", "{CITY}", id="a value is not looked at again"),
        pytest.param("{NOPE} and {city}", "{NOPE} and {city}", id="other names stay"),
        pytest.param('{"CITY": 1} { CITY } {}', '{"CITY": 1} { CITY } {}', id="braces stay"),
        pytest.param("{{CITY}}", "{Rome}", id="braces around a place stay"),
    ],
)
def test_a_name_in_braces_stands_for_its_value(text: str, filled: str) -> None:
    assert fill(text, VALUES) == filled


def test_the_places_of_a_text_are_told_once_and_in_order() -> None:
    text = "{B} {A} {B} {9} {a-b}"
    assert names_in(text) == ["B", "A"]
    assert missing_in(text, {"A": ""}) == ["B"]
