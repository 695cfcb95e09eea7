"""An adapter for a tool set: generate lessons, train, examine, and write adapter, card and curve.

`curriculum:` in place of a page trains the adapter that ships with this package, from the same
data and recipe. Nothing here reaches a network but the fetching of the base model, if it is not
there yet.
"""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.resources import as_file, files
from itertools import islice
from pathlib import Path

from pydantic import JsonValue

from webmcp_agent.browser.tools import PageTool
from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.adapters import mean_adapter
from webmcp_agent.providers.base import LocalProvider
from webmcp_agent.providers.training import train
from webmcp_agent.providers.training_values import (
    Conversation,
    Plan,
    Progress,
    TrainingOptions,
    TrainingResult,
)
from webmcp_agent.scenarios.curriculum import (
    BROAD,
    CHOICES,
    FORMS,
    NAMES,
    REFUSALS,
    REQUESTS,
    SHOPS,
    STEPS,
    UNSEEN,
    VALUES,
    Curriculum,
    Example,
    LessonUnfinished,
    Mix,
    conversations_of,
    record,
)
from webmcp_agent.scenarios.exam import ExamResult, examine
from webmcp_agent.scenarios.learning_curve import curve_svg
from webmcp_agent.scenarios.lessons_site import site_lesson
from webmcp_agent.scenarios.lessons_talk import talk_lesson
from webmcp_agent.scenarios.vocabulary import Draw

BASE_MODEL = "smollm2-135m"
BASE_NAME = "HuggingFaceTB/SmolLM2-135M-Instruct"
CURRICULUM = "curriculum:"
"""In place of a page: the shipped adapter."""
_WEIGHTS = "adapter_model.safetensors"
_RESULT = "training.json"
_MANY = 1_000_000
"""Conversations: more than are ever taken."""

SITE_EXAMPLES = 600
_TALK = 0.15
_GENERAL = 0.3
"""Share of general lessons beside those of a site, so that nothing is unlearnt."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One training of the shipped adapter; the next one begins with what it learnt."""

    mix: Mix
    examples: int
    options: TrainingOptions


SHIPPED = (
    Stage(BROAD, 1950, TrainingOptions()),
    Stage(SHOPS, 1800, TrainingOptions(learning_rate=6e-4, falling=0.6)),
    Stage(NAMES, 1500, TrainingOptions(learning_rate=5e-4, falling=0.8)),
    Stage(VALUES, 900, TrainingOptions(learning_rate=5e-4, falling=0.8)),
    Stage(CHOICES, 1800, TrainingOptions(learning_rate=5e-4, falling=0.8)),
    Stage(FORMS, 1000, TrainingOptions(learning_rate=5e-4, falling=0.8)),
    Stage(REQUESTS, 1400, TrainingOptions(learning_rate=5e-4, falling=0.9)),
    Stage(REFUSALS, 800, TrainingOptions(learning_rate=5e-4, falling=0.9)),
    Stage(STEPS, 1300, TrainingOptions(learning_rate=5e-4, falling=0.9)),
)
_MEANT = (1.0, 3.0, 2.0)
"""Weights of the last stages in the shipped adapter, which is their mean."""
SITE_OPTIONS = TrainingOptions(learning_rate=3e-4, falling=0.6)
"""Gentler than from scratch: it begins with the shipped adapter."""


@dataclass(frozen=True, slots=True)
class TuneSettings:
    """What to train on, and how."""

    out: Path
    seed: int = 1
    examples: int | None = None
    """To learn from; None for the usual number."""
    held_out: int = 20
    """Conversations that are judged at the end and not trained on."""
    options: TrainingOptions | None = None
    """None for the usual recipe."""


@dataclass(frozen=True, slots=True)
class TuneCallbacks:
    """Who hears of it."""

    on_plan: Callable[[Plan], None] | None = None
    on_progress: Callable[[Progress], None] | None = None


def default_adapter() -> Path:
    """The folder of the shipped adapter and its chat template."""
    with as_file(files("webmcp_agent.providers") / "default_adapter") as folder:
        return folder


def shipped_template() -> str:
    """The chat template that the shipped adapter was trained with."""
    return (default_adapter() / "chat_template.jinja").read_text(encoding="utf-8")


def site_conversations(
    tools: Sequence[PageTool], title: str, seed: str, count: int
) -> Iterator[list[Example]]:
    """`count` conversations on a site's own tools."""
    made = number = 0
    while made < count:
        draw = Draw(f"{seed}/site/{number}")
        number += 1
        lesson = site_lesson(draw, tools, title)
        if draw.chance(_TALK):
            lesson = talk_lesson(draw, lesson)
        try:
            yield asyncio.run(record(lesson))
        except LessonUnfinished:
            continue
        made += 1


def tune_curriculum(
    base: Path,
    settings: TuneSettings,
    callbacks: TuneCallbacks | None = None,
    signal: AbortSignal | None = None,
) -> TrainingResult:
    """Train the shipped adapter anew, stage by stage: the mean of what the last stages learnt.

    The result is that of the last stage. Blocking; ends early, resumable, when `signal` is set."""
    usual = sum(stage.examples for stage in SHIPPED)
    scale = (settings.examples or usual) / usual
    held = _joined(Curriculum(settings.seed, UNSEEN, unseen=True).conversations(settings.held_out))
    folders: list[Path] = []
    result = TrainingResult()
    for number, stage in enumerate(SHIPPED):
        folder = settings.out / f"stage-{number + 1}"
        seed, count = settings.seed + number, round(stage.examples * scale)
        if (done := _done(folder, seed, count)) is not None:
            result = done
        else:
            lessons = _first(Curriculum(seed, stage.mix).conversations(_MANY), count)
            options = replace(settings.options or stage.options, seed=seed, base_name=BASE_NAME)
            start = folders[-1] if folders else None
            result = _train(base, lessons, held, folder, options, start, callbacks, signal)
            if not result.finished:
                return result
        folders.append(folder)
    mean_adapter(dict(zip(folders[-len(_MEANT) :], _MEANT, strict=True)), settings.out)
    write_curve(settings.out, result)
    return result


def _done(folder: Path, seed: int, examples: int) -> TrainingResult | None:
    """The result of a stage that was finished before, by the same command."""
    if not (folder / _WEIGHTS).is_file() or not (folder / _RESULT).is_file():
        return None
    result = TrainingResult.read((folder / _RESULT).read_text(encoding="utf-8"))
    return result if (result.seed, result.examples) == (seed, examples) else None


def tune_site(
    base: Path,
    tools: Sequence[PageTool],
    title: str,
    settings: TuneSettings,
    callbacks: TuneCallbacks | None = None,
    signal: AbortSignal | None = None,
) -> TrainingResult:
    """Train an adapter for `tools`, beginning with the shipped one. Blocking, resumable."""
    if not tools:
        raise ValueError("there are no tools to train for")
    seed, count = settings.seed, settings.examples or SITE_EXAMPLES
    general = round(count * _GENERAL)
    own = _first(site_conversations(tools, title, str(seed), _MANY), count - general)
    others = _first(Curriculum(seed + 100).conversations(_MANY), general)
    lessons = Draw(f"{seed}/order").shuffled([*own, *others])
    held = _joined(site_conversations(tools, title, f"{seed}/held", settings.held_out))
    start = default_adapter()
    options = replace(settings.options or SITE_OPTIONS, seed=seed, base_name=BASE_NAME)
    return _train(
        base,
        lessons,
        held,
        settings.out,
        options,
        start if (start / _WEIGHTS).is_file() else None,
        callbacks,
        signal,
    )


def _joined(conversations: Iterator[list[Example]]) -> list[Conversation]:
    return [one for examples in conversations for one in conversations_of(examples)]


def _first(conversations: Iterator[list[Example]], count: int) -> list[Conversation]:
    """The first `count` examples."""
    every = (one for examples in conversations for one in conversations_of(examples))
    return [*islice(every, count)]


def _train(
    base: Path,
    lessons: Sequence[Conversation],
    held: Sequence[Conversation],
    out: Path,
    options: TrainingOptions,
    start: Path | None,
    callbacks: TuneCallbacks | None,
    signal: AbortSignal | None,
) -> TrainingResult:
    told = callbacks or TuneCallbacks()
    result = train(
        base,
        lessons,
        out,
        template=shipped_template(),
        options=options,
        held_out=held,
        start=start,
        on_plan=told.on_plan,
        on_progress=told.on_progress,
        signal=signal,
    )
    write_curve(out, result)
    return result


def write_curve(out: Path, result: TrainingResult) -> None:
    """`curve.svg` and `training.json` in the adapter's folder."""
    held = [(each.step, each.loss) for each in result.validations]
    title = f"Loss over {result.steps} steps, {result.examples} examples"
    (out / "curve.svg").write_text(curve_svg(result.losses, held, title), encoding="utf-8")
    (out / _RESULT).write_text(json.dumps(asdict(result), indent=1) + "\n", encoding="utf-8")


async def examine_site(
    provider: LocalProvider, tools: Sequence[PageTool], title: str, seed: int, count: int
) -> ExamResult:
    """Held-out conversations of a site, each step put to `provider`."""
    found = await asyncio.to_thread(
        lambda: [*site_conversations(tools, title, f"{seed}/held", count)]
    )
    return await examine(provider, (example for examples in found for example in examples))


async def examine_curriculum(provider: LocalProvider, seed: int, count: int) -> ExamResult:
    """Conversations of domains that are in no training, each step put to `provider`."""
    held = Curriculum(seed, UNSEEN, unseen=True)
    found = await asyncio.to_thread(lambda: [*held.conversations(count)])
    return await examine(provider, (example for examples in found for example in examples))


def score_table(results: Sequence[tuple[str, ExamResult]]) -> str:
    """A Markdown table: one row per kind of step, one column per model."""
    kinds = sorted({kind for _, result in results for kind in result.kinds})
    rows = [f"| steps exact | {' | '.join(name for name, _ in results)} |"]
    rows.append("|---" * (len(results) + 1) + "|")
    for kind in kinds:
        cells = [result.kinds.get(kind) for _, result in results]
        rows.append(
            f"| {kind} | {' | '.join(f'{c.right} of {c.all}' if c else '–' for c in cells)} |"
        )
    totals = [result.total for _, result in results]
    rows.append(f"| all | {' | '.join(f'{t.right} of {t.all} ({t.share:.0%})' for t in totals)} |")
    times = " | ".join(f"{result.median_seconds:.1f} s" for _, result in results)
    return "\n".join([*rows, f"| median time of a step | {times} |"]) + "\n"


def write_card(out: Path, subject: str, result: TrainingResult, table: str) -> None:
    """The model card, `README.md` in the adapter's folder."""
    (out / "README.md").write_text(
        f"""---
base_model: {BASE_NAME}
library_name: peft
license: apache-2.0
tags: [webmcp, tool-calling, lora]
---
# Adapter for {subject}

A LoRA adapter of {BASE_NAME} that reads requests and calls the tools of a web page. Use it with
`webmcp-agent run URL TASK --model {BASE_MODEL} --adapter {out.name}`.

- **Data**: {result.examples} generated examples, {result.tokens} tokens, of which
  {result.reply_tokens} are replies that are learnt. No text was copied from anywhere.
- **Training**: {result.steps} steps in {result.seconds / 60:.0f} minutes, loss on the model's
  replies only: {result.losses[0]:.2f} at the first step, {_last(result.losses):.2f} over the last.
- **Limits**: small. It copies values that stand in the request or in a result, and is easily wrong
  where it would have to calculate, to remember or to guess. It knows no dates such as "tomorrow".

{table}
![learning curve](curve.svg)
""",
        encoding="utf-8",
    )


def _last(losses: Sequence[float]) -> float:
    tail = losses[-20:]
    return sum(tail) / len(tail)


def tools_from_json(value: JsonValue) -> list[PageTool]:
    """The tools of a contract file, or of what `webmcp-agent tools --json` prints.

    Raises `ValueError` when it is neither."""
    listed = value.get("tools") if isinstance(value, dict) else value
    if not isinstance(listed, list):
        raise ValueError("no list of tools in it")
    tools: list[PageTool] = []
    for each in listed:
        if not isinstance(each, dict) or not isinstance(name := each.get("name"), str):
            raise ValueError("a tool without a name in it")
        schema = each.get("input_schema", each.get("inputSchema"))
        tools.append(
            PageTool(
                name,
                str(each.get("description") or ""),
                schema if isinstance(schema, dict | str) else None,
            )
        )
    return tools
