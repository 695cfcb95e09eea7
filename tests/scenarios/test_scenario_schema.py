"""The JSON Schema of scenario files: current, and of one mind with the reader."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_line import command
from jsonschema import Draft202012Validator

from webmcp_agent.scenarios.scenario_schema import schema_text
from webmcp_agent.scenarios.serve import SHOP

EXAMPLES = SHOP.parent / "examples"
SHIPPED = EXAMPLES / "scenario.schema.json"


def test_the_shipped_schema_is_what_the_models_say(tmp_path: Path) -> None:
    assert SHIPPED.read_text(encoding="utf-8") == f"{schema_text()}\n"
    printed = command("test", "--schema", cwd=tmp_path)
    assert (printed.code, printed.out) == (0, f"{schema_text()}\n")


Valid = Callable[[str], bool]


@pytest.fixture(scope="module")
def valid() -> Valid:
    """Whether an editor finds nothing wrong with a text."""
    schema = json.loads(schema_text())
    Draft202012Validator.check_schema(schema)
    validator: Any = Draft202012Validator(schema)
    return lambda text: validator.is_valid(yaml.safe_load(text))


@pytest.mark.parametrize("path", sorted(EXAMPLES.rglob("*.scenario.yaml")), ids=lambda p: p.stem)
def test_an_editor_finds_nothing_wrong_with_the_examples(path: Path, valid: Valid) -> None:
    assert valid(path.read_text(encoding="utf-8"))


BROKEN = [
    "requests: [x]\nchecks: { calls: [] }\nanser: 1",
    "requests: []\nchecks: { calls: [] }",
    "requests: [x]\nchecks: { finish: done }",
    "requests: [x]\nchecks: { page: [{ jss: 1 + 1, equals: 2 }] }",
    "requests: [x]\nchecks: { calls: [{ args: {} }] }",
    "requests: [{ say: x }]\nchecks: { calls: [] }",
]
RIGHT = [
    "requests: [x, { request: y, checks: { called: [a] } }]",
    "requests: [x]\nchecks: { finish: stop, answer: { contains: a } }",
    "requests: [x]\nchecks: { calls: [{ unordered: [a, { ordered: [b, { tool: c }] }] }] }",
    "requests: [x]\nchecks: { page: [{ selector: '#a', text: [b, c] }, { local_storage: k }] }",
]


@pytest.mark.parametrize("text", BROKEN)
def test_an_editor_sees_a_mistake(text: str, valid: Valid) -> None:
    assert not valid(text)


@pytest.mark.parametrize("text", RIGHT)
def test_an_editor_sees_no_mistake_in_the_short_forms(text: str, valid: Valid) -> None:
    assert valid(text)
