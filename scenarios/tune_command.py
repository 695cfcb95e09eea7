"""`webmcp-agent tune`: read the tools, say how long it takes, train, examine, write a card."""

import asyncio
from pathlib import Path

from rich.text import Text

from webmcp_agent.browser.tools import PageTool
from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.detection import create_transformers_provider
from webmcp_agent.providers.training_values import Plan, TrainingResult
from webmcp_agent.providers.weights import fetch_model, find_model
from webmcp_agent.scenarios.console import Progress, progress_console, results_console
from webmcp_agent.scenarios.contract import load_contract
from webmcp_agent.scenarios.errors import WrongUsage
from webmcp_agent.scenarios.exam import ExamResult
from webmcp_agent.scenarios.interrupt import INTERRUPTED_EXIT, Interrupt
from webmcp_agent.scenarios.runner import PageSettings, open_tools
from webmcp_agent.scenarios.source_file import read_json
from webmcp_agent.scenarios.tune import (
    BASE_MODEL,
    CURRICULUM,
    TuneCallbacks,
    TuneSettings,
    default_adapter,
    examine_curriculum,
    examine_site,
    score_table,
    shipped_template,
    tools_from_json,
    tune_curriculum,
    tune_site,
    write_card,
)


async def tune_command(
    interrupt: Interrupt, source: str, page: PageSettings, settings: TuneSettings
) -> int:
    """Train an adapter for a page, a contract file or `curriculum:`; 130 when stopped on the way.

    The same command goes on where a stopped one was."""
    console, progress = progress_console(), Progress(progress_console())
    try:
        tools, title = [], "many kinds of sites"
        if source != CURRICULUM:
            progress.say("reading the tools")
            tools, title = await _tools_of(source, page)
            if not tools:
                raise WrongUsage(f"{source} has no tools to train for")
        progress.say("getting the base model")
        found = find_model(BASE_MODEL)
        base = await asyncio.to_thread(fetch_model, found, progress.advance, interrupt.setup.signal)

        def planned(plan: Plan) -> None:
            minutes = plan.seconds / 60
            console.print(
                Text(f"{plan.examples} examples, {plan.steps} steps: about {minutes:.0f} minutes")
            )
            progress.say("training")

        told = TuneCallbacks(planned, lambda p: progress.advance(p.step / p.steps))
        progress.say("preparing the lessons")
        with interrupt.stoppable() as signal:
            result = await _trained(base, tools, title, settings, told, signal)
        if not result.finished:
            console.print(
                Text(f"stopped after {result.steps} steps; the same command goes on from there")
            )
            return INTERRUPTED_EXIT
        progress.say("examining")
        table = await _examined(base, tools, title, settings)
    finally:
        progress.done()
    write_card(settings.out, title, result, table)
    results_console().print(Text(table + f"\nthe adapter is in {settings.out}"))
    return 0


async def _trained(
    base: Path,
    tools: list[PageTool],
    title: str,
    settings: TuneSettings,
    told: TuneCallbacks,
    signal: AbortSignal,
) -> TrainingResult:
    if not tools:
        return await asyncio.to_thread(tune_curriculum, base, settings, told, signal)
    return await asyncio.to_thread(tune_site, base, tools, title, settings, told, signal)


async def _examined(base: Path, tools: list[PageTool], title: str, settings: TuneSettings) -> str:
    """The held-out steps with the new adapter, and with what there was before."""
    adapters: list[tuple[str, Path | None]] = [("this adapter", settings.out)]
    adapters.append(("shipped adapter", default_adapter()) if tools else ("untuned", None))
    results: list[tuple[str, ExamResult]] = []
    for name, adapter in adapters:
        provider = create_transformers_provider(
            model=str(base),
            adapter=adapter,
            chat_template=None if adapter else shipped_template(),
            max_new_tokens=200,
        )
        await provider.prepare(lambda _: None)
        if tools:
            exam = await examine_site(provider, tools, title, settings.seed, settings.held_out)
        else:
            exam = await examine_curriculum(provider, settings.seed, settings.held_out)
        provider.dispose()
        results.append((name, exam))
    return score_table(results)


async def _tools_of(source: str, page: PageSettings) -> tuple[list[PageTool], str]:
    """The tools of a page or of a JSON file, and what to call them."""
    if source.endswith(".json"):
        found = await asyncio.to_thread(tools_in, Path(source))
        if found is not None:
            return found, Path(source).stem
    async with open_tools(source, page) as opened:
        context = await opened.page_context()
        return list(await opened.list_tools()), context.title if context else source


def tools_in(path: Path) -> list[PageTool] | None:
    """The tools of a contract, or of another JSON file with tools; None when there is no file."""
    if not path.is_file():
        return None
    value = read_json(path).value
    if isinstance(value, dict) and "contract" in value:
        return [forms[0][0] for forms in load_contract(path).tools.values()]
    try:
        return tools_from_json(value)
    except ValueError as exc:
        raise WrongUsage(f"{path}: {exc}") from exc
