"""The commands `test` and `replay`: their options, checked, and one call into another module."""

from pathlib import Path
from typing import Annotated

import typer

from webmcp_agent.scenarios.cli_options import (
    Adapter,
    Allow,
    Browser,
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
    PolicyFile,
    Quantize,
    Record,
    Recorded,
    Report,
    Secret,
    Switch,
    Var,
    Yes,
    film_settings,
    leave,
    model_settings,
    page_settings,
    text_or_file,
)

CaseUrl = Annotated[
    str | None, typer.Option("--url", metavar="URL", help="The page, for files that name none.")
]
Workers = Annotated[
    int, typer.Option("--workers", min=1, help="How many cases are held at the same time.")
]


def _print_schema(wanted: bool) -> None:
    if wanted:
        from webmcp_agent.scenarios.scenario_schema import schema_text

        typer.echo(schema_text())
        raise typer.Exit


def hold(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH…",
            help="Scenario files (*.scenario.yaml), webmcp-evals files (*.json), folders of both; "
            "attacks: for the shipped attack suite; or results of an earlier test (*.jsonl), to be "
            "counted again.",
        ),
    ],
    model: Model = None,
    adapter: Adapter = None,
    device: Device = "auto",
    quantize: Quantize = None,
    compiled: Compiled = False,
    lookup: Lookup = Switch.on,
    max_steps: MaxSteps = None,
    instructions: Instructions = None,
    browser: Browser = None,
    headed: Headed = False,
    origin: Origins = None,
    yes: Yes = None,
    allow: Allow = None,
    deny: Deny = None,
    policy: PolicyFile = None,
    dry_run: DryRun = False,
    var: Var = None,
    secret: Secret = None,
    url: CaseUrl = None,
    repeat: Annotated[int, typer.Option("--repeat", min=1, help="How often each case runs.")] = 1,
    workers: Workers = 1,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Keep all results, and the trace of each case."),
    ] = None,
    report: Report = None,
    record: Record = Recorded.off,
    film: FilmOptions = None,
    against: Annotated[
        Path | None,
        typer.Option(
            "--against",
            metavar="RESULTS",
            help="Compare with an earlier test: its --out folder, or a file of its --json lines.",
        ),
    ] = None,
    schema: Annotated[
        bool,
        typer.Option(
            "--schema",
            help="Print the JSON Schema of scenario files, for editors, and leave.",
            is_eager=True,
            callback=_print_schema,
        ),
    ] = False,
    constrain: Constrain = Switch.on,
    json: Json = False,
) -> None:
    """Try scenarios and eval cases with a model; exits with 1 when one does not pass."""
    from webmcp_agent.scenarios.runner import RunSettings
    from webmcp_agent.scenarios.testing import Holding, hold_cases

    settings = RunSettings(
        page=page_settings(
            browser,
            None,
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
    if any(str(path).startswith("attacks:") for path in paths):
        from webmcp_agent.scenarios.attack_suite import hold_attacks

        names = [str(path) for path in paths]
        leave(hold_attacks, names, settings, repeat, out, report, json)
    if record is not Recorded.off and out is None:
        out = report or Path("test-results")
    holding = Holding(
        url=url,
        repeats=repeat,
        workers=workers,
        out=out,
        report=report,
        against=against,
        as_json=json,
    )
    leave(hold_cases, paths, settings, holding)


def replay(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE…",
            help="Eval files (*.json), scenario files (*.scenario.yaml), the folder of a run, "
            "or folders of them.",
        ),
    ],
    browser: Browser = None,
    headed: Headed = False,
    origin: Origins = None,
    yes: Yes = None,
    allow: Allow = None,
    deny: Deny = None,
    policy: PolicyFile = None,
    var: Var = None,
    secret: Secret = None,
    url: CaseUrl = None,
    workers: Workers = 1,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Keep all results, and the parts of each."),
    ] = None,
    report: Report = None,
    json: Json = False,
) -> None:
    """Make the calls of a file or of a recorded run again, without a model."""
    from webmcp_agent.scenarios.replay_command import replay_files
    from webmcp_agent.scenarios.runner import RunSettings
    from webmcp_agent.scenarios.testing import Holding

    page = page_settings(
        browser, None, headed, origin, yes, allow, deny, policy=policy, var=var, secret=secret
    )
    holding = Holding(
        url=url, workers=workers, out=out, report=report, command="replay", as_json=json
    )
    leave(replay_files, files, RunSettings(page=page), holding)
