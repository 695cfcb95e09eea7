"""The contract file: what it holds, that it stays the same, and how others are refused."""

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from webmcp_agent.browser.tools import JsonObject, PageTool
from webmcp_agent.scenarios.contract import (
    Contract,
    contract_of,
    contract_text,
    load_contract,
    write_contract,
)
from webmcp_agent.scenarios.contract_json import contract_json
from webmcp_agent.scenarios.errors import BadFile
from webmcp_agent.scenarios.tune_command import tools_in

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "quantity": {"type": "integer", "minimum": 1, "description": "How many of this product"}
    },
}
VIEW = PageTool(
    "view_cart",
    "Show the cart.",
    {"type": "object", "properties": {}, "required": []},
    read_only=True,
    origin="http://127.0.0.1:40123",
    frame="main",
    fingerprint="0123456789abcdef",
)
ADD = PageTool("add_to_cart", "Add it.", SCHEMA, title="", origin="http://127.0.0.1:40123")

TEXT = """\
{
  "contract": 1,
  "url": "shop:",
  "pages": [".", "product.html?id=mug"],
  "tools": [
    {
      "name": "add_to_cart",
      "pages": ["product.html?id=mug"],
      "description": "Add it.",
      "input_schema": {
        "type": "object",
        "properties": {
          "quantity": {
            "type": "integer",
            "minimum": 1,
            "description": "How many of this product"
          }
        }
      }
    },
    {
      "name": "view_cart",
      "description": "Show the cart.",
      "read_only": true,
      "input_schema": { "type": "object", "properties": {}, "required": [] }
    }
  ]
}
"""


def shop_contract() -> Contract:
    pages = {".": [VIEW], "product.html?id=mug": [VIEW, ADD]}
    return contract_of(pages, url="shop:", origin="http://127.0.0.1:40123")


def test_a_contract_is_sorted_and_holds_neither_ports_nor_frames_nor_fingerprints() -> None:
    assert contract_text(shop_contract()) == TEXT


def test_a_contract_reads_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "shop.contract.json"
    write_contract(path, shop_contract())
    assert path.read_text("utf-8") == TEXT
    assert load_contract(path) == shop_contract()
    assert [file.name for file in tmp_path.iterdir()] == ["shop.contract.json"]


def test_a_tool_with_two_forms_stands_there_once_for_each(tmp_path: Path) -> None:
    other = PageTool("view_cart", "Show the cart of this page.")
    contract = contract_of({".": [VIEW], "b.html": [other], "c.html": [VIEW]})
    path = tmp_path / "a.contract.json"
    write_contract(path, contract)
    assert [(t["name"], t["pages"]) for t in json.loads(path.read_text("utf-8"))["tools"]] == [
        ("view_cart", [".", "c.html"]),
        ("view_cart", ["b.html"]),
    ]
    assert load_contract(path).pages["b.html"] == (other,)


def test_a_schema_that_a_browser_gives_as_text_is_kept_as_the_object_it_means() -> None:
    texts = [json.dumps(SCHEMA), SCHEMA, "{", None]
    tools = [PageTool(f"tool_{at}", "A.", schema) for at, schema in enumerate(texts)]
    kept = contract_of({".": tools}).pages["."]
    assert [tool.input_schema for tool in kept] == [SCHEMA, SCHEMA, "{", None]


@pytest.mark.parametrize(
    ("url", "kept", "read"),
    [
        ("shop:", "shop:", "shop:"),
        ("https://shop.example/a", "https://shop.example/a", "https://shop.example/a"),
        ("http://127.0.0.1:40123/", None, None),
        ("http://localhost:3000/shop", None, None),
        ("{folder}/site", "../site", "{folder}/contracts/../site"),
    ],
)
def test_the_address_of_a_site_is_kept_when_it_means_the_same_elsewhere(
    url: str, kept: str | None, read: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "contracts" / "a.contract.json"
    path.parent.mkdir()
    write_contract(path, contract_of({".": []}, url=url.format(folder=tmp_path)))
    assert json.loads(path.read_text("utf-8")).get("url") == kept
    assert load_contract(path).url == (read and read.format(folder=tmp_path))


@pytest.mark.parametrize(
    ("origin", "kept"),
    [
        ("https://pay.example", "https://pay.example"),
        ("http://127.0.0.1:40999", "http://127.0.0.1"),
        ("https://shop.example", None),
        (None, None),
    ],
)
def test_the_origin_of_a_tool_is_kept_when_it_is_not_the_site(
    origin: str | None, kept: str | None
) -> None:
    tool = PageTool("pay", "Pay.", origin=origin)
    contract = contract_of({".": [tool]}, origin="https://shop.example")
    assert [each.origin for each in contract.pages["."]] == [kept]


def test_what_nobody_would_see_is_written_as_an_escape(tmp_path: Path) -> None:
    hidden = "Show\u200b the \u202ecart\U000e0041, mug \u00fc \U0001f600."
    path = tmp_path / "a.contract.json"
    write_contract(path, contract_of({".": [PageTool("view_cart", hidden)]}))
    assert r"Show\u200b the \u202ecart\udb40\udc41, mug ü 😀." in path.read_text("utf-8")
    assert load_contract(path).pages["."][0].description == hidden


def test_what_fits_stands_on_one_line_and_a_list_of_objects_does_not() -> None:
    deep: JsonValue = {"a": {"b": {"c": {"d": 1}}}}
    assert contract_json(deep) == (
        '{\n  "a": {\n    "b": {\n      "c": { "d": 1 }\n    }\n  }\n}\n'
    )
    choices: JsonValue = [[[[{"const": 1, "title": "One"}, {"const": 2, "title": "Two"}]]]]
    assert contract_json(choices).count("\n") > 4
    values: JsonValue = [["a", "b"], [1, None, True]]
    assert contract_json(values) == '[\n  ["a", "b"],\n  [1, null, true]\n]\n'


WRONG = [
    ("[]", "a.contract.json:1: this is no contract: it does not begin with \"contract\": 1"),
    ('{"contract": 2, "tools": []}',
     "a.contract.json:1: contract: this is version 2; versions up to 1 can be read here"),
    ('{"contract": true, "tools": []}', "contract: input should be a valid integer"),
    ('{"contract": 1}', "a.contract.json:1: 'tools' is missing"),
    ('{"contract": 1, "tools": [],\n "page": 1}', "a.contract.json:2: page: there is no such key"),
    ('{"contract": 1, "tools": [\n {"name": "a b"}]}', "a.contract.json:2: tools.1.name: string"),
    ('{"contract": 1, "tools": [{"name": "a"},\n {"name": "a"}]}',
     "a.contract.json:2: tools.2: the page '.' has a tool 'a' already"),
    ('{"contract": 1, "tools": [{"name": "a",\n "pages": ["b"]}]}',
     "a.contract.json:2: tools.1.pages.1: 'b' is not among the pages"),
    ('{"contract": 1, "pages": ["b", "b"], "tools": []}',
     "a.contract.json:1: pages: a page is listed twice"),
    ('{"contract": 1,\n "tools": [,]}', "a.contract.json:2: this is no JSON"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_a_file_that_is_no_contract_is_refused_with_line_and_key(
    text: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.contract.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadFile) as raised:
        load_contract(path)
    assert said in str(raised.value)


def test_an_adapter_can_be_tuned_for_a_contract(tmp_path: Path) -> None:
    path = tmp_path / "shop.contract.json"
    write_contract(path, shop_contract())
    assert [tool.name for tool in tools_in(path) or []] == ["add_to_cart", "view_cart"]
    path.write_text('{"contract": 1, "tools": [{"title": "A"}]}', encoding="utf-8")
    with pytest.raises(BadFile, match=r"tools\.1"):
        tools_in(path)
    assert tools_in(tmp_path / "missing.json") is None
