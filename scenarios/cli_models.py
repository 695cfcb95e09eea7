"""The commands `models`, `bench` and `tune`: their options, checked, and one call each."""

from pathlib import Path
from typing import Annotated

import typer

from webmcp_agent.scenarios.cli_options import (
    Adapter,
    Browser,
    Cdp,
    Device,
    Headed,
    Json,
    Model,
    Origins,
    Quantize,
    Switch,
    file_to_write,
    leave,
    model_settings,
    page_settings,
    wrong,
)

models_app = typer.Typer(help="The model cache.", no_args_is_help=True, rich_markup_mode=None)
bench_app = typer.Typer(
    help="Figures, never a pass or a fail.", no_args_is_help=True, rich_markup_mode=None
)


def tune(
    source: Annotated[
        str,
        typer.Argument(
            metavar="URL|CONTRACT",
            help="A page, a JSON file with its tools, or curriculum: for the shipped adapter.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the adapter goes.")],
    seed: Annotated[int, typer.Option("--seed", help="Decides lessons and training.")] = 1,
    examples: Annotated[
        int | None, typer.Option("--examples", min=2, help="How many to learn from.")
    ] = None,
    held_out: Annotated[
        int,
        typer.Option("--held-out", min=1, help="Conversations that the result is examined by."),
    ] = 20,
    browser: Browser = None,
    cdp: Cdp = None,
    headed: Headed = False,
    origin: Origins = None,
) -> None:
    """Train a small model's adapter for a tool set; Ctrl-C stops, the same command goes on."""
    from webmcp_agent.scenarios.tune import TuneSettings
    from webmcp_agent.scenarios.tune_command import tune_command

    page = page_settings(browser, cdp, headed, origin, None, None, None)
    settings = TuneSettings(out, seed=seed, examples=examples, held_out=held_out)
    leave(tune_command, source, page, settings)


@models_app.command("list")
def models_list(json: Json = False) -> None:
    """The models in the cache, and those that can be had by name."""
    from webmcp_agent.scenarios.model_commands import models_list_command

    leave(models_list_command, json)


@models_app.command("get")
def models_get(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Hub id, .gguf file, or `default`.")],
    adapter: Adapter = None,
) -> None:
    """Download a model and make it ready; can be stopped and goes on where it was."""
    from webmcp_agent.scenarios.model_commands import models_get_command

    leave(models_get_command, name, adapter)


@models_app.command("remove")
def models_remove(
    name: Annotated[str, typer.Argument(metavar="NAME", help="As `models list` shows it.")],
) -> None:
    """Remove a model from the cache."""
    from webmcp_agent.scenarios.model_commands import models_remove_command

    leave(models_remove_command, name)


Figures = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Write all figures to a JSON file.")
]


@bench_app.command("page")
def bench_page(browser: Browser = None, out: Figures = None, json: Json = False) -> None:
    """Calls and listings beside Playwright's own, and the agent's own cost."""
    from webmcp_agent.scenarios.figures import bench_page_command

    leave(bench_page_command, browser, file_to_write(out), json)


@bench_app.command("cases")
def bench_cases(
    browser: Browser = None,
    workers: Annotated[
        int, typer.Option("--workers", min=2, help="How many at the same time, the second time.")
    ] = 2,
    json: Json = False,
) -> None:
    """Scripted scenarios on the demo shop, one at a time and several."""
    from webmcp_agent.scenarios.bench_cases import bench_cases_command

    leave(bench_cases_command, browser, workers, json)


@bench_app.command("model")
def bench_model(
    model: Model = None,
    adapter: Adapter = None,
    device: Device = "auto",
    quantize: Quantize = None,
    random: Annotated[
        str | None,
        typer.Option(
            "--random",
            metavar="SHAPE",
            help="Random weights in a known shape such as qwen3-4b: no network, no files.",
        ),
    ] = None,
    out: Figures = None,
    json: Json = False,
) -> None:
    """Loading, reading and writing of a model, and what reuse and constraints cost or save."""
    from webmcp_agent.scenarios.figures import bench_model_command

    if random is not None and (model is not None or adapter is not None):
        wrong("--random makes up the whole model: leave out --model and --adapter")
    settings = model_settings(model, adapter, device, Switch.on, quantize=quantize)
    leave(bench_model_command, settings, random, file_to_write(out), json)
