"""`bench page` and `bench model`: figures in a fixed form, from one run, never a pass or a fail."""

import json
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
from command_line import command, script
from pydantic import JsonValue

from webmcp_agent.agent.tool_calls import parse_tool_calls
from webmcp_agent.agent.validation import ValidArgs, validate_args
from webmcp_agent.browser.tools import JsonObject, PageTool
from webmcp_agent.providers.abort import AbortController, AbortSignal
from webmcp_agent.providers.base import CallFormat
from webmcp_agent.providers.errors import Aborted
from webmcp_agent.scenarios.bench import PageFigures, PageSize, measure_page, own_cost
from webmcp_agent.scenarios.bench_model import ModelFigures, ModelStep
from webmcp_agent.scenarios.bench_shop import shop_conversation
from webmcp_agent.scenarios.bench_switches import VARIANTS, SwitchFigure, measure_switches
from webmcp_agent.scenarios.bench_writing import Timed
from webmcp_agent.scenarios.exit_codes import finished
from webmcp_agent.scenarios.figures import bench_model_command, model_lines, page_lines
from webmcp_agent.scenarios.runner import ModelSettings

SIZES = (
    PageSize(30, 4.0, 10.0, 3.0, 6.0, 2.0, 1.0),
    PageSize(100, 6.0, 30.0, 8.0, 10.0, 5.0, 1.25),
)


async def test_the_page_figures_come_from_real_pages_with_so_many_tools() -> None:
    told: list[str] = []
    figures = await measure_page(None, told.append, sizes=(30, 100), turns=3)
    assert told == ["a page with 30 tools", "a page with 100 tools"]
    assert [size.tools for size in figures.sizes] == [30, 100]
    for size in figures.sizes:
        times = (size.call_ms, size.playwright_call_ms, size.list_ms, size.playwright_list_ms)
        assert all(time > 0 for time in (*times, size.first_step_ms, size.own_step_ms))
    assert figures.browser.split(".")[0].isdigit()


def test_the_page_figures_are_those_of_30_tools_and_the_agents_own_of_100() -> None:
    assert PageFigures("156.0", SIZES).to_json() == {
        "ratios": {"call_vs_playwright": 0.4, "list_vs_playwright": 0.5},
        "ms": {"call": 4.0, "list_and_context": 3.0, "own_step": 1.25},
    }


def test_the_table_of_the_page_figures_has_a_row_for_each_number_of_tools() -> None:
    head, _, *rows, _ = page_lines(PageFigures("156.0", SIZES))
    assert head == "Chromium 156.0, medians in ms"
    assert [row.split() for row in rows] == [
        ["30", "4.0", "10.0", "0.40", "3.0", "6.0", "0.50", "2.0", "1.0"],
        ["100", "6.0", "30.0", "0.20", "8.0", "10.0", "0.80", "5.0", "1.2"],
    ]


async def test_the_agents_own_cost_is_told_for_unknown_and_for_known_tools() -> None:
    schema: JsonObject = {"type": "object", "properties": {"query": {"type": "string"}}}
    tools = [PageTool(f"find_{at}", f"Find {at}", schema) for at in range(30)]
    first_ms, later_ms = await own_cost(tools, runs=2)
    assert first_ms > 0
    assert later_ms > 0


@pytest.mark.parametrize(
    ("call_format", "inline"), [("tags", False), ("pythonic", False), ("tags", True)]
)
async def test_the_shop_conversation_has_six_steps_whose_calls_are_right(
    call_format: CallFormat, inline: bool
) -> None:
    conversation = await shop_conversation(call_format, tools_inline=inline)
    called: list[str] = []
    for step in conversation:
        assert step.reply.isascii()
        assert not step.request.signal.aborted
        shown = [PageTool(tool.name, "", tool.parameters) for tool in step.request.tools]
        reply = parse_tool_calls(step.reply, shown, tools_inline=inline)
        assert reply.errors == []
        for call in reply.calls:
            [tool] = [tool for tool in shown if tool.name == call.name]
            assert validate_args(tool, call.args) == ValidArgs(call.args)
            called.append(call.name)
    assert called == ["search_products", "open_product", "get_reviews", "add_to_cart", "view_cart"]
    assert len(conversation) == 6
    lengths = [len(step.request.messages) for step in conversation]
    assert lengths == sorted(lengths)


@pytest.mark.model
def test_one_command_measures_random_weights_and_writes_one_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "figures.json"
    code = finished(bench_model_command, ModelSettings(device="cpu"), "tiny", out, True)
    printed = capsys.readouterr()
    [line] = printed.out.splitlines()
    figures: dict[str, JsonObject] = json.loads(line)
    assert code == 0
    assert "step 6 of 6" in printed.err
    assert list(figures) == ["ratios", "tokens_per_s", "switches", "device", "model"]
    assert set(figures["ratios"]) == {
        "ttft_reuse",
        "constrained_per_token",
        "decode_vs_generate",
    }
    assert set(figures["tokens_per_s"]) == {"prefill", "decode"}
    switches = figures["switches"]
    assert list(switches) == ["prompt_lookup", "compiled", "int8", "int4"]
    assert switches["compiled"] == {"skipped": "compiling for a CPU takes minutes"}
    assert set(switch_keys(switches["prompt_lookup"])) == {"per_token"}
    measured = {"per_token", "load_ms"} if find_spec("bitsandbytes") else {"skipped"}
    for bits in ("int8", "int4"):
        assert set(switch_keys(switches[bits])) == measured
    assert (figures["device"], figures["model"]) == ("cpu", "random:tiny")
    details = json.loads(out.read_text(encoding="utf-8"))
    assert {key: details[key] for key in figures} == figures
    steps = details["steps"]
    assert [step["led"] for step in steps] == [True] * 6
    assert all(step["cached_tokens"] < step["prompt_tokens"] for step in steps)
    # The second step goes on from the first on the same page: all of its prompt was kept.
    assert steps[1]["cached_tokens"] >= steps[0]["prompt_tokens"]


def switch_keys(value: JsonValue) -> list[str]:
    assert isinstance(value, dict)
    return list(value)


def _step(first: float, fresh: float, free: float, held: float, bare: float) -> ModelStep:
    def timed(ms: float) -> Timed:
        return Timed(1_000, 900, 10, first, ms * 10)

    looked_up = timed(held / 2) if held < 99 else None
    return ModelStep(timed(99), fresh, timed(free), timed(held), looked_up, bare, led=True)


def _figures(steps: Sequence[ModelStep]) -> ModelFigures:
    return ModelFigures("m", "cpu", "on the CPU", 1500.0, tuple(steps), 10**9, 10**11)


def test_the_ratios_leave_out_steps_that_say_nothing_of_them() -> None:
    """The first step has nothing to reuse, the last one no call to hold."""
    figures = _figures([
        _step(500, 500, 20, 10, 20),
        _step(100, 500, 20, 12, 19),
        _step(150, 500, 20, 99, 18),
    ])  # fmt: skip
    assert figures.to_json() == {
        "ratios": {"ttft_reuse": 0.25, "constrained_per_token": 0.55, "decode_vs_generate": 0.95},
        "tokens_per_s": {"prefill": 2000.0, "decode": 50.0},
        "switches": {"prompt_lookup": {"skipped": "its cache cannot forget what was wrong"}},
        "device": "cpu",
        "model": "m",
    }
    assert figures.memory_share == 0.5


def test_a_switch_is_compared_by_all_replies_or_its_reason_is_told() -> None:
    figures = replace(
        _figures([_step(1, 1, 1, 10, 1), _step(1, 1, 1, 30, 1)]),
        switches=(
            SwitchFigure("int8", per_token=0.604, load_ms=1234.56),
            SwitchFigure("int4", skipped="bitsandbytes is not installed"),
        ),
    )
    assert figures.held_ms == 400
    assert figures.to_json()["switches"] == {
        "prompt_lookup": {"per_token": 0.5},
        "int8": {"per_token": 0.604, "load_ms": 1234.6},
        "int4": {"skipped": "bitsandbytes is not installed"},
    }
    assert model_lines(figures)[-3:] == [
        "a token with prompt_lookup: 0.50 of one without",
        "a token with int8: 0.60 of one without",
        "int4: not measured, bitsandbytes is not installed",
    ]


async def test_a_model_in_few_bits_is_not_compared_with_itself() -> None:
    settings = ModelSettings(device="cpu", quantize="int8")
    figures = await measure_switches(settings, "tiny", 1.0, "cpu", _Nobody(), AbortSignal())
    reason = "the weights are in int8 already"
    assert {each.name: each.skipped for each in figures} == dict.fromkeys(VARIANTS, reason)


async def test_what_breaks_with_one_switch_is_told_and_the_others_go_on() -> None:
    settings = ModelSettings(model="./no-such-model", device="cpu")
    figures = await measure_switches(settings, None, 1.0, "cuda:0", _Nobody(), AbortSignal())
    assert [each.name for each in figures] == list(VARIANTS)
    assert all(each.per_token is None and each.skipped for each in figures)


async def test_stop_ends_the_measuring_of_switches() -> None:
    stop = AbortController()
    stop.abort()
    settings = ModelSettings(device="cpu")
    with pytest.raises(Aborted):
        await measure_switches(settings, "tiny", 1.0, "cuda:0", _Nobody(), stop.signal)


class _Nobody:
    """Hears what goes on, and keeps it to itself."""

    def say(self, label: str) -> None:
        return

    def advance(self, fraction: float) -> None:
        return


def test_a_reply_that_went_astray_is_told() -> None:
    fine = _step(1, 1, 1, 1, 1)
    lost = replace(fine, led=False)
    assert model_lines(_figures([fine, lost]))[-1] == (
        "not comparable, since a reply went astray: step 2"
    )
    assert "astray" not in "".join(model_lines(_figures([fine, fine])))


MISTAKES = [
    (["bench", "model", "--random", "tiny", "--model", "default"], 2, "leave out --model"),
    (["bench", "model", "--random", "qwen9-1t"], 3, "there are: tiny"),
    (["bench", "model", "--model", "./no-such-model"], 3, "no-such-model"),
    (["bench", "model", "--out", "no-such-folder/x.json"], 2, "no-such-folder"),
    (["bench", "page", "--out", "."], 2, "it is no file"),
    (["bench", "page", "--browser", "./no-such-browser"], 3, "no-such-browser"),
]


@pytest.mark.parametrize(
    ("arguments", "code", "told"), MISTAKES, ids=[" ".join(row[0]) for row in MISTAKES]
)
def test_a_mistake_is_told_before_anything_is_measured(
    arguments: list[str], code: int, told: str, tmp_path: Path
) -> None:
    ended = command(*arguments, cwd=tmp_path)
    assert told in ended.err
    assert (ended.code, ended.out) == (code, "")
    assert "Traceback" not in ended.err


def test_a_model_that_is_elsewhere_has_no_figures(tmp_path: Path) -> None:
    ended = command("bench", "model", "--model", script(tmp_path, "Hello."), cwd=tmp_path)
    assert "does not run in this process" in ended.err
    assert (ended.code, ended.out) == (2, "")
