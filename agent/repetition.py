"""Notice that a model goes in circles: the same call with the same answer."""

import json
from typing import Literal

from pydantic import JsonValue

Times = Literal["new", "first", "again"]
"""`first`: a call repeats itself for the first time, and the model is told. `again`: it has been
told for this call before, and the run stops."""


class Repetition:
    """The calls of a run with their answers; a resumed run begins with the calls it resumes.

    Two calls are the same when name and arguments are: the order of keys does not count, and 1.0
    is 1. Any answer that the same call gave before makes a repeat, an error too; a new answer
    never does, so polling is no circle."""

    def __init__(self) -> None:
        self._answers: dict[str, set[str]] = {}
        self._told: set[str] = set()

    def seen(self, name: str, args: dict[str, JsonValue], answer: str) -> Times:
        """Take a finished call, with the arguments that were sent and the whole answer."""
        key = json.dumps([name, _canonical(args)], sort_keys=True)
        answers = self._answers.setdefault(key, set())
        if answer not in answers:
            answers.add(answer)
            return "new"
        if key in self._told:
            return "again"
        self._told.add(key)
        return "first"


def _canonical(value: JsonValue) -> JsonValue:
    """The value with whole numbers written one way."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case dict():
            return {key: _canonical(member) for key, member in value.items()}
        case list():
            return [_canonical(item) for item in value]
        case _:
            return value
