"""The checklist and the tests: what one names, the other has."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ROW = re.compile(r"\| (?P<id>[ABC]-\d{2,3}) \| (?P<text>[^|]+) \| (?P<shown>[^|]+) \|")
ID = re.compile(r"\b[ABC]-\d{2,3}\b")
NOT_HERE = "not in this version: "


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the list."""

    id: str
    text: str
    shown: str

    @property
    def files(self) -> list[str]:
        return re.findall("`([^`]+)`", self.shown)

    @property
    def is_missing(self) -> bool:
        return self.shown.startswith(NOT_HERE)


def rows() -> list[Row]:
    lines = (TESTS / "checklist.md").read_text(encoding="utf-8").splitlines()
    return [
        Row(found["id"], found["text"].strip(), found["shown"].strip())
        for line in lines
        if (found := ROW.fullmatch(line))
    ]


@cache
def named_in_tests() -> dict[str, set[str]]:
    """Ids by the file that names them, as the list writes it."""
    return {
        path.relative_to(TESTS).as_posix(): set(ID.findall(path.read_text(encoding="utf-8")))
        for path in TESTS.rglob("*.py")
    }


def test_the_list_has_every_row_once_and_in_order() -> None:
    assert [row.id for row in rows()] == [
        *(f"A-{number:03}" for number in range(1, 97)),
        *(f"B-{number:03}" for number in range(1, 50)),
        *(f"C-{number:02}" for number in range(1, 83)),
    ]


def test_every_line_of_a_table_is_read() -> None:
    text = (TESTS / "checklist.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    heads = sum(line.startswith(("| row ", "| --- ")) for line in lines)
    assert len(lines) == len(rows()) + heads


def test_no_test_names_a_row_that_is_not_there() -> None:
    known = {row.id for row in rows()}
    assert {path: ids - known for path, ids in named_in_tests().items() if ids - known} == {}


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.id)
def test_each_row_names_tests_that_name_it_or_says_what_is_missing(row: Row) -> None:
    named = named_in_tests()
    if row.is_missing:
        assert row.shown.removeprefix(NOT_HERE)
        assert [path for path, ids in named.items() if row.id in ids] == []
    else:
        assert row.files
        assert [path for path in row.files if row.id not in named.get(path, set())] == []
