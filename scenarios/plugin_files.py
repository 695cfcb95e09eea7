"""Scenario, eval and contract files as pytest collects them: each case, and each page, is a test.

The tests are functions with fixtures like any other, so that what a project sets up for its tests
(a server, `base_url`, a model) is there for its files as well. Files are read when a test runs.
"""

import json
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest

if TYPE_CHECKING:
    from webmcp_agent.providers.base import LocalProvider
    from webmcp_agent.scenarios.given import Given
    from webmcp_agent.scenarios.plugin_rig import Rig


class FileTest(pytest.Function):
    """One case, or one page of a contract."""

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """The file, and not the function in this package that does the work."""
        return self.path, None, self.name


class _TestFile(pytest.Module):
    """A file that is no Python; a module all the same, as far as fixtures are concerned."""

    obj: Any = None

    @classmethod
    def of(cls, parent: pytest.Collector, path: Path) -> Self:
        """The file as a part of the session's tree."""
        made: Any = cls.from_parent(parent, path=path)  # pyright: ignore[reportUnknownMemberType]  # untyped there
        return made

    def _test(self, name: str, work: Callable[..., None]) -> FileTest:
        made: Any = FileTest.from_parent(self, name=name, callobj=work)  # pyright: ignore[reportUnknownMemberType]  # untyped there
        return made


class ScenarioFile(_TestFile):
    """A `*.scenario.yaml` file."""

    def collect(self) -> Iterable[pytest.Item]:
        """Its one case, named like the file: names inside it are for people, and may change."""

        def hold(
            request: pytest.FixtureRequest,
            _webmcp_rig: "Rig",
            webmcp_model: "str | LocalProvider | None",
            webmcp_variables: Mapping[str, str],
            _webmcp_given: "Given",
        ) -> None:
            from webmcp_agent.scenarios.scenario import read_scenario

            values = {**webmcp_variables, **_webmcp_given.secrets}
            _hold(
                request,
                _webmcp_rig,
                webmcp_model,
                lambda: read_scenario(self.path, values),
                _webmcp_given,
            )

        yield self._test(self.path.name.partition(".scenario.")[0], hold)


class EvalsFile(_TestFile):
    """A webmcp-evals file."""

    def collect(self) -> Iterable[pytest.Item]:
        """Its cases; a file that cannot be read is one test, which says why."""
        for number, name in enumerate(_eval_names(self.path)):
            yield self._test(f"case[{name}]", self._holder(number))

    def _holder(self, number: int) -> Callable[..., None]:
        def hold(
            request: pytest.FixtureRequest,
            _webmcp_rig: "Rig",
            webmcp_model: "str | LocalProvider | None",
            _webmcp_given: "Given",
        ) -> None:
            from webmcp_agent.scenarios.evals import read_evals

            _hold(
                request,
                _webmcp_rig,
                webmcp_model,
                lambda: read_evals(self.path)[number],
                _webmcp_given,
            )

        return hold


def _eval_names(path: Path) -> list[str]:
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
        names = [str(each.get("name") or f"case {at}") for at, each in enumerate(content, 1)]
    except (OSError, ValueError, RecursionError, TypeError, AttributeError):
        return [path.stem]
    seen: dict[str, int] = {}
    for at, name in enumerate(names):
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            names[at] = f"{name} ({seen[name]})"
    return names or [path.stem]


class ContractFile(_TestFile):
    """A `*.contract.json` file."""

    def collect(self) -> Iterable[pytest.Item]:
        """A test for each page."""
        for page in _pages(self.path):
            yield self._test(f"page[{page}]", self._checker(page))

    def _checker(self, page: str) -> Callable[..., None]:
        def check(request: pytest.FixtureRequest, _webmcp_rig: "Rig") -> None:
            from webmcp_agent.scenarios.plugin_contract import check_page

            check_page(request, _webmcp_rig, self.path, page, base_url_of(request))

        return check


def _pages(path: Path) -> list[str]:
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
        return [str(page) for page in dict.fromkeys(content.get("pages") or ["."])]
    except (OSError, ValueError, RecursionError, TypeError, AttributeError):
        return ["."]


def _hold(
    request: pytest.FixtureRequest,
    rig: "Rig",
    model: "str | LocalProvider | None",
    read: Callable[[], Any],
    given: "Given",
) -> None:
    from webmcp_agent.scenarios.plugin_case import hold_case

    hold_case(request, rig, model, read, base_url_of(request), given)


def base_url_of(request: pytest.FixtureRequest) -> str | None:
    """The base URL of pytest-base-url or pytest-playwright, where either is installed."""
    with warnings.catch_warnings():
        # pytest-playwright 0.10 defines it in a way that pytest 9.1 calls outdated.
        warnings.filterwarnings("ignore", "Session-scoped fixtures defined as instance methods")
        try:
            return request.getfixturevalue("base_url") or None
        except pytest.FixtureLookupError:
            return None
