"""Answers of a shop in the shape of the Universal Commerce Protocol, of any length."""

import json

from pydantic import JsonValue

JsonObject = dict[str, JsonValue]

PROTOCOL: JsonObject = {
    "version": "2026-01-11",
    "status": "success",
    "capabilities": {"dev.ucp.shopping.catalog.search": [{"version": "2026-01-11"}]},
}
_KINDS = ("Harbour", "Meadow", "Ridge", "Tide")
_COLORS = ("Blue", "Red")
_SIZES = ("41", "42", "43")


def written(answer: JsonValue) -> str:
    """An answer as the browser hands it on."""
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))


def money(amount: int) -> JsonObject:
    return {"amount": amount, "currency": "EUR"}


def picture(name: str) -> JsonObject:
    return {
        "type": "image",
        "url": f"https://cdn.shop.example/files/{name}.jpg?v=1700000000",
        "alt_text": "A boot from the side",
        "width": 1200,
        "height": 1200,
    }


def variant(number: int, at: int) -> JsonObject:
    color, size = _COLORS[at // len(_SIZES)], _SIZES[at % len(_SIZES)]
    gone = (color, size) == ("Red", "42")
    return {
        "id": f"gid://shop/ProductVariant/{40_000 + 10 * number + at}",
        "sku": f"B-{number}-{color[0]}{size}",
        "title": f"{color} / {size}",
        "description": {"plain": f"The boot in {color} and {size}"},
        "price": money(4900 + 350 * number),
        "list_price": money(5900 + 350 * number),
        "availability": {"available": not gone, "status": "out_of_stock" if gone else "in_stock"},
        "options": [{"name": "Color", "label": color}, {"name": "Size", "label": size}],
        "media": [picture(f"{number}-{at}")],
        "url": f"https://shop.example/products/boot-{number}?variant={at}",
    }


def product(number: int) -> JsonObject:
    """A product with six variants, one of them sold out: about 4,500 characters."""
    low = 4900 + 350 * number
    colors: list[JsonValue] = [{"label": color} for color in _COLORS]
    sizes: list[JsonValue] = [{"label": size} for size in _SIZES]
    variants: list[JsonValue] = [variant(number, at) for at in range(6)]
    pictures: list[JsonValue] = [picture(str(number))] * 3
    return {
        "id": f"gid://shop/Product/{1000 + number}",
        "handle": f"boot-{number}",
        "title": f"{_KINDS[number % len(_KINDS)]} boot {number}",
        "description": {
            "plain": "A boot for wet days, with a warm lining and a sole that grips. " * 4,
            "html": "<p>A boot for <b>wet days</b></p>" * 4,
        },
        "url": f"https://shop.example/products/boot-{number}",
        "categories": [{"value": "boots", "taxonomy": "merchant"}],
        "price_range": {"min": money(low), "max": money(low + 500 * (number % 3))},
        "media": pictures,
        "options": [{"name": "Color", "values": colors}, {"name": "Size", "values": sizes}],
        "variants": variants,
        "rating": {"value": 4.5, "scale_max": 5, "count": 120 + number},
        "tags": ["boots", "winter"],
        "vendor": "Northway",
    }


def catalog(count: int) -> JsonObject:
    """What a search answers."""
    products: list[JsonValue] = [product(number) for number in range(count)]
    return {
        "ucp": PROTOCOL,
        "products": products,
        "pagination": {"has_next_page": True, "cursor": "eyJsIjo1fQ==", "total_count": 57},
        "messages": [],
        "links": [{"type": "faq", "url": "https://shop.example/faq"}],
    }


def cart(count: int) -> JsonObject:
    """A cart whose amounts have their currency beside the lines."""
    lines: list[JsonValue] = [
        {
            "id": f"gid://shop/CartLine/{number}",
            "item": {
                "id": f"gid://shop/ProductVariant/{40_000 + number}",
                "title": f"Harbour boot {number} - Blue / 42",
                "price": 9800,
                "image_url": f"https://cdn.shop.example/files/{number}.jpg",
            },
            "quantity": number + 1,
            "totals": [
                {"type": "subtotal", "amount": 9800 * (number + 1)},
                {"type": "total", "amount": 9800 * (number + 1)},
            ],
        }
        for number in range(count)
    ]
    return {
        "ucp": PROTOCOL,
        "id": "gid://shop/Cart/abc123?key=77",
        "line_items": lines,
        "currency": "EUR",
        "totals": [
            {"type": "subtotal", "display_text": "Subtotal", "amount": 29400},
            {"type": "fulfillment", "display_text": "Shipping", "amount": 490},
            {"type": "total", "display_text": "Total", "amount": 29890},
        ],
        "messages": [
            {
                "type": "warning",
                "code": "low_stock",
                "path": "$.line_items[0]",
                "content": "Only 2 left.",
                "severity": "recoverable",
            }
        ],
        "links": [{"type": "privacy_policy", "url": "https://shop.example/privacy"}],
        "continue_url": "https://shop.example/cart/c/abc123?key=77",
    }
