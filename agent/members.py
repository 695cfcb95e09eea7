"""Which members of a JSON object say most to somebody who has little room, by their names.

Names of all styles are one: `priceRange`, `price_range` and `price-range`.
"""

import re
from enum import IntEnum
from functools import lru_cache
from itertools import islice
from types import UnionType

from pydantic import JsonValue

JsonObject = dict[str, JsonValue]


class Rank(IntEnum):
    """How much a member says, most first."""

    STATE = 0
    """What decides the next step: what is there, how many, what went wrong."""
    TRAIT = 1
    """What tells one thing from another."""
    REST = 2
    NOISE = 3
    """Nothing that can be used in a text: media, links, markup, codes of machines."""


MOST_MEMBERS = 100
"""Members of one object among which its core is looked for."""

IDS = ("id", "gid", "sku", "code", "slug", "handle", "key", "uuid", "reference")
NAMES = (
    "title",
    "name",
    "label",
    "displayname",
    "fullname",
    "content",
    "message",
    "text",
    "subject",
    "displaytext",
)
PRICES = (
    "price",
    "pricerange",
    "prices",
    "amount",
    "total",
    "cost",
    "totalprice",
    "currentprice",
    "saleprice",
    "unitprice",
)
_RANKS: dict[str, Rank] = {
    name: rank
    for rank, names in (
        (
            Rank.STATE,
            "currency currencycode available availability instock stock soldout inventory quantity "
            "qty count total totals totalcount subtotal status state messages message content "
            "error errors warning warnings severity reason date time start end when deadline "
            "hasnextpage pagination cursor nextcursor options selected selectedoptions ok success",
        ),
        (
            Rank.TRAIT,
            "size color colour variants type category vendor brand listprice compareatprice "
            "listpricerange discount discounts unitprice address email phone buyer "
            "fulfillment shipping payment order summary coupon author",
        ),
        (
            Rank.NOISE,
            "media images image imageurl imageurls thumbnail thumbnails picture pictures photo "
            "photos video videos icon logo url urls href link links src canonicalurl permalink "
            "html bodyhtml descriptionhtml svg css style metadata meta seo barcodes barcode gtin "
            "ucp context signals attribution actions contenttype createdat updatedat publishedat "
            "typename etag cachecontrol requestid traceid alttext alt blurhash appliesto "
            "taxonomyid schema path handle tags sku lineitemids handlerid",
        ),
    )
    for name in names.split()
}
_CURRENCIES = ("currency", "currencycode")
_ID_ENDINGS = ("_id", "Id", "-id", "ID")
_LINKS = ("url", "href", "link")
_LINK = re.compile(r"(?:https?:)?//\S+|data:\S+|www\.\S+")


@lru_cache(maxsize=2048)
def plain_name(name: str) -> str:
    """The letters and digits of a name, folded."""
    return "".join(char for char in name.casefold() if char.isalnum())


def rank_of(name: str, value: JsonValue) -> Rank:
    """How much a member says; a link says nothing, unless it is there to go on with."""
    plain = plain_name(name)
    if isinstance(value, str) and _LINK.fullmatch(value):
        return Rank.REST if plain in ("continueurl", "nexturl") else Rank.NOISE
    return _RANKS.get(plain, Rank.REST)


def core_names(item: JsonObject, *, listed: bool) -> list[str]:
    """The members that always stay together: what a thing is called by, its name, its price.

    Its quantity belongs to them, and that it cannot be had. A thing of a list (`listed`) without a
    name or a price of its own may hold them in a member (the `item` of a line in a cart), which
    then is core too."""
    if len(item) > MOST_MEMBERS:
        item = dict(islice(item.items(), MOST_MEMBERS))
    names = {plain_name(name): name for name in item}
    id, said = _first(item, names, IDS, str | int), _first(item, names, NAMES, str)
    price = _first(item, names, PRICES, str | int | float | dict)
    if id is None:
        id = _other_id(item, names, named=said is not None)
    core = [name for name in (id, said, price) if name is not None]
    if listed and (said is None or price is None):
        inner = (name for name in item if name not in core and _is_thing(item[name]))
        core += [*inner][:1]
    if price is not None:
        core += [names[name] for name in _CURRENCIES if name in names]
    core += [names[name] for name in ("quantity", "qty") if name in names]
    core += [name for name, value in item.items() if _is_lack(plain_name(name), value)]
    return list(dict.fromkeys(core))


def main_name(item: JsonObject) -> str | None:
    """The member to show of a thing that has no core."""
    says = (n for n, value in item.items() if _says(value) and rank_of(n, value) < Rank.NOISE)
    return next(says, None)


def _is_lack(plain: str, value: JsonValue) -> bool:
    """Whether a member says that a thing cannot be had."""
    match value:
        case bool():
            return plain == "soldout" if value else plain in ("available", "instock", "isavailable")
        case str():
            return value in ("out_of_stock", "sold_out", "discontinued", "sold out")
        case dict():
            return plain == "availability" and value.get("available") is False
        case _:
            return False


def _other_id(item: JsonObject, names: dict[str, str], *, named: bool) -> str | None:
    """A member that ends like an id; the link of a thing that has only a name."""
    for name, value in item.items():
        if name.endswith(_ID_ENDINGS) and isinstance(value, str | int) and _says(value):
            return name
    link = _first(item, names, _LINKS, str) if named else None
    return link if link is not None and _LINK.fullmatch(str(item[link])) else None


def _first(
    item: JsonObject, names: dict[str, str], wanted: tuple[str, ...], kinds: type | UnionType
) -> str | None:
    """The member of `item` that says something and has the best of the wanted names."""
    for plain in wanted:
        name = names.get(plain)
        if name is not None and isinstance(item[name], kinds) and _says(item[name]):
            return name
    return None


def _says(value: JsonValue) -> bool:
    return value is not None and value != "" and not isinstance(value, bool | list)


def _is_thing(value: JsonValue) -> bool:
    if not isinstance(value, dict):
        return False
    names = {plain_name(name): name for name in value}
    named = _first(value, names, NAMES, str) is not None
    return named and (_first(value, names, IDS, str | int) is not None or "price" in names)
