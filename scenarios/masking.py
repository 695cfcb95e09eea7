"""Secrets taken out of whatever is written: run folders, traces, logs, console, errors, reports.

A value that the person gave by name is written as its `{NAME}`, in every form in which it turns
up; whatever else looks like a credential is written as `***`. The model and the page get the real
texts: nothing here changes what is sent.
"""

import base64
import html
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from urllib.parse import quote, quote_plus

from pydantic import JsonValue

from webmcp_agent.agent.stream import (
    AgentStreamPart,
    Finish,
    MessageStart,
    RunError,
    TextDelta,
    ToolCall,
    ToolError,
    ToolResult,
)
from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.credentials import MASK, is_credential_key, mask_credentials

SHORT = 4
"""Characters; a shorter value is masked only where it stands alone, or nothing could be read."""

_COUNTS = {"at_ms", "ms", "step", "steps", "tokens", "usage"}
"""Keys with figures of ours: a number among them is no value that somebody gave."""
_SCHEMA_KEYS = {"$ref", "allOf", "anyOf", "enum", "oneOf", "properties", "type"}
_CUTS = 1_000
"""How many cuts of a text are looked at for the beginning of a value."""


class Masker:
    """Masks texts and JSON values; knows the values that the person gave."""

    def __init__(
        self, secrets: Mapping[str, str] | None = None, variables: Mapping[str, str] | None = None
    ) -> None:
        """`secrets` are masked whatever they are; of `variables`, what nobody could mistake for
        something else, or what is called like a credential."""
        given = {
            **{
                name: value
                for name, value in (variables or {}).items()
                if len(value) >= SHORT or is_credential_key(name)
            },
            **(secrets or {}),
        }
        self._names = {value: f"{{{name}}}" for name, value in given.items() if value.strip()}
        forms: dict[str, str] = {}
        for value, name in self._names.items():
            for form in _forms(value):
                forms.setdefault(form, name)
        self._forms = forms
        ordered = sorted(forms, key=len, reverse=True)
        patterns = [
            re.escape(form) if len(form) >= SHORT else rf"(?<!\w){re.escape(form)}(?!\w)"
            for form in ordered
        ]
        self._pattern = re.compile("|".join(patterns)) if patterns else None

    def given(self, text: str) -> str:
        """`text` with the given values alone masked: for what a person has to see whole."""
        if self._pattern is None:
            return text
        masked = self._pattern.sub(lambda found: self._forms[found[0]], text)
        return self._without_beginnings(masked) if "…" in masked else masked

    def names_in(self, text: str) -> list[str]:
        """The names of the values that are in `text` in whatever form, each once, in order."""
        found = self._pattern.findall(text) if self._pattern is not None else []
        return list(dict.fromkeys(self._forms[form][1:-1] for form in found))

    def text(self, text: str) -> str:
        """`text` with the given values and all credentials masked."""
        return mask_credentials(self.given(text))

    def value(self, value: JsonValue) -> JsonValue:
        """A copy of a JSON value with every text inside masked, names included."""
        return self._masked(value, None)

    def part(self, part: AgentStreamPart) -> AgentStreamPart:
        """A part of a run with every text of model and page inside masked."""
        match part:
            case MessageStart() | Finish():
                return part
            case TextDelta():
                return TextDelta(self.text(part.delta))
            case ToolCall():
                return ToolCall(part.id, self.text(part.name), self.members(part.args))
            case ToolResult():
                result, text = self.value(part.result), self.text(part.text)
                return ToolResult(part.id, self.text(part.name), result, text)
            case ToolError():
                return replace(part, name=self.text(part.name), error=self.text(part.error))
            case RunError():
                return replace(part, message=self.text(part.message))

    def members(self, value: JsonObject) -> JsonObject:
        """`value` for an object."""
        return {self.text(name): self._masked(member, name) for name, member in value.items()}

    def _masked(self, value: JsonValue, key: str | None) -> JsonValue:
        secret = key is not None and is_credential_key(key)
        match value:
            case str():
                if secret and value:
                    return self._names.get(value, MASK)
                return self.text(value)
            case bool() | None:
                return value
            case int() | float():
                if key in _COUNTS:
                    return value
                if (name := self._names.get(str(value))) is not None:
                    return name
                return MASK if secret and isinstance(value, int) else value
            case list():
                return [self._masked(item, key) for item in value]
            case dict():
                # A schema under such a name says how a password looks, and is none.
                below = key if secret and not _SCHEMA_KEYS & value.keys() else None
                return {
                    self.text(name): self._masked(member, key if key in _COUNTS else below or name)
                    for name, member in value.items()
                }

    def _without_beginnings(self, text: str) -> str:
        """Of a value that was cut by a "…", what is left of it is masked as well."""
        kept, at = list[str](), 0
        for cut in list(re.finditer("…", text))[:_CUTS]:
            end = cut.start()
            longest = max((_common(text[at:end], form), name) for form, name in self._forms.items())
            if longest[0] >= SHORT:
                kept += text[at : end - longest[0]], longest[1]
                at = end
        return "".join(kept) + text[at:]


def mask(text: str) -> str:
    """`text` without what looks like a credential, where nobody gave a value by name."""
    return mask_credentials(text)


def _common(text: str, form: str) -> int:
    """How many characters at the end of `text` are the beginning of `form`, without all of it."""
    for length in range(min(len(text), len(form) - 1), SHORT - 1, -1):
        if text.endswith(form[:length]):
            return length
    return 0


def _forms(value: str) -> set[str]:
    """All the ways in which a value may be written: escaped, encoded, in another encoding."""
    plain = {value, value.strip()}
    if len(value.strip()) < SHORT:
        return plain
    forms = set(plain)
    for text in plain:
        forms |= set(_escaped(text)) | set(_percent(text)) | set(_encoded(text.encode()))
    return {form for form in forms if len(form) >= SHORT}


def _escaped(text: str) -> Iterator[str]:
    for ascii_only in (True, False):
        once = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        yield from (once, json.dumps(once, ensure_ascii=ascii_only)[1:-1])
        yield once.replace("<", "\\u003c")
        yield once.replace("/", "\\/")
    yield repr(text)[1:-1]
    yield html.escape(text)
    yield html.escape(text, quote=False)
    yield html.escape(text).replace("&#x27;", "&#39;")
    # As a file name, where browsers and we leave out what no file can be called.
    if sum(map(str.isalnum, text)) >= SHORT:
        yield re.sub(r"[^\w .()+-]", "_", text)


def _percent(text: str) -> Iterator[str]:
    # The sets of characters that quote(), encodeURIComponent, encodeURI and forms leave alone.
    for safe in ("", "/", "!'()*", ";,/?:@&=+$#!'()*"):
        for encoded in (quote(text, safe=safe), quote(quote(text, safe=safe), safe="")):
            yield encoded
            yield re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), encoded)
    yield quote_plus(text)
    yield quote_plus(text, safe="*")
    yield re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), quote_plus(text, safe="*"))


def _encoded(data: bytes) -> Iterator[str]:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        whole = encode(data).decode()
        yield whole
        yield whole.rstrip("=")
        # Inside a longer text it begins at one of three places of a group of four characters.
        for shift in range(3):
            moved = encode(b"\0" * shift + data).decode()
            bits = 8 * (shift + len(data))
            if len(part := moved[(0, 2, 3)[shift] : bits // 6]) > SHORT:
                yield part
    yield data.hex()
    yield data.hex().upper()
