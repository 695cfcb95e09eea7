"""Replies written in advance: a provider for tests and rehearsals, without a model.

A script step is a reply text, a `GenerateResult`, an exception to raise, or a function of the
request. Every request is kept as it was, whatever its sender changes afterwards.
"""

import inspect
import json
from collections.abc import Awaitable, Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

from pydantic import JsonValue

from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.base import (
    Available,
    CallFormat,
    GenerateRequest,
    GenerateResult,
    PromptParts,
    ProviderAvailability,
)
from webmcp_agent.providers.errors import ModelUnavailable, ScriptExhausted

ReplyFunction = Callable[
    [GenerateRequest], "str | GenerateResult | Awaitable[str | GenerateResult]"
]
Reply = str | GenerateResult | BaseException | ReplyFunction

_SHOWN = 300
"""Characters of the last prompt in `ScriptExhausted`."""


class ScriptedProvider:
    """Gives the replies of a script, one a generation.

    `replies` may also be one function, which then answers every request. `fits` says whether a
    prompt fits; without it, everything does."""

    def __init__(
        self,
        replies: Sequence[Reply] | ReplyFunction,
        *,
        id: str = "scripted",
        label: str = "Scripted replies",
        call_format: CallFormat = "tags",
        tools_inline: bool = False,
        fits: Callable[[PromptParts], bool] | None = None,
        availability: ProviderAvailability | None = None,
    ) -> None:
        self.id = id
        self.label = label
        self.call_format: CallFormat = call_format
        self.tools_inline = tools_inline
        self.broken: str | None = None
        self.requests: list[GenerateRequest] = []
        """What was asked, oldest first; detached from what the sender holds."""
        self._every = replies if callable(replies) else None
        self._replies: list[Reply] = [] if callable(replies) else list(replies)
        self._given = 0
        self._fits = fits
        self._availability = availability or Available()

    async def availability(self) -> ProviderAvailability:
        """Available, unless the script says otherwise; `prepare` makes it available."""
        return self._availability

    async def prepare(
        self, on_progress: Callable[[float], None], signal: AbortSignal | None = None
    ) -> None:
        """Nothing to load."""
        if signal is not None:
            signal.throw_if_aborted()
        self._availability = Available()
        on_progress(1.0)

    async def fits(self, prompt: PromptParts) -> bool:
        """What the script's `fits` says."""
        return self._fits is None or self._fits(prompt)

    async def generate(self, req: GenerateRequest) -> GenerateResult:
        """The next reply.

        Raises the step's exception, or `ScriptExhausted` when no reply is left."""
        self.requests.append(
            replace(req, tools=deepcopy(req.tools), constraints=deepcopy(req.constraints))
        )
        reply = self._every if self._every is not None else self._next(req)
        if isinstance(reply, BaseException):
            raise reply
        if callable(reply):
            answer = reply(req)
            reply = await answer if inspect.isawaitable(answer) else answer
        result = GenerateResult(reply) if isinstance(reply, str) else reply
        if req.on_token is not None and result.text:
            req.on_token(result.text)
        return result

    def assert_complete(self) -> None:
        """Raise `AssertionError` when replies are left that nobody asked for."""
        left = self._replies[self._given :]
        if left:
            raise AssertionError(
                f"{len(left)} of {len(self._replies)} replies were not used, first {left[0]!r}"
            )

    def _next(self, req: GenerateRequest) -> Reply:
        if self._given >= len(self._replies):
            shown = "\n".join(turn.content for turn in req.messages) or req.system
            raise ScriptExhausted(
                f"the script has {len(self._replies)} replies and was asked for one more, "
                f"by a prompt that ends with: {shown[-_SHOWN:]!r}"
            )
        self._given += 1
        return self._replies[self._given - 1]


def scripted_from_file(path: Path) -> ScriptedProvider:
    """A scripted provider with the replies of a JSON file, a list of texts.

    Raises `ModelUnavailable` when the file is missing or holds something else."""
    try:
        content: JsonValue = json.loads(path.read_text(encoding="utf-8"))
    except OSError as exc:
        raise ModelUnavailable(f"the script {path} cannot be read: {exc.strerror}") from exc
    except (ValueError, RecursionError) as exc:
        raise ModelUnavailable(f"the script {path} is no JSON: {exc}") from exc
    if not isinstance(content, list):
        raise ModelUnavailable(f"the script {path} is no JSON list of replies")
    replies: list[Reply] = []
    for number, reply in enumerate(content, 1):
        if not isinstance(reply, str):
            raise ModelUnavailable(f"reply {number} in the script {path} is no text")
        replies.append(reply)
    return ScriptedProvider(replies, label=f"Script {path.name}")
