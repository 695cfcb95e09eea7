"""The project of a stranger with a WebMCP site: folders named like ours, tests, and our files."""

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from webmcp_agent.agent.tool_calls import write_call
from webmcp_agent.browser.tools import JsonObject

LIMIT_S = 300
"""How long a project's tests may take before they count as hanging."""

SITE = """<!doctype html>
<html lang="en">
<title>Tables</title>
<h1>Book a table</h1>
<p id="booked">nothing booked</p>
<script>
  window.bookings = [];
  document.modelContext.registerTool({
    name: "find_tables",
    description: "Find the free tables for a number of guests.",
    inputSchema: {
      type: "object",
      properties: { guests: { type: "integer", minimum: 1 } },
      required: ["guests"],
    },
    annotations: { readOnlyHint: true },
    execute: ({ guests }) => ({ tables: guests > 4 ? [7] : [3, 7] }),
  });
  document.modelContext.registerTool({
    name: "book_table",
    description: "Book a table by its number.",
    inputSchema: {
      type: "object",
      properties: { table: { type: "integer" } },
      required: ["table"],
    },
    execute: ({ table }) => {
      window.bookings.push(table);
      document.getElementById("booked").textContent = `table ${table} is booked`;
      return `Table ${table} is booked.`;
    },
  });
</script>
</html>
"""

CONTRACT: JsonObject = {
    "contract": 1,
    "url": "../site",
    "tools": [
        {
            "name": "book_table",
            "description": "Book a table by its number.",
            "input_schema": {
                "type": "object",
                "properties": {"table": {"type": "integer"}},
                "required": ["table"],
            },
        },
        {
            "name": "find_tables",
            "description": "Find the free tables for a number of guests.",
            "read_only": True,
            "input_schema": {
                "type": "object",
                "properties": {"guests": {"type": "integer", "minimum": 1}},
                "required": ["guests"],
            },
        },
    ],
}

SCENARIO = """
name: Book a table for six
start: ../site/index.html
model: scripted:six.json
requests: [Book a table for six.]
checks:
  called:
    - tool: find_tables
      args: { guests: 6 }
    - tool: book_table
      args: { table: 7 }
  answer: { contains: "7" }
  page:
    - js: bookings
      equals: [7]
"""

REPLIES = (
    write_call("find_tables", {"guests": 6}, "tags"),
    write_call("book_table", {"table": 7}, "tags"),
    "Table 7 is booked for you.",
)

TESTS = """
import agent


def test_their_own_module_is_theirs():
    assert agent.NAME == "ours"


def test_the_page_is_used_by_hand():
    from agent import NAME

    assert NAME
"""

PAGE_TESTS = """
def test_a_tool_changes_the_very_page_that_the_test_holds(page, page_tools):
    page_tools.goto("site/index.html")
    assert page.get_by_role("heading").inner_text() == "Book a table"
    assert sorted(page_tools.names) == ["book_table", "find_tables"]
    assert page_tools.call("find_tables", guests=6) == {"tables": [7]}
    page_tools.call("book_table", table=7)
    assert page.locator("#booked").inner_text() == "table 7 is booked"
"""


def stranger_project(folder: Path, *, page_tests: bool = True) -> None:
    """Write the project into `folder`."""
    files: dict[str, str] = {
        "agent.py": 'NAME = "ours"\n',
        "conftest.py": "",
        "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\n',
        "site/index.html": SITE,
        "scenarios/six.scenario.yaml": SCENARIO,
        "scenarios/six.json": json.dumps(REPLIES),
        "scenarios/tables.contract.json": json.dumps(CONTRACT),
        "tests/test_own.py": TESTS,
        **({"tests/test_page.py": PAGE_TESTS} if page_tests else {}),
    }
    for name, text in files.items():
        write(folder / name, text)


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """Run the project's tests as the stranger does."""
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *arguments, timeout=LIMIT_S)


def write(path: Path, text: str | JsonValue) -> None:
    """Write a file, and the folders that it needs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")


def change(path: Path, old: str, new: str) -> None:
    """Put `new` in the place of each `old`; one that is not there is the test's own mistake."""
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{path.name} has no {old!r}"
    path.write_text(text.replace(old, new), encoding="utf-8")
