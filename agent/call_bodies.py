"""The three forms a call is written in: a JSON object, `name(k=v)`, and `<function=…>`.

What stands first decides the form; nothing is tried twice. The values inside are read by
`call_values.py`, and what a call means is settled in `call_meaning.py`.
"""

import re

from webmcp_agent.agent.call_meaning import ARGUMENT_KEYS, NAME_KEYS, KnownTools, WrittenCall
from webmcp_agent.agent.call_values import NOT_CLOSED, Unreadable, ValueReader, shown
from webmcp_agent.providers.base import JsonObject

NO_CALL = "there is no call in it"
_FENCE = re.compile(r"```(?:[A-Za-z0-9_+-]*\s)?")
_FENCE_MARK = "```"
_JSON_START = re.compile(r"\{|\[\s*\{")
_NAME = r"""([^\s=,:()\[\]{}"'*<>]+)"""
_PYTHON_START = re.compile(rf"\[?\s*{_NAME}\s*\(")
_CALL_NAME = re.compile(rf"{_NAME}\s*\(")
_ARGUMENT_NAME = re.compile(rf"{_NAME}\s*=")
_LEADING_ZEROS = re.compile(r"0[0-9]+(?![\w.])")
_FUNCTION = re.compile(r"<function=([^<>\n]+)>")
_PARAMETER = re.compile(r"<parameter=([^<>\n]+)>")
_PARAMETER_END = "</parameter>"
_FUNCTION_END = "</function>"


class BodyReader:
    """Reads the calls of one body; remembers the name it read last, for errors.

    `values` stands where reading ended."""

    def __init__(self, values: ValueReader, known: KnownTools) -> None:
        self.values = values
        self.known = known
        self.name: str | None = None
        """The name of the call that is being read; None before it was read."""
        self.asked: str | None = None
        """The first name in the body."""
        self.fenced = False
        """A code fence stood around the body."""
        self.several = False
        """Several objects stood one after the other."""

    def calls(self) -> list[WrittenCall]:
        """The calls of the body, at least one, in order.

        Raises: `Unreadable`, after which the whole body counts for nothing."""
        fence = self._next(_FENCE)
        if fence:
            self.fenced = True
            self.values.at = fence.end()
        if self._next(_JSON_START):
            found = self._json_calls()
        elif self._next(_FUNCTION):
            found = [self._function()]
        elif self._next(_PYTHON_START):
            found = self._python_calls()
        else:
            raise self.values.ended(NO_CALL)
        if self.fenced:
            self.values.take(_FENCE_MARK)
        return found

    def _next(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        self.values.blanks()
        return pattern.match(self.values.text, self.values.at)

    def _named(self, name: str) -> None:
        self.name = self.known.exact(name)
        self.asked = self.asked or self.name

    def _json_calls(self) -> list[WrittenCall]:
        """One object, a list of them, or several one after the other."""
        calls: list[WrittenCall] = []

        def one() -> None:
            self.values.blanks()
            if self.values.peek() != "{":
                raise self.values.ended("a list of calls holds objects only")
            calls.append(self._json_call())

        if self.values.take("["):
            self.values.items("]", one)
            return calls
        while self._next(_JSON_START) and self.values.peek() == "{":
            calls.append(self._json_call())
        self.several = len(calls) > 1
        return calls

    def _json_call(self) -> WrittenCall:
        self.name = None
        return self._members(inside=False)

    def _members(self, *, inside: bool) -> WrittenCall:
        """A call's object; `inside` that of a `function` member."""
        members: JsonObject = {}
        inner: list[WrittenCall] = []

        def member() -> None:
            key = self.values.name()
            self.values.blanks()
            if key == "function" and self.values.peek() == "{" and not inside:
                found = self._members(inside=True)
                self.values.once(key, members)
                inner.append(found)
                members[key] = None
                return
            value = self.values.value()
            self.values.once(key, members)
            members[key] = value
            if key in NAME_KEYS and isinstance(value, str) and self.name is None:
                self._named(value)

        self.values.take("{")
        self.values.items("}", member)
        if inner:
            del members["function"]
        names = [(key, members[key]) for key in NAME_KEYS if key in members]
        arguments = [(key, value) for key, value in members.items() if key in ARGUMENT_KEYS]
        others = {
            key: value
            for key, value in members.items()
            if key not in NAME_KEYS and key not in ARGUMENT_KEYS
        }
        if not inner:
            return WrittenCall(names, arguments, others)
        others = {key: value for key, value in others.items() if key not in ("id", "type")}
        return WrittenCall(
            [*names, *inner[0].names],
            [*arguments, *inner[0].arguments],
            {**inner[0].others, **others},
        )

    def _python_calls(self) -> list[WrittenCall]:
        """One call, or a list of them."""
        self.values.python = True
        calls: list[WrittenCall] = []
        if self.values.take("["):
            self.values.items("]", lambda: calls.append(self._python_call()))
        else:
            calls.append(self._python_call())
        return calls

    def _python_call(self) -> WrittenCall:
        begin = self._next(_CALL_NAME)
        if begin is None:
            raise self.values.ended(NO_CALL)
        self._named(begin[1])
        self.values.at = begin.end()
        args: JsonObject = {}
        self.values.items(")", lambda: self._argument(begin[1], args))
        return WrittenCall([("name", begin[1])], [("arguments", args)], {})

    def _argument(self, name: str, args: JsonObject) -> None:
        tool = self.known.exact(name)
        found = self._next(_ARGUMENT_NAME)
        if found is None:
            raise self._positional(tool)
        self.values.at = found.end()
        key = found[1]
        digits = self._next(_LEADING_ZEROS)
        if digits and self.known.allows_text(tool, key):
            value = self.values.digits()
            self.values.repairs.append(f"{shown(key)}: digits kept as text")
        else:
            value = self.values.value(depth=2)
        self.values.once(key, args)
        args[key] = value

    def _positional(self, tool: str) -> Unreadable:
        advice = f"{shown(tool)}: write arguments as name=value"
        if tool in self.known:
            advice += f"; it takes {self.known.takes(tool, mark_required=False)}"
        return Unreadable(self.values.at, advice, whole=True)

    def _function(self) -> WrittenCall:
        """`<function=NAME>`, `<parameter=KEY>TEXT</parameter>` …, `</function>`."""
        function = self._next(_FUNCTION)
        assert function is not None
        name = function[1].strip()
        self._named(name)
        self.values.at = function.end()
        args: JsonObject = {}
        while parameter := self._next(_PARAMETER):
            key = parameter[1].strip()
            text = self._parameter_text(parameter)
            self.values.once(key, args)
            args[key] = text
        if not self.values.take(_FUNCTION_END):
            raise self.values.ended(f"{_FUNCTION_END} is missing")
        return WrittenCall([("name", name)], [("arguments", args)], {})

    def _parameter_text(self, parameter: re.Match[str]) -> str:
        text, begin = self.values.text, parameter.end()
        end = text.find(_PARAMETER_END, begin)
        if end < 0:
            raise Unreadable(parameter.start(), NOT_CLOSED, at_end=True)
        inner = text[begin:end]
        if "<parameter=" in inner:
            raise Unreadable(parameter.start(), NOT_CLOSED)
        self.values.at = end + len(_PARAMETER_END)
        return inner.removeprefix("\n").removesuffix("\n")
