"""Which tools and turns to leave out until the prompt fits the model's window.

Fewer tools first, then the oldest turns. Turns go in units (a person's turn with all that followed
it), so a call never loses its result; the last call and its result survive in short form.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from webmcp_agent.agent.digest import cut_result
from webmcp_agent.agent.foreign_text import unwrapped, wrap_untrusted
from webmcp_agent.agent.wording import FOLDED, gist, one_line
from webmcp_agent.providers.base import ChatTurn, PromptParts

SMALLER_TOOL_COUNTS = (4, 2, 1)
SHORT_RESULT = 400
"""Characters of the last call's results before they are folded away."""


@dataclass(frozen=True, slots=True)
class Fitting:
    """The prompt that fits, or None, and what was tried."""

    prompt: PromptParts | None
    tries: list[tuple[int, int]]
    """(tools, turns) of each try, in order."""


def tool_plan(count: int, max_tools: int) -> list[int]:
    """How many tools to offer, most first: `max_tools`, then 4, 2 and 1."""
    plan = [min(count, max_tools)]
    plan += [n for n in SMALLER_TOOL_COUNTS if n < plan[0]]
    return plan


async def fit(
    render: Callable[[int, Sequence[ChatTurn]], PromptParts],
    fits: Callable[[PromptParts], Awaitable[bool]],
    turns: Sequence[ChatTurn],
    scratch: Sequence[ChatTurn],
    plan: Sequence[int],
) -> Fitting:
    """The biggest prompt that `fits` accepts.

    `render` builds a prompt from a number of tools and the turns. `scratch` are this step's
    correction and repair turns: they belong to the newest user turn and stay with it."""
    tries: list[tuple[int, int]] = []

    async def attempt(count: int, units: Sequence[Sequence[ChatTurn]]) -> PromptParts | None:
        kept = [*(turn for unit in units for turn in unit), *scratch]
        tries.append((count, len(kept)))
        prompt = render(count, kept)
        return prompt if await fits(prompt) else None

    units = units_of(turns)
    for count in plan:
        if prompt := await attempt(count, units):
            return Fitting(prompt, tries)
    while len(units) > 1:
        oldest, units = units[0], units[1:]
        if _holds_last_call(oldest, units):
            short = [_shortened(turn) for turn in oldest]
            if short != oldest and (prompt := await attempt(plan[-1], [short, *units])):
                return Fitting(prompt, tries)
            units = _folded(oldest, units)
        if prompt := await attempt(plan[-1], units):
            return Fitting(prompt, tries)
    return Fitting(None, tries)


def units_of(turns: Sequence[ChatTurn]) -> list[list[ChatTurn]]:
    """The turns in units: a user turn with all turns up to the next user turn."""
    units: list[list[ChatTurn]] = []
    for turn in turns:
        if turn.role == "user" or not units:
            units.append([])
        units[-1].append(turn)
    return units


def _holds_last_call(unit: Sequence[ChatTurn], later: Sequence[Sequence[ChatTurn]]) -> bool:
    def has_result(turns: Sequence[ChatTurn]) -> bool:
        return any(turn.role == "tool" for turn in turns)

    return has_result(unit) and not any(has_result(turns) for turns in later)


def _shortened(turn: ChatTurn) -> ChatTurn:
    if turn.role != "tool":
        return turn
    return replace(turn, content=cut_result(turn.content, SHORT_RESULT))


def _gist_of_result(content: str) -> str:
    """The short form of a tool turn; other people's text stays marked as such."""
    text = unwrapped(content)
    short = gist(text) or one_line(text)
    return short if text == content else wrap_untrusted(short)


def _folded(unit: Sequence[ChatTurn], later: Sequence[list[ChatTurn]]) -> list[list[ChatTurn]]:
    """`later` with the results of `unit` as first lines of the newest user turn."""
    lines = [
        FOLDED.format(name=turn.name, gist=_gist_of_result(turn.content))
        for turn in unit
        if turn.role == "tool"
    ]
    first, *rest = later[-1]
    told = replace(first, content="\n".join([*lines, first.content]))
    return [*later[:-1], [told, *rest]]
