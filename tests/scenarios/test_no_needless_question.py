"""Safety costs no success: what the person asked for is done under `--yes` without a question."""

from pathlib import Path

from command_line import script, terminal

from webmcp_agent.agent.tool_calls import write_call
from webmcp_agent.browser.tools import JsonObject

TASK = "Find trail running shoes under 100 euros, put two pairs into my cart and go to checkout."
FLOW: list[tuple[str, JsonObject]] = [
    ("search_products", {"query": "trail running shoes", "max_price": 100}),
    ("open_product", {"id": "trail-runner-1"}),
    ("add_to_cart", {"quantity": 2}),
    ("view_cart", {}),
    ("start_checkout", {}),
]


def test_the_shops_whole_flow_runs_under_yes_without_a_question(tmp_path: Path) -> None:
    """C-57: in a terminal, where somebody could be asked."""
    model = script(
        tmp_path,
        *(write_call(name, args, "tags") for name, args in FLOW),
        "Two pairs are in your cart, and the checkout is open.",
    )
    with terminal(
        "run", "shop:", TASK, "--yes", "--max-steps", "8", "--model", model, cwd=tmp_path
    ) as run:
        run.wait_for("5 calls ran:")
        assert run.end() == 0
    assert "allow?" not in run.shown
    assert "denied" not in run.shown
    assert "2 × " in run.shown
