"""What `bench page` and `bench model` do and show: a table, or one JSON line, and a file of all."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.text import Text

from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.bench import PageFigures, measure_page
from webmcp_agent.scenarios.bench_model import ModelFigures, measure_model
from webmcp_agent.scenarios.bench_switches import measure_switches
from webmcp_agent.scenarios.bench_writing import model_to_measure
from webmcp_agent.scenarios.console import (
    Progress,
    printable,
    progress_console,
    results_console,
    seconds,
    write_json,
)
from webmcp_agent.scenarios.errors import WrongUsage
from webmcp_agent.scenarios.interrupt import Interrupt
from webmcp_agent.scenarios.runner import ModelSettings

DONE = 0


async def bench_page_command(
    interrupt: Interrupt, browser: str | None, out: Path | None, as_json: bool
) -> int:
    """Figures of the page work."""
    progress = Progress(progress_console())
    try:
        figures = await measure_page(browser, progress.say)
    finally:
        progress.done()
    _give(figures.to_json(), figures.details(), page_lines(figures), out, as_json)
    return DONE


async def bench_model_command(
    interrupt: Interrupt,
    settings: ModelSettings,
    shape: str | None,
    out: Path | None,
    as_json: bool,
) -> int:
    """Figures of a model."""
    progress = Progress(progress_console())
    provider = await model_to_measure(settings, shape)
    try:
        signal = interrupt.setup.signal
        figures = await measure_model(provider, progress, signal)
        provider.dispose()
        switches = await measure_switches(
            settings, shape, figures.held_ms, figures.device, progress, signal
        )
        figures = replace(figures, switches=switches)
    finally:
        progress.done()
        provider.dispose()
    _give(figures.to_json(), figures.details(), model_lines(figures), out, as_json)
    return DONE


def _give(
    figures: JsonObject, details: JsonObject, lines: Sequence[str], out: Path | None, as_json: bool
) -> None:
    if out is not None:
        try:
            out.write_text(json.dumps(details, indent=1) + "\n", encoding="utf-8")
        except OSError as exc:
            raise WrongUsage(f"--out {out}: {exc.strerror}") from exc
    if as_json:
        write_json(figures)
        return
    console = results_console()
    for line in lines:
        console.print(Text(printable(line)))


def page_lines(figures: PageFigures) -> list[str]:
    """The figures as a table, medians in ms."""
    rows = [
        f"{size.tools:>5}  {size.call_ms:>7.1f} {size.playwright_call_ms:>10.1f} "
        f"{size.call_ratio:>5.2f}  {size.list_ms:>7.1f} {size.playwright_list_ms:>10.1f} "
        f"{size.list_ratio:>5.2f}  {size.first_step_ms:>10.1f} {size.own_step_ms:>9.1f}"
        for size in figures.sizes
    ]
    return [
        f"Chromium {figures.browser}, medians in ms",
        "tools     call playwright ratio     list playwright ratio  first step next step",
        *rows,
        "list: ours with the page context, Playwright's without; step: the agent's own work",
    ]


def model_lines(figures: ModelFigures) -> list[str]:
    """The figures as a table, and the ratios in words."""
    rows = [
        f"{number:>4}  {step.opening.prompt_tokens:>6} {step.opening.cached_tokens:>6} "
        f"{step.free.tokens:>8}  {step.opening.first_ms:>8.0f} {step.fresh_first_ms:>8.0f}  "
        f"{step.free.per_token_ms:>8.1f} {step.constrained.per_token_ms:>8.1f} "
        f"{step.bare_per_token_ms:>8.1f}"
        for number, step in enumerate(figures.steps, 1)
    ]
    astray = [str(number) for number, step in enumerate(figures.steps, 1) if not step.led]
    lines = [
        f"{figures.model} {figures.placement}, loaded in {seconds(figures.load_ms)}",
        "                 tokens    first token in ms          ms a token",
        "step  prompt reused  written     reuse  without      free     held generate",
        *rows,
        f"{figures.prefill_per_s:.0f} tokens a second read, {figures.decode_per_s:.1f} written: "
        f"{figures.memory_share:.1%} of what the memory's speed allows",
        f"first token with reuse, from step 2 on: {figures.ttft_reuse:.2f} of the time without",
        f"a token of a call held to its schema: {figures.constrained_per_token:.2f} of a free one",
        f"decoding's speed to that of the library's generate: {figures.decode_vs_generate:.2f}",
        *(each.line() for each in (figures.lookup, *figures.switches)),
    ]
    if astray:
        lines.append(f"not comparable, since a reply went astray: step {', '.join(astray)}")
    return lines
