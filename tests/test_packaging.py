"""How the folders are packaged: mapped, linked, typed, spelled one way, and light to import."""

import ast
import os
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("agent", "browser", "providers", "scenarios")
HEAVY = ("playwright", "torch", "transformers", "av", "PIL", "llguidance", "gguf")
"""Libraries that are imported where they are used, and nowhere else."""


def settings() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def python_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def fresh(code: str) -> str:
    """What a new interpreter prints, far away from this folder."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        timeout=60,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# --- the folders -------------------------------------------------------------------------------


def test_each_folder_is_mapped_to_its_import_name() -> None:
    tool = settings()["tool"]["setuptools"]
    names = [f"webmcp_agent.{folder}" for folder in FOLDERS]
    assert tool["packages"] == names
    assert tool["package-dir"] == dict(zip(names, FOLDERS, strict=True))
    for folder in FOLDERS:
        spec = find_spec(f"webmcp_agent.{folder}")
        assert spec is not None
        assert spec.origin == str(ROOT / folder / "__init__.py")


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_folder_is_typed_and_linked_for_type_checkers(folder: str) -> None:
    assert (ROOT / folder / "py.typed").is_file()
    link = ROOT / "typings" / "webmcp_agent" / folder
    assert link.is_symlink(), (
        f"{link} is no symlink: pyright sees nothing of webmcp_agent without it. "
        "Check out again with git config core.symlinks true."
    )
    assert link.readlink() == Path("../..") / folder
    assert link.resolve() == ROOT / folder


def test_the_root_is_a_namespace() -> None:
    assert not (ROOT / "webmcp_agent").exists()
    assert not (ROOT / "__init__.py").exists()
    spec = find_spec("webmcp_agent")
    assert spec is not None
    assert spec.origin is None


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_file_is_named_like_a_library_or_like_nothing(folder: str) -> None:
    names = {path.stem for path in python_files(folder)}
    assert names.isdisjoint({"utils", "common", "helpers", "core", "types"})
    assert names.isdisjoint({*HEAVY, "regex", "typer", "rich", "pytest", "pydantic", "jsonschema"})


@pytest.mark.parametrize("path", python_files(*FOLDERS), ids=lambda path: path.stem)
def test_each_module_begins_by_saying_what_is_in_it(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert docstring
    assert docstring.splitlines()[0].endswith((".", "`", ":"))


@pytest.mark.parametrize("path", python_files(*FOLDERS, "tests"), ids=lambda path: path.stem)
def test_imports_of_ours_are_spelled_in_full(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}"
            imported = [node.module or ""]
        elif isinstance(node, ast.Import):
            imported = [alias.name for alias in node.names]
        else:
            continue
        for name in imported:
            assert name.split(".")[0] not in FOLDERS, f"{path}:{node.lineno}"


# --- what an import loads ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "webmcp_agent.agent",
        "webmcp_agent.browser",
        "webmcp_agent.providers",
        "webmcp_agent.scenarios",
    ],
)
def test_importing_a_folder_loads_no_heavy_library(name: str) -> None:
    """C-15."""
    heavy = (*HEAVY, "typer", "rich")
    assert fresh(f"import sys, {name}; print([m for m in {heavy!r} if m in sys.modules])") == "[]"


def test_importing_the_pytest_plugin_loads_pytest_only() -> None:
    # Loaded in every pytest run of whoever has the package.
    unwanted = (*HEAVY, "typer", "rich", "pydantic", "yaml")
    code = (
        "import sys, webmcp_agent.scenarios.plugin, webmcp_agent.scenarios.plugin_alone, "
        "webmcp_agent.scenarios.plugin_playwright; "
        f"print([m for m in {unwanted!r} if m in sys.modules])"
    )
    assert fresh(code) == "[]"


def test_importing_the_command_loads_typer_only() -> None:
    code = (
        f"import sys, webmcp_agent.scenarios.cli; print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    assert fresh(code) == "[]"


def test_help_loads_neither_a_browser_nor_a_model_library() -> None:
    code = (
        "import sys\n"
        "from webmcp_agent.scenarios.cli import main\n"
        "sys.argv = ['webmcp-agent', '--help']\n"
        "try:\n"
        "    main()\n"
        "except SystemExit as exc:\n"
        "    assert not exc.code, exc.code\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    said = fresh(code).splitlines()
    assert "Usage: webmcp-agent" in said[0]
    assert said[-1] == "[]"


def test_a_whole_run_needs_no_engine() -> None:
    """C-15."""
    code = f"""
import asyncio, sys

class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {HEAVY!r}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Nothing())
from webmcp_agent.agent import (
    RunRequest, create_local_adapter, report_of, user_message, write_call
)
from webmcp_agent.browser import PageTool, ToolOk
from webmcp_agent.providers import ScriptedProvider

class Page:
    async def list_tools(self):
        return [PageTool("list_rows", "List all rows")]
    async def call_tool(self, name, args, *, call_id, signal):
        return ToolOk("row 1, row 2")
    async def page_context(self):
        return None

async def main():
    provider = ScriptedProvider([write_call("list_rows", {{}}, "tags"), "There are two rows."])
    request = RunRequest([user_message("List the rows")], Page())
    parts = [part async for part in create_local_adapter(providers=[provider]).run(request)]
    report = report_of(parts)
    print(report.finish, report.answer, [call.outcome for call in report.calls])

asyncio.run(main())
"""
    assert fresh(code) == "stop There are two rows. ['ok']"


def test_the_agent_never_imports_an_engine() -> None:
    """C-15, B-001."""
    for path in python_files("agent"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            assert {name.split(".")[0] for name in names}.isdisjoint(HEAVY), path


# --- what is installed -------------------------------------------------------------------------


def test_the_command_is_registered() -> None:
    (command,) = entry_points(group="console_scripts", name="webmcp-agent")
    assert command.value == "webmcp_agent.scenarios.cli:main"
    assert settings()["project"]["scripts"] == {"webmcp-agent": command.value}
    assert callable(command.load())


def test_the_pytest_plugin_is_registered() -> None:
    (plugin,) = entry_points(group="pytest11", name="webmcp")
    assert plugin.value == "webmcp_agent.scenarios.plugin"
    assert settings()["project"]["entry-points"] == {"pytest11": {"webmcp": plugin.value}}


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_file_that_is_no_python_belongs_to_the_package(folder: str) -> None:
    data = settings()["tool"]["setuptools"]["package-data"]
    base = ROOT / folder
    packed = {
        path
        for pattern in (*data["*"], *data.get(f"webmcp_agent.{folder}", []))
        # Since 3.13 `**` alone gives files as well; before, folders only.
        for path in (*base.glob(pattern), *(base.glob(f"{pattern}/*") if "**" in pattern else ()))
    }
    found = {path for path in base.rglob("*") if path.is_file()}
    assert {path for path in found if path.suffix not in {".py", ".pyc"}} <= packed
