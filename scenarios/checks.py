"""The checks of a scenario, and how they judge what a conversation left.

What the page says counts more than what the model says. Patterns on answers ignore case.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Annotated, get_args

from playwright.async_api import Page
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from webmcp_agent.agent.stream import FinishReason
from webmcp_agent.scenarios.expected_calls import ExpectedCall, NamedCall, Node, match_calls
from webmcp_agent.scenarios.matching import OrText, Pattern, Patterns, Texts, listed, occurs, shown
from webmcp_agent.scenarios.outcome import Failure, FailureKind, Outcome
from webmcp_agent.scenarios.page_checks import WITHIN_MS, PageCheck, wrong_until


class _Check(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True
    )


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
    """What the page shows, stores and gives."""
    url: Pattern | None = None
    """Occurs in the address that is open at the end."""
    finish: Annotated[list[FinishReason], BeforeValidator(listed), OrText()] | None = Field(
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
        failures += await self.judge_page(outcome.url, page)
        return [*failures, *self._of_end(outcome)]

    async def judge_page(self, url: str | None, page: Page | None) -> list[Failure]:
        """All that is wrong with the page and its address."""
        failures: list[Failure] = []
        if page is not None:
            for check in self.page:
                failures += await check.judge(page)
        if self.url is not None and (wrong := await self._wrong_url(self.url, url, page)):
            failures.append(Failure("url", "wrong-url", wrong))
        return failures

    async def _wrong_url(self, pattern: str, url: str | None, page: Page | None) -> str | None:
        async def look() -> str | None:
            open_now = url if page is None else page.url
            if occurs(pattern, open_now or ""):
                return None
            return f"{open_now or 'nothing'} is open, which does not match {pattern!r}"

        return await wrong_until(look, 0 if page is None else WITHIN_MS)

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
