"""Names of tools that a person could take for each other in a question before a call.

Names are ASCII (others are left out of a listing), so what can be mistaken is letters and digits of
one shape, capitals, and the signs between words.
"""

import re
from collections.abc import Iterable, Iterator

_SHAPES = str.maketrans({"0": "o", "O": "o", "1": "l", "I": "l", "5": "s", "S": "s"})


def look_alikes(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each name that looks like an earlier one, behind that one."""
    first: dict[str, str] = {}
    for name in names:
        other = first.setdefault(_shape(name), name)
        if other != name:
            yield other, name


def _shape(name: str) -> str:
    plain = name.translate(_SHAPES).casefold().replace("rn", "m").replace("vv", "w")
    return re.sub("[_.-]+", "-", plain)
