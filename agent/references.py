"""Local references of a JSON schema: `#` and `#/…`. Other addresses are never looked at."""

from urllib.parse import unquote

from pydantic import JsonValue

Pointer = tuple[str, ...]
"""The steps from the root, unescaped; empty for the root itself."""


def local_pointer(reference: JsonValue) -> Pointer | None:
    """The pointer that `$ref` holds; None when it leads anywhere but into the same document."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    fragment = unquote(reference[1:])
    if fragment == "":
        return ()
    if not fragment.startswith("/"):
        return None
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in fragment[1:].split("/"))


def follow(root: JsonValue, pointer: Pointer) -> JsonValue:
    """What stands at the pointer, None when nothing does."""
    here = root
    for step in pointer:
        match here:
            case dict():
                here = here.get(step)
            case list():
                index = int(step) if step.isascii() and step.isdigit() and len(step) < 7 else -1
                here = here[index] if 0 <= index < len(here) else None
            case _:
                return None
    return here
