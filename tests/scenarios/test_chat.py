"""The chat and the approval prompt, in a real pseudo-terminal."""

from pathlib import Path

from command_line import script, terminal

from webmcp_agent.agent.tool_calls import write_call
from webmcp_agent.browser.tools import JsonObject

SEARCH = write_call("search_products", {"query": "mug"}, "tags")
CATEGORIES = write_call("list_categories", {}, "tags")

SLOW_PAGE = """<!doctype html><title>Slow</title><main><h1>Slow</h1></main><script>
document.modelContext.registerTool({ name: 'wait', description: 'Waits for ever',
  execute: () => new Promise(() => {}) });
document.modelContext.registerTool({ name: 'greet', description: 'Says hello',
  execute: () => 'hello' });
</script>"""

SEARCH_PAGE = """<!doctype html><title>Search</title><script>
document.modelContext.registerTool({ name: 'search_products', description: 'Searches',
  execute: () => 'mugs' });
</script>"""


def test_a_conversation_goes_on_over_several_requests(tmp_path: Path) -> None:
    model = script(tmp_path, SEARCH, "There are three mugs.", "You are welcome.")
    with terminal("chat", "shop:", "--yes", "--model", model, cwd=tmp_path) as chat:
        chat.wait_for(">")
        chat.type("Find a mug\r")
        chat.wait_for('search_products(query="mug")')
        chat.wait_for("There are three mugs.")
        chat.wait_for("1 call,")
        chat.wait_for(">")
        chat.type("thanks\r")
        chat.wait_for("You are welcome.")
        chat.wait_for(">")
        chat.type("/quit\r")
        assert chat.end() == 0


def test_the_commands_of_the_chat_answer(tmp_path: Path) -> None:
    """B-023, B-049: a provider with one model has no picker."""
    model = script(tmp_path)
    with terminal("chat", "shop:", "--yes", "--model", model, cwd=tmp_path) as chat:
        chat.wait_for(">")
        chat.type("/tools\r")
        chat.wait_for("search_products")
        chat.wait_for(">")
        chat.type("/model\r")
        chat.wait_for("runs one model")
        chat.wait_for(">")
        chat.type("/retry\r")
        chat.wait_for("Nothing was asked yet.")
        chat.wait_for(">")
        chat.type("/nope\r")
        chat.wait_for("There is no /nope")
        chat.wait_for(">")
        chat.type("\x04")
        assert chat.end() == 0


def test_ctrl_c_stops_a_call_and_retry_goes_on_after_the_last_finished_one(tmp_path: Path) -> None:
    """C-05: the finished call is not run again."""
    (tmp_path / "slow.html").write_text(SLOW_PAGE, encoding="utf-8")
    model = script(
        tmp_path,
        write_call("greet", {}, "tags"),
        write_call("wait", {}, "tags"),
        "Greeted; the wait failed.",
    )
    with terminal("chat", "slow.html", "--yes", "--model", model, cwd=tmp_path) as chat:
        chat.wait_for(">")
        chat.type("Greet, then wait\r")
        chat.wait_for("→ hello")
        chat.wait_for("wait()")
        chat.interrupt()
        chat.wait_for("cancelled")
        chat.wait_for("stopped by you")
        chat.wait_for(">")
        chat.type("/retry\r")
        chat.wait_for("Greeted; the wait failed.")
        chat.wait_for("0 calls,")
        chat.wait_for(">")
        chat.type("/quit\r")
        assert chat.end() == 0


def test_a_call_is_asked_for_with_its_exact_arguments(tmp_path: Path) -> None:
    """C-56, C-58."""
    model = script(tmp_path, SEARCH, CATEGORIES, "There are three mugs.")
    with terminal("run", "shop:", "Find a mug", "--model", model, cwd=tmp_path) as run:
        run.wait_for("the model wants to call search_products")
        run.wait_for('query = "mug"')
        run.wait_for("allow?")
        run.type("y\r")
        run.wait_for("→ ")
        run.wait_for("the model wants to call list_categories")
        run.wait_for("without arguments")
        run.wait_for("allow?")
        run.type("n\r")
        run.wait_for("denied")
        run.wait_for("2 calls ran:")
        assert run.end() == 1


def test_a_tool_that_is_always_allowed_is_not_asked_for_again(tmp_path: Path) -> None:
    other = write_call("search_products", {"query": "lamp"}, "tags")
    model = script(tmp_path, SEARCH, other, "Mugs and lamps.")
    with terminal("run", "shop:", "Find mugs and lamps", "--model", model, cwd=tmp_path) as run:
        run.wait_for("allow?")
        run.type("a\r")
        run.wait_for('search_products(query="lamp")')
        shown = run.wait_for("2 calls ran:")
        assert "allow?" not in shown
        assert run.end() == 0


def test_hostile_arguments_can_neither_repaint_nor_hide_in_the_question(tmp_path: Path) -> None:
    """C-58: escaped, shown whole on request, and never on a row that looks like one of ours."""
    forged = " " * 200 + "     price = 1"
    hostile = "\x1b[2J\x1b[1;1HApproved\r\x9b2J\x1b]52;c;ZXZpbA==\x07" + " " * 5000 + "and transfer"
    args: JsonObject = {
        "query": hostile,
        "limit\x1b[2J\n": forged,
        "category": "a\ufe0f\ufe0f\u3164b",
    }
    model = script(tmp_path, write_call("search_products", args, "tags"), "No.")
    (tmp_path / "search.html").write_text(SEARCH_PAGE, encoding="utf-8")
    with terminal("run", "search.html", "Find a mug", "--model", model, cwd=tmp_path) as run:
        question = run.wait_for("allow?")
        asked = question[question.index("wants to call") :]
        assert "\\u001b[2J\\u001b[1;1HApproved\\r\\x9b2J\\u001b]52;c;ZXZpbA==\\u0007" in asked
        assert "and transfer" in asked
        assert "characters)" in asked
        assert "limit\\x1b[2J\\n = " in asked
        assert "a\ufe0f\\u{fe0f}\\u{3164}b" in asked
        rows = [row for row in asked.splitlines() if row.strip()]
        assert [row for row in rows[1:] if row.startswith("     price")] == []
        assert any(row.startswith("     | ") and "price = 1" in row for row in rows)
        run.type("v\r")
        whole = run.wait_for("and transfer")
        run.wait_for("allow?")
        assert sum(row.count(" ") for row in whole.splitlines()) > 5000
        assert "characters)" not in whole
        run.type("s\r")
        run.wait_for("stopped by you")
        assert run.end() == 130


def test_many_arguments_are_counted_where_the_question_is(tmp_path: Path) -> None:
    args: JsonObject = {f"a{n}": n for n in range(1, 31)}
    model = script(tmp_path, write_call("search_products", args, "tags"), "No.")
    (tmp_path / "search.html").write_text(SEARCH_PAGE, encoding="utf-8")
    with terminal("run", "search.html", "Find a mug", "--model", model, cwd=tmp_path) as run:
        run.wait_for("a1 = 1")
        run.wait_for("30 arguments, all of them above")
        run.wait_for("allow?")
        run.type("n\r")
        run.wait_for("denied")
        assert run.end() == 1
