"""Local references of a JSON schema: `#` and `#/…`. Other addresses are never looked at."""

from urllib.parse import unquote

from pydantic import JsonValue

LARGEST = 20_000
"""Parts of one schema that are looked at."""

Pointer = tuple[str, ...]
"""The steps from the root, unescaped; empty for the root itself."""


class SchemaTooLarge(Exception):
    """The schema has more parts than a check may take."""

    def __init__(self) -> None:
        super().__init__(f"the input schema has more than {LARGEST} parts")


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


def circular_pointers(root: JsonValue) -> set[Pointer]:
    """References that lead back to themselves without going into the arguments.

    What stays when all ends are taken away, in both directions, lies on such a circle or between
    two of them."""
    inside: dict[Pointer, set[Pointer]] = {}
    waiting = list(_references(root, everywhere=True))
    while waiting:
        pointer = waiting.pop()
        if pointer not in inside:
            if len(inside) >= LARGEST:
                raise SchemaTooLarge
            inside[pointer] = _references(follow(root, pointer), everywhere=False)
            waiting += inside[pointer]
    there = {pointer: more & inside.keys() for pointer, more in inside.items()}
    ahead = _without_ends(there)
    back: dict[Pointer, set[Pointer]] = {pointer: set() for pointer in ahead}
    for pointer in ahead:
        for further in there[pointer] & ahead:
            back[further].add(pointer)
    return _without_ends(back)


def _without_ends(graph: dict[Pointer, set[Pointer]]) -> set[Pointer]:
    """What stays after taking away, again and again, what leads to nothing."""
    arrivals: dict[Pointer, list[Pointer]] = {pointer: [] for pointer in graph}
    for pointer, targets in graph.items():
        for target in targets:
            arrivals[target].append(pointer)
    left = {pointer: len(targets) for pointer, targets in graph.items()}
    ended = [pointer for pointer, count in left.items() if count == 0]
    while ended:
        for pointer in arrivals[ended.pop()]:
            left[pointer] -= 1
            if left[pointer] == 0:
                ended.append(pointer)
    return {pointer for pointer, count in left.items() if count > 0}


def _references(schema: JsonValue, *, everywhere: bool) -> set[Pointer]:
    """The local references in a schema, or only those that apply to the same value."""
    found: set[Pointer] = set()
    waiting: list[JsonValue] = [schema]
    count = 0
    while waiting:
        here = waiting.pop()
        count += 1
        if count > 10 * LARGEST:
            raise SchemaTooLarge
        if isinstance(here, dict):
            pointer = local_pointer(here.get("$ref"))
            if pointer is not None:
                found.add(pointer)
            if everywhere:
                waiting += here.values()
            else:
                waiting += [here[k] for k in ("allOf", "anyOf", "oneOf") if k in here]
                waiting += [here[k] for k in ("not", "if", "then", "else") if k in here]
                for keyword in ("dependentSchemas", "dependencies"):
                    named = here.get(keyword)
                    waiting += named.values() if isinstance(named, dict) else []
        elif isinstance(here, list):
            waiting += here
    return found
