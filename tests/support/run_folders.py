"""Run folders as the command leaves them, by the same code, with made-up runs in them."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from pydantic import JsonValue

from webmcp_agent.agent.stream import (
    AgentStreamPart,
    Finish,
    MessageStart,
    TextDelta,
    ToolCall,
    ToolError,
    ToolResult,
)
from webmcp_agent.agent.tool_calls import write_call
from webmcp_agent.agent.trace import TraceEvent, TraceType
from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.report import RunFolder

SYSTEM = (
    "You are the assistant on this web page. You act with the page's tools.\nHow to work:\n"
    + "\n".join(f"- Rule {n}: make one call at a time and wait for its result." for n in range(20))
    + "\nTools:\n"
    + "\n".join(f"search_{n}(query: str, limit?: int)  Find products by words" for n in range(8))
)
PRODUCTS = [
    {
        "id": f"product-{n}",
        "title": f"Product number {n}, made by hand from recycled wool",
        "price": 11.5 + n,
        "rating": 4.5,
        "in_stock": n % 3 != 0,
    }
    for n in range(12)
]


class Story:
    """A run as it is told to a folder, part by part and event by event."""

    def __init__(self, folder: RunFolder, ask: str) -> None:
        self._folder = folder
        self._step = 0
        self.turns: list[JsonValue] = [{"role": "user", "content": ask}]
        self.calls: list[JsonValue] = []

    def trace(self, type: TraceType, **data: JsonValue) -> None:
        self._folder.trace(TraceEvent(type, self._step, data))

    def part(self, part: AgentStreamPart) -> None:
        self._folder.part(part)

    def step(self, reply: str, *, system: str = SYSTEM, tools: Sequence[str] = ("search",)) -> None:
        """A step up to the model's reply."""
        self._step += 1
        self.part(MessageStart(f"m{self._step}"))
        self.trace("page", ms=8.5, tools=len(tools))
        self.trace("fit", tries=[[len(tools), len(self.turns)]])
        self.trace("request", system=system, turns=[*self.turns], tools=[*tools], not_shown=0)
        usage: JsonObject = {"prompt_tokens": 900, "cached_tokens": 700, "completion_tokens": 30}
        self.trace("reply", text=reply, finish_reason="stop", usage=usage, ms=640.25)

    def call(
        self, name: str, args: JsonObject, answer: str | ToolError, value: JsonValue = None
    ) -> None:
        """A step that calls, and the page's answer."""
        self.step(write_call(name, args, "tags"))
        call_id = f"c{self._step}.1"
        self.part(ToolCall(call_id, name, args))
        outcome = "ok" if isinstance(answer, str) else answer.code
        self.trace("call", name=name, args=args, outcome=outcome, ms=71.5)
        if isinstance(answer, str):
            self.part(ToolResult(call_id, name, value, answer))
        else:
            self.part(answer)
        self.calls.append({"name": name, "args": args, "outcome": outcome})
        said = answer if isinstance(answer, str) else answer.error
        new: list[JsonValue] = [
            {"role": "assistant", "content": write_call(name, args, "tags")},
            {"role": "tool", "name": name, "content": said[:1500]},
            {"role": "user", "content": "Go on with the request."},
        ]
        self.turns += new

    def answer(self, text: str) -> None:
        """The last step."""
        self.step(text)
        self.part(TextDelta(text))
        self.part(Finish("stop"))


def case_summary(
    name: str,
    *,
    file: str = "shop/evals.json",
    repeat: int = 1,
    why: str | None = None,
    failures: Sequence[JsonValue] = (),
    calls: Sequence[JsonValue] = (),
    answer: str = "",
    total_ms: float = 3000.0,
) -> JsonObject:
    """The summary of a case, as `test` writes it."""
    return {
        "file": file, "case": name, "repeat": repeat, "passed": not failures, "why": why,
        "failures": [*failures], "calls": [*calls], "steps": len(calls) + 1, "finish": "stop",
        "answer": answer, "url": "http://127.0.0.1:8000/",
        "ms": {
            "total": total_ms, "model": total_ms * 0.9, "page": total_ms * 0.08,
            "own": total_ms * 0.02,
        },
        "tokens": {"prompt": 3600, "cached": 2800, "completion": 120}, "out": None,
    }  # fmt: skip


def write_cases(parent: Path, count: int) -> list[Path]:
    """Folders of `count` cases of four steps; every seventh failed, every fiftieth not judged."""
    folders: list[Path] = []
    for n in range(count):
        folder = parent / f"{n + 1:03}-case"
        with closing(RunFolder(folder)) as files:
            story = Story(files, f"Find product {n} and put two of it into my cart, please.")
            found = [{**product, "rank": n} for product in PRODUCTS]
            answer = str(found).replace("'", '"')
            story.call("search_products", {"query": f"product {n}", "limit": 12}, answer)
            story.call(
                "open_product", {"id": f"product-{n}"}, f"Opened product {n}. {answer[:600]}"
            )
            story.call("add_to_cart", {"quantity": 2}, f"2 × product {n} are in the cart.")
            story.answer(f"Two of product {n} are in your cart.")
            failures: list[JsonValue] = []
            why = None
            if n % 50 == 49:
                why = "not-judged"
                failures = [
                    {
                        "check": "error",
                        "kind": "error",
                        "message": "setup call 1, add_to_cart: the page is gone",
                    }
                ]
            elif n % 7 == 3:
                why = ("wrong-argument", "wrong-tool", "no-stop", "wrong-answer")[n % 4]
                failures = [
                    {
                        "check": "calls",
                        "kind": "wrong-argument",
                        "message": f"call 3: add_to_cart: quantity is 2, not {n}",
                        "call": 3,
                    }
                ]
            files.summary(
                case_summary(
                    f"Put two of product {n} into the cart",
                    file=f"shop/{('cart', 'search', 'reviews', 'orders')[n % 4]}-evals.json",
                    why=why,
                    failures=failures,
                    calls=story.calls,
                    answer=f"Two of product {n} are in your cart.",
                    total_ms=1500 + (n * 7919) % 4000,
                )
            )
        folders.append(folder)
    return folders
