"""Variables in what a person writes: `{NAME}` stands for a value that is given elsewhere.

Only texts of the person's own are filled, in one pass: neither a value nor a page's text that holds
`{NAME}` is looked at again.
"""

import re
from collections.abc import Collection, Mapping

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""What a variable may be called."""

_PLACE = re.compile(r"\{(" + NAME.pattern + r")\}")


def fill(text: str, values: Mapping[str, str]) -> str:
    """`text` with each `{NAME}` of `values` replaced by its value; all else stays as it is."""
    return _PLACE.sub(lambda found: values.get(found[1], found[0]), text)


def names_in(text: str) -> list[str]:
    """The names that `text` has a place for, each once, in their order."""
    return list(dict.fromkeys(_PLACE.findall(text)))


def missing_in(text: str, names: Collection[str]) -> list[str]:
    """The names that `text` has a place for and that are not among `names`."""
    return [name for name in names_in(text) if name not in names]
