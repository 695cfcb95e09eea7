"""The cases that paths name, and the count of what became of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.case_run import CaseResult
from webmcp_agent.scenarios.errors import WrongUsage
from webmcp_agent.scenarios.evals import read_evals
from webmcp_agent.scenarios.scenario import SUFFIXES, Case, read_scenario

EVALS = "*evals*.json"
"""What a folder's eval files are called."""


def cases_of(
    paths: Sequence[Path],
    variables: Mapping[str, str] | None = None,
    *,
    secrets: Mapping[str, str] | None = None,
) -> list[Case]:
    """The cases of files, and of all scenario and eval files in folders, in a fixed order.

    A file that is named in two ways counts once. Raises: `BadFile`, and `WrongUsage` for a path
    without any and for a variable that no scenario has a place for."""
    files = dict.fromkeys(file for path in paths for file in _files(path))
    given = {**(variables or {}), **(secrets or {})}
    cases = [case for file in files for case in _read(file, given)]
    known = {name for case in cases for name in case.variables}
    for name in variables or {}:
        if name not in known:
            raise WrongUsage(f"--var {name}: no scenario has a place for it")
    return cases


def _files(path: Path) -> list[Path]:
    if path.is_file():
        if path.name.endswith(SUFFIXES) or path.suffix == ".json":
            return [path]
        raise WrongUsage(f"{path} is neither a *{SUFFIXES[0]} file nor an eval file (*.json)")
    if not path.is_dir():
        raise WrongUsage(f"there is no file or folder {path}")
    globs = [*(f"*{suffix}" for suffix in SUFFIXES), EVALS]
    found = sorted(file for glob in globs for file in path.rglob(glob) if _counts(file, path))
    if not found:
        raise WrongUsage(f"there is no *{SUFFIXES[0]} and no {EVALS} file in {path}")
    return found


def _counts(file: Path, folder: Path) -> bool:
    steps = file.relative_to(folder).parts
    hidden = any(step.startswith(".") or step == "node_modules" for step in steps)
    return file.is_file() and not hidden


def _read(file: Path, given: Mapping[str, str]) -> list[Case]:
    return read_evals(file) if file.suffix == ".json" else [read_scenario(file, given)]


@dataclass(slots=True)
class Tally:
    """How many cases passed, failed, and could not be judged."""

    passed: int = 0
    failed: int = 0
    errors: int = 0

    def add(self, result: CaseResult) -> None:
        """Count one."""
        if result.is_error:
            self.errors += 1
        elif result.passed:
            self.passed += 1
        else:
            self.failed += 1

    @property
    def total(self) -> int:
        """How many there were."""
        return self.passed + self.failed + self.errors

    @property
    def all_passed(self) -> bool:
        """Whether there were some, and each passed."""
        return self.total > 0 and self.passed == self.total

    def summary(self) -> JsonObject:
        """The last line of a test."""
        return {
            "type": "summary",
            "passed": self.passed,
            "failed": self.failed,
            "errors": self.errors,
        }


@dataclass(slots=True)
class Tallies:
    """The count of all, and of each group in the order in which it came."""

    all: Tally = field(default_factory=Tally)
    groups: dict[str, Tally] = field(default_factory=dict[str, Tally])

    def add(self, result: CaseResult) -> None:
        """Count one."""
        self.all.add(result)
        self.groups.setdefault(result.case.group, Tally()).add(result)


def folder_names(cases: Iterable[Case], repeats: int) -> list[list[str]]:
    """A folder name for each repeat of each case, in their order."""
    names: list[list[str]] = []
    for number, case in enumerate(cases, 1):
        letters = (c if c.isascii() and c.isalnum() else "-" for c in case.name.casefold())
        words = "-".join(word for word in "".join(letters).split("-") if word)
        stem = f"{number:03}-{words[:40].rstrip('-') or 'case'}"
        names.append([stem if repeats == 1 else f"{stem}-{n}" for n in range(1, repeats + 1)])
    return names
