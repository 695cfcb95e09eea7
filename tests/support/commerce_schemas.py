"""Schemas of what a storefront answers: our own reading of the Universal Commerce Protocol.

With `UCP_SCHEMAS` set to a folder of the protocol's own schemas, `published` gives those instead.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, Protocol

from jsonschema import Draft202012Validator, ValidationError
from pydantic import JsonValue
from referencing import Registry
from referencing.jsonschema import DRAFT202012

Kind = Literal["search", "lookup", "product", "cart", "checkout", "error"]

FOLDER = os.environ.get("UCP_SCHEMAS")

TEXT = {"type": "string", "minLength": 1}
ADDRESS = {"type": "string", "pattern": "^https?://"}
MINOR = {"type": "integer", "minimum": 0}
FACT = {"type": "boolean"}


def record(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    """An object with these members and no others."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def many(items: Any, least: int = 0) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": least}


def some(*values: str) -> dict[str, Any]:
    return {"enum": list(values)}


MONEY = record({"amount": MINOR, "currency": {"const": "EUR"}})
RANGE = record({"min": MONEY, "max": MONEY})
LINK = record({"type": TEXT, "url": ADDRESS, "title": TEXT})
IMAGE = record(
    {
        "type": {"const": "image"},
        "url": ADDRESS,
        "alt_text": TEXT,
        "width": {"type": "integer", "minimum": 1},
        "height": {"type": "integer", "minimum": 1},
    }
)
CHOICE = record({"name": TEXT, "label": TEXT})
MATCH = record({"id": TEXT, "match": some("exact", "featured")})
PATH = {"type": "string", "pattern": r"^\$\."}
MESSAGE = {
    "oneOf": [
        record({"type": {"const": "info"}, "code": TEXT, "content": TEXT}),
        record({"type": {"const": "warning"}, "code": TEXT, "content": TEXT}, {"path": PATH}),
        record(
            {
                "type": {"const": "error"},
                "code": TEXT,
                "content": TEXT,
                "severity": some(
                    "recoverable",
                    "requires_buyer_input",
                    "requires_buyer_review",
                    "unrecoverable",
                ),
            },
            {"path": PATH},
        ),
    ]
}
POLICY = record(
    {
        "type": {"type": "string", "pattern": r"^[a-z]+(\.[a-z_]+)+$"},
        "description": record({"plain": TEXT}),
        "url": ADDRESS,
    },
    {"applies_to": many(PATH)},
)


def envelope(status: str = "success") -> dict[str, Any]:
    return record(
        {
            "version": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\d$"},
            "status": {"const": status},
            "capabilities": {
                "type": "object",
                "propertyNames": {"pattern": r"^dev\.ucp\.shopping\.[a-z.]+$"},
                "additionalProperties": many(record({"version": TEXT}), 1),
                "minProperties": 1,
            },
        }
    )


def variant(more: dict[str, Any] | None = None) -> dict[str, Any]:
    return record(
        {
            "id": {"type": "string", "pattern": r"^gid://tarnhill/ProductVariant/\d{5}$"},
            "sku": TEXT,
            "title": TEXT,
            "description": record({"plain": TEXT}),
            "url": ADDRESS,
            "price": MONEY,
            "availability": record({"available": FACT, "status": some("in_stock", "out_of_stock")}),
            "options": many(CHOICE),
            "media": many(IMAGE, 1),
            "tags": many(TEXT),
            "seller": record({"name": TEXT, "links": many(LINK)}),
            **(more or {}),
        }
    )


def product(
    variants: dict[str, Any], option_value: dict[str, Any], more: dict[str, Any] | None = None
) -> dict[str, Any]:
    return record(
        {
            "id": {"type": "string", "pattern": r"^gid://tarnhill/Product/\d{4}$"},
            "handle": {"type": "string", "pattern": "^[a-z0-9-]+$"},
            "title": TEXT,
            "description": record({"plain": TEXT, "html": TEXT}),
            "url": ADDRESS,
            "categories": many(record({"value": TEXT, "taxonomy": {"const": "merchant"}}), 1),
            "price_range": RANGE,
            "media": many(IMAGE, 1),
            "options": many(record({"name": TEXT, "values": many(option_value, 1)})),
            "variants": many(variants, 1),
            "rating": record(
                {
                    "value": {"type": "number", "minimum": 1, "maximum": 5},
                    "scale_min": {"const": 1},
                    "scale_max": {"const": 5},
                    "count": MINOR,
                }
            ),
            "tags": many(TEXT),
            "metadata": {"type": "object"},
            **(more or {}),
        }
    )


PAGES = {
    **record({"has_next_page": FACT, "total_count": MINOR}, {"cursor": TEXT}),
    "if": {"properties": {"has_next_page": {"const": True}}},
    "then": {"required": ["cursor"]},
    "else": {"not": {"required": ["cursor"]}},
}
SIGNED = {
    "oneOf": [
        record(
            {"type": {"const": "discount"}, "amount": {"exclusiveMaximum": 0}, "display_text": TEXT}
        ),
        record(
            {
                "type": some("subtotal", "fulfillment", "total"),
                "amount": MINOR,
                "display_text": TEXT,
            }
        ),
    ]
}
TOTALS = {
    **many(SIGNED),
    "allOf": [
        {
            "contains": {"properties": {"type": {"const": one}}},
            "minContains": 1,
            "maxContains": 1,
        }
        for one in ("subtotal", "total")
    ],
}
LINE = record(
    {
        "id": {"type": "string", "pattern": "^gid://tarnhill/CartLine/"},
        "item": record({"id": TEXT, "title": TEXT, "price": MINOR, "image_url": ADDRESS}),
        "quantity": {"type": "integer", "minimum": 1, "maximum": 10},
        "totals": TOTALS,
    }
)
DISCOUNTS = record(
    {
        "codes": many(TEXT),
        "applied": many(
            record(
                {
                    "code": TEXT,
                    "title": TEXT,
                    "amount": MINOR,
                    "method": some("across"),
                    "allocations": many(record({"path": PATH, "amount": MINOR}), 1),
                }
            )
        ),
    }
)
PLACE = {
    "street_address": TEXT,
    "postal_code": TEXT,
    "address_locality": TEXT,
    "address_country": some("NL", "BE", "DE"),
}
DESTINATION = {
    "oneOf": [
        record({"id": TEXT, "type": {"const": "shipping_address"}}, PLACE),
        record(
            {
                "id": TEXT,
                "type": {"const": "business_location"},
                "name": TEXT,
                "address": record(PLACE),
            }
        ),
    ]
}
MAYBE = {"type": ["string", "null"]}
METHOD = record(
    {
        "id": TEXT,
        "type": some("shipping", "pickup"),
        "line_item_ids": many(TEXT),
        "destinations": many(DESTINATION),
        "selected_destination_id": MAYBE,
        "groups": many(
            record(
                {
                    "id": TEXT,
                    "line_item_ids": many(TEXT),
                    "options": many(
                        record(
                            {"id": TEXT, "title": TEXT, "totals": many(SIGNED, 1)},
                            {"description": record({"plain": TEXT})},
                        ),
                        1,
                    ),
                    "selected_option_id": MAYBE,
                }
            ),
            1,
        ),
    }
)
INSTRUMENT = record(
    {
        "id": TEXT,
        "handler_id": TEXT,
        "type": TEXT,
        "display": record({"name": TEXT, "description": TEXT}),
        "selected": FACT,
    }
)
FOUND = {"messages": many(MESSAGE), "policies": many(POLICY)}
SALE = {
    "id": TEXT,
    "line_items": many(LINE),
    "currency": {"const": "EUR"},
    "totals": TOTALS,
    "discounts": DISCOUNTS,
    "links": many(LINK, 1),
    **FOUND,
}

OWN: dict[Kind, dict[str, Any]] = {
    "search": record(
        {
            "ucp": envelope(),
            "products": many(product(variant(), record({"label": TEXT}))),
            "pagination": PAGES,
            **FOUND,
        }
    ),
    "lookup": record(
        {
            "ucp": envelope(),
            "products": many(product(variant({"inputs": many(MATCH, 1)}), record({"label": TEXT}))),
            **FOUND,
        }
    ),
    "product": record(
        {
            "ucp": envelope(),
            "product": product(
                variant(),
                record({"label": TEXT, "exists": FACT, "available": FACT}),
                {"selected": many(CHOICE)},
            ),
            **FOUND,
        }
    ),
    "cart": record({"ucp": envelope(), "continue_url": ADDRESS, **SALE}),
    "checkout": {
        **record(
            {
                "ucp": envelope(),
                "status": some(
                    "incomplete", "ready_for_complete", "requires_escalation", "completed"
                ),
                "buyer": record(
                    {},
                    dict.fromkeys(("first_name", "last_name", "email", "phone_number"), TEXT),
                ),
                "fulfillment": record({"methods": many(METHOD, 1)}),
                "payment": record({"instruments": many(INSTRUMENT, 1)}),
                **SALE,
            },
            {
                "continue_url": ADDRESS,
                "order": record({"id": TEXT, "label": TEXT, "permalink_url": ADDRESS}),
            },
        ),
        "allOf": [
            {
                "if": {"properties": {"status": {"const": "requires_escalation"}}},
                "then": {"required": ["continue_url"]},
            },
            {
                "if": {"properties": {"status": {"const": "completed"}}},
                "then": {"required": ["order"]},
                "else": {"not": {"required": ["order"]}},
            },
        ],
    },
    "error": record(
        {"ucp": envelope("error"), "messages": many(MESSAGE, 1), "continue_url": ADDRESS}
    ),
}

_PUBLISHED: dict[Kind, list[str]] = {
    "search": ["shopping/catalog_search.json#/$defs/search_response"],
    "lookup": ["shopping/catalog_lookup.json#/$defs/lookup_response"],
    "product": ["shopping/catalog_lookup.json#/$defs/get_product_response"],
    "cart": ["shopping/discount.json#/$defs/dev.ucp.shopping.cart"],
    "checkout": [
        "shopping/discount.json#/$defs/dev.ucp.shopping.checkout",
        "shopping/fulfillment.json#/$defs/dev.ucp.shopping.checkout",
    ],
    "error": ["common/types/error_response.json"],
}
_SITE = "https://ucp.dev/schemas/"


class Check(Protocol):
    """As much of a validator as is used here."""

    def iter_errors(self, instance: JsonValue) -> Iterable[ValidationError]: ...


def own(kind: Kind) -> Check:
    """The check of a document by our own schemas."""
    return Draft202012Validator(OWN[kind])


def published(kind: Kind) -> Check:
    """The check of a document by the schemas in `UCP_SCHEMAS`.

    Where that folder lacks the schema of the envelope, ours stands in for it."""
    assert FOLDER is not None
    root = Path(FOLDER)
    responses = [f"response_{each}_schema" for each in ("catalog", "cart", "checkout")]
    stand_in: Any = {
        "$defs": {**dict.fromkeys(responses, envelope()), "error": envelope("error")},
    }
    resources = [(f"{_SITE}ucp.json", DRAFT202012.create_resource(stand_in))]
    for path in root.rglob("*.json"):
        address = _SITE + path.relative_to(root).as_posix()
        contents: Any = json.loads(path.read_text(encoding="utf-8"))
        resources.append((address, DRAFT202012.create_resource(contents)))
    registry: Any = Registry[Any]().with_resources(resources)
    references = [{"$ref": _SITE + place} for place in _PUBLISHED[kind]]
    return Draft202012Validator({"allOf": references}, registry=registry)
