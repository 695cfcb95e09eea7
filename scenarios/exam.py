"""Held-out steps put to a model, and how many it gets right.

A call is right when it is the one call with exactly these arguments. An answer is right when it
calls nothing, holds what the result says, holds no number that stands nowhere in the conversation,
and is honest: a failure or a refusal is told as one. Words may differ.
"""

import json
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from webmcp_agent.agent.tool_calls import parse_tool_calls
from webmcp_agent.agent.validation import ValidArgs, validate_args
from webmcp_agent.agent.wrappers import flat_tool, sent_args
from webmcp_agent.browser.tools import PageTool
from webmcp_agent.providers.base import GenerateRequest, LocalProvider
from webmcp_agent.scenarios.curriculum import Example, is_grounded

_HONEST = re.compile(
    r"can't|cannot|can not|couldn't|could not|unable|not able|isn't|is not|was not|wasn't|did not"
    r"|didn't|no tool|not possible|none of|failed|error|wrong|sorry|no longer|gone|invalid|denied"
    r"|no answer|not allowed|stopped|out of stock|no clear answer|submit it yourself|nothing was",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Score:
    """Right and all, of one kind of step."""

    right: int = 0
    all: int = 0

    @property
    def share(self) -> float:
        """0 to 1; 0 when there were none."""
        return self.right / self.all if self.all else 0.0


@dataclass(slots=True)
class ExamResult:
    """Scores by what a step is (`call`, `answer`, …) and by site."""

    kinds: dict[str, Score] = field(default_factory=dict[str, Score])
    sites: dict[str, Score] = field(default_factory=dict[str, Score])
    seconds: list[float] = field(default_factory=list[float])
    """Of each step."""
    wrong: list[tuple[Example, str]] = field(default_factory=list[tuple[Example, str]])
    """The steps that were not right, with the reply."""

    @property
    def total(self) -> Score:
        """All kinds together."""
        scores = self.kinds.values()
        return Score(sum(s.right for s in scores), sum(s.all for s in scores))

    @property
    def median_seconds(self) -> float:
        """Of a step; 0 when there were none."""
        ordered = sorted(self.seconds)
        return ordered[len(ordered) // 2] if ordered else 0.0

    def count(self, example: Example, reply: str, seconds: float) -> None:
        """Judge one reply and count it."""
        right = is_right(example, reply)
        for table, key in ((self.kinds, example.kind), (self.sites, example.site)):
            score = table.setdefault(key, Score())
            score.all += 1
            score.right += right
        self.seconds.append(seconds)
        if not right:
            self.wrong.append((example, reply))


async def examine(
    provider: LocalProvider,
    examples: Iterable[Example],
    on_step: Callable[[ExamResult], None] | None = None,
) -> ExamResult:
    """Put every example to a provider that is ready; each alone, the teacher's turns before it."""
    result = ExamResult()
    for example in examples:
        started = time.perf_counter()
        generated = await provider.generate(
            GenerateRequest(
                example.system,
                example.messages,
                example.tools,
                constraints=example.constraints,
            )
        )
        result.count(example, generated.text, time.perf_counter() - started)
        if on_step is not None:
            on_step(result)
    return result


def is_right(example: Example, reply: str) -> bool:
    """Whether a raw reply is as good as the teacher's."""
    parsed = parse_tool_calls(reply, [flat_tool(tool) for tool in example.page_tools])
    if parsed.errors:
        return False
    if example.call is not None:
        if len(parsed.calls) != 1:
            return False
        call = parsed.calls[0]
        tool = _named(example.page_tools, call.name)
        checked = validate_args(tool, sent_args(tool, call.args)) if tool else None
        return isinstance(checked, ValidArgs) and example.call == (call.name, _canonical(checked))
    if parsed.calls or not parsed.text:
        return False
    if example.kind in {"refusal", "after-error"} and not _HONEST.search(parsed.text):
        return False
    return all(_holds(parsed.text, fact) for fact in example.facts) and is_grounded(
        parsed.text, example
    )


def _named(tools: Sequence[PageTool], name: str) -> PageTool | None:
    return next((tool for tool in tools if tool.name == name), None)


def _canonical(checked: ValidArgs) -> str:
    return json.dumps(checked.args, ensure_ascii=False, sort_keys=True)


def _holds(text: str, fact: str) -> bool:
    """Whether one of the alternatives of a fact stands in the text, words as whole ones."""
    return any(
        re.search(rf"(?<!\w){re.escape(each)}(?!\w)" if each != "?" else r"\?", text, re.IGNORECASE)
        for each in fact.split("|")
    )
