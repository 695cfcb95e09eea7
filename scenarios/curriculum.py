"""The lessons a small model learns from: worlds, requests and the teacher, run through the loop.

A lesson is run by the agent's own loop with a teacher in place of the model, so each example is
exactly what the loop sends to a provider. Deterministic by seed; reads no network and no files but
this package's own.
"""

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from hashlib import sha256

from webmcp_agent.agent.history import messages_of
from webmcp_agent.agent.loop import run_local_agent
from webmcp_agent.agent.options import LocalLoopOptions
from webmcp_agent.agent.request import AgentDefinition, ChatMessage, RunRequest, user_message
from webmcp_agent.agent.stream import AgentStreamPart, Finish
from webmcp_agent.agent.tool_calls import write_call
from webmcp_agent.agent.wrappers import flat_tool, written_args
from webmcp_agent.browser.tools import JsonObject, PageTool
from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.argument_schema import decoding_schema
from webmcp_agent.providers.base import (
    Available,
    ChatTurn,
    CompactTool,
    GenerateRequest,
    GenerateResult,
    PromptParts,
    ProviderAvailability,
    ToolConstraint,
)
from webmcp_agent.providers.training_values import Conversation
from webmcp_agent.scenarios.lessons import with_mistakes
from webmcp_agent.scenarios.lessons_booking import booking_lesson
from webmcp_agent.scenarios.lessons_devices import devices_lesson
from webmcp_agent.scenarios.lessons_ledger import ledger_lesson
from webmcp_agent.scenarios.lessons_lookup import domains_of, lookup_lesson
from webmcp_agent.scenarios.lessons_records import records_lesson
from webmcp_agent.scenarios.lessons_shop import shop_lesson
from webmcp_agent.scenarios.lessons_storefront import storefront_lesson
from webmcp_agent.scenarios.lessons_talk import talk_lesson
from webmcp_agent.scenarios.phrases import Table, Wording, domains
from webmcp_agent.scenarios.shop_world import ShopMix
from webmcp_agent.scenarios.simulator import Lesson, Reply, Script, World
from webmcp_agent.scenarios.vocabulary import Draw

MISTAKES = 0.06
"""Share of the replies before which a mistake is shown that the loop sends back."""
MAX_STEPS = 10

_INSTRUCTIONS = (
    "Answer briefly.",
    "Be friendly and keep answers short.",
    "We deliver within three days.",
    "Prices include tax.",
    "Always answer in one sentence.",
)


@dataclass(frozen=True, slots=True)
class Example:
    """One prompt and the reply to learn."""

    system: str
    messages: tuple[ChatTurn, ...]
    tools: tuple[CompactTool, ...]
    reply: str
    kind: str
    """`call`, `answer`, `after-error`, `refusal` or `talk`."""
    site: str
    """`shop`, `booking`, `records`, `devices`, `ledger`, `lookup` or `storefront`."""
    call: tuple[str, str] | None = None
    """Tool and arguments (JSON) of the call."""
    facts: tuple[str, ...] = ()
    """What a right answer has to hold; `a|b` is satisfied by either."""
    page_tools: tuple[PageTool, ...] = field(default=(), repr=False)
    """Every tool of the page at that moment, for parsing a reply."""
    constraints: tuple[ToolConstraint, ...] = field(default=(), repr=False)
    """What the calls of a reply are held to."""


_PATIENCE = 50
"""Lessons that may be left out before most have to end as they should."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_SMALL = 20
"""Numbers up to here may be counted rather than read."""


class LessonUnfinished(Exception):
    """The loop and the teacher did not agree; the lesson is left out."""


class Teacher:
    """A provider that knows the right replies, and keeps what it was asked."""

    id = "teacher"
    label = "Teacher"
    tools_inline = False
    call_format = "tags"

    def __init__(self, world: World) -> None:
        self.world = world
        self.script: Script | None = None
        self.begun = False
        self.pairs: list[tuple[GenerateRequest, Reply, str, tuple[PageTool, ...]]] = []

    def take(self, script: Script) -> None:
        """The replies to the next request."""
        self.script, self.begun = script, False

    async def availability(self) -> ProviderAvailability:
        """Always ready."""
        return Available()

    async def prepare(
        self, on_progress: Callable[[float], None], signal: AbortSignal | None = None
    ) -> None:
        """Nothing to load."""
        on_progress(1.0)

    async def generate(self, req: GenerateRequest) -> GenerateResult:
        """The right reply, or a mistake on purpose."""
        if self.script is None:
            raise LessonUnfinished("no request is open")
        try:
            reply = self.script.send(self.world.last) if self.begun else next(self.script)
        except StopIteration:
            raise LessonUnfinished("the loop asked once more") from None
        self.begun = True
        tools = await self.world.list_tools()
        named = {tool.name: tool for tool in tools}
        written = (
            write_call(call.name, _written(named.get(call.name), call.args), "tags")
            for call in reply.calls
        )
        text = "\n".join([*([reply.text] if reply.text else []), *written])
        self.pairs.append((req, reply, text, tuple(tools)))
        return GenerateResult(text)

    def is_done(self) -> bool:
        """Whether the script has no further reply."""
        if self.script is None:
            return True
        try:
            self.script.send(self.world.last)
        except StopIteration:
            return True
        return False


def _written(tool: PageTool | None, args: JsonObject) -> JsonObject:
    """The arguments as the model writes them, in the order to which decoding holds them."""
    written = written_args(tool, args)
    schema = None if tool is None else flat_tool(tool).input_schema
    return _in_order(decoding_schema(schema), written) if isinstance(schema, dict) else written


def _in_order(schema: JsonObject, args: JsonObject) -> JsonObject:
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return args
    ordered: JsonObject = {}
    for name, member in properties.items():
        if name in args:
            value = args[name]
            if isinstance(value, dict) and isinstance(member, dict):
                value = _in_order(member, value)
            ordered[name] = value
    return ordered | {name: value for name, value in args.items() if name not in ordered}


async def record(lesson: Lesson) -> list[Example]:
    """Run the lesson through the loop; one example for each reply to learn.

    Raises `LessonUnfinished` when the loop ended a request otherwise than the teacher did."""
    teacher = Teacher(lesson.world)
    messages: list[ChatMessage] = []
    agent = AgentDefinition(instructions=lesson.instructions) if lesson.instructions else None
    for number, turn in enumerate(lesson.turns):
        teacher.take(with_mistakes(lesson.world, turn.script(), MISTAKES))
        messages.append(user_message(turn.request, f"u{number}"))
        request = RunRequest(tuple(messages), lesson.world, agent=agent)
        parts: list[AgentStreamPart] = []
        run = run_local_agent(teacher, request, LocalLoopOptions(max_steps=MAX_STEPS))
        async with aclosing(run):
            async for part in run:
                parts.append(part)
        if parts[-1] != Finish("stop") or not teacher.is_done():
            raise LessonUnfinished(f"{parts[-1]} after {turn.request!r}")
        messages += messages_of(parts)
    examples = [_example(lesson, *pair) for pair in teacher.pairs if pair[1].learn]
    if not all(each.call is not None or is_grounded(each.reply, each) for each in examples):
        raise LessonUnfinished("the answer holds what a shortened result did not show")
    return examples


def _example(
    lesson: Lesson,
    req: GenerateRequest,
    reply: Reply,
    text: str,
    page_tools: tuple[PageTool, ...],
) -> Example:
    call = reply.calls[0] if reply.calls else None
    return Example(
        req.system,
        req.messages,
        req.tools,
        text,
        reply.kind,
        lesson.kind,
        (call.name, json.dumps(call.args, ensure_ascii=False, sort_keys=True)) if call else None,
        reply.facts,
        page_tools,
        req.constraints or (),
    )


def is_grounded(text: str, example: Example) -> bool:
    """Whether every number of the answer was read somewhere; small ones may be counts."""
    told = " ".join([*(turn.content for turn in example.messages), example.system])
    known = set(map(_value, _NUMBER.findall(told)))
    numbers = _NUMBER.findall(text)
    return all(_value(n) in known or (n.isdigit() and int(n) <= _SMALL) for n in numbers)


def _value(number: str) -> float:
    return float(number.replace(",", "."))


_SITES: dict[str, Callable[[Draw, Table, Wording], Lesson]] = {
    "shop": shop_lesson,
    "booking": booking_lesson,
    "records": records_lesson,
    "devices": devices_lesson,
    "ledger": ledger_lesson,
    "lookup": lookup_lesson,
    "storefront": storefront_lesson,
}


@dataclass(frozen=True, slots=True)
class Mix:
    """How often lessons are of some kind."""

    sites: tuple[int, ...]
    """Weights of shop, booking, records, devices, ledger, lookup and storefront."""
    talk: float
    near: float
    """Of the requests that a shop cannot do, those that other shops can."""
    shops: ShopMix
    wording: Wording = "known"
    values: float = 0.0
    """Of the lookups, those with values that are said otherwise than they are sent."""
    spare: float = 0.0
    """Of their tools, those with parameters that nobody speaks of."""
    full: float = 0.0
    """Of the requests, those that say all they can: what is optional, a second clause."""


BROAD = Mix((42, 10, 12, 8, 6, 22, 0), talk=0.12, near=0.0, shops=ShopMix())
"""All kinds of sites: what is learnt first."""
SHOPS = Mix((56, 5, 8, 5, 3, 11, 18), talk=0.2, near=0.6, shops=ShopMix(0.65, 0.6, 0.45))
"""Most of them shops like the one that comes with this package: what is learnt then."""
NAMES = Mix((45, 9, 12, 8, 6, 12, 8), 0.25, 0.7, ShopMix(0.55, 0.6, 0.5), "wide")
"""Names in many other words, and what small models confuse: what is learnt then."""
VALUES = Mix((22, 6, 8, 4, 4, 50, 6), 0.15, 0.7, ShopMix(0.6, 0.6, 0.5), "wide", values=0.75)
"""Values in people's own words: what is learnt then."""
CHOICES = Mix(
    (34, 10, 12, 7, 9, 18, 10), 0.28, 0.8, ShopMix(0.55, 0.6, 0.5, 0.5), "wide", values=0.4
)
"""Which one, what next, and when to say no: what is learnt then."""
FORMS = Mix(
    (16, 6, 8, 4, 4, 58, 4), 0.15, 0.8, ShopMix(0.55, 0.6, 0.5, 0.5), "wide", values=0.5, spare=0.6
)
"""Tools with many parameters, most of which nobody speaks of: what is learnt then."""
REQUESTS = Mix(
    (30, 9, 11, 6, 11, 17, 16),
    0.22,
    0.9,
    ShopMix(0.6, 0.6, 0.5, 0.2),
    "wide",
    values=0.35,
    spare=0.3,
    full=0.5,
)
"""Requests of every kind that say all at once: what is learnt then."""
REFUSALS = Mix(
    (60, 6, 6, 4, 4, 12, 14),
    0.5,
    0.95,
    ShopMix(0.7, 0.7, 0.6, 0.15),
    "wide",
    values=0.3,
    spare=0.2,
    full=0.5,
)
"""What shops do and this one has no tool for, half of all requests: what is learnt then."""
STEPS = Mix(
    (24, 12, 16, 9, 14, 20, 24),
    0.15,
    0.8,
    ShopMix(0.5, 0.6, 0.5, 0.3, checkouts=0.8),
    "wide",
    values=0.35,
    spare=0.3,
    full=0.4,
)
"""All kinds of sites again, and storefronts that take several steps: what is learnt last."""
UNSEEN = Mix((10, 10, 10, 10, 10, 10, 0), 0.12, 0.0, ShopMix(demo=0.0), "unseen")
"""All kinds alike, for evaluation, named in words that no training sees."""
USUAL = Mix((10, 10, 10, 10, 10, 10, 0), 0.12, 0.0, ShopMix(demo=0.0))
"""The same, named in the usual words."""


def make_lesson(seed: str, mix: Mix = BROAD, unseen: bool = False) -> Lesson:
    """The lesson of that seed; with `unseen`, from the domains kept for evaluation."""
    draw = Draw(seed)
    kind = draw.random.choices([*_SITES], mix.sites)[0]
    themed = "shop" if kind == "storefront" else kind
    pool = domains_of(unseen) if kind == "lookup" else domains(themed, unseen)
    if kind == "lookup" and mix.values and draw.chance(mix.values):
        pool = domains("values", unseen)
    theme = {**draw.pick(pool), "mix": mix.shops, "spare": mix.spare, "full": mix.full}
    lesson = _SITES[kind](draw, theme, mix.wording)
    if draw.chance(mix.talk):
        lesson = talk_lesson(draw, lesson, mix.near, mix.full)
    elif draw.chance(0.12):
        lesson = Lesson(lesson.kind, lesson.world, lesson.turns, draw.pick(_INSTRUCTIONS))
    return lesson


@dataclass(slots=True)
class Curriculum:
    """Conversations by seed, as many as wanted."""

    seed: int = 1
    mix: Mix = BROAD
    unseen: bool = False
    """From the domains that no training sees."""
    left_out: int = 0
    """Lessons that the loop did not end as the teacher did."""

    def conversations(self, count: int) -> Iterator[list[Example]]:
        """`count` conversations, each as the examples of its replies in order."""
        made = number = 0
        split = "unseen" if self.unseen else "train"
        while made < count:
            seed = f"{self.seed}/{split}/{number}"
            number += 1
            try:
                yield asyncio.run(record(make_lesson(seed, self.mix, self.unseen)))
            except LessonUnfinished:
                self.left_out += 1
                if self.left_out > _PATIENCE + made:
                    raise
                continue
            made += 1


def conversations_of(examples: Sequence[Example]) -> list[Conversation]:
    """What is learnt from one conversation, with little computed twice.

    The last prompt, in which the earlier replies are learnt as well; of half of the conversations
    the first one too, where nothing has been called yet; and those in which a mistake is mended."""
    replies = {example.reply for example in examples}
    chosen: list[Conversation] = []
    for number, example in enumerate(examples):
        prompt = PromptParts(example.system, example.messages, example.tools)
        last, turn = number == len(examples) - 1, example.messages[-1]
        if last:
            learnt = tuple(
                index
                for index, turn in enumerate(example.messages)
                if turn.role == "assistant" and turn.content in replies
            )
            chosen.append(Conversation(prompt, example.reply, learnt))
        elif _is_mended(turn) or (number == 0 and _every_other(example)):
            chosen.append(Conversation(prompt, example.reply))
    return chosen


def _every_other(example: Example) -> bool:
    """Half of the examples, by their text."""
    return sha256(example.messages[-1].content.encode()).digest()[0] % 2 == 0


def _is_mended(turn: ChatTurn) -> bool:
    """Whether the turn is what the loop says to a reply that it sends back."""
    if turn.role == "tool":
        return turn.content.startswith("Error:")
    return turn.content.startswith(("Your last call, ", "No tool was called", "The tool "))
