"""The pytest plugin: scenario and contract files as tests, and fixtures for plain test functions.

Loaded in every pytest run of whoever has the package, so it imports pytest and the standard library
only: browser, agent and model come with the first test that needs them.
"""

import json
from collections.abc import Generator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from webmcp_agent.scenarios.plugin_files import ContractFile, EvalsFile, ScenarioFile
from webmcp_agent.scenarios.plugin_report import Report
from webmcp_agent.scenarios.plugin_secrets import kept_by, secrets_of, without

if TYPE_CHECKING:
    from webmcp_agent.browser.policy import Policy
    from webmcp_agent.providers.base import LocalProvider
    from webmcp_agent.scenarios.given import Given
    from webmcp_agent.scenarios.plugin_rig import Rig
    from webmcp_agent.scenarios.sync_agent import SyncAgent
    from webmcp_agent.scenarios.sync_page import SyncPageTools

SCENARIOS = (".scenario.yaml", ".scenario.yml")
CONTRACTS = ".contract.json"
EVALS = "*evals*.json"
"""Collected only when it is named on the command line: others call their files so too."""

PLAYWRIGHT = "playwright"
"""What pytest-playwright is registered as."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """A few options and one ini value; all else comes from pytest-playwright, or from fixtures."""
    group = parser.getgroup("webmcp", "WebMCP pages and agents")
    group.addoption(
        "--webmcp-model",
        metavar="NAME",
        help="Model for scenario files and the agent fixture, named as for webmcp-agent --model.",
    )
    group.addoption(
        "--webmcp-replay",
        action="store_true",
        help="Make the calls that scenario and eval files expect, without a model.",
    )
    group.addoption(
        "--webmcp-report",
        metavar="DIR",
        help="Keep what each run did, and show it as one HTML page in DIR.",
    )
    group.addoption(
        "--webmcp-secret",
        metavar="NAME",
        action="append",
        default=[],
        help="Take the value of {NAME} from the environment, and tell it nowhere.",
    )
    parser.addini("webmcp_model", "Model where neither test nor command line names one.")


def pytest_configure(config: pytest.Config) -> None:
    """Add the marker, the page fixtures that fit what else is installed, and the report."""
    config.addinivalue_line(
        "markers", "webmcp_model(name): the model that the agent of this test runs with"
    )
    kept_by(config).add(_secrets_of(config))
    # Both after the plugins of all packages, so that the one that is built on pytest-playwright
    # extends its fixtures and is not hidden by them.
    if config.pluginmanager.has_plugin(PLAYWRIGHT):
        from webmcp_agent.scenarios import plugin_playwright as page_fixtures
    else:
        from webmcp_agent.scenarios import plugin_alone as page_fixtures
    config.pluginmanager.register(page_fixtures, "webmcp-page")
    report: str | None = config.getoption("--webmcp-report")
    if report is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Report(Path(report).absolute()), "webmcp-report")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Leave secrets out of what is told of a test."""
    report = yield
    if (masker := kept_by(item.config).masker) is not None:
        without(report, masker)
    return report


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Scenario and contract files wherever they are, eval files where they are named."""
    name = file_path.name
    if name.endswith(SCENARIOS):
        return ScenarioFile.of(parent, file_path)
    if name.endswith(CONTRACTS) and _is_contract(file_path):
        return ContractFile.of(parent, file_path)
    if fnmatchcase(name, EVALS) and parent.session.isinitpath(file_path):
        return EvalsFile.of(parent, file_path)
    return None


def _is_contract(path: Path) -> bool:
    """Others have files of this name; a broken one is ours to complain about."""
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return True
    return isinstance(content, dict) and "contract" in content


@pytest.fixture(scope="session")
def _webmcp_rig(request: pytest.FixtureRequest) -> Generator["Rig"]:
    from webmcp_agent.scenarios.plugin_rig import Rig

    rig = Rig(request.config)
    yield rig
    rig.close()


@pytest.fixture
def webmcp_model(request: pytest.FixtureRequest) -> "str | LocalProvider | None":
    """The model of this test: its marker, `--webmcp-model`, `webmcp_model` of the ini file, or None
    for the embedded default. Override it to give a name, or a provider of your own."""
    config = request.config
    marker = request.node.get_closest_marker("webmcp_model")
    if marker is not None:
        (name,) = marker.args
        return _beside(name, request.path.parent) if isinstance(name, str) else name
    option: str | None = config.getoption("--webmcp-model")
    return option or _beside(config.getini("webmcp_model"), config.rootpath) or None


def _beside(name: str, folder: Path) -> str:
    """A file that a model's name holds, seen from where the name was written."""
    kind, colon, rest = name.partition(":")
    if kind in {"scripted", "recorded"} and colon and (folder / rest.partition("#")[0]).is_file():
        return f"{kind}:{folder / rest}"
    return name


@pytest.fixture(scope="session")
def webmcp_variables() -> Mapping[str, str]:
    """Variables of scenario files by name. Override it to give some."""
    return {}


@pytest.fixture(scope="session")
def webmcp_secrets(request: pytest.FixtureRequest) -> Mapping[str, str]:
    """Variables of scenario files, and of what an agent is told, that are written nowhere: those of
    `--webmcp-secret`. Override it to give others."""
    return _secrets_of(request.config)


def _secrets_of(config: pytest.Config) -> Mapping[str, str]:
    names: list[str] | None = config.getoption("--webmcp-secret")
    return secrets_of(names or ())


@pytest.fixture
def _webmcp_given(request: pytest.FixtureRequest, webmcp_secrets: Mapping[str, str]) -> "Given":
    from webmcp_agent.scenarios.given import Given

    kept_by(request.config).add(webmcp_secrets)
    return Given(secrets={**webmcp_secrets})


@pytest.fixture
def webmcp_policy() -> "Policy":
    """What the agent of a test may do; all calls but consequential ones. Override it for more, or
    for less."""
    from webmcp_agent.browser.policy import Policy

    return Policy(mode="yes")


@pytest.fixture
def webmcp_agent_args() -> Mapping[str, Any]:
    """Override it for other `max_steps` or `instructions`."""
    return {}


@pytest.fixture
def agent(
    request: pytest.FixtureRequest,
    _webmcp_rig: "Rig",
    page_tools: "SyncPageTools",
    webmcp_model: "str | LocalProvider | None",
    webmcp_agent_args: Mapping[str, Any],
    _webmcp_given: "Given",
) -> Generator["SyncAgent"]:
    """Does requests on the page of the test with a model: `agent.run("…")` gives a report."""
    from webmcp_agent.scenarios.sync_agent import SyncAgent

    agent = SyncAgent(
        _webmcp_rig,
        page_tools,
        webmcp_model,
        request.node,
        given=_webmcp_given,
        **webmcp_agent_args,
    )
    yield agent
    agent.tell_properties()
