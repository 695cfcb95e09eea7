"""Generated conversations: the loop's own form, deterministic, truthful, split from held-out."""

import asyncio
import json
from collections import Counter

import pytest

from webmcp_agent.agent.prompt import ROLE
from webmcp_agent.agent.validation import ValidArgs, validate_args
from webmcp_agent.agent.wrappers import flat_tool
from webmcp_agent.browser.tools import ToolOk
from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.argument_schema import decoding_schema
from webmcp_agent.scenarios.curriculum import (
    BROAD,
    CHOICES,
    FORMS,
    NAMES,
    REFUSALS,
    REQUESTS,
    SHOPS,
    STEPS,
    UNSEEN,
    USUAL,
    VALUES,
    Curriculum,
    Example,
    Mix,
    conversations_of,
    make_lesson,
    record,
)
from webmcp_agent.scenarios.exam import is_right
from webmcp_agent.scenarios.phrases import data, domains, plural
from webmcp_agent.scenarios.shop_wishes import Wish
from webmcp_agent.scenarios.shop_world import Shop
from webmcp_agent.scenarios.simulator import Lesson, Record, Reply, Script, Turn
from webmcp_agent.scenarios.vocabulary import Draw, Style, styled, with_articles

FEW = 120


def examples(mix: Mix, *, unseen: bool = False, count: int = FEW) -> list[Example]:
    made = Curriculum(7, mix, unseen).conversations(count)
    return [example for conversation in made for example in conversation]


@pytest.mark.parametrize(
    "mix", [BROAD, SHOPS, NAMES, VALUES, CHOICES, FORMS, REQUESTS, REFUSALS, STEPS, UNSEEN]
)
def test_the_same_seed_makes_the_same_conversations(mix: Mix) -> None:
    unseen = mix is UNSEEN
    assert examples(mix, unseen=unseen, count=30) == examples(mix, unseen=unseen, count=30)


def test_every_call_is_one_that_the_page_accepts_and_every_answer_would_pass() -> None:
    seen = [
        *examples(BROAD),
        *examples(SHOPS),
        *examples(NAMES),
        *examples(VALUES),
        *examples(CHOICES),
        *examples(FORMS),
        *examples(REQUESTS),
        *examples(REFUSALS),
        *examples(STEPS),
        *examples(UNSEEN, unseen=True),
        *examples(USUAL, unseen=True),
    ]
    for example in seen:
        assert is_right(example, example.reply), (example.reply, example.facts)
        if example.call is None:
            continue
        name, args = example.call
        tool = next(tool for tool in example.page_tools if tool.name == name)
        checked = validate_args(tool, json.loads(args))
        assert isinstance(checked, ValidArgs)
        assert checked.args == json.loads(args)
    kinds = Counter(example.kind for example in seen)
    assert set(kinds) == {"call", "answer", "after-error", "refusal", "talk"}


def test_arguments_are_written_in_the_order_to_which_decoding_holds_them() -> None:
    several = 0
    for example in [*examples(SHOPS), *examples(FORMS)]:
        if example.call is None:
            continue
        [written] = [json.loads(line) for line in example.reply.split("\n") if line[:1] == "{"]
        tool = next(tool for tool in example.page_tools if tool.name == written["name"])
        schema = flat_tool(tool).input_schema
        assert isinstance(schema, dict)
        properties = decoding_schema(schema)["properties"]
        assert isinstance(properties, dict)
        order = [name for name in properties if name in written["arguments"]]
        assert [*written["arguments"]] == order
        several += len(order) > 2
    assert several > 10


def test_prompts_are_those_of_the_loop() -> None:
    for example in examples(BROAD, count=40):
        assert example.system.startswith(ROLE)
        assert "Example call:" in example.system
        assert 1 <= len(example.tools) <= 8
        assert example.messages[-1].role in {"user", "tool"}
        assert all(len(turn.content) <= 1500 for turn in example.messages if turn.role == "tool")


def test_few_lessons_are_left_out_because_loop_and_teacher_disagree() -> None:
    curriculum = Curriculum(3, SHOPS)
    assert len([*curriculum.conversations(200)]) == 200
    assert curriculum.left_out <= 6


def test_what_is_sold_out_is_passed_over_only_where_the_list_says_so() -> None:
    things: list[Record] = [
        {"id": 1, "price": 5, "rating": 4.0, "in_stock": False},
        {"id": 2, "price": 7, "rating": 4.8, "in_stock": True},
        {"id": 3, "price": 9, "rating": 4.9, "in_stock": False},
    ]
    wishes = [Wish("mugs", mode) for mode in ("first", "cheapest", "dearest", "best")]
    assert [(wish.chosen(things) or {}).get("id") for wish in wishes] == [1, 1, 3, 3]
    assert [(wish.chosen(things, in_stock=True) or {}).get("id") for wish in wishes] == [2] * 4
    assert Wish("mugs", "cheapest").chosen(things[:1], in_stock=True) == things[0]


def test_domains_kept_for_evaluation_never_occur_in_training() -> None:
    for kind in ("shop", "booking", "records", "devices", "ledger", "theme"):
        seen = {domain["id"] for domain in domains(kind, False)}
        kept = {domain["id"] for domain in domains(kind, True)}
        assert seen
        assert kept
        assert not seen & kept
    sites = sum(len(data("domains")[kind]) for kind in data("domains"))
    assert sites + len(data("themes")["theme"]) >= 70


def test_arguments_are_copied_from_the_request_or_from_a_result() -> None:
    for example in examples(SHOPS, count=60):
        if example.call is None or example.site != "shop":
            continue
        told = " ".join(turn.content for turn in example.messages).lower()
        for name, value in json.loads(example.call[1]).items():
            if isinstance(value, str) and "sort" not in name and "order" not in name:
                assert value.lower() in told, (name, value)


def test_one_conversation_is_learnt_from_its_last_prompt_with_all_its_replies() -> None:
    made = list(Curriculum(7, SHOPS).conversations(80))
    longest = max(made, key=len)
    learnt = conversations_of(longest)
    last = learnt[-1]
    assert last.reply == longest[-1].reply
    replies = {example.reply for example in longest}
    assert last.learnt
    assert {last.prompt.messages[index].content for index in last.learnt} <= replies
    assert len(learnt) <= len(longest)


def test_a_lesson_that_the_loop_ends_differently_is_left_out() -> None:
    lesson = make_lesson("1")

    def script() -> Script:
        yield Reply("answer", "Hello.")
        yield Reply("answer", "Nobody asks for this one.")

    unfinished = Lesson("shop", lesson.world, [Turn("hello", script)])
    with pytest.raises(Exception, match="after 'hello'"):
        asyncio.run(record(unfinished))


async def test_a_simulated_shop_works_on_its_state() -> None:
    shop = Shop(Draw("a shop"), domains("shop", False)[0], "known")
    shop.paged = False
    item = next(item for item in shop.items if item["in_stock"])
    shop.cart_lines = {str(item["id"]): 2}
    cart = shop.made("cart")
    answer = await shop.call_tool(cart.name, cart.args, call_id="c", signal=AbortSignal())
    assert isinstance(answer, ToolOk)
    assert str(item["title"]) in answer.text
    assert shop.total() == round(float(str(item["price"])) * 2, 2)
    missing = await shop.call_tool("no_such_tool", {}, call_id="c", signal=AbortSignal())
    assert not isinstance(missing, ToolOk)
    assert missing.code == "not-found"


@pytest.mark.parametrize(
    ("style", "name"),
    [
        ("snake", "search_products"),
        ("camel", "searchProducts"),
        ("pascal", "SearchProducts"),
        ("kebab", "search-products"),
        ("dotted", "products.search"),
    ],
)
def test_names_come_in_five_styles(style: Style, name: str) -> None:
    assert styled(["search", "products"], style) == name


@pytest.mark.parametrize(
    ("one", "many"),
    [
        ("trail running shoe", "trail running shoes"),
        ("chef knife", "chef knives"),
        ("bookshelf", "bookshelves"),
        ("pair of binoculars", "pairs of binoculars"),
        ("city", "cities"),
        ("lunch box", "lunch boxes"),
    ],
)
def test_plurals(one: str, many: str) -> None:
    assert plural(one) == many


def test_an_article_stands_right_before_a_vowel() -> None:
    assert with_articles("Add a item to a cart, a one") == "Add an item to a cart, a one"


def test_no_exchanged_word_is_one_that_evaluation_keeps_for_itself() -> None:
    """A verb of an unseen name is never learnt as another word for a known one."""
    entries = [
        entry for file in ("shop", "booking", "records") for entry in data(file)["tool"].values()
    ]

    def verbs(key: str) -> set[str]:
        return {name.split()[0] for entry in entries for name in str(entry[key]).split("|")}

    kept = verbs("unseen") - verbs("known") - {"bookings"}
    table = data("synonyms")
    exchanged = {
        word.split()[0]
        for group in ("verb", "word")
        for many in table[group].values()
        for word in many
    } | {word for many in table["around"].values() for word in many}
    assert kept & exchanged == set()


def test_widely_worded_names_are_new_ones_for_the_same_tools() -> None:
    usual = {tool.name for e in examples(BROAD, count=60) for tool in e.page_tools}
    wide = {tool.name for e in examples(NAMES, count=60) for tool in e.page_tools}
    assert len(wide - usual) > len(usual) / 2
