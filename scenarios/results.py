"""Results of cases as lines of JSON: written while a test runs, and read back to be compared.

The lines are those of `test --json`; only the owner can read the file.
"""

from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.causes import Cause
from webmcp_agent.scenarios.errors import BadFile, Problem
from webmcp_agent.scenarios.report import PrivateLines

RESULTS_FILE = "results.jsonl"
RESULTS_SUFFIX = ".jsonl"


class Times(BaseModel):
    """Where the time of a case went, in ms."""

    total: float
    model: float
    page: float
    own: float


class Tokens(BaseModel):
    """What a model read, of that what it had read before, and what it wrote."""

    prompt: int
    cached: int
    completion: int


class CaseRecord(BaseModel):
    """One line: what became of a case, as far as it is counted."""

    model_config = ConfigDict(frozen=True)

    file: str
    case: str
    repeat: int
    model: str | None = None
    passed: bool
    why: Cause | None
    ms: Times
    tokens: Tokens

    @property
    def judged(self) -> bool:
        """Whether it says anything about model or page."""
        return self.why != "not-judged"


_LINE: TypeAdapter[JsonObject] = TypeAdapter(JsonObject)


def record_of(line: JsonObject) -> CaseRecord:
    """The record in the line of a case."""
    return CaseRecord.model_validate(line)


def read_results(path: Path) -> list[CaseRecord]:
    """The results in a file, or in the folder that `test --out` left.

    Raises: `BadFile`."""
    file = path / RESULTS_FILE if path.is_dir() else path
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "it is no UTF-8 text"
        raise BadFile(file, [Problem(None, "", f"it cannot be read: {reason}")]) from exc
    records: list[CaseRecord] = []
    for number, text in enumerate(lines, 1):
        try:
            line = _LINE.validate_json(text)
            if "case" in line:
                records.append(record_of(line))
        except ValidationError as exc:
            problem = Problem(number, "", "this is no result of `webmcp-agent test --json`")
            raise BadFile(file, [problem]) from exc
    if not records:
        raise BadFile(file, [Problem(None, "", "there is no result in it")])
    return records


def results_named(paths: Sequence[Path]) -> list[Path]:
    """The paths that are results of an earlier test."""
    return [path for path in paths if path.suffix == RESULTS_SUFFIX and path.is_file()]


def open_results(folder: Path) -> PrivateLines:
    """The results file of a folder, empty; its lines are written as they come."""
    folder.mkdir(parents=True, exist_ok=True)
    return PrivateLines(folder / RESULTS_FILE)
