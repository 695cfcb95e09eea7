"""A policy file: read strictly, added to the options, and kept by a whole run."""

import json
from pathlib import Path

import pytest
from command_line import command, script

from webmcp_agent.agent.tool_calls import write_call
from webmcp_agent.browser.limits import Limit
from webmcp_agent.browser.policy import Mode
from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.errors import BadFile
from webmcp_agent.scenarios.policy_file import more_generous, read_policy, with_policy
from webmcp_agent.scenarios.runner import PageSettings

WHOLE = """
approval: yes
allow: ["search_*"]
ask: [send_message]
deny: ["*delete*"]
origins: ["https://pay.example"]
limits:
  - { tool: start_checkout, argument: total, at_most: 100 }
  - { argument: recipient, one_of: [me, 1] }
"""

SHOP = """<!doctype html><meta charset="utf-8"><title>Shop</title><script>
const sent = [];
const tool = (name, more) => document.modelContext.registerTool({ name, description: name,
  execute: args => { sent.push(name); document.title = sent.join(' '); return `${name} done`; },
  ...more });
tool('search', { annotations: { readOnlyHint: true } });
tool('pay');
tool('delete_all');
</script>"""


def test_a_policy_file_is_read_whole_and_added_to_what_the_options_say(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(WHOLE, encoding="utf-8")
    settings = PageSettings(approval="ask", allow=("a",), deny=("d",))
    assert with_policy(settings, read_policy(tmp_path / "policy.yaml")) == PageSettings(
        approval="yes",
        allow=("a", "search_*"),
        ask=("send_message",),
        deny=("d", "*delete*"),
        origins=("https://pay.example",),
        limits=(
            Limit(tool="start_checkout", argument="total", at_most=100),
            Limit(argument="recipient", one_of=("me", 1)),
        ),
    )


def test_a_policy_in_json_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text('{"limits": [{"argument": "n", "at_least": 1}]}', "utf-8")
    settings = with_policy(PageSettings(), read_policy(tmp_path / "p.json"))
    assert settings == PageSettings(limits=(Limit(argument="n", at_least=1),))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("approval: maybe", "p.yaml:1: approval: input should be 'ask', 'yes' or 'all'"),
        ("allowed: [x]", "p.yaml:1: allowed: there is no such key"),
        ("deny: x", "p.yaml:1: deny: input should be a valid list"),
        ("deny:\n  - x\n  - ''", "p.yaml:3: deny.2: string should have at least 1 character"),
        ("origins: [shop.example]", "p.yaml:1: origins.1: 'shop.example' is no origin"),
        ("limits:\n  - tool: pay", "p.yaml:2: limits.1: 'argument' is missing"),
        ("limits:\n  - argument: n", "p.yaml:2: limits.1: it limits nothing"),
        (
            "limits:\n  - argument: n\n    at_most: a lot",
            "p.yaml:3: limits.1.at_most: input should be a valid number",
        ),
        ("limits:\n  - { argument: n, matches: '(' }", "p.yaml:2: limits.1.matches: '(' is no"),
    ],
)
def test_a_mistake_is_told_with_its_line_and_key(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadFile) as wrong:
        read_policy(path)
    assert told in str(wrong.value)


@pytest.mark.parametrize(
    ("one", "other", "both"), [("ask", "yes", "yes"), ("all", "yes", "all"), ("ask", "ask", "ask")]
)
def test_of_two_modes_the_more_generous_counts(one: Mode, other: Mode, both: Mode) -> None:
    assert more_generous(one, other) == both == more_generous(other, one)


def test_a_run_keeps_to_the_policy_file_and_tells_the_model(tmp_path: Path) -> None:
    """C-56."""
    (tmp_path / "shop.html").write_text(SHOP, encoding="utf-8")
    (tmp_path / "policy.yaml").write_text(
        "approval: yes\ndeny: ['delete_*']\nlimits: [{ argument: total, at_most: 100 }]\n", "utf-8"
    )
    calls: list[tuple[str, JsonObject]] = [
        ("search", {}),
        ("pay", {"total": 500}),
        ("delete_all", {}),
        ("pay", {"total": 50}),
    ]
    model = script(tmp_path, *(write_call(name, args, "tags") for name, args in calls), "Paid 50.")
    ended = command(
        "run", "shop.html", "Pay", "--policy", "policy.yaml", "--json", "--model", model,
        cwd=tmp_path,
    )  # fmt: skip
    summary = ended.json_lines()[-1]
    assert isinstance(summary, dict)
    assert summary["calls"] == [
        {"name": "search", "args": {}, "outcome": "ok"},
        {"name": "pay", "args": {"total": 500}, "outcome": "blocked"},
        {"name": "delete_all", "args": {}, "outcome": "blocked"},
        {"name": "pay", "args": {"total": 50}, "outcome": "ok"},
    ]
    assert ended.code == 0


def test_a_dry_run_says_what_was_not_sent(tmp_path: Path) -> None:
    (tmp_path / "shop.html").write_text(SHOP, encoding="utf-8")
    model = script(
        tmp_path,
        write_call("search", {}, "tags"),
        write_call("pay", {"total": 5}, "tags"),
        "It would pay 5.",
    )
    ended = command(
        "run", "shop.html", "Pay", "--yes", "--dry-run", "--model", model, "--out", "out",
        cwd=tmp_path,
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert "search done" in ended.out
    assert 'Dry run: nothing was sent. It would have been: pay {"total": 5}' in ended.out
    assert "2 calls ran, 1 of them dry: not sent to the page:" in ended.out
    text = (tmp_path / "out" / "parts.jsonl").read_text(encoding="utf-8")
    answers = [json.loads(line)["text"] for line in text.splitlines() if "tool-result" in line]
    assert answers == [
        "search done",
        'Dry run: nothing was sent. It would have been: pay {"total": 5}',
    ]
