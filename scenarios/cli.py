"""The `webmcp-agent` command: declares commands and options, checks them, and calls one module.

Only Typer is imported at the top, so that `--help` and usage errors stay quick. Results go to
stdout, progress and logs to stderr. Exit codes: 0 done, 1 ran without success, 2 wrong usage,
3 cannot run here, 130 stopped by the user.
"""

import sys
from typing import Annotated

import typer

from webmcp_agent.scenarios.cli_contract import contract_app
from webmcp_agent.scenarios.cli_models import bench_app, models_app, tune
from webmcp_agent.scenarios.cli_options import (
    Adapter,
    Allow,
    Approval,
    Browser,
    Cdp,
    Compiled,
    Constrain,
    Deny,
    Device,
    DryRun,
    FilmOptions,
    Headed,
    Instructions,
    Json,
    Lookup,
    MaxSteps,
    Model,
    Origins,
    Out,
    PolicyFile,
    Quantize,
    Record,
    Recorded,
    Secret,
    Switch,
    Url,
    Var,
    Yes,
    film_settings,
    json_object,
    leave,
    model_settings,
    page_settings,
    text_or_file,
    wrong,
)
from webmcp_agent.scenarios.cli_testing import hold, replay

app = typer.Typer(
    name="webmcp-agent",
    help="Work with the WebMCP tools of a page and a model on your own machine.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=True,
)
app.add_typer(models_app, name="models")
app.add_typer(bench_app, name="bench")
app.add_typer(contract_app, name="contract")


@app.command()
def run(
    url: Url,
    task: Annotated[str, typer.Argument(metavar="TASK", help="What to do, in words.")],
    model: Model = None,
    adapter: Adapter = None,
    device: Device = "auto",
    quantize: Quantize = None,
    compiled: Compiled = False,
    lookup: Lookup = Switch.on,
    max_steps: MaxSteps = None,
    instructions: Instructions = None,
    browser: Browser = None,
    cdp: Cdp = None,
    headed: Headed = False,
    origin: Origins = None,
    yes: Yes = None,
    allow: Allow = None,
    deny: Deny = None,
    policy: PolicyFile = None,
    dry_run: DryRun = False,
    var: Var = None,
    secret: Secret = None,
    out: Out = None,
    record: Record = Recorded.off,
    film: FilmOptions = None,
    constrain: Constrain = Switch.on,
    json: Json = False,
) -> None:
    """Open a page and let the model do a task with the page's tools."""
    from webmcp_agent.scenarios.run_command import run_command
    from webmcp_agent.scenarios.runner import RunSettings

    if not task.strip():
        wrong("the task is empty: say what to do, in words")
    settings = RunSettings(
        page=page_settings(
            browser,
            cdp,
            headed,
            origin,
            yes,
            allow,
            deny,
            policy=policy,
            dry_run=dry_run,
            var=var,
            secret=secret,
        ),
        model=model_settings(
            model,
            adapter,
            device,
            constrain,
            quantize=quantize,
            compiled=compiled,
            lookup=lookup,
        ),
        film=film_settings(record, film, secret),
        max_steps=max_steps,
        instructions=text_or_file(instructions),
    )
    leave(run_command, url, task, settings, out, json)


@app.command()
def chat(
    url: Url,
    model: Model = None,
    adapter: Adapter = None,
    device: Device = "auto",
    quantize: Quantize = None,
    compiled: Compiled = False,
    lookup: Lookup = Switch.on,
    max_steps: MaxSteps = None,
    instructions: Instructions = None,
    browser: Browser = None,
    cdp: Cdp = None,
    headed: Headed = False,
    origin: Origins = None,
    yes: Yes = None,
    allow: Allow = None,
    deny: Deny = None,
    policy: PolicyFile = None,
    dry_run: DryRun = False,
    var: Var = None,
    secret: Secret = None,
    out: Out = None,
    constrain: Constrain = Switch.on,
) -> None:
    """Several requests in one conversation; Ctrl-C stops, /help lists the commands."""
    from webmcp_agent.scenarios.run_command import chat_command
    from webmcp_agent.scenarios.runner import RunSettings

    settings = RunSettings(
        page=page_settings(
            browser,
            cdp,
            headed,
            origin,
            yes,
            allow,
            deny,
            policy=policy,
            dry_run=dry_run,
            var=var,
            secret=secret,
        ),
        model=model_settings(
            model,
            adapter,
            device,
            constrain,
            quantize=quantize,
            compiled=compiled,
            lookup=lookup,
        ),
        max_steps=max_steps,
        instructions=text_or_file(instructions),
    )
    leave(chat_command, url, settings, out)


@app.command()
def tools(
    url: Url,
    browser: Browser = None,
    cdp: Cdp = None,
    headed: Headed = False,
    origin: Origins = None,
    json: Json = False,
) -> None:
    """List what a page offers."""
    from webmcp_agent.scenarios.page_commands import tools_command

    leave(tools_command, url, page_settings(browser, cdp, headed, origin, None, None, None), json)


@app.command()
def call(
    url: Url,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="The tool's name.")],
    args: Annotated[str, typer.Option("--args", metavar="JSON", help="Its arguments.")] = "{}",
    browser: Browser = None,
    cdp: Cdp = None,
    headed: Headed = False,
    origin: Origins = None,
    json: Json = False,
) -> None:
    """Call one tool, without a model. To name the call is to approve it."""
    from webmcp_agent.scenarios.page_commands import call_command

    settings = page_settings(browser, cdp, headed, origin, Approval.all, None, None)
    leave(call_command, url, tool, json_object(args), settings, json)


app.command("test")(hold)
app.command()(replay)
app.command()(tune)


@app.command()
def shop(
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 for a free one.")] = 0,
) -> None:
    """Serve the demo shop; the first line is its address."""
    from webmcp_agent.scenarios.page_commands import shop_command

    leave(shop_command, port)


@app.command()
def doctor(
    browser: Browser = None,
    get: Annotated[
        bool, typer.Option("--get", help="Get a browser and the default model first.")
    ] = False,
    json: Json = False,
) -> None:
    """What is here, what is missing, and how to get it."""
    from webmcp_agent.scenarios.model_commands import doctor_command

    leave(doctor_command, browser, get, json)


def main() -> None:
    """The console script. A bare `--yes` is `--yes=most`: Typer has no optional values."""
    arguments = sys.argv[1:]
    limit = arguments.index("--") if "--" in arguments else len(arguments)
    app(
        [
            "--yes=most" if at < limit and argument == "--yes" else argument
            for at, argument in enumerate(arguments)
        ]
    )
