"""Figures of the page work: calls and listings beside Playwright's own, and the agent's own cost.

Everything that is compared is measured in turns, in one run, on one page: absolute times move a lot
with what else the machine does, their ratios little. Nothing here passes or fails. The figures of
models are in `bench_model.py`.
"""

import json
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from playwright.async_api import Browser, Page
from pydantic import JsonValue

from webmcp_agent.agent.loop import run_local_agent
from webmcp_agent.agent.request import RunRequest, user_message
from webmcp_agent.agent.tool_calls import write_call
from webmcp_agent.browser.errors import NoWebMCP
from webmcp_agent.browser.launch import open_chromium, open_page
from webmcp_agent.browser.page_tools import PageTools
from webmcp_agent.browser.policy import Policy
from webmcp_agent.browser.tools import JsonObject, PageContext, PageTool, StopSignal, ToolOk
from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.base import (
    Available,
    GenerateRequest,
    GenerateResult,
    ProviderAvailability,
)
from webmcp_agent.scenarios.serve import serve_folder

SIZES = (1, 30, 100, 1_000)
"""Tools on the page."""
CALLS_AT, OWN_AT = 30, 100
"""Tools on the page whose calls and listings, and whose own cost, stand for the whole."""

TURNS = 40
"""Calls and listings of each side, fewer on large pages: see `_turns`."""
RUNS = 12
"""Runs of the agent that its own cost is taken from."""
STEPS = 6

_SETTLED_MS = 600
"""Age of a document from which a listing waits for nothing any more."""

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Figures</title>
<main><h1>Figures</h1></main>
<script type="module" src="bench.js"></script>
</html>
"""
_TASK = "Find a blue mug under 20 euros, put two of them into the cart and list my orders"
_VERBS = ("search", "list", "open", "add", "update", "remove", "book", "cancel")
_NOUNS = ("products", "orders", "reviews", "addresses", "coupons", "tickets", "rooms", "messages")


@dataclass(frozen=True, slots=True)
class PageSize:
    """What was measured on a page with so many tools: medians, in ms."""

    tools: int
    call_ms: float
    playwright_call_ms: float
    list_ms: float
    """All tools and the page context."""
    playwright_list_ms: float
    """All tools."""
    first_step_ms: float
    """The agent's own cost of a step on tools that it has not seen before."""
    own_step_ms: float
    """The same on tools that it knows from the step before."""

    @property
    def call_ratio(self) -> float:
        """Our call to Playwright's; below 1 is better."""
        return self.call_ms / self.playwright_call_ms

    @property
    def list_ratio(self) -> float:
        """Our listing to Playwright's; below 1 is better."""
        return self.list_ms / self.playwright_list_ms

    def to_json(self) -> JsonObject:
        """All that was measured."""
        return {
            "tools": self.tools,
            "ms": {
                "call": round(self.call_ms, 3),
                "playwright_call": round(self.playwright_call_ms, 3),
                "list_and_context": round(self.list_ms, 3),
                "playwright_list": round(self.playwright_list_ms, 3),
                "first_step": round(self.first_step_ms, 3),
                "own_step": round(self.own_step_ms, 3),
            },
            "ratios": {
                "call_vs_playwright": round(self.call_ratio, 3),
                "list_vs_playwright": round(self.list_ratio, 3),
            },
        }


@dataclass(frozen=True, slots=True)
class PageFigures:
    """What `bench page` found."""

    browser: str
    sizes: tuple[PageSize, ...]
    """One of each number of tools."""

    def to_json(self) -> JsonObject:
        """The figures that stand for the whole."""
        calls, own = self._of(CALLS_AT), self._of(OWN_AT)
        return {
            "ratios": {
                "call_vs_playwright": round(calls.call_ratio, 3),
                "list_vs_playwright": round(calls.list_ratio, 3),
            },
            "ms": {
                "call": round(calls.call_ms, 2),
                "list_and_context": round(calls.list_ms, 2),
                "own_step": round(own.own_step_ms, 2),
            },
        }

    def details(self) -> JsonObject:
        """The same, and what was measured at each size."""
        sizes: list[JsonValue] = [size.to_json() for size in self.sizes]
        return {**self.to_json(), "browser": self.browser, "sizes": sizes}

    def _of(self, tools: int) -> PageSize:
        return next(size for size in self.sizes if size.tools == tools)


async def measure_page(
    browser: str | None,
    told: Callable[[str], None],
    *,
    sizes: Sequence[int] = SIZES,
    turns: int = TURNS,
) -> PageFigures:
    """Measure in a Chromium of its own, on pages of made-up tools.

    `browser` as for `open_chromium`; `told` hears what goes on; `sizes` has to hold `CALLS_AT` and
    `OWN_AT`. Raises `BrowserError`."""
    measured: list[PageSize] = []
    with TemporaryDirectory() as folder:
        _write_site(Path(folder), sizes)
        async with serve_folder(Path(folder)) as address, open_chromium(browser=browser) as running:
            for count in sizes:
                told(f"a page with {count} {'tool' if count == 1 else 'tools'}")
                url = f"{address}?tools={count}"
                measured.append(await _measure_size(running, url, count, turns))
            return PageFigures(running.version, tuple(measured))


def _write_site(folder: Path, sizes: Sequence[int]) -> None:
    (folder / "index.html").write_text(_PAGE, encoding="utf-8")
    script = Path(__file__).with_name("bench.js").read_text(encoding="utf-8")
    (folder / "bench.js").write_text(script, encoding="utf-8")
    for count in sizes:
        text = json.dumps(made_up_tools(count))
        (folder / f"tools-{count}.json").write_text(text, encoding="utf-8")


def made_up_tools(count: int) -> list[JsonValue]:
    """Tools as a page registers them, with texts and schemas of a common size."""
    return [_made_up_tool(number) for number in range(count)]


def _made_up_tool(number: int) -> JsonObject:
    verb = _VERBS[number % len(_VERBS)]
    noun = _NOUNS[number // len(_VERBS) % len(_NOUNS)]
    return {
        "name": f"{verb}_{noun}_{number}",
        "description": f"{verb.title()} {noun} of department {number} by words and price.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": f"Words to look for in the {noun}"},
                "category": {
                    "type": "string",
                    "enum": ["garden", "kitchen", "office", "travel"],
                    "description": "Only this category",
                },
                "max_price": {"type": "number", "minimum": 0, "description": "In euros"},
                "count": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10},
            },
            "required": ["query"],
        },
        "annotations": {"readOnlyHint": verb in {"search", "list"}},
    }


async def _measure_size(browser: Browser, url: str, count: int, turns: int) -> PageSize:
    async with open_page(browser, url, policy=Policy(mode="all")) as tools:
        if not await tools.has_webmcp():
            raise NoWebMCP("This browser has no WebMCP; it takes a Chromium from 150 on.")
        page = tools.page
        await page.wait_for_function(
            f"document.title === 'Ready' && performance.now() > {_SETTLED_MS}"
        )
        listed = await tools.list_tools()
        first_step_ms, own_step_ms = await own_cost(listed, runs=max(2, RUNS * turns // TURNS))
        # In the middle of the list, so that finding it costs neither the least nor the most.
        name = sorted(tool.name for tool in listed)[count // 2]
        fewer = _turns(turns, count)
        call_ms, playwright_call_ms = await _in_turns(
            lambda: _call(tools, name), lambda: _playwright_call(page, name), fewer
        )
        list_ms, playwright_list_ms = await _in_turns(
            tools.tools_and_context, page.webmcp.tools, fewer
        )
    return PageSize(
        count,
        call_ms,
        playwright_call_ms,
        list_ms,
        playwright_list_ms,
        first_step_ms,
        own_step_ms,
    )


def _turns(turns: int, count: int) -> int:
    """Fewer turns on pages where each takes long: from 100 tools on."""
    return max(3, turns * 100 // max(100, count))


async def _call(tools: PageTools, name: str) -> None:
    answer = await tools.call_tool(
        name, {"query": "blue mug", "count": 3}, call_id="bench", signal=AbortSignal()
    )
    assert isinstance(answer, ToolOk), answer


async def _playwright_call(page: Page, name: str) -> None:
    await page.webmcp.call_tool(name, {"query": "blue mug", "count": 3})


async def _in_turns(
    ours: Callable[[], Awaitable[object]], theirs: Callable[[], Awaitable[object]], turns: int
) -> tuple[float, float]:
    """Medians of both in ms, each done `turns` times by turns after one that does not count."""
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(turns + 1):
        for work, taken in zip((ours, theirs), times, strict=True):
            began = time.perf_counter()
            await work()
            if turn:
                taken.append((time.perf_counter() - began) * 1000)
    return median(times[0]), median(times[1])


async def own_cost(tools: Sequence[PageTool], *, runs: int = RUNS) -> tuple[float, float]:
    """What the agent itself costs per step with these tools, in ms: on unknown ones, and after.

    Medians over runs of six steps with a model and a page that answer at once: parsing, checking,
    ranking, compacting, fitting and writing the prompt, and all that the loop does around it."""
    first: list[float] = []
    later: list[float] = []
    for run in range(runs):
        model = _InstantModel()
        began = time.perf_counter()
        request = RunRequest([user_message(_TASK)], _InstantPage(_unknown(tools, run)))
        async with aclosing(run_local_agent(model, request)) as parts:
            async for _ in parts:
                pass
        first.append((model.asked[0] - began) * 1000)
        pairs = zip(model.answered, model.asked[1:], strict=False)
        later += [(asked - answered) * 1000 for answered, asked in pairs]
    return median(first), median(later)


def _unknown(tools: Sequence[PageTool], run: int) -> list[PageTool]:
    """The same tools as another page's, so that nothing remembered fits them."""
    return [
        replace(
            tool,
            input_schema={**tool.input_schema, "title": f"Run {run}"}
            if isinstance(tool.input_schema, dict)
            else tool.input_schema,
            fingerprint=f"{run}-{tool.fingerprint}",
        )
        for tool in tools
    ]


class _InstantModel:
    """Calls the tool that is ranked first, in each step with another argument."""

    id = "instant"
    label = "Instant"

    def __init__(self) -> None:
        self.asked: list[float] = []
        self.answered: list[float] = []

    async def availability(self) -> ProviderAvailability:
        return Available()

    async def prepare(
        self, on_progress: Callable[[float], None], signal: AbortSignal | None = None
    ) -> None:
        on_progress(1.0)

    async def generate(self, req: GenerateRequest) -> GenerateResult:
        self.asked.append(time.perf_counter())
        step = len(self.asked)
        text = "Two blue mugs are in the cart."
        if step < STEPS:
            text = write_call(req.tools[0].name, {"query": f"mug {step}", "count": step}, "tags")
        self.answered.append(time.perf_counter())
        return GenerateResult(text)


@dataclass(frozen=True, slots=True)
class _InstantPage:
    """Tools that answer at once."""

    listed: Sequence[PageTool]

    async def list_tools(self) -> Sequence[PageTool]:
        return self.listed

    async def page_context(self) -> PageContext | None:
        return PageContext("/", "Figures", "Figures")

    async def call_tool(
        self, name: str, args: JsonObject, *, call_id: str, signal: StopSignal
    ) -> ToolOk:
        return ToolOk(f"Found 3 for {args['query']}.")
