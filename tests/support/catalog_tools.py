"""Tools with nested inputs, as storefronts of the Universal Commerce Protocol register them."""

from pydantic import JsonValue

from webmcp_agent.browser.tools import PageTool

JsonObject = dict[str, JsonValue]


def an_object(properties: JsonObject, *required: str) -> JsonObject:
    needed: list[JsonValue] = [*required]
    return {"type": "object", "properties": properties, **({"required": needed} if needed else {})}


def a_list(items: JsonObject) -> JsonObject:
    return {"type": "array", "items": items}


def a_text(description: str) -> JsonObject:
    return {"type": "string", "description": description}


AMOUNT: JsonObject = {"type": "integer", "minimum": 0}
CONTEXT = an_object({"address_country": a_text("Country"), "language": a_text("Language")})
FILTERS = an_object({"price": an_object({"min": AMOUNT, "max": AMOUNT})})
PAGINATION = an_object(
    {"cursor": a_text("Cursor"), "limit": {"type": "integer", "minimum": 1, "default": 10}}
)
CATALOG = an_object(
    {
        "query": a_text("Words to look for"),
        "context": CONTEXT,
        "filters": FILTERS,
        "pagination": PAGINATION,
    },
    "query",
)
LINE = an_object(
    {"item": an_object({"id": a_text("Variant id")}, "id"), "quantity": AMOUNT}, "item", "quantity"
)
CART = an_object(
    {"line_items": a_list(LINE), "discounts": an_object({"codes": a_list({"type": "string"})})},
    "line_items",
)

SEARCH_CATALOG = PageTool(
    name="search_catalog",
    description="Find products of the shop.",
    input_schema=an_object({"catalog": CATALOG}, "catalog"),
    read_only=True,
    untrusted=True,
    fingerprint="search-1",
)
UPDATE_CART = PageTool(
    name="update_cart",
    description="Add a variant to the cart or change how many there are.",
    input_schema=an_object({"cart": CART}, "cart"),
    fingerprint="cart-1",
)
