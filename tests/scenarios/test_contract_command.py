"""`webmcp-agent contract` on the demo shop, and on shops that changed."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import command
from playwright.async_api import Browser
from pydantic import JsonValue

from webmcp_agent.browser.tools import PageTool
from webmcp_agent.scenarios.contract import Contract, contract_of, load_contract, write_contract
from webmcp_agent.scenarios.contract_changes import Change, differences
from webmcp_agent.scenarios.contract_lint import lint
from webmcp_agent.scenarios.contract_pages import live_contract
from webmcp_agent.scenarios.contract_view import changes_markdown
from webmcp_agent.scenarios.errors import WrongUsage
from webmcp_agent.scenarios.serve import SHOP

PRODUCT = "product.html?id=blue-stoneware-mug"
PAGES = [".", PRODUCT]


def test_a_saved_contract_is_the_same_each_time_and_holds(tmp_path: Path) -> None:
    first = command("contract", "save", "shop:", "a.contract.json", "--page", PRODUCT, cwd=tmp_path)
    assert (first.code, first.out) == (0, "saved a.contract.json: 10 tools on 2 pages\n")
    text = (tmp_path / "a.contract.json").read_text("utf-8")
    again = command("contract", "save", "shop:", "a.contract.json", cwd=tmp_path)
    assert (again.code, again.out) == (
        0,
        "no changes\nsaved a.contract.json: 10 tools on 2 pages\n",
    )
    assert (tmp_path / "a.contract.json").read_text("utf-8") == text
    assert "127.0.0.1" not in text
    held = command("contract", "check", "shop:", "a.contract.json", "--json", cwd=tmp_path)
    assert (held.code, held.json_lines()) == (
        0,
        [{"breaking": [], "compatible": [], "cosmetic": []}],
    )


def test_a_broken_contract_exits_with_1_and_says_what_breaks_for_whom(tmp_path: Path) -> None:
    changed_shop(tmp_path, 'name: "search_products"', 'name: "find_products"')
    write_contract(tmp_path / "a.contract.json", shop_contract())
    ended = command("contract", "check", "site", "a.contract.json", cwd=tmp_path)
    assert (ended.code, ended.out) == (
        1,
        "breaking   search_products: is gone; renamed to find_products?\n"
        "           breaks whoever calls search_products\n"
        "1 breaking, 0 compatible, 0 cosmetic changes\n",
    )


@pytest.fixture(scope="module")
async def kept(chromium: Browser) -> Contract:
    """The contract of two pages of the shop as it is."""
    return await live_contract(chromium, "shop:", PAGES)


def shop_contract() -> Contract:
    """What the front page of the shop offers."""
    return load_contract(Path(__file__).parents[1] / "snapshots" / "shop.contract.json")


def changed_shop(folder: Path, old: str, new: str, file: str = "tools.js") -> Path:
    """A copy of the shop with one change."""
    shutil.copytree(SHOP, folder / "site")
    script = folder / "site" / file
    text = script.read_text("utf-8")
    assert text.count(old) == 1, text.count(old)
    script.write_text(text.replace(old, new), encoding="utf-8")
    return folder / "site"


CAUGHT: list[tuple[str, str, str, list[str]]] = [
    (
        "tool renamed",
        'name: "add_to_cart"',
        'name: "put_in_cart"',
        [
            "breaking add_to_cart: is gone; renamed to put_in_cart? "
            "(breaks whoever calls add_to_cart)"
        ],
    ),
    (
        "parameter required",
        '      ["query"],\n',
        '      ["query", "category"],\n',
        ["breaking search_products: category is required now (breaks calls without category)"],
    ),
    (
        "enum narrowed",
        'enum: Object.keys(SORTS), description',
        'enum: Object.keys(SORTS).slice(1), description',
        [
            'breaking search_products: sort no longer takes "relevance" '
            '(breaks calls with sort "relevance")'
        ],
    ),
    (
        "description rewritten",
        '"Show what is in the cart and the total price."',
        '"Everything a customer needs before paying."',
        [
            "cosmetic view_cart: the description is rewritten; a model may read it differently: "
            '"Everything a customer needs before paying.", '
            'was "Show what is in the cart and the total price."'
        ],
    ),
    (
        "wrong page",
        "if (product) tools.push(...ofProduct(product));",
        "if (!product) tools.push(...ofProduct(PRODUCTS[0]));",
        [
            "breaking add_to_cart: is gone (breaks whoever calls add_to_cart)",
            "breaking get_reviews: is gone (breaks whoever calls get_reviews)",
            "compatible add_to_cart: is new",
            "compatible get_reviews: is new",
        ],
    ),
    (
        "tool throws",
        "execute: async () => cartValue(),",
        'execute: async () => { throw new Error("closed"); },',
        [],
    ),
    (
        "result shape changed",
        "results: found.slice(0, MOST_RESULTS).map(cart.brief)",
        "items: found.slice(0, MOST_RESULTS).map(cart.brief)",
        [],
    ),
    (
        "slow tool",
        "execute: async () => cartValue(),",
        "execute: async () => new Promise((done) => setTimeout(() => done(cartValue()), 5000)),",
        [],
    ),
    (
        "late registration",
        "  for (const tool of tools) modelContext.registerTool(tool);",
        "  setTimeout(() => tools.forEach((tool) => modelContext.registerTool(tool)), 600);",
        [],
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "told"), [case[1:] for case in CAUGHT], ids=[case[0] for case in CAUGHT]
)
async def test_a_contract_catches_what_the_tools_say_and_leaves_the_rest_to_others(
    old: str, new: str, told: list[str], tmp_path: Path, chromium: Browser, kept: Contract
) -> None:
    now = await live_contract(chromium, str(changed_shop(tmp_path, old, new)), PAGES)
    assert [f"{each.level} {each.sentence}" for each in differences(kept, now)] == told


async def test_a_tool_on_the_wrong_page_is_told_with_its_pages(
    tmp_path: Path, chromium: Browser, kept: Contract
) -> None:
    old, new = CAUGHT[4][1:3]
    now = await live_contract(chromium, str(changed_shop(tmp_path, old, new)), PAGES)
    assert [(each.tool, each.kind, each.pages) for each in differences(kept, now)] == [
        ("add_to_cart", "tool-gone", (PRODUCT,)),
        ("get_reviews", "tool-gone", (PRODUCT,)),
        ("add_to_cart", "tool-new", (".",)),
        ("get_reviews", "tool-new", (".",)),
    ]


async def test_the_contract_of_the_shop_is_the_one_in_the_snapshot(chromium: Browser) -> None:
    now = await live_contract(chromium, "shop:")
    assert differences(shop_contract(), now) == []
    assert now == shop_contract()


async def test_the_shop_lints_clean(chromium: Browser) -> None:
    pages = [*PAGES, "cart.html", "checkout.html"]
    assert lint(await live_contract(chromium, "shop:", pages)) == []


async def test_a_page_that_the_site_no_longer_has_breaks_the_contract(
    tmp_path: Path, chromium: Browser
) -> None:
    before = await live_contract(chromium, "shop:", [".", "cart.html"])
    shutil.copytree(SHOP, tmp_path / "site")
    (tmp_path / "site" / "cart.html").unlink()
    now = await live_contract(chromium, str(tmp_path / "site"), list(before.pages))
    assert [each.sentence for each in differences(before, now)] == [
        "the page cart.html is gone (breaks whoever calls its tools)"
    ]


async def test_a_page_of_another_site_needs_another_contract(chromium: Browser) -> None:
    with pytest.raises(WrongUsage, match="another contract"):
        await live_contract(chromium, "shop:", [".", "https://shop.example/"])


def two_contracts(folder: Path) -> None:
    tool = PageTool("view_cart", "Show the cart | total.", read_only=True)
    write_contract(folder / "old.contract.json", contract_of({".": [tool], "b.html": [tool]}))
    other = PageTool("view_cart", "Cart of <b>@bob</b>.", read_only=True)
    pages = {".": [other, PageTool("pay", "Pay.")], "b.html": []}
    write_contract(folder / "new.contract.json", contract_of(pages))


def test_a_diff_as_json_lists_the_changes_by_level(tmp_path: Path) -> None:
    two_contracts(tmp_path)
    ended = command(
        "contract", "diff", "old.contract.json", "new.contract.json", "--json", cwd=tmp_path
    )
    assert ended.code == 1
    gone: JsonValue = {
        "tool": "view_cart", "kind": "tool-gone", "at": "", "text": "is gone",
        "affects": "whoever calls view_cart", "pages": ["b.html"],
    }  # fmt: skip
    new: JsonValue = {
        "tool": "pay", "kind": "tool-new", "at": "", "text": "is new", "affects": "",
        "pages": ["."],
    }  # fmt: skip
    (found,) = ended.json_lines()
    assert isinstance(found, dict)
    assert (list(found), found["breaking"], found["compatible"]) == (
        ["breaking", "compatible", "cosmetic"],
        [gone],
        [new],
    )


def test_a_diff_as_markdown_shows_text_of_the_page_as_it_is_and_mentions_nobody(
    tmp_path: Path,
) -> None:
    two_contracts(tmp_path)
    ended = command(
        "contract", "diff", "old.contract.json", "new.contract.json", "--markdown", cwd=tmp_path
    )
    assert ended.out == (
        "### WebMCP tools: 1 breaking, 1 compatible, 1 cosmetic changes\n\n"
        "**Breaking (1)**\n\n"
        "| tool | change | breaks |\n| --- | --- | --- |\n"
        "| `view_cart` | is gone (on b.html) | whoever calls view\\_cart |\n\n"
        "<details><summary>Compatible (1)</summary>\n\n"
        "| tool | change |\n| --- | --- |\n"
        "| `pay` | is new (on the start page) |\n\n"
        "</details>\n\n"
        "<details><summary>Cosmetic (1)</summary>\n\n"
        "| tool | change |\n| --- | --- |\n"
        "| `view_cart` | the description is rewritten; a model may read it differently: "
        '"Cart of \\<b\\>@<!-- -->bob\\</b\\>.", was "Show the cart \\| total." '
        "(on the start page) |\n\n"
        "</details>\n"
    )


def test_cosmetic_changes_hold_a_contract_unless_it_is_strict(tmp_path: Path) -> None:
    for name, text in (("old", "Show the cart."), ("new", "Show the whole cart.")):
        pages = {".": [PageTool("view_cart", text)]}
        write_contract(tmp_path / f"{name}.contract.json", contract_of(pages))
    files = ("old.contract.json", "new.contract.json")
    loose = command("contract", "diff", *files, cwd=tmp_path)
    strict = command("contract", "diff", *files, "--strict", cwd=tmp_path)
    assert (loose.code, strict.code) == (0, 1)
    assert loose.out == strict.out
    assert loose.out.endswith("0 breaking, 0 compatible, 1 cosmetic changes\n")


def test_a_markdown_without_changes_says_so() -> None:
    assert changes_markdown([], ["."]) == "### WebMCP tools: no changes\n"
    change = Change("breaking", "page-gone", "", "the page b is gone", "whoever", pages=("b",))
    assert "|  | the page b is gone | whoever |" in changes_markdown([change], [".", "b"])


def test_lint_reads_a_contract_and_its_rules_can_be_switched_off(tmp_path: Path) -> None:
    tools = [PageTool("get_item", "Read one of them.", read_only=True), PageTool("delete_it", "")]
    write_contract(tmp_path / "a.contract.json", contract_of({".": tools}))
    lint_it = ("contract", "lint", "a.contract.json")
    found = command(*lint_it, "--json", cwd=tmp_path)
    assert (found.code, found.json_lines()) == (
        1,
        [
            [
                {"rule": "no-description", "level": "error", "tool": "delete_it",
                 "message": "there is no description"},
                {"rule": "missing-consequential-hint", "level": "warning", "tool": "delete_it",
                 "message": "to delete is hard to undo, and it is not marked as consequential"},
            ]
        ],
    )  # fmt: skip
    without = command(*lint_it, "--off", "no-description", cwd=tmp_path)
    assert (without.code, without.out) == (
        0,
        "warning delete_it: to delete is hard to undo, and it is not marked as consequential"
        "  [missing-consequential-hint]\n1 finding: 2 tools on 1 page\n",
    )
    strict = command(*lint_it, "--off", "no-description", "--strict", cwd=tmp_path)
    assert strict.code == 1


def wrong_file(folder: Path) -> None:
    (folder / "a.contract.json").write_text('{"contract": 1,\n "tools": 1}', encoding="utf-8")


MISTAKES: list[tuple[list[str], Callable[[Path], None] | None, int, str]] = [
    (["check", "shop:", "missing.contract.json"], None, 2, "missing.contract.json: it cannot be"),
    (["check", "shop:", "a.contract.json"], wrong_file, 2, "a.contract.json:2: tools: input"),
    (["save", "shop:", "a.contract.json"], wrong_file, 2, "a.contract.json:2: tools: input"),
    (["save", "shop:", "no-folder/a.contract.json"], None, 2, "no file in a folder that is there"),
    (["diff", "a", "b", "--json", "--markdown"], None, 2, "choose one"),
    (["lint", "shop:", "--off", "no-rule"], None, 2, "there is no rule 'no-rule'; the rules are"),
    (["lint", "no-such-folder"], None, 2, "no-such-folder"),
    (["check", "http://127.0.0.1:9/", "old.contract.json"], two_contracts, 3, "refuse"),
]


@pytest.mark.parametrize(
    ("arguments", "given", "code", "said"), MISTAKES, ids=[" ".join(m[0]) for m in MISTAKES]
)
def test_a_mistake_is_one_line_and_its_exit_code(
    arguments: list[str],
    given: Callable[[Path], None] | None,
    code: int,
    said: str,
    tmp_path: Path,
) -> None:
    if given is not None:
        given(tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    ended = command("contract", *arguments, cwd=tmp_path)
    assert (ended.code, ended.out) == (code, "")
    assert said in ended.err
    assert ended.err.count("\n") == 1
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_no_half_file_is_left_when_it_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "a.contract.json"
    path.mkdir()
    with pytest.raises(OSError, match="directory"):
        write_contract(path, contract_of({".": []}))
    assert [each.name for each in tmp_path.iterdir()] == ["a.contract.json"]
    assert json.dumps([*path.iterdir()]) == "[]"
