"""The `recorded` provider: another provider's replies, recorded once and given again offline.

A recording is a file of JSON lines, one a generation: the hash of the request, the request, what
the provider was set to, and its reply. A request counts as the same when system prompt, turns,
tools and constraints are. Two programs must not record into one file at the same time. Only its
owner can read the file; what `keep_out` masks is not in it.
"""

import difflib
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from os import SEEK_END
from pathlib import Path
from typing import BinaryIO, Literal, cast

from pydantic import BaseModel, ConfigDict, JsonValue

from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.base import (
    Available,
    CallFormat,
    Disposable,
    Fits,
    GenerateRequest,
    GenerateResult,
    JsonObject,
    LocalProvider,
    PromptParts,
    ProviderAvailability,
    Usage,
    broken_of,
    call_format_of,
    tools_inline_of,
)
from webmcp_agent.providers.errors import ModelUnavailable, PromptTooLong, RecordingMissing

SHOWN_LINES = 12
"""Lines of the difference to the nearest recording."""

SHOWN_CHARS = 200
"""Characters of each of them."""

_BLOCK = 65_536


class _Settings(BaseModel):
    """What decides how a provider is asked, and which one it was."""

    model_config = ConfigDict(frozen=True)
    provider: str
    label: str
    call_format: CallFormat
    tools_inline: bool


class _Reply(BaseModel):
    text: str
    finish_reason: Literal["stop", "length"]
    usage: Usage | None


class _Recording(BaseModel):
    """One line of the file."""

    hash: str
    settings: _Settings
    request: dict[str, JsonValue]
    reply: _Reply
    too_long: list[str] = []
    """Hashes of prompts that did not fit, since the recording before."""


class RecordedProvider:
    """Gives the replies of a file; with a provider behind it, records what is not there yet.

    What a recording says costs nothing: neither model nor network is touched for it."""

    id = "recorded"

    def __init__(self, path: Path | str, provider: LocalProvider | None = None) -> None:
        """Reads the file. `provider` answers and is recorded where the file has nothing, and is
        freed together with this one.

        Raises `ModelUnavailable` for a file that cannot be read, is no recording, or is missing
        when there is no provider."""
        self._path = Path(path)
        self._inner = provider
        self._recordings: dict[str, _Recording] = {}
        self._too_long: set[str] = set()
        self._new_too_long: list[str] = []
        self._settings: _Settings | None = None
        self._mask: Callable[[str], str] = str
        self._fill: Callable[[str], str] = str
        self._read()
        self.label = f"Recorded {self._path.name}"

    def keep_out(self, mask: Callable[[str], str], fill: Callable[[str], str]) -> None:
        """Before the first request: write texts as `mask` makes them, and give replies as `fill`
        makes them of what was written."""
        self._mask, self._fill = mask, fill

    def _masked(self, value: JsonValue) -> JsonValue:
        match value:
            case str():
                return self._mask(value)
            case list():
                return [self._masked(item) for item in value]
            case dict():
                return {self._mask(name): self._masked(item) for name, item in value.items()}
            case _:
                return value

    def _hash(self, request: JsonObject) -> str:
        return _hash(cast("JsonObject", self._masked(request)))

    @property
    def call_format(self) -> CallFormat:
        """The provider's own, or the recorded one."""
        if self._inner is not None:
            return call_format_of(self._inner)
        return self._settings.call_format if self._settings else "tags"

    @property
    def tools_inline(self) -> bool:
        """The provider's own, or the recorded one."""
        if self._inner is not None:
            return tools_inline_of(self._inner)
        return self._settings is not None and self._settings.tools_inline

    @property
    def broken(self) -> str | None:
        """Why the provider behind it cannot run; a file never breaks."""
        return broken_of(self._inner) if self._inner is not None else None

    async def availability(self) -> ProviderAvailability:
        """The state of the provider that is recorded; a file alone is available."""
        return await self._inner.availability() if self._inner is not None else Available()

    async def prepare(
        self, on_progress: Callable[[float], None], signal: AbortSignal | None = None
    ) -> None:
        """Prepare the provider that is recorded; for a file alone there is nothing to do."""
        if self._inner is not None:
            await self._inner.prepare(on_progress, signal)
            return
        if signal is not None:
            signal.throw_if_aborted()
        on_progress(1.0)

    async def fits(self, prompt: PromptParts) -> bool:
        """Whether the recorded provider said so; without a recording of it, what it says now."""
        hashed = self._hash(_prompt_json(prompt))
        if hashed in self._too_long:
            return False
        if not isinstance(self._inner, Fits) or await self._inner.fits(prompt):
            return True
        self._note_too_long(hashed)
        return False

    async def generate(self, req: GenerateRequest) -> GenerateResult:
        """The recorded reply, else the provider's, which is recorded when it is whole.

        Raises `RecordingMissing` with the difference to the nearest recording when there is
        neither, and what the provider raises."""
        req.signal.throw_if_aborted()
        request = cast("JsonObject", self._masked(_request_json(req)))
        hashed = _hash(request)
        known = self._recordings.get(hashed)
        if known is not None:
            text = self._fill(known.reply.text)
            if req.on_token is not None and text:
                req.on_token(text)
            return GenerateResult(text, known.reply.finish_reason, known.reply.usage)
        if self._inner is None:
            raise RecordingMissing(self._difference(request))
        settings = _Settings(
            provider=self._inner.id,
            label=self._inner.label,
            call_format=call_format_of(self._inner),
            tools_inline=tools_inline_of(self._inner),
        )
        if self._settings not in (None, settings):
            raise ModelUnavailable(
                f"{self._path} holds replies of {self._settings!r}, and this is {settings!r}; "
                "record into another file"
            )
        try:
            result = await self._inner.generate(req)
        except PromptTooLong:
            # Replayed, the loop hears it when it asks whether the prompt fits: same prompt next.
            self._note_too_long(self._hash(_prompt_json(req)))
            raise
        self._record(hashed, settings, request, result)
        return result

    def dispose(self) -> None:
        """Free the provider that is recorded; twice is fine."""
        if isinstance(self._inner, Disposable):
            self._inner.dispose()

    def _note_too_long(self, hashed: str) -> None:
        if hashed not in self._too_long:
            self._too_long.add(hashed)
            self._new_too_long.append(hashed)

    def _read(self) -> None:
        try:
            content = self._path.read_bytes()
        except FileNotFoundError as exc:
            if self._inner is None:
                raise ModelUnavailable(f"there is no recording {self._path}") from exc
            return
        except OSError as exc:
            raise ModelUnavailable(
                f"the recording {self._path} cannot be read: {exc.strerror}"
            ) from exc
        # Behind the last line end stands nothing, or what a killed program left of a line.
        for number, line in enumerate(content.split(b"\n")[:-1], 1):
            try:
                # Not pydantic's own reader: it refuses half a surrogate pair, which schemas have.
                recording = _Recording.model_validate(json.loads(line))
            except (ValueError, RecursionError) as exc:
                raise ModelUnavailable(f"line {number} of {self._path} is no recording") from exc
            self._recordings[recording.hash] = recording
            self._too_long.update(recording.too_long)
            self._settings = recording.settings

    def _record(
        self, hashed: str, settings: _Settings, request: JsonObject, result: GenerateResult
    ) -> None:
        recording = _Recording(
            hash=hashed,
            settings=settings,
            request=request,
            reply=_Reply(
                text=self._mask(result.text),
                finish_reason=result.finish_reason,
                usage=result.usage,
            ),
            too_long=self._new_too_long,
        )
        line = json.dumps(recording.model_dump()) + "\n"
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with open(self._path, "ab+", opener=_private) as file:
                file.truncate(_end_of_lines(file))
                file.write(line.encode())
        except OSError as exc:
            raise ModelUnavailable(
                f"the recording {self._path} cannot be written: {exc.strerror}"
            ) from exc
        self._recordings[hashed] = recording
        self._settings = settings
        self._new_too_long = []

    def _difference(self, request: JsonObject) -> str:
        told = f"{self._path.name} has no recording of this request"
        if not self._recordings:
            return f"{told}, for it is empty"
        asked = _lines(request)

        def likeness(lines: Sequence[str]) -> float:
            return difflib.SequenceMatcher(None, lines, asked, autojunk=False).ratio()

        recorded = [_lines(one.request) for one in self._recordings.values()]
        nearest = max(recorded, key=likeness)
        changed = [
            line[:SHOWN_CHARS]
            for line in difflib.unified_diff(nearest, asked, n=0, lineterm="")
            if not line.startswith(("+++", "---", "@@"))
        ]
        shown = "\n".join(changed[:SHOWN_LINES])
        more = f"\n… and {len(changed) - SHOWN_LINES} more" if len(changed) > SHOWN_LINES else ""
        place = f"number {recorded.index(nearest) + 1} of {len(recorded)}"
        return f"{told}; what is new (+) and gone (-) against the nearest, {place}:\n{shown}{more}"


def _private(path: str, flags: int) -> int:
    """Opens a file that, when it is new, only its owner can read."""
    return os.open(path, flags, 0o600)


def _end_of_lines(file: BinaryIO) -> int:
    """Where the last whole line of a file ends; a line that was torn by a crash is behind it."""
    end = file.seek(0, SEEK_END)
    while end:
        begin = max(0, end - _BLOCK)
        file.seek(begin)
        found = file.read(end - begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return 0


def _prompt_json(prompt: PromptParts | GenerateRequest) -> JsonObject:
    return {
        "system": prompt.system,
        "messages": [asdict(turn) for turn in prompt.messages],
        "tools": [asdict(tool) for tool in prompt.tools],
    }


def _request_json(req: GenerateRequest) -> JsonObject:
    constraints = req.constraints
    held: JsonValue = None if constraints is None else [asdict(tool) for tool in constraints]
    return {**_prompt_json(req), "constraints": held}


def _hash(value: JsonObject) -> str:
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _lines(request: JsonObject) -> list[str]:
    """A request as lines for people, each small enough that a difference stands out."""
    messages = request["messages"]
    lines = [f"system: {line}" for line in str(request["system"]).splitlines()]
    for turn in messages if isinstance(messages, list) else ():
        if isinstance(turn, dict):
            name = f" {turn['name']}" if turn.get("name") else ""
            lines += [f"{turn['role']}{name}: {x}" for x in str(turn["content"]).splitlines()]
    for part in ("tools", "constraints"):
        spelled = json.dumps(request[part], indent=1, ensure_ascii=False)
        lines += [f"{part}: {line.strip()}" for line in spelled.splitlines()]
    return lines
