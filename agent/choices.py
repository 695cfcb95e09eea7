"""The options of products, as the page spells them: "blue" is sent as the "Blue" of its own list.

Only what a call names as a choice, `{"name": …, "label": …}`, and only where exactly one spelling
of a list that the page gave is the same but for case, blanks and width. Anything else is sent as it
was written: what is not on the list is the page's to refuse.
"""

import unicodedata
from collections.abc import Iterable, Mapping

from pydantic import JsonValue

from webmcp_agent.agent.coercion import path_text
from webmcp_agent.agent.kinds import shown
from webmcp_agent.agent.members import plain_name
from webmcp_agent.agent.outline import Path

JsonObject = dict[str, JsonValue]
Choices = Mapping[str, Mapping[str, frozenset[str]]]
"""Folded names and labels to how they are spelled; names under the empty name."""

MOST_PARTS = 5_000
"""Parts of one answer that are looked at."""
LEVELS = 8
LONGEST = 100
"""Characters of a label."""

_LISTS = ("options", "selectedoptions", "selected")
_LABELS = ("label", "value")
_MEMBERS = frozenset(("id", "name", *_LABELS))


def choices_in(answers: Iterable[JsonValue]) -> Choices:
    """The options that answers list, with their values."""
    found: dict[str, dict[str, set[str]]] = {}
    for answer in answers:
        for option in _options(answer):
            name = option.get("name")
            if not isinstance(name, str) or len(name) > LONGEST:
                continue
            _note(found.setdefault("", {}), name)
            labels = found.setdefault(_folded(name), {})
            values = option.get("values")
            for value in (*(values if isinstance(values, list) else ()), option):
                label = value
                if isinstance(value, dict):
                    label = next((value[key] for key in _LABELS if key in value), None)
                if isinstance(label, str) and len(label) <= LONGEST:
                    _note(labels, label)
    return {
        name: {folded: frozenset(spelled) for folded, spelled in labels.items()}
        for name, labels in found.items()
    }


def chooses(args: JsonObject) -> bool:
    """Whether a call names a choice at all."""
    waiting: list[JsonValue] = [args]
    for _ in range(MOST_PARTS):
        if not waiting:
            return False
        here = waiting.pop()
        if isinstance(here, dict):
            if _is_choice(here):
                return True
            waiting += here.values()
        elif isinstance(here, list):
            waiting += here
    return False


def with_own_labels(args: JsonObject, choices: Choices) -> tuple[JsonObject, list[str]]:
    """The arguments with choices spelled as the page spells them, and what was changed."""
    changes: list[str] = []
    respelled = {
        name: _respelled(member, choices, (name,), changes) for name, member in args.items()
    }
    return (respelled, changes) if changes else (args, [])


def _respelled(value: JsonValue, choices: Choices, path: Path, changes: list[str]) -> JsonValue:
    if len(path) > LEVELS:
        return value
    if isinstance(value, list):
        return [_respelled(v, choices, (*path, at), changes) for at, v in enumerate(value)]
    if not isinstance(value, dict):
        return value
    name = value.get("name")
    if not isinstance(name, str) or not _is_choice(value):
        return {k: _respelled(v, choices, (*path, k), changes) for k, v in value.items()}
    labels = {key: choices.get(_folded(name), {}) for key in _LABELS} | {
        "name": choices.get("", {})
    }
    respelled: JsonObject = {}
    for key, member in value.items():
        own = _own(member, labels.get(key, {}))
        if own != member:
            changes.append(f"{path_text((*path, key))}: {shown(member)} sent as {shown(own)}")
        respelled[key] = own
    return respelled


def _is_choice(value: JsonObject) -> bool:
    labelled = any(label in value for label in _LABELS)
    return labelled and "name" in value and value.keys() <= _MEMBERS


def _own(said: JsonValue, spelled: Mapping[str, frozenset[str]]) -> JsonValue:
    if not isinstance(said, str) or len(said) > LONGEST:
        return said
    known = spelled.get(_folded(said), frozenset())
    return next(iter(known)) if len(known) == 1 else said


def _options(answer: JsonValue) -> Iterable[JsonObject]:
    waiting: list[JsonValue] = [answer]
    for _ in range(MOST_PARTS):
        if not waiting:
            return
        here = waiting.pop()
        if isinstance(here, list):
            waiting += reversed(here[:MOST_PARTS])
        elif isinstance(here, dict):
            for name, member in here.items():
                if isinstance(member, list) and plain_name(name) in _LISTS:
                    yield from (each for each in member if isinstance(each, dict))
                elif isinstance(member, list | dict):
                    waiting.append(member)


def _note(spelled: dict[str, set[str]], text: str) -> None:
    spelled.setdefault(_folded(text), set()).add(text)


def _folded(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text[:LONGEST]).casefold().split())
