"""Decoding that is held to the page's schemas, with llguidance.

Lazy: the model writes freely until it begins a call (`triggers.py`); from there on the grammar
allows the names of the shown tools, that tool's arguments by its own schema, and the end of the
call. The spelling is the one in which the loop writes calls back into the history, so that a kept
prefix stays valid and most of a call is forced and costs no decoding step of its own.

Texts from a schema enter as literals. A reference that is not in the schema itself is refused by
the engine, which fetches nothing; such a tool takes any JSON object.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from webmcp_agent.providers.argument_schema import (
    OPEN_ENDED,
    decoding_schema,
    is_text_list,
    without_texts,
)
from webmcp_agent.providers.base import CALL_MARKERS, JsonObject, ToolConstraint
from webmcp_agent.providers.triggers import CallStart

if TYPE_CHECKING:
    import torch

MAX_SCHEMA_CHARS = 200_000
"""A longer schema is not compiled; 20,000 enum values (400,000 characters) took 50 ms."""

MAX_KEPT = 64
"""Compiled grammars that are kept, oldest dropped first."""

MAX_CALLS = 8
"""Calls in one list; the loop takes no more from one reply."""

_SPELLING: JsonObject = {
    "item_separator": ", ",
    "key_separator": ": ",
    "whitespace_flexible": False,
}

_SPREAD: JsonObject = {
    "item_separator": ",",
    "key_separator": ":",
    "whitespace_flexible": True,
    "whitespace_pattern": "[ \\n]{0,40}",
}
"""For a call that a model spreads over lines: held to one line it cannot end a number as it is used
to, and writes digits without end."""

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


def _json_rule(schema: JsonObject, *, lenient: bool = False) -> str:
    spelled = schema | {"x-guidance": {**_SPELLING, "lenient": lenient}}
    return f"%json {json.dumps(spelled)}"


ANYTHING = _json_rule({"type": "object"})
"""Any JSON object: for a tool whose schema cannot be used."""


class Grammars:
    """The grammars of one tokenizer, compiled when a call begins and then kept."""

    def __init__(
        self,
        tokenizer_json: str,
        *,
        end_ids: Sequence[int],
        added: Mapping[str, int],
        warn: Callable[[str], None],
    ) -> None:
        """`added` maps the tokenizer's added tokens to their ids, `end_ids` end a turn."""
        from llguidance import LLTokenizer

        self._tokenizer = LLTokenizer(tokenizer_json, eos_token=list(end_ids))
        self._added = added
        self._unwritable = [
            text for text, token in added.items() if self._tokenizer.is_special_token(token)
        ]
        self._warn = warn
        self._arguments: dict[tuple[str, str], str] = {}
        self._matchers: dict[tuple[CallStart, tuple[tuple[str, str], ...]], Any] = {}
        self.compiled = 0
        """How many grammars were compiled so far."""

    def tokens(self, text: str) -> list[int]:
        """Tokens with exactly the bytes of `text`."""
        return self._tokenizer.greedy_tokenize(text)

    def begin(self, how: CallStart, constraints: Sequence[ToolConstraint]) -> "CallGuide":
        """A guide for one call that was begun in this way."""
        from llguidance import LLMatcher

        key = (how, tuple((tool.name, _identity(tool)) for tool in constraints))
        matcher = self._matchers.get(key)
        if matcher is None:
            self.compiled += 1
            matcher = LLMatcher(self._tokenizer, self._grammar(how, constraints), log_level=0)
            if matcher.is_error():
                # Each tool was accepted by itself; together they are beyond the engine's limits.
                self._warn("the tools' schemas are too large together; any arguments are allowed")
                loose = self._grammar(how, constraints, loose=True)
                matcher = LLMatcher(self._tokenizer, loose, log_level=0)
            while len(self._matchers) >= MAX_KEPT:
                del self._matchers[next(iter(self._matchers))]
            self._matchers[key] = matcher
        marked = how in ("tags", "pythonic")
        return CallGuide(matcher.deep_copy(), self._tokenizer, ends_reply=not marked)

    def _grammar(
        self, how: CallStart, constraints: Sequence[ToolConstraint], *, loose: bool = False
    ) -> str:
        """What may stand behind the start of a call, as a Lark text."""
        rules: list[str] = []
        calls: list[str] = []
        for index, tool in enumerate(constraints):
            arguments = ANYTHING if loose else self._schema(tool)
            calls.append(f"call_{index}")
            if how == "pythonic":
                rules += _pythonic_call(index, tool, arguments, plain=not loose)
                continue
            keys = ("tool", "args") if how == "inline" else ("name", "arguments")
            if how == "spread":
                rules.append(_spread_call(index, tool, arguments))
                continue
            between = _literal(f'{tool.name}", "{keys[1]}": ')
            rules.append(f"call_{index}: {between} {arguments}")
        call = " | ".join(calls)
        if how == "pythonic":
            more = f'(", " call){{0,{MAX_CALLS - 1}}}'
            start = f'"[" call {more} "]" {self._marker(CALL_MARKERS["pythonic"][1])}'
        elif how == "tags":
            head = _literal('\n{"name": "')
            tail = f"{_literal('}')} {_literal(chr(10))}"
            start = f"{head} call {tail} {self._marker(CALL_MARKERS['tags'][1])}"
        elif how == "spread":
            start = f'GAP ":" GAP "\\"" call GAP {_literal("}")}'
            rules.append(f"GAP: /{_SPREAD['whitespace_pattern']}/")
        else:
            end = "}]" if how == "list" else "}"
            start = f"{_literal(': ' + chr(34))} call {_literal(end)}"
        return "\n".join([f"start: {start}", f"call: {call}", *rules, ""])

    def _marker(self, text: str) -> str:
        token = self._added.get(text)
        return _literal(text) if token is None else f"<[{token}]>"

    def _schema(self, tool: ToolConstraint) -> str:
        """The tool's arguments as a rule that the engine takes."""
        key = (tool.name, _identity(tool))
        rule = self._arguments.get(key)
        if rule is None:
            try:
                rule = self._accepted(tool)
            except RecursionError:
                self._warn(f"{tool.name}: any arguments are allowed, its schema is too deep")
                rule = ANYTHING
            while len(self._arguments) >= 16 * MAX_KEPT:
                del self._arguments[next(iter(self._arguments))]
            self._arguments[key] = rule
        return rule

    def _accepted(self, tool: ToolConstraint) -> str:
        from llguidance import LLMatcher

        closed = decoding_schema(tool.schema)
        schema = without_texts(closed, self._unwritable)
        if schema is None:
            self._warn(f"{tool.name}: any arguments are allowed, a key holds a control token")
            return ANYTHING
        if schema != closed:
            self._warn(f"{tool.name}: not held to a value that holds a control token")
        problem = f"it has more than {MAX_SCHEMA_CHARS} characters"
        if len(json.dumps(schema)) <= MAX_SCHEMA_CHARS:
            for lenient in (False, True):
                rule = _json_rule(schema, lenient=lenient)
                failed, messages = LLMatcher.validate_grammar_with_warnings(
                    f"start: {rule}\n", self._tokenizer
                )
                if not failed:
                    if lenient:
                        self._warn(f"{tool.name}: not held to all of its schema: {messages[0]}")
                    return rule
                problem = messages[0].splitlines()[0] if messages else "unknown reason"
        self._warn(f"{tool.name}: any arguments are allowed, its schema is refused: {problem}")
        return ANYTHING


class CallGuide:
    """Holds one call to its grammar, token by token."""

    def __init__(self, matcher: Any, tokenizer: Any, *, ends_reply: bool) -> None:
        self._matcher = matcher
        self._tokenizer = tokenizer
        self.ends_reply = ends_reply
        """Whether the reply is over with this call: a bare call has no end marker, and what small
        models write behind one are further calls with made-up values."""

    @property
    def done(self) -> bool:
        """Whether the call is complete."""
        return bool(self._matcher.is_stopped()) and not self._matcher.is_error()

    def accepts(self, text: str) -> bool:
        """Read text that the model wrote in the token that began the call, if it fits."""
        tokens = self._tokenizer.greedy_tokenize(text)
        if self._matcher.validate_tokens(tokens) != len(tokens):
            return False
        return bool(self._matcher.consume_tokens(tokens))

    def beginning(self, tokens: list[int]) -> list[int]:
        """As many of the tokens as may come next, none of them read."""
        return tokens[: self._matcher.validate_tokens(tokens)]

    def forced(self) -> list[int]:
        """The tokens that must come next, already read; empty where the model has a choice."""
        tokens = cast("list[int]", self._matcher.compute_ff_tokens())
        # In a text that holds a marker, the engine proposes the marker's own token and then
        # refuses it (1.9): only what it takes is forced, the model spells the rest.
        tokens = tokens[: self._matcher.validate_tokens(tokens)]
        self._matcher.consume_tokens(tokens)
        return tokens

    def choose(self, logits: "torch.Tensor") -> int | None:
        """The likeliest token that is allowed, read; None when the engine has given up.

        `logits` has one dimension, the vocabulary, and is not changed."""
        token = int(logits.argmax())
        if self._matcher.validate_tokens([token]) != 1:
            allowed = self._allowed(logits)
            if allowed is None:
                return None
            token = int(logits.masked_fill(~allowed, float("-inf")).argmax())
        return token if self._matcher.consume_token(token) else None

    def _allowed(self, logits: "torch.Tensor") -> "torch.Tensor | None":
        import torch

        packed = torch.frombuffer(bytearray(self._matcher.compute_bitmask()), dtype=torch.uint8)
        bits = (packed.unsqueeze(1) >> torch.arange(8, dtype=torch.uint8)) & 1
        mask = bits.flatten()[: logits.shape[-1]].bool()
        if self._matcher.is_error() or not mask.any():
            return None
        allowed = torch.zeros(logits.shape[-1], dtype=torch.bool)
        allowed[: len(mask)] = mask
        return allowed.to(logits.device)


def _identity(tool: ToolConstraint) -> str:
    try:
        return tool.fingerprint or json.dumps(tool.schema, sort_keys=True)
    except RecursionError:
        return "too deep"  # none of these is compiled, so they may share their entry


def _literal(text: str) -> str:
    return json.dumps(text)


def _spread_call(index: int, tool: ToolConstraint, arguments: str) -> str:
    """The rule of one call over several lines."""
    schema: JsonObject = json.loads(arguments.removeprefix("%json "))
    own = schema["x-guidance"]
    lenient = isinstance(own, dict) and own.get("lenient") is True
    spread = schema | {"x-guidance": {**_SPREAD, "lenient": lenient}}
    name, key = _literal(tool.name + chr(34)), _literal('"arguments"')
    return f'call_{index}: {name} GAP "," GAP {key} GAP ":" GAP %json {json.dumps(spread)}'


def _pythonic_call(index: int, tool: ToolConstraint, arguments: str, *, plain: bool) -> list[str]:
    """Rules for `name(key=value, …)`, or for the JSON form where that cannot say it all."""
    call = f"call_{index}"
    schema: JsonObject = json.loads(arguments.removeprefix("%json "))
    properties = schema.get("properties")
    if isinstance(properties, dict):
        properties = {name: value for name, value in properties.items() if value is not False}
    if (
        not plain
        or not isinstance(properties, dict)
        or schema.get("additionalProperties") is not False
        or '"$ref"' in arguments
        or any(keyword in schema for keyword in OPEN_ENDED if keyword != "additionalProperties")
        or not all(_PLAIN_NAME.fullmatch(name) for name in properties)
    ):
        head = _literal(f'{{"name": "{tool.name}", "arguments": ')
        return [f"{call}: {head} {arguments} {_literal('}')}"]
    required = schema.get("required", [])
    mandatory = sum(name in required for name in properties) if is_text_list(required) else 0
    rules: list[str] = []
    lenient = schema["x-guidance"] == _SPELLING | {"lenient": True}
    for number, (name, value) in enumerate(properties.items()):
        one = value if isinstance(value, dict) else {}
        rules.append(f"{call}_{number}: {_literal(name + '=')} {_json_rule(one, lenient=lenient)}")
    count = len(properties)
    # rest_k: what may follow once an argument stands before number k.
    rules.append(f'{call}_rest_{count}: ""')
    for number in reversed(range(count)):
        one = f'", " {call}_{number}'
        piece = one if number < mandatory else f"({one})?"
        rules.append(f"{call}_rest_{number}: {piece} {call}_rest_{number + 1}")
    first = [f"{call}_{number} {call}_rest_{number + 1}" for number in range(count)]
    if mandatory:
        body = first[0]
    else:
        body = " | ".join([*first, '""'])
    rules.append(f"{call}_all: {body}")
    return [f"{call}: {_literal(tool.name + '(')} {call}_all {_literal(')')}", *rules]
