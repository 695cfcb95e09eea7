"""The `webmcp-agent` command: declares commands and options, checks them, and calls one module.

Only Typer is imported at the top, so that `--help` and usage errors stay quick. Results go to
stdout, progress and logs to stderr. Exit codes: 0 done, 1 ran without success, 2 wrong usage,
3 cannot run here, 130 stopped by the user.
"""

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, cast

import typer

if TYPE_CHECKING:
    from webmcp_agent.browser.tools import JsonObject
    from webmcp_agent.scenarios.commands import Command
    from webmcp_agent.scenarios.film import FilmSettings
    from webmcp_agent.scenarios.runner import ModelSettings, PageSettings

DONE, NO_SUCCESS, WRONG_USAGE, CANNOT_RUN = 0, 1, 2, 3

app = typer.Typer(
    name="webmcp-agent",
    help="Work with the WebMCP tools of a page and a model on your own machine.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=True,
)
models_app = typer.Typer(help="The model cache.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(models_app, name="models")
bench_app = typer.Typer(
    help="Figures, never a pass or a fail.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(bench_app, name="bench")
contract_app = typer.Typer(
    help="The tools of a site as a contract.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(contract_app, name="contract")


class Approval(StrEnum):
    """How far `--yes` goes."""

    most = "most"
    all = "all"


class Recorded(StrEnum):
    """Which films stay, in the words of pytest-playwright."""

    off = "off"
    on = "on"
    failed = "retain-on-failure"


class Switch(StrEnum):
    """On or off."""

    on = "on"
    off = "off"


Url = Annotated[
    str,
    typer.Argument(
        metavar="URL",
        help="The page: an address, shop: or shop:ucp (the demo shop), a local file or folder.",
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help="Hub id, folder, .gguf file, `default`, or scripted:FILE (replies written before).",
    ),
]
Adapter = Annotated[
    Path | None, typer.Option("--adapter", help="A peft adapter for the model.", metavar="PATH")
]
Device = Annotated[
    str, typer.Option("--device", help="auto, cpu, cuda, cuda:1, mps.", metavar="NAME")
]
MaxSteps = Annotated[int | None, typer.Option("--max-steps", min=1, help="Model steps (6).")]
Instructions = Annotated[
    str | None,
    typer.Option("--instructions", metavar="TEXT|@FILE", help="What the model should know."),
]
Browser = Annotated[
    str | None,
    typer.Option("--browser", metavar="PATH|CHANNEL", help="Another browser than the one found."),
]
Cdp = Annotated[
    str | None, typer.Option("--cdp", metavar="URL", help="Attach to a running browser.")
]
Headed = Annotated[bool, typer.Option("--headed", help="Show the browser.")]
Origins = Annotated[
    list[str] | None,
    typer.Option("--origin", metavar="ORIGIN", help="May be used besides the start page's own."),
]
Yes = Annotated[
    Approval | None,
    typer.Option(
        "--yes",
        metavar="[=all]",
        help="Approve calls without asking, consequential ones only with --yes=all.",
    ),
]
Allow = Annotated[
    list[str] | None,
    typer.Option("--allow", metavar="GLOB", help="Tools that may be called without asking."),
]
Deny = Annotated[
    list[str] | None,
    typer.Option("--deny", metavar="GLOB", help="Tools that may never be called."),
]
PolicyFile = Annotated[
    Path | None,
    typer.Option(
        "--policy",
        metavar="FILE",
        help="What the page's tools may do: allow, ask, deny, limits, origins (YAML or JSON).",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run", help="Send only read-only calls; answer others with what would be sent."
    ),
]
Var = Annotated[
    list[str] | None,
    typer.Option("--var", metavar="NAME=VALUE", help="What {NAME} in the task stands for."),
]
Secret = Annotated[
    list[str] | None,
    typer.Option(
        "--secret",
        metavar="NAME",
        help="As --var, from the environment; shown and written as {NAME} only.",
    ),
]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="The run's folder (runs/…).")
]
Record = Annotated[
    Recorded,
    typer.Option(
        "--record", help="Film the page: not, always, or keep the film of what did not succeed."
    ),
]
FilmOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--film",
        metavar="NAME=VALUE",
        help="How a film is made: waiting=fast|cut|real, theme=light|dark, color=#rrggbb, "
        "logo=FILE, scale=1|2, gif=on|off, trace=on|off.",
    ),
]
Constrain = Annotated[
    Switch, typer.Option("--constrain", help="Hold calls to the tools' schemas while decoding.")
]
Report = Annotated[
    Path | None,
    typer.Option(
        "--report", metavar="DIR", help="Leave report.html, junit.xml and all results there."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Only JSON on stdout.")]


@app.command()
def run(
    url: Url,
    task: Annotated[str, typer.Argument(metavar="TASK", help="What to do, in words.")],
    model: Model = None,
    adapter: Adapter = None,
    device: Device = "auto",
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
    from webmcp_agent.scenarios.commands import run_command
    from webmcp_agent.scenarios.runner import RunSettings

    if not task.strip():
        _wrong("the task is empty: say what to do, in words")
    settings = RunSettings(
        page=_page_settings(
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
        model=_model_settings(model, adapter, device, constrain),
        film=_film_settings(record, film, secret),
        max_steps=max_steps,
        instructions=_text_or_file(instructions),
    )
    _exit(run_command, url, task, settings, out, json)


@app.command()
def chat(
    url: Url,
    model: Model = None,
    adapter: Adapter = None,
    device: Device = "auto",
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
    from webmcp_agent.scenarios.commands import chat_command
    from webmcp_agent.scenarios.runner import RunSettings

    settings = RunSettings(
        page=_page_settings(
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
        model=_model_settings(model, adapter, device, constrain),
        max_steps=max_steps,
        instructions=_text_or_file(instructions),
    )
    _exit(chat_command, url, settings, out)


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
    from webmcp_agent.scenarios.commands import tools_command

    _exit(tools_command, url, _page_settings(browser, cdp, headed, origin, None, None, None), json)


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
    from webmcp_agent.scenarios.commands import call_command

    settings = _page_settings(browser, cdp, headed, origin, Approval.all, None, None)
    _exit(call_command, url, tool, _json_object(args), settings, json)


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
        raise typer.Exit(DONE)


@app.command("test")
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
        page=_page_settings(
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
        model=_model_settings(model, adapter, device, constrain),
        film=_film_settings(record, film, secret),
        max_steps=max_steps,
        instructions=_text_or_file(instructions),
    )
    if any(str(path).startswith("attacks:") for path in paths):
        from webmcp_agent.scenarios.attack_suite import hold_attacks

        names = [str(path) for path in paths]
        _exit(hold_attacks, names, settings, repeat, out, report, json)
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
    _exit(hold_cases, paths, settings, holding)


@app.command()
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

    page = _page_settings(
        browser, None, headed, origin, yes, allow, deny, policy=policy, var=var, secret=secret
    )
    holding = Holding(
        url=url, workers=workers, out=out, report=report, command="replay", as_json=json
    )
    _exit(replay_files, files, RunSettings(page=page), holding)


@app.command()
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
    browser: Browser = None,
    cdp: Cdp = None,
    headed: Headed = False,
    origin: Origins = None,
) -> None:
    """Train a small model's adapter for a tool set; Ctrl-C stops, the same command goes on."""
    from webmcp_agent.scenarios.tune import TuneSettings
    from webmcp_agent.scenarios.tune_command import tune_command

    page = _page_settings(browser, cdp, headed, origin, None, None, None)
    _exit(tune_command, source, page, TuneSettings(out, seed=seed, examples=examples))


@app.command()
def shop(
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 for a free one.")] = 0,
) -> None:
    """Serve the demo shop; the first line is its address."""
    from webmcp_agent.scenarios.commands import shop_command

    _exit(shop_command, port)


@app.command()
def doctor(
    browser: Browser = None,
    get: Annotated[
        bool, typer.Option("--get", help="Get a browser and the default model first.")
    ] = False,
    json: Json = False,
) -> None:
    """What is here, what is missing, and how to get it."""
    from webmcp_agent.scenarios.commands import doctor_command

    _exit(doctor_command, browser, get, json)


@models_app.command("list")
def models_list(json: Json = False) -> None:
    """The models in the cache, and those that can be had by name."""
    from webmcp_agent.scenarios.commands import models_list_command

    _exit(models_list_command, json)


@models_app.command("get")
def models_get(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Hub id, .gguf file, or `default`.")],
    adapter: Adapter = None,
) -> None:
    """Download a model and make it ready; can be stopped and goes on where it was."""
    from webmcp_agent.scenarios.commands import models_get_command

    _exit(models_get_command, name, adapter)


@models_app.command("remove")
def models_remove(
    name: Annotated[str, typer.Argument(metavar="NAME", help="As `models list` shows it.")],
) -> None:
    """Remove a model from the cache."""
    from webmcp_agent.scenarios.commands import models_remove_command

    _exit(models_remove_command, name)


Figures = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Write all figures to a JSON file.")
]


@bench_app.command("page")
def bench_page(browser: Browser = None, out: Figures = None, json: Json = False) -> None:
    """Calls and listings beside Playwright's own, and the agent's own cost."""
    from webmcp_agent.scenarios.figures import bench_page_command

    _exit(bench_page_command, browser, _file_to_write(out), json)


@bench_app.command("model")
def bench_model(
    model: Model = None,
    adapter: Adapter = None,
    device: Device = "auto",
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
        _wrong("--random makes up the whole model: leave out --model and --adapter")
    settings = _model_settings(model, adapter, device, Switch.on)
    _exit(bench_model_command, settings, random, _file_to_write(out), json)


Pages = Annotated[
    list[str] | None,
    typer.Option(
        "--page", metavar="PATH", help="A further page, as a link on the first would name it."
    ),
]
ContractFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="The contract (*.contract.json).")
]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 1 for anything that is listed.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="As Markdown for a pull request.")]


@contract_app.command("save")
def contract_save(
    url: Url,
    file: ContractFile,
    page: Pages = None,
    browser: Browser = None,
    cdp: Cdp = None,
    headed: Headed = False,
    origin: Origins = None,
) -> None:
    """Write the tools of a site's pages to a file; of a file that is there, its pages again."""
    from webmcp_agent.scenarios.contract_command import save_command

    settings = _page_settings(browser, cdp, headed, origin, None, None, None)
    _exit(save_command, url, file, page or [], settings)


@contract_app.command("check")
def contract_check(
    url: Url,
    file: ContractFile,
    strict: Strict = False,
    markdown: Markdown = False,
    browser: Browser = None,
    cdp: Cdp = None,
    headed: Headed = False,
    origin: Origins = None,
    json: Json = False,
) -> None:
    """Hold a site against its contract; exits with 1 when something breaks."""
    from webmcp_agent.scenarios.contract_command import check_command

    settings = _page_settings(browser, cdp, headed, origin, None, None, None)
    _exit(check_command, url, file, strict, _form(markdown, json), settings)


@contract_app.command("diff")
def contract_diff(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="A contract.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="A later one.")],
    strict: Strict = False,
    markdown: Markdown = False,
    json: Json = False,
) -> None:
    """What changed from one contract to another; exits with 1 when something breaks."""
    from webmcp_agent.scenarios.contract_command import diff_command

    _exit(diff_command, old, new, strict, _form(markdown, json))


@contract_app.command("lint")
def contract_lint(
    source: Annotated[
        str, typer.Argument(metavar="URL|FILE", help="A page, or a contract (*.json).")
    ],
    page: Pages = None,
    off: Annotated[
        list[str] | None, typer.Option("--off", metavar="RULE", help="Leave this rule out.")
    ] = None,
    strict: Strict = False,
    browser: Browser = None,
    cdp: Cdp = None,
    headed: Headed = False,
    origin: Origins = None,
    json: Json = False,
) -> None:
    """What models, browsers and people stumble over; exits with 1 for an error."""
    from webmcp_agent.scenarios.contract_command import lint_command

    settings = _page_settings(browser, cdp, headed, origin, None, None, None)
    _exit(lint_command, source, page or [], off or [], strict, json, settings)


def _form(markdown: bool, json: bool) -> str:
    if markdown and json:
        _wrong("--markdown and --json are two forms: choose one")
    return "markdown" if markdown else "json" if json else "text"


def _file_to_write(path: Path | None) -> Path | None:
    if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
        _wrong(f"--out {path}: it is no file in a folder that is there")
    return path


def _page_settings(
    browser: str | None,
    cdp: str | None,
    headed: bool,
    origin: list[str] | None,
    yes: Approval | None,
    allow: list[str] | None,
    deny: list[str] | None,
    *,
    policy: Path | None = None,
    dry_run: bool = False,
    var: list[str] | None = None,
    secret: list[str] | None = None,
) -> "PageSettings":
    from webmcp_agent.browser.policy import origin_of
    from webmcp_agent.scenarios.errors import WrongUsage
    from webmcp_agent.scenarios.given import read_given
    from webmcp_agent.scenarios.policy_file import read_policy, with_policy
    from webmcp_agent.scenarios.runner import PageSettings

    for one in origin or ():
        if origin_of(one) is None:
            _wrong(f"--origin {one}: an origin has a scheme and a host, as https://shop.example")
    try:
        settings = PageSettings(
            browser=browser,
            cdp=cdp,
            headed=headed,
            origins=tuple(origin or ()),
            approval="ask" if yes is None else "all" if yes is Approval.all else "yes",
            allow=tuple(allow or ()),
            deny=tuple(deny or ()),
            dry_run=dry_run,
            given=read_given(var or (), secret or (), os.environ),
        )
        return settings if policy is None else with_policy(settings, read_policy(policy))
    except WrongUsage as exc:
        _wrong(str(exc))


def _model_settings(
    model: str | None, adapter: Path | None, device: str, constrain: Switch
) -> "ModelSettings":
    from webmcp_agent.scenarios.runner import ModelSettings

    if adapter is not None and not (adapter / "adapter_config.json").is_file():
        _wrong(f"--adapter {adapter}: there is no adapter_config.json in it")
    return ModelSettings(
        model=model, adapter=adapter, device=device, constrained=constrain is Switch.on
    )


def _film_settings(
    record: Recorded, options: list[str] | None, secrets: list[str] | None
) -> "FilmSettings":
    from webmcp_agent.scenarios.errors import WrongUsage
    from webmcp_agent.scenarios.film import read_film

    try:
        settings = read_film(record.value, options or ())
    except WrongUsage as exc:
        _wrong(str(exc))
    if settings.options.trace and secrets:
        _wrong("--film trace=on: a trace holds all that the page held; leave it out with --secret")
    return settings


def _text_or_file(text: str | None) -> str | None:
    if text is None or not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        _wrong(f"--instructions {text}: {exc.strerror if isinstance(exc, OSError) else exc}")


def _json_object(text: str) -> "JsonObject":
    import json as json_module

    try:
        value = json_module.loads(text)
    except ValueError as exc:
        _wrong(f"--args is no JSON: {exc}")
    if not isinstance(value, dict):
        _wrong(f"--args must be a JSON object such as {{}}, not {text[:80]}")
    return cast("JsonObject", value)


def _wrong(text: str) -> NoReturn:
    """One line on stderr, and the exit code for wrong usage."""
    typer.echo(f"Error: {text}", err=True)
    raise typer.Exit(WRONG_USAGE)


def _exit(command: "Command", *args: object) -> NoReturn:
    """Run a command with Ctrl-C as Stop, errors as one line, and leave with its code."""
    from webmcp_agent.scenarios.commands import finished, masker_of
    from webmcp_agent.scenarios.logs import guard_stderr

    guard_stderr(masker_of(args))
    raise typer.Exit(finished(command, *args))


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
