"""Seeded choices for generated lessons: names, ids, dates, phrases and spelling.

A phrase is a pattern: `[Please |]find {query}` offers alternatives in brackets (nested ones too)
and is filled with `str.format` afterwards. Nothing here is random beyond the seed.
"""

import re
from collections.abc import Sequence
from random import Random
from typing import Literal, TypeVar

T = TypeVar("T")

Style = Literal["snake", "camel", "kebab", "dotted", "pascal"]
STYLES: tuple[Style, ...] = ("snake", "camel", "kebab", "dotted", "pascal")

IdKind = Literal["small", "large", "slug", "sku", "hex", "prefixed"]
ID_KINDS: tuple[IdKind, ...] = ("small", "large", "slug", "sku", "hex", "prefixed")

_ONSETS = "b br c ch cl d dr f fl g gr h j k kl l m n p pl qu r s sk st t tr v w y z".split()
_VOWELS = "a e i o u a e i o ai ea oo ee au".split()
_CODAS = " l r n m nd rk st x th ck sh ll rn".split(" ")
_ENDINGS = "a o ix on us el ara ino et ora is um en".split()

FIRST_NAMES = (
    "Ada Ben Carla David Elif Farid Greta Hugo Ines Jonas Kira Leo Mina Nils Olga Paul Rosa Sami "
    "Tara Uwe Vera Wim Yara Zoe Amir Bea Cem Dora Emil Fay Gus Hana Ivo Jill Kofi Lena"
).split()
LAST_NAMES = (
    "Adler Brandt Costa Dietz Evans Fischer Garcia Holm Ito Jansen Keller Lopez Moreau Novak "
    "Olsen Petit Quist Rossi Silva Tanaka Ude Vogel Weber Young Zimmer Baker Clark Duval"
).split()
CITIES = (
    "Berlin Lyon Porto Turin Ghent Leeds Krakow Bergen Malmo Graz Basel Cork Utrecht Bilbao Pisa "
    "Oslo Brno Nantes Seville Bremen Bath Dijon Trieste Aarhus Split Riga"
).split()
STREETS = "Mill Lane,Harbour Street,Oak Road,Station Square,Rose Alley,Bridge Street".split(",")
COLOURS = "red blue green black white grey yellow orange purple brown pink navy teal".split()
MONTHS = (
    "January February March April May June July August September October November December"
).split()

_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_ARTICLE = re.compile(r"\b([Aa]) (?=[aeio](?!ne\b))")
_WORD = re.compile(r"[A-Za-z]{5,}")


class Draw:
    """Choices that depend on nothing but `seed`."""

    def __init__(self, seed: str) -> None:
        self.random = Random(seed)

    def pick(self, options: Sequence[T]) -> T:
        """One of `options`, each as likely."""
        return self.random.choice(options)

    def some(self, options: Sequence[T], count: int) -> list[T]:
        """`count` different ones, fewer when there are not as many, in any order."""
        return self.random.sample(list(options), min(count, len(options)))

    def chance(self, probability: float) -> bool:
        """True that often."""
        return self.random.random() < probability

    def whole(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return self.random.randint(low, high)

    def shuffled(self, options: Sequence[T]) -> list[T]:
        """All of them in another order."""
        return self.some(options, len(options))

    def phrase(self, pattern: str, /, **values: object) -> str:
        """`pattern` with one alternative of each bracket and its braces filled."""
        while match := _BRACKETS.search(pattern):
            chosen = self.pick(match.group(1).split("|"))
            pattern = pattern[: match.start()] + chosen + pattern[match.end() :]
        return " ".join(pattern.format(**values).split(" ")).strip()

    def brand(self) -> str:
        """A made-up word such as Trelkora."""
        word = self.pick(_ONSETS) + self.pick(_VOWELS) + self.pick(_CODAS)
        if self.chance(0.5):
            word += self.pick(_ONSETS) + self.pick(_VOWELS)
        return (word + self.pick(_ENDINGS)).capitalize()

    def person(self) -> str:
        """A first and a last name."""
        return f"{self.pick(FIRST_NAMES)} {self.pick(LAST_NAMES)}"

    def email(self, person: str) -> str:
        """An address for `person`."""
        return person.lower().replace(" ", self.pick((".", "_", ""))) + self.pick(
            ("@example.com", "@example.org", "@mail.example")
        )

    def street(self) -> str:
        """A house in a street."""
        return f"{self.whole(1, 99)} {self.pick(STREETS)}"

    def date(self) -> tuple[str, str]:
        """A day as ISO text and as a person writes it."""
        year, month, day = self.whole(2026, 2031), self.whole(1, 12), self.whole(1, 28)
        iso = f"{year}-{month:02}-{day:02}"
        name = MONTHS[month - 1]
        said = self.pick((iso, iso, f"{day} {name} {year}", f"{name} {day}, {year}"))
        return iso, said

    def time(self) -> tuple[str, str]:
        """A time of day as `HH:MM` and as a person writes it."""
        hour, minute = self.whole(8, 22), self.pick((0, 0, 30, 15, 45))
        plain = f"{hour:02}:{minute:02}"
        if minute == 0 and hour != 12 and self.chance(0.4):
            half = "am" if hour < 12 else "pm"
            return plain, f"{hour if hour < 13 else hour - 12}{self.pick((' ', ''))}{half}"
        return plain, plain

    def price(self, low: int, high: int) -> int | float:
        """A price that reads the same in a result and in an answer."""
        whole = self.whole(low, high)
        return whole if self.chance(0.6) else round(whole + self.pick((0.99, 0.95, 0.49, 0.75)), 2)

    def id(self, kind: IdKind, title: str, taken: set[str]) -> int | str:
        """An id of that kind which is not in `taken`; it is added there."""
        for _ in range(50):
            made = self._id(kind, title)
            if str(made) not in taken:
                break
        else:
            made = f"{title}-{len(taken)}"
        taken.add(str(made))
        return made

    def _id(self, kind: IdKind, title: str) -> int | str:
        letters = "".join(self.pick("ABCDEFGHKLMNPRSTVWX") for _ in range(2))
        match kind:
            case "small":
                return self.whole(1, 60)
            case "large":
                return self.whole(1000, 99999)
            case "slug":
                slug = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
                return slug if self.chance(0.7) else f"{slug}-{self.whole(2, 30)}"
            case "sku":
                return f"{letters}-{self.whole(100, 9999)}"
            case "hex":
                return "".join(self.pick("0123456789abcdef") for _ in range(self.pick((6, 8))))
            case "prefixed":
                return f"{self.pick(('p', 'item', 'x', 'id', 'ref'))}_{self.whole(1, 999)}"

    def roughly(self, text: str, keep: Sequence[str]) -> str:
        """`text` as somebody in a hurry types it; the words of `keep` stay as they are."""
        if self.chance(0.4):
            text = text.rstrip(".!?")
        if text and self.chance(0.35) and not any(text.startswith(word) for word in keep):
            text = text[0].lower() + text[1:]
        if self.chance(0.15):
            kept = {word.lower() for piece in keep for word in piece.split()}
            words = [m for m in _WORD.finditer(text) if m.group().lower() not in kept]
            if words:
                at = self.pick(words)
                text = text[: at.start()] + self._slip(at.group()) + text[at.end() :]
        return text

    def _slip(self, word: str) -> str:
        at = self.whole(1, len(word) - 2)
        return self.pick(
            (
                word[:at] + word[at + 1 :],
                word[:at] + word[at + 1] + word[at] + word[at + 2 :],
                word[:at] + word[at] + word[at:],
            )
        )


def styled(words: Sequence[str], style: Style) -> str:
    """Words as one name: search_products, searchProducts, search-products, products.search."""
    plain = [piece for word in words for piece in word.lower().replace("-", " ").split()]
    match style:
        case "snake":
            return "_".join(plain)
        case "camel":
            return plain[0] + "".join(word.capitalize() for word in plain[1:])
        case "pascal":
            return "".join(word.capitalize() for word in plain)
        case "kebab":
            return "-".join(plain)
        case "dotted":
            if len(plain) == 1:
                return plain[0]
            verb, *rest = plain
            return "_".join(rest) + "." + verb


def with_articles(text: str) -> str:
    """English text with "an" in place of "a" before a vowel."""
    return _ARTICLE.sub(r"\1n ", text)


def money(amount: int | float, currency: str) -> str:
    """An amount in the words of an answer."""
    return f"{plain_number(amount)} {currency}"


def plain_number(amount: int | float) -> str:
    """89, 89.5, 89.99: as JSON writes it."""
    return str(int(amount)) if float(amount).is_integer() else str(round(amount, 2))
