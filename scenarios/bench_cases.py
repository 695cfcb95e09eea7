"""Figures of a test: how long scripted scenarios on the demo shop take, one at a time and two.

The model is a script, so what is measured is all but the model: opening pages, calls, checks.
Beside it stands what several processes gain here that only compute: "cores" may be two threads of
one, and no test gains more than that once a single worker keeps one of them busy.
"""

import asyncio
import sys
import time
from pathlib import Path

from rich.text import Text

from webmcp_agent.agent.request import user_message
from webmcp_agent.agent.tool_calls import write_call
from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.base import GenerateRequest
from webmcp_agent.providers.scripted import ScriptedProvider
from webmcp_agent.scenarios.case_run import CaseResult, CaseRunner
from webmcp_agent.scenarios.checks import Checks
from webmcp_agent.scenarios.console import (
    Progress,
    progress_console,
    results_console,
    seconds,
    write_json,
)
from webmcp_agent.scenarios.errors import ScenarioError
from webmcp_agent.scenarios.interrupt import Interrupt
from webmcp_agent.scenarios.runner import PageSettings, RunSettings
from webmcp_agent.scenarios.scenario import Case
from webmcp_agent.scenarios.workers import in_parallel

CASES = 50
_TURNS = 60_000_000
"""Of an empty loop, a second or two of computing."""
PRODUCT = "trail-runner-1"

_CALLS = (
    ("search_products", {"query": "trail running shoes", "max_price": 100}),
    ("open_product", {"id": PRODUCT}),
    ("add_to_cart", {"quantity": 2}),
)
_JS = "Object.fromEntries(shop.cart().map(({ id, quantity }) => [id, quantity]))"


async def bench_cases_command(
    interrupt: Interrupt, browser: str | None, workers: int, as_json: bool
) -> int:
    """Hold the same scenarios with one worker, then with several."""
    progress = Progress(progress_console())
    settings = RunSettings(page=PageSettings(browser=browser))
    runner = CaseRunner(ScriptedProvider(bench_reply), settings)
    try:
        progress.say("one scenario, so that everything has been started")
        await held_ms(runner, 1, 1, interrupt.setup.signal)
        progress.say(f"{CASES} scenarios one at a time")
        one_ms = await held_ms(runner, CASES, 1, interrupt.setup.signal)
        progress.say(f"{CASES} scenarios {workers} at a time")
        several_ms = await held_ms(runner, CASES, workers, interrupt.setup.signal)
        progress.say("what several processes gain here that only compute")
        computing = await computed_ms(workers) / await computed_ms(1)
    finally:
        progress.done()
        await runner.close()
    figures: JsonObject = {
        "ratios": {
            "workers_vs_one": round(several_ms / one_ms, 3),
            "computing_vs_one": round(computing, 3),
        },
        "ms": {"one_worker": round(one_ms), "workers": round(several_ms)},
        "cases": CASES,
        "workers": workers,
    }
    if as_json:
        write_json(figures)
    else:
        results_console().print(
            Text(
                f"{CASES} scenarios: {seconds(one_ms)} one at a time, {seconds(several_ms)} "
                f"{workers} at a time, {several_ms / one_ms:.0%} "
                f"({computing:.0%} for as many processes that only compute)"
            )
        )
    return 0


async def held_ms(runner: CaseRunner, count: int, workers: int, signal: AbortSignal) -> float:
    """How long so many scenarios take, in ms.

    Raises: `ScenarioError` when one does not pass."""
    cases = [_case(number) for number in range(1, count + 1)]
    results: list[CaseResult] = []
    began = time.perf_counter()
    await in_parallel(cases, workers, lambda case: runner.run(case, signal), results.append)
    took_ms = (time.perf_counter() - began) * 1000
    for result in results:
        if result.failures:
            raise ScenarioError(f"{result.case.name} failed: {result.failures[0].message}")
    return took_ms


async def computed_ms(processes: int) -> float:
    """How long so many processes take that share one piece of computing, in ms."""
    program = f"for _ in range({_TURNS // processes}): pass"
    began = time.perf_counter()
    running = [
        await asyncio.create_subprocess_exec(sys.executable, "-I", "-c", program)
        for _ in range(processes)
    ]
    for one in running:
        await one.wait()
    return (time.perf_counter() - began) * 1000


def _case(number: int) -> Case:
    return Case(
        file=Path("bench"),
        name=f"buy {number}",
        group="bench",
        turns=((user_message("Add two pairs of trail running shoes under 100 euros."),),),
        checks=Checks.model_validate(
            {
                "calls": [{"tool": tool, "args": args} for tool, args in _CALLS],
                "page": [{"js": _JS, "equals": {PRODUCT: 2}}],
            }
        ),
        start="shop:",
    )


def bench_reply(request: GenerateRequest) -> str:
    """The next call that the conversation does not have yet."""
    said = "\n".join(turn.content for turn in request.messages if turn.role == "assistant")
    for tool, args in _CALLS:
        if tool not in said:
            return write_call(tool, {**args}, "tags")
    return "Two pairs of Trail Runner 1 are in your cart."
