"""A page of a contract file, checked as a pytest test: what broke, and whose calls with it."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import CodeType
from urllib.parse import urlsplit

import pytest

from webmcp_agent.browser.errors import BrowserError
from webmcp_agent.scenarios.console import printable
from webmcp_agent.scenarios.contract import Contract, load_contract
from webmcp_agent.scenarios.contract_changes import Change, by_level, differences
from webmcp_agent.scenarios.contract_pages import live_contract
from webmcp_agent.scenarios.errors import ScenarioError
from webmcp_agent.scenarios.expected_calls import flat
from webmcp_agent.scenarios.plugin_rig import Rig
from webmcp_agent.scenarios.scenario import SUFFIXES, Case, read_scenario


def check_page(
    request: pytest.FixtureRequest, rig: Rig, path: Path, page: str, base_url: str | None
) -> None:
    """Hold a page against its contract; breaking changes fail the test, others are told."""
    node = request.node
    try:
        kept = load_contract(path)
        now = rig.thread.run(live_contract(rig.browser(), _site(kept, base_url), [page]))
    except (ScenarioError, BrowserError) as exc:
        raise pytest.fail.Exception(str(exc), pytrace=False) from None
    changes = by_level(differences(Contract({page: kept.pages[page]}), now))
    for level, found in changes.items():
        node.user_properties.append((f"webmcp_{level}", len(found)))
    others = [_line(change) for level in ("compatible", "cosmetic") for change in changes[level]]
    if broken := changes["breaking"]:
        lines = [_broken(change, _callers(node, path, change.tool)) for change in broken]
        title = f"{path.name}, page {page}: the contract is broken"
        pytest.fail("\n".join([title, *lines, *others]), pytrace=False)
    if others:
        node.add_report_section("call", "contract", "\n".join(others))


def _site(kept: Contract, base_url: str | None) -> str:
    """Where the site is: at the base URL, unless the file names something local."""
    if kept.url is not None and urlsplit(kept.url).scheme not in {"http", "https"}:
        return kept.url
    site = base_url or kept.url
    if site is None:
        raise ScenarioError("the contract names no site; give it with --base-url")
    return site


def _broken(change: Change, callers: Sequence[str]) -> str:
    lines = [_line(change)]
    if change.affects:
        lines.append(f"    breaks {printable(change.affects)}")
    lines += [f"    called by {printable(caller)}" for caller in callers]
    return "\n".join(lines)


def _line(change: Change) -> str:
    about = f"{change.tool}: " if change.tool else ""
    return printable(f"  {change.level}: {about}{change.text}")


def _callers(node: pytest.Item, contract: Path, tool: str) -> list[str]:
    """The tests of this session, and the scenarios beside the contract, that call a tool."""
    found: dict[str, None] = {}
    beside = [file for suffix in SUFFIXES for file in contract.parent.rglob(f"*{suffix}")]
    collected = [one.path for one in node.session.items if one.path.name.endswith(SUFFIXES)]
    for file in sorted({*beside, *collected}):
        try:
            case = read_scenario(file)
        except ScenarioError:  # its own test says what is wrong with it
            continue
        if tool in _tools(case):
            found[f"{os.path.relpath(file, node.config.rootpath)} ({case.name})"] = None
    for item in node.session.items:
        code: CodeType | None = getattr(getattr(item, "function", None), "__code__", None)
        if code is not None and item.path.suffix == ".py" and tool in _texts([code]):
            found[item.nodeid] = None
    return list(found)


def _tools(case: Case) -> set[str]:
    """The tools that a case cannot do without."""
    checks = [each for each in (case.checks, *case.turn_checks) if each is not None]
    expected = [call for each in checks for call in (*flat(each.calls or ()), *each.called)]
    return {name for name, _ in case.setup} | {call.tool for call in expected}


def _texts(codes: Iterable[CodeType]) -> set[str]:
    """The texts that stand in functions, and in the functions inside them."""
    found: set[str] = set()
    for code in codes:
        found |= {value for value in code.co_consts if isinstance(value, str)}
        found |= _texts(value for value in code.co_consts if isinstance(value, CodeType))
    return found
