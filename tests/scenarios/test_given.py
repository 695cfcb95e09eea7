"""Variables and secrets from the command line: where they go, and where they never are."""

from pathlib import Path

import pytest

from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.base import ChatTurn, GenerateRequest
from webmcp_agent.providers.recorded import RecordedProvider
from webmcp_agent.providers.scripted import ScriptedProvider
from webmcp_agent.scenarios.errors import WrongUsage
from webmcp_agent.scenarios.given import Given, read_given

GIVEN = Given({"CITY": "Rome"}, {"PASS": "c0rr3ct-h0rse"})


def test_a_secret_comes_from_the_environment_and_a_variable_as_it_is_written() -> None:
    given = read_given(["CITY=Rome", "EMPTY=", "EQUATION=a=b"], ["PASS"], {"PASS": "x1y2"})
    assert given == Given({"CITY": "Rome", "EMPTY": "", "EQUATION": "a=b"}, {"PASS": "x1y2"})
    assert "x1y2" not in repr(given)


@pytest.mark.parametrize(
    ("variables", "secrets", "told"),
    [
        (["CITY"], [], "--var CITY: a variable is given as NAME=VALUE"),
        (["a-b=1"], [], "--var a-b: a name has letters"),
        (["A=1", "A=2"], [], "--var A: this name is given twice"),
        (["PASS=1"], ["PASS"], "--secret PASS: this name is given twice"),
        ([], ["NOT_THERE"], "--secret NOT_THERE: there is no value in the environment"),
        ([], ["BLANK"], "--secret BLANK: there is no value in the environment"),
    ],
)
def test_a_name_without_a_value_is_a_mistake(
    variables: list[str], secrets: list[str], told: str
) -> None:
    with pytest.raises(WrongUsage, match=told):
        read_given(variables, secrets, {"PASS": "x1y2", "BLANK": " "})


def test_a_task_is_filled_and_a_name_that_was_not_given_is_told() -> None:
    assert GIVEN.fill("In {CITY} with {PASS}") == "In Rome with c0rr3ct-h0rse"
    with pytest.raises(WrongUsage, match=r"{PAS} has no value; there are CITY, PASS"):
        GIVEN.fill("with {PAS}")
    assert Given().fill("{PAS} stays") == "{PAS} stays"


def test_arguments_with_a_secret_are_known_however_it_is_written() -> None:
    encoded = "YzBycjNjdC1oMHJzZQ=="
    assert GIVEN.secrets_in({"a": ["x", {"b": "my c0rr3ct-h0rse"}]}) == ["PASS"]
    assert GIVEN.secrets_in({"a": encoded}) == ["PASS"]
    assert GIVEN.secrets_in({"c0rr3ct-h0rse": 1}) == ["PASS"]
    assert GIVEN.secrets_in({"city": "Rome"}) == []


async def test_a_recording_holds_names_and_replays_values(tmp_path: Path) -> None:
    def request() -> GenerateRequest:
        turns = (ChatTurn("user", "Log in with c0rr3ct-h0rse in Rome"),)
        return GenerateRequest(system="", messages=turns, tools=(), signal=AbortSignal())

    path = tmp_path / "run.jsonl"
    script = ScriptedProvider(["log_in(password='c0rr3ct-h0rse')"])
    recorder = RecordedProvider(path, script)
    GIVEN.guard(recorder)
    recorded = await recorder.generate(request())
    written = path.read_text(encoding="utf-8")
    assert "c0rr3ct" not in written
    assert "Log in with {PASS} in {CITY}" in written
    assert path.stat().st_mode & 0o777 == 0o600
    replay = RecordedProvider(path)
    GIVEN.guard(replay)
    assert await replay.generate(request()) == recorded
    assert recorded.text == "log_in(password='c0rr3ct-h0rse')"
