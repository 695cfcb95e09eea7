"""Lessons in made-up storefronts: what is learnt can be called, said, and read in the results."""

import json

from pydantic import JsonValue

from webmcp_agent.browser.tools import JsonObject, ToolFail, ToolOk
from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.scenarios.curriculum import Curriculum, Example, Mix
from webmcp_agent.scenarios.exam import is_right
from webmcp_agent.scenarios.phrases import domains
from webmcp_agent.scenarios.shop_world import ShopMix
from webmcp_agent.scenarios.storefront_world import Storefront
from webmcp_agent.scenarios.vocabulary import Draw

STOREFRONTS = Mix((0, 0, 0, 0, 0, 0, 1), talk=0.0, near=0.0, shops=ShopMix())


def examples(count: int) -> list[Example]:
    made = Curriculum(11, STOREFRONTS).conversations(count)
    return [example for examples in made for example in examples]


def names(schema: JsonObject) -> set[str]:
    """The parameters of a schema."""
    properties = schema["properties"]
    assert isinstance(properties, dict)
    return set(properties)


def test_every_reply_of_the_teacher_would_pass_the_exam() -> None:
    for example in examples(60):
        assert is_right(example, example.reply), (example.messages, example.reply)


def test_calls_are_learnt_in_the_form_that_is_shown_and_constrained() -> None:
    for example in examples(40):
        held = {each.name: names(each.schema) for each in example.constraints}
        shown = {tool.name: names(tool.parameters) for tool in example.tools}
        # What needs an id that nobody has said is shown and cannot be written yet.
        assert all(parameters <= shown[name] for name, parameters in held.items())
        if any(turn.role == "tool" for turn in example.messages):
            assert held == shown
        if example.call is not None:
            written = json.loads(example.reply.split(">", 1)[1].rsplit("<", 1)[0])["arguments"]
            assert set(written) <= held[example.call[0]]


def test_the_id_that_is_bought_stands_in_a_result() -> None:
    for example in examples(60):
        if example.call is None or example.call[0] != "update_cart":
            continue
        told = " ".join(turn.content for turn in example.messages if turn.role == "tool")
        cart = json.loads(example.call[1])["cart"]
        for line in cart.get("line_items", []):
            assert line["item"]["id"] in told


async def test_a_simulated_storefront_works_on_its_state() -> None:
    shop = Storefront(Draw("a storefront"), domains("shop", False)[0])
    variant = next(variant for variant in shop.variants if variant.available)
    sold_out = next(variant for variant in shop.variants if not variant.available)

    async def update(ident: str, count: int) -> ToolOk | ToolFail:
        cart: JsonValue = {"line_items": [{"item": {"id": ident}, "quantity": count}]}
        call = shop.made("update", cart=cart)
        return await shop.call_tool(call.name, call.args, call_id="c", signal=AbortSignal())

    answer = await update(variant.id, 2)
    assert isinstance(answer, ToolOk)
    assert shop.cart == {variant.id: 2}
    assert shop.total() == 2 * variant.price
    refused = await update(sold_out.id, 1)
    assert refused == ToolFail("failed", f"{sold_out.full_title} is sold out.")
    unknown = await update("gid://nobody/ProductVariant/1", 1)
    assert isinstance(unknown, ToolFail)
    assert shop.cart == {variant.id: 2}
    await update(variant.id, 0)
    assert shop.cart == {}
