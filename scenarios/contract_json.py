"""JSON laid out for review: what fits on a line stands on one, a change touches few lines.

Lays out as Prettier does at its usual width of 80, so that a project that runs it over its files
sees no change. A character that nobody would see is written as an escape.
"""

import json
import re

from pydantic import JsonValue

WIDTH = 80
OPEN_LEVELS = 3
"""Objects down to here are never put on one line: the file, and each tool in its list."""
# Controls, soft hyphens, bidirectional and zero-width characters, variation selectors, tags and
# half characters.
_UNSEEN = re.compile(
    "[\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)


def contract_json(value: JsonValue) -> str:
    """The value as JSON text that ends in a line break."""
    return _laid_out(value, 0, 0, 0) + "\n"


def _laid_out(value: JsonValue, level: int, column: int, after: int) -> str:
    """The text of a value that begins at `column` and has `after` characters behind it."""
    if not isinstance(value, dict | list) or not value:
        return _text(value)
    is_open = isinstance(value, dict) and level < OPEN_LEVELS
    if not is_open and not _breaks(value):
        line = _on_one_line(value)
        if column + len(line) + after <= WIDTH:
            return line
    indent, inner = "  " * level, "  " * (level + 1)
    last = len(value) - 1
    rows: list[str] = []
    members = value.items() if isinstance(value, dict) else ((None, item) for item in value)
    for at, (name, member) in enumerate(members):
        head = "" if name is None else f"{_text(name)}: "
        comma = "," if at < last else ""
        start = len(inner) + len(head)
        rows.append(f"{inner}{head}{_laid_out(member, level + 1, start, len(comma))}{comma}")
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return "\n".join([opening, *rows, indent + closing])


def _breaks(value: JsonValue) -> bool:
    """Whether something in it is given several lines however short it is: a list of objects."""
    if isinstance(value, dict):
        return any(_breaks(member) for member in value.values())
    if not isinstance(value, list):
        return False
    big = [item for item in value if isinstance(item, dict | list) and len(item) > 1]
    all_alike = all(type(item) is type(value[0]) for item in value)
    return (len(value) > 1 and len(big) == len(value) and all_alike) or any(map(_breaks, value))


def _on_one_line(value: JsonValue) -> str:
    match value:
        case dict() if value:
            members = (f"{_text(name)}: {_on_one_line(member)}" for name, member in value.items())
            return f"{{ {', '.join(members)} }}"
        case list():
            return f"[{', '.join(map(_on_one_line, value))}]"
        case _:
            return _text(value)


def _text(value: JsonValue) -> str:
    return _UNSEEN.sub(
        lambda found: json.dumps(found[0])[1:-1], json.dumps(value, ensure_ascii=False)
    )
