"""Money as a person reads it: `19.99 EUR` for 1999 minor units, `98.0 to 110.0 USD` for a range.

Pure, and it states nothing that the answer does not say: an amount without its currency, or with a
currency that nobody knows, stays as it is.
"""

import re

from pydantic import JsonValue

JsonObject = dict[str, JsonValue]

# ISO 4217, active codes by the decimal places of their minor unit.
_DIGITS: dict[str, int] = {
    code: digits
    for digits, codes in (
        (0, "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"),
        (
            2,
            "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BRL BSD BTN BWP BYN "
            "BZD CAD CDF CHF CNY COP CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL "
            "GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK "
            "LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO "
            "NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE "
            "SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VED VES "
            "WST XCD XCG YER ZAR ZMW ZWG",
        ),
        (3, "BHD IQD JOD KWD LYD OMR TND"),
        (4, "CLF UYW"),
    )
    for code in codes.split()
}
_DECIMAL = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,6})?")
_FRACTION = re.compile(r'"(?:amount|price)"\s*:\s*"?-?[0-9]+\.[0-9]')
_CURRENCY_NAMES = ("currency", "currencyCode", "currency_code")
_RANGES = (("min", "max"), ("minVariantPrice", "maxVariantPrice"), ("minimum", "maximum"))


class Figure(str):
    """A number of the source that has a fraction or an exponent, as it is spelled there."""

    __slots__ = ()


def is_currency(code: object) -> bool:
    """Whether ISO 4217 knows the code."""
    return isinstance(code, str) and code in _DIGITS


def counts_in_minor_units(text: str) -> bool:
    """Whether whole amounts of a JSON text may be minor units: no amount there has a fraction."""
    return _FRACTION.search(text) is None


def from_minor_units(amount: int, currency: str) -> str:
    """`19.99 EUR` for 1999, `-500 JPY` for -500; `currency` is one that `is_currency` knows."""
    digits = _DIGITS[currency]
    whole, part = divmod(abs(amount), 10**digits)
    fraction = f".{part:0{digits}}" if digits else ""
    return f"{'-' if amount < 0 else ''}{whole}{fraction} {currency}"


def money_text(value: JsonValue, *, minor: bool) -> str | None:
    """The text of an object that is an amount with its currency, or a range of two; else None.

    `minor`: whole amounts are minor units; decimal ones never are."""
    if not isinstance(value, dict) or len(value) != 2:
        return None
    for low, high in _RANGES:
        if low in value and high in value:
            least, most = (money_text(value[name], minor=minor) for name in (low, high))
            return None if least is None or most is None else _range(least, most)
    amount = value.get("amount")
    currency = next((value[name] for name in _CURRENCY_NAMES if name in value), None)
    if not isinstance(currency, str) or not is_currency(currency):
        return None
    match amount:
        case bool() | None:
            return None
        case int():
            return from_minor_units(amount, currency) if minor else f"{amount} {currency}"
        case str() if _DECIMAL.fullmatch(amount):
            return f"{amount} {currency}"
        case _:
            return None


def _range(least: str, most: str) -> str:
    if least == most:
        return least
    low, currency = least.split(" ")
    return f"{low} to {most}" if most.endswith(f" {currency}") else f"{least} to {most}"
