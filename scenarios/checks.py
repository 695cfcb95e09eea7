"""The checks of a scenario, and how they judge what a conversation left.

What the page says counts more than what the model says: a check of the page's state is asked again
until it holds or its time is over, since a page may need a moment. Patterns on answers ignore case.
"""

import asyncio
import time
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Any, get_args

from playwright.async_api import Error, Page
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    TypeAdapter,
    model_validator,
)

from webmcp_agent.agent.stream import FinishReason
from webmcp_agent.scenarios.expected_calls import ExpectedCall, NamedCall, Node, match_calls
from webmcp_agent.scenarios.matching import Pattern, occurs, same_value, shown
from webmcp_agent.scenarios.outcome import Failure, FailureKind, Outcome

PAUSE_MS = 50
"""Between two looks at the page."""
LOOK_LIMIT_MS = 10_000
"""Of each look, so that a page that answers late is not taken for one that answers wrongly."""

_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


class _Check(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _listed(value: Any) -> Any:
    """One text stands for a list of one."""
    return [value] if isinstance(value, str) else value


Texts = Annotated[list[str], BeforeValidator(_listed), Field(min_length=1)]
Patterns = Annotated[list[Pattern], BeforeValidator(_listed), Field(min_length=1)]


class AnswerCheck(_Check):
    """What the answer says, and what it does not; all of it, whatever the case of the letters."""

    matches: Patterns = Field(default_factory=list[str])
    contains: Texts = Field(default_factory=list[str])
    not_matches: Patterns = Field(default_factory=list[str])
    not_contains: Texts = Field(default_factory=list[str])

    def judge(self, answer: str) -> list[Failure]:
        """What is wrong with an answer."""
        lower = answer.casefold()
        said = shown(answer)
        wrong = [
            *(
                f"the answer {said} does not match {pattern!r}"
                for pattern in self.matches
                if not occurs(pattern, answer, ignore_case=True)
            ),
            *(
                f"the answer {said} does not contain {text!r}"
                for text in self.contains
                if text.casefold() not in lower
            ),
            *(
                f"the answer {said} matches {pattern!r}"
                for pattern in self.not_matches
                if occurs(pattern, answer, ignore_case=True)
            ),
            *(
                f"the answer {said} contains {text!r}"
                for text in self.not_contains
                if text.casefold() in lower
            ),
        ]
        return [Failure("answer", "wrong-answer", text) for text in wrong]


class PageCheck(_Check):
    """What a JavaScript expression gives on the page, as JSON, compared as a whole."""

    js: str = Field(min_length=1)
    equals: JsonValue
    within_ms: int = Field(default=2_000, ge=0)
    """How long the page is given."""

    async def judge(self, page: Page) -> list[Failure]:
        """What is wrong with the page's state."""
        limit = time.monotonic() + self.within_ms / 1000
        while True:
            found, told = await self._look(page)
            if found:
                return []
            if time.monotonic() >= limit:
                text = f"{self.js} {told}, not {shown(self.equals)}"
                return [Failure("page", "wrong-page", text)]
            await asyncio.sleep(PAUSE_MS / 1000)

    async def _look(self, page: Page) -> tuple[bool, str]:
        # As JSON text, so that what arrives is what JSON knows and nothing else.
        wrapped = f"(async () => JSON.stringify(await (\n{self.js}\n)))()"
        try:
            async with asyncio.timeout(LOOK_LIMIT_MS / 1000):
                text = await page.evaluate(wrapped)
        except TimeoutError:
            return False, "gave no answer"
        except Error as exc:
            reason = (exc.message.strip().splitlines() or [""])[0]
            return False, f"could not be evaluated ({reason.removeprefix('Page.evaluate: ')})"
        if not isinstance(text, str):
            return False, "is undefined"
        value = _JSON.validate_json(text)
        return same_value(value, self.equals), f"is {shown(value)}"


class Checks(_Check):
    """What should be true after a conversation; what is not given is not judged."""

    calls: list[Node] | None = None
    """Exactly these calls were made, in this order; an empty list for none at all."""
    called: list[NamedCall] = Field(default_factory=list[ExpectedCall])
    """Each of these was made, whatever else was."""
    not_called: list[NamedCall] = Field(default_factory=list[ExpectedCall])
    """None of these was made; a tool may be a glob such as `cart_*`."""
    answer: AnswerCheck | None = None
    page: list[PageCheck] = Field(default_factory=list[PageCheck])
    url: Pattern | None = None
    """Occurs in the address that is open at the end."""
    finish: Annotated[list[FinishReason], BeforeValidator(_listed)] | None = Field(
        default_factory=lambda: ["stop"]
    )
    """Each request ended with one of these; null for any, as long as it could go on."""
    at_most_steps: int | None = Field(default=None, ge=1)
    """Model steps of all requests together."""

    @model_validator(mode="after")
    def _judge_something(self) -> "Checks":
        if self.model_fields_set <= {"finish"}:
            raise ValueError("there is nothing to check but how it ended")
        return self

    async def judge(self, outcome: Outcome, page: Page | None) -> list[Failure]:
        """All that is wrong; `page` is None when the tools were stand-ins."""
        failures = [*self._of_calls(outcome)]
        if self.answer is not None:
            failures += self.answer.judge(outcome.answer)
        if page is not None:
            for check in self.page:
                failures += await check.judge(page)
        return [*failures, *self._of_end(outcome)]

    def _of_calls(self, outcome: Outcome) -> list[Failure]:
        failures: list[Failure] = []
        if self.calls is not None and (wrong := match_calls(self.calls, outcome.calls)):
            failures.append(wrong)
        for wanted in self.called:
            wrongs = [wanted.wrong(call) for call in outcome.calls]
            if None not in wrongs:
                failures.append(_never_called(wanted, wrongs))
        for unwanted in self.not_called:
            failures += [
                Failure(
                    "not_called",
                    "forbidden-call",
                    f"{call.tool}({shown(call.args)}) was made",
                    number,
                )
                for number, call in enumerate(outcome.calls, 1)
                if fnmatchcase(call.tool, unwanted.tool)
                and unwanted.model_copy(update={"tool": call.tool}).wrong(call) is None
            ]
        return failures

    def _of_end(self, outcome: Outcome) -> list[Failure]:
        failures: list[Failure] = []
        if self.url is not None and not occurs(self.url, outcome.url or ""):
            text = f"{outcome.url or 'nothing'} is open, which does not match {self.url!r}"
            failures.append(Failure("url", "wrong-url", text))
        wanted = self.finish or get_args(FinishReason)
        odd = [end for end in outcome.finishes if end not in wanted]
        if odd:
            reason = f" ({outcome.error})" if outcome.error else ""
            text = f"it ended with {odd[-1]}{reason}, not with {' or '.join(wanted)}"
            failures.append(Failure("finish", "wrong-finish", text))
        if self.at_most_steps is not None and outcome.steps > self.at_most_steps:
            text = f"it took {outcome.steps} steps, more than {self.at_most_steps}"
            failures.append(Failure("at_most_steps", "too-many-steps", text))
        return failures


def _never_called(
    wanted: ExpectedCall, wrongs: Sequence[tuple[FailureKind, str] | None]
) -> Failure:
    """How far the calls that were made are from one that was wanted; the nearest one tells."""
    text = f"{wanted.text()} was never called"
    for number, wrong in enumerate(wrongs, 1):
        if wrong is not None and wrong[0] != "wrong-tool":
            return Failure("called", wrong[0], f"{text}: {wrong[1]}", number)
    return Failure("called", "missing-call" if wrongs else "no-call", text)
