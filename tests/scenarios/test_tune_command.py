"""`webmcp-agent tune` from end to end: a real base model, a real training, its table."""

import json
from pathlib import Path

import pytest
from command_line import command

from webmcp_agent.providers.errors import ProviderError
from webmcp_agent.providers.weights import find_model
from webmcp_agent.scenarios.tune import BASE_MODEL

TOOLS = [
    {
        "name": "set_size",
        "description": "Set the size of the cake.",
        "inputSchema": {
            "type": "object",
            "properties": {"size": {"type": "string", "enum": ["small", "large"]}},
            "required": ["size"],
        },
    },
    {"name": "start_again", "description": "Start again with an empty plate."},
]


def _is_here() -> bool:
    try:
        return find_model(BASE_MODEL, local_files_only=True).cached
    except ProviderError:
        return False


@pytest.mark.model
@pytest.mark.skipif(
    not _is_here(), reason=f"{BASE_MODEL} is not in the cache; any use of the default brings it"
)
def test_one_command_makes_an_adapter_for_a_list_of_tools_and_compares_it(tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text(json.dumps(TOOLS), encoding="utf-8")
    few = ["--examples", "4", "--held-out", "1"]
    tuned = command("tune", "tools.json", "--out", "mine", *few, cwd=tmp_path, patience_s=180)
    assert tuned.code == 0, tuned.err
    assert "this adapter" in tuned.out
    assert "shipped adapter" in tuned.out
    assert "4 examples, " in tuned.err
    left = {path.name for path in (tmp_path / "mine").iterdir()}
    assert left >= {"README.md", "adapter_config.json", "adapter_model.safetensors", "curve.svg"}
    assert not list((tmp_path / "mine").glob("*.partial*"))
