"""`webmcp-agent replay` on the real shop: as it was, and as a site that changed since."""

import json
import shutil
from pathlib import Path

import pytest
from command_line import Ended, command, script
from pydantic import JsonValue

from webmcp_agent.agent.tool_calls import write_call
from webmcp_agent.scenarios.serve import SHOP

SEARCHED: dict[str, JsonValue] = {"query": "trail running shoes", "max_price": 100}
REPLIES = [
    write_call("search_products", SEARCHED, "tags"),
    write_call("open_product", {"id": "trail-runner-1"}, "tags"),
    write_call("add_to_cart", {"quantity": 2}, "tags"),
    "Two pairs are in your cart.",
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that bought two pairs of shoes."""
    folder = tmp_path_factory.mktemp("recorded")
    task = "Find trail running shoes under 100 euros and add two pairs to my cart."
    model = script(folder, *REPLIES)
    ended = command(
        "run", "shop:", task, "--yes", "--json", "--model", model, "--out", "run", cwd=folder
    )
    assert ended.code == 0, ended.err
    return folder / "run"


def result(ended: Ended) -> tuple[int, bool, list[str], list[str]]:
    """Exit code, whether the one replay passed, its failures and its notes."""
    line, _ = ended.json_lines()
    assert isinstance(line, dict)
    told = json.loads(json.dumps(line))
    return (
        ended.code,
        told["passed"],
        [f"{each['kind']}: {each['message']}" for each in told["failures"]],
        [each["message"] for each in told["drift"]],
    )


def test_a_run_is_replayed_where_it_began_and_leaves_a_run_itself(
    run: Path, tmp_path: Path
) -> None:
    ended = command("replay", str(run), "--json", "--out", "out", cwd=tmp_path)
    line, summary = ended.json_lines()
    assert isinstance(line, dict)
    ms, url = line.pop("ms"), str(line.pop("url"))
    assert isinstance(ms, dict)
    assert (list(ms), ms["model"]) == (["total", "model", "page", "own"], 0.0)
    assert url.endswith("/product.html?id=trail-runner-1")
    calls = [
        {"name": "search_products", "args": SEARCHED, "outcome": "ok"},
        {"name": "open_product", "args": {"id": "trail-runner-1"}, "outcome": "ok"},
        {"name": "add_to_cart", "args": {"quantity": 2}, "outcome": "ok"},
    ]
    assert line == {
        "file": str(run), "case": "run", "repeat": 1, "model": None, "passed": True, "why": None,
        "failures": [], "calls": calls, "steps": 3, "finish": "stop", "answer": "",
        "tokens": {"prompt": 0, "cached": 0, "completion": 0}, "out": "out/001-run", "drift": [],
    }  # fmt: skip
    assert summary == {"type": "summary", "passed": 1, "failed": 0, "errors": 0}
    assert ended.code == 0
    # What it left is a run as well, with the same calls: of a folder of runs each is replayed.
    again = command("replay", "out", "--json", cwd=tmp_path)
    assert result(again) == (0, True, [], [])


Change = tuple[str, str]
"""A text in the shop's scripts, and what stands in its place in the changed site."""

WANTED = "execute: async ({ id }) => {\n      const product = wanted(id);\n      goTo"
THROWS = WANTED.replace("const product", "throw new Error('Closed for today.'); const product")
CHANGED: list[tuple[str, Change, list[str], list[str]]] = [
    ("nothing", ("", ""), [], []),
    (
        "a tool is renamed",
        ('name: "open_product"', 'name: "show_product"'),
        [
            "tool-gone: call 2: the page offers no tool 'open_product' here; "
            "did you mean 'show_product'?"
        ],
        [],
    ),
    (
        "a tool throws",
        (WANTED, THROWS),
        ["call-failed: call 2: open_product ended with failed: Closed for today."],
        [],
    ),
    (
        "a result has another shape",
        ("return { results: found", "return { items: found"),
        [
            "result-drift: call 1: the answer of search_products has another shape: "
            "results is gone",
            "value-gone: call 2: open_product: id came from results[0].id of call 1, which is gone",
        ],
        ["call 1: the answer of search_products: items is new"],
    ),
    (
        "an id is another one",
        ('"trail-runner-1"', '"trail-runner-one"'),
        [],
        [],
    ),
    (
        "a page is another one",
        ("goTo(`product.html?id", "goTo(`cart.html?id"),
        [
            "page-drift: call 2: /cart.html is open, before it was /product.html",
            "tool-gone: call 3: the page offers no tool 'add_to_cart' here; it offers "
            "apply_coupon, list_categories, open_product, remove_from_cart, search_products, "
            "set_quantity, start_checkout, view_cart",
        ],
        [],
    ),
    (
        "a description is rewritten",
        ("Open the page of a product.", "Show a product."),
        [],
        ["call 2: open_product has another description"],
    ),
    (
        "a choice is narrower than before",
        ("enum: Object.keys(SORTS)", 'enum: ["price-asc"]'),
        [],
        ["call 1: search_products has another input schema"],
    ),
]


@pytest.mark.parametrize(
    ("change", "failures", "notes"),
    [row[1:] for row in CHANGED],
    ids=[row[0] for row in CHANGED],
)
def test_a_site_that_changed_fails_where_the_calls_do_not_mean_the_same_any_more(
    change: Change, failures: list[str], notes: list[str], run: Path, tmp_path: Path
) -> None:
    shutil.copytree(SHOP, site := tmp_path / "site")
    texts = {path: path.read_text(encoding="utf-8") for path in site.glob("*.js")}
    assert any(change[0] in text for text in texts.values())
    for path, text in texts.items():
        path.write_text(text.replace(*change) if change[0] else text, encoding="utf-8")
    ended = command("replay", str(run), "--url", str(site), "--json", cwd=tmp_path)
    assert result(ended) == (int(bool(failures)), not failures, failures, notes)


EVALS: JsonValue = [
    {
        "name": "Search",
        "messages": [{"role": "user", "type": "message", "content": "Find mugs under 20."}],
        "expectedCall": [
            {
                "functionName": "search_products",
                "arguments": {"query": {"$contains": "mug"}, "max_price": {"$lte": 20}},
                "result": {"total": {"$gte": 1}},
            },
            {"functionName": "list_categories", "optional": True},
        ],
    },
    {
        "name": "Hello",
        "messages": [{"role": "user", "type": "message", "content": "Hello!"}],
        "expectedCall": None,
    },
    {
        "name": "Wrong result",
        "messages": [{"role": "user", "type": "message", "content": "Find mugs."}],
        "expectedCall": [
            {
                "functionName": "search_products",
                "arguments": {"query": "mug"},
                "result": {"total": 99},
            }
        ],
    },
]


def test_the_expected_calls_of_an_eval_file_are_made_and_their_results_judged(
    tmp_path: Path,
) -> None:
    (tmp_path / "evals.json").write_text(json.dumps(EVALS), encoding="utf-8")
    ended = command(
        "replay", "evals.json", "--url", "shop:", "--workers", "2", "--json", cwd=tmp_path
    )
    lines = [line for line in ended.json_lines() if isinstance(line, dict)]
    assert [(line["case"], line["passed"]) for line in lines[:-1] if "case" in line] == [
        ("Search", True), ("Hello", True), ("Wrong result", False),
    ]  # fmt: skip
    assert lines[0]["calls"] == [
        {"name": "search_products", "args": {"query": "mug", "max_price": 20}, "outcome": "ok"}
    ]
    assert lines[2]["why"] == "page-fault"
    assert lines[-1] == {"type": "summary", "passed": 2, "failed": 1, "errors": 0}
    assert ended.code == 1


SITE = """<!doctype html><title>Orders</title><script>
const context = document.modelContext;
const schema = { type: 'object', properties: { order: { type: 'integer' } }, required: ['order'] };
context.registerTool({
  name: 'add_order', description: 'Add an order',
  execute: () => 'Added as order 4711.',
});
context.registerTool({
  name: 'pay_order', description: 'Pay an order', inputSchema: schema,
  execute: ({ order }) => {
    if (order !== 4711) throw new Error('There is no such order.');
    return 'Paid.';
  },
});
</script>"""


def test_an_order_number_in_prose_is_the_one_that_the_page_gives_now(tmp_path: Path) -> None:
    page = tmp_path / "site" / "index.html"
    page.parent.mkdir()
    page.write_text(SITE, encoding="utf-8")
    calls = [write_call("add_order", {}, "tags"), write_call("pay_order", {"order": 4711}, "tags")]
    model = script(tmp_path, *calls, "It is paid.")
    ran = command(
        "run", "site", "Order it, and pay.", "--yes", "--model", model, "--out", "run", cwd=tmp_path
    )
    assert ran.code == 0, ran.err
    said = {"role": "user", "type": "message", "content": "Order it, and pay."}
    expected = [
        {"functionName": "add_order", "mockOutput": "Added as order 4711."},
        {"functionName": "pay_order", "arguments": {"order": 4711}, "result": "Paid."},
    ]
    evals = [{"name": "Pay", "messages": [said], "expectedCall": expected}]
    (tmp_path / "evals.json").write_text(json.dumps(evals), encoding="utf-8")
    page.write_text(SITE.replace("4711", "815"), encoding="utf-8")
    for arguments in (["run"], ["evals.json", "--url", "site"]):
        ended = command("replay", *arguments, "--json", cwd=tmp_path)
        assert result(ended) == (0, True, [], [])
        line = ended.json_lines()[0]
        assert isinstance(line, dict)
        assert line["calls"] == [
            {"name": "add_order", "args": {}, "outcome": "ok"},
            {"name": "pay_order", "args": {"order": 815}, "outcome": "ok"},
        ]


def test_a_site_whose_script_fails_says_so_where_its_tools_are_missing(tmp_path: Path) -> None:
    page = tmp_path / "site" / "index.html"
    page.parent.mkdir()
    page.write_text(SITE.replace("const schema", "null.x; const schema"), encoding="utf-8")
    said = {"role": "user", "type": "message", "content": "Order."}
    case = {"name": "x", "messages": [said], "expectedCall": [{"functionName": "add_order"}]}
    (tmp_path / "evals.json").write_text(json.dumps([case]), encoding="utf-8")
    ended = command("replay", "evals.json", "--url", "site", "--json", cwd=tmp_path)
    code, _, failures, _ = result(ended)
    assert (code, failures) == (
        1,
        [
            "tool-gone: call 1: the page offers no tool 'add_order' here; it offers none; a script "
            "of the page failed: Cannot read properties of null (reading 'x')"
        ],
    )
    ended = command("tools", "site", cwd=tmp_path)
    assert ended.out == "This page has no tools right now.\n"
    assert "a script of it failed: Cannot read properties of null" in ended.err


SCENARIO = """
start: "shop:"
setup: [{ tool: open_product, args: { id: grid-notebook } }]
requests:
  - request: Add two.
    checks:
      calls: [{ tool: add_to_cart, args: { quantity: 2 } }]
      page: [{ js: shop.cart().length, equals: 1 }]
  - request: Make it {MANY}.
    checks:
      calls: [{ tool: set_quantity, args: { id: grid-notebook, quantity: "{MANY}" } }]
checks:
  answer: { contains: five }
  page: [{ js: "shop.cart()[0].quantity", equals: 5 }]
vars: { MANY: 5 }
"""


def test_the_calls_of_a_scenario_are_made_and_its_page_judged_where_the_file_judges_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.scenario.yaml").write_text(
        SCENARIO.replace("Make it {MANY}.", "'Make it {MANY}.'"), encoding="utf-8"
    )
    assert command("replay", ".", "--json", cwd=tmp_path).code == 0
    ended = command("replay", ".", "--var", "MANY=4", cwd=tmp_path)
    assert ended.code == 1
    assert "page: shop.cart()[0].quantity is 4, not 5" in ended.out


def test_what_cannot_be_replayed_is_an_error_and_not_a_pass(tmp_path: Path) -> None:
    (tmp_path / "a.scenario.yaml").write_text(
        'start: "shop:"\nrequests: [x]\nchecks: { answer: { contains: a } }\n', encoding="utf-8"
    )
    (tmp_path / "evals.json").write_text(json.dumps(EVALS), encoding="utf-8")
    ended = command("replay", ".", "--json", cwd=tmp_path)
    lines = [line for line in ended.json_lines() if isinstance(line, dict)]
    told = [json.loads(json.dumps(line["failures"]))[0]["message"] for line in lines[:-1]]
    assert told == [
        "it names no calls to be replayed",
        *["it names no page; give one with --url"] * 3,
    ]
    assert lines[-1] == {"type": "summary", "passed": 0, "failed": 0, "errors": 4}
    assert ended.code == 1


MISTAKES = [
    (["nowhere"], 2, "there is no file or folder nowhere"),
    (["broken"], 2, "parts.jsonl:1: this is no part of a run"),
    (["odd"], 2, "page.jsonl:1: this is neither a start nor a list of tools"),
    (["{run}", "--browser", "./none"], 3, "./none"),
    (["{run}", "--model", "x"], 2, "--model"),
]


@pytest.mark.parametrize(
    ("arguments", "code", "told"), MISTAKES, ids=[" ".join(row[0]) for row in MISTAKES]
)
def test_a_mistake_is_told_in_one_line(
    arguments: list[str], code: int, told: str, run: Path, tmp_path: Path
) -> None:
    for name, file in (("broken", "parts.jsonl"), ("odd", "page.jsonl")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "parts.jsonl").write_text("", encoding="utf-8")
        (tmp_path / name / file).write_text('{"type": "?"}\n{}\n', encoding="utf-8")
    ended = command("replay", *(each.format(run=run) for each in arguments), cwd=tmp_path)
    assert (ended.code, ended.out) == (code, "")
    assert told in ended.err
    assert "Traceback" not in ended.err
