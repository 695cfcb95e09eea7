"""Documents of a made-up storefront: products and carts as it answers with them, and schemas.

Names and shapes are those of the Universal Commerce Protocol.
"""

from collections.abc import Sequence

from pydantic import JsonValue

from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.storefront_goods import Product, Variant, cheapest

_STATUS = {True: "in_stock", False: "out_of_stock"}


def product_document(
    product: Product, variants: Sequence[Variant], brand: str, currency: str
) -> JsonObject:
    """A product with its options and `variants`, in this order."""
    dearest = max(variant.price for variant in product.variants)
    return {
        "id": product.id,
        "title": product.title,
        "description": {"plain": f"{product.title} by {brand}."},
        "url": f"https://{brand.lower()}.example/{product.id.rsplit('/', 1)[-1]}",
        "price_range": {
            "min": _amount(cheapest(product), currency),
            "max": _amount(dearest, currency),
        },
        "options": [
            {"name": name, "values": [{"label": label} for label in labels]}
            for name, labels in product.options.items()
        ],
        "variants": [_variant(variant, currency) for variant in variants],
    }


def _variant(variant: Variant, currency: str) -> JsonObject:
    return {
        "id": variant.id,
        "title": variant.title,
        "price": _amount(variant.price, currency),
        "availability": {
            "available": variant.available,
            "status": _STATUS[variant.available],
        },
        "options": [{"name": name, "label": label} for name, label in variant.options.items()],
    }


def _amount(minor: int, currency: str) -> JsonObject:
    return {"amount": minor, "currency": currency}


def cart_document(
    lines: Sequence[tuple[Variant, int]],
    total: int,
    currency: str,
    ident: str | None,
    coupon: str | None,
) -> JsonObject:
    """A cart with its lines and sums; with `ident`, the lines have ids of their own, too.

    `total` in minor units, with what the coupon takes off."""
    told_lines: list[JsonValue] = []
    for variant, count in lines:
        item: JsonObject = {"id": variant.id, "title": variant.full_title, "price": variant.price}
        line: JsonObject = {"item": item, "quantity": count}
        line["totals"] = _sums(variant.price * count, variant.price * count, whole=ident is None)
        if ident is not None:
            line = {"id": variant.id.replace("ProductVariant", "CartLine"), **line}
        told_lines.append(line)
    told: JsonObject = {"ucp": envelope("cart")}
    if ident is not None:
        told["id"] = ident
    told |= {"line_items": told_lines, "currency": currency}
    if coupon:
        told["discounts"] = {"codes": [coupon]}
    subtotal = sum(variant.price * count for variant, count in lines)
    told["totals"] = _sums(subtotal, total, whole=ident is None)
    if not told_lines:
        told["messages"] = [info("cart_empty", "The cart is empty.")]
    return told


def _sums(subtotal: int, total: int, *, whole: bool) -> list[JsonValue]:
    sums: list[JsonValue] = [{"type": "total", "amount": total}]
    return sums if whole else [{"type": "subtotal", "amount": subtotal}, *sums]


def envelope(capability: str) -> JsonObject:
    """What every answer begins with."""
    return {"version": "2026-04-08", "status": "success", "capabilities": {capability: []}}


def info(code: str, content: str) -> JsonObject:
    """A message that tells something, and changes nothing."""
    return {"type": "info", "code": code, "content": content}


def object_of(required: Sequence[str] = (), /, **properties: JsonValue) -> JsonObject:
    """The schema of an object."""
    schema: JsonObject = {"type": "object", "properties": properties}
    return {**schema, "required": [*required]} if required else schema


def text_of(says: str = "") -> JsonObject:
    """The schema of a text."""
    return {"type": "string", "description": says} if says else {"type": "string"}


def minor_units(says: str) -> JsonObject:
    """The schema of an amount of money."""
    return {"type": "integer", "minimum": 0, "description": f"{says}, in minor units"}


def list_of(items: JsonObject) -> JsonObject:
    """The schema of a list."""
    return {"type": "array", "items": items}
