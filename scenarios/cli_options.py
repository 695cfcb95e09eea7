"""The options that commands share, and what is read from them; wrong ones end with one line.

Only Typer is imported at the top, so that `--help` and usage errors stay quick.
"""

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, cast

import typer

if TYPE_CHECKING:
    from webmcp_agent.browser.tools import JsonObject
    from webmcp_agent.scenarios.exit_codes import Command
    from webmcp_agent.scenarios.film import FilmSettings
    from webmcp_agent.scenarios.runner import ModelSettings, PageSettings

WRONG_USAGE = 2


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


class Bits(StrEnum):
    """In what a model's weights are kept."""

    int8 = "int8"
    int4 = "int4"


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
Quantize = Annotated[
    Bits | None,
    typer.Option(
        "--quantize", help="The model's weights in 8 or 4 bits; needs the extra `quantize`."
    ),
]
Compiled = Annotated[
    bool,
    typer.Option("--compile", help="Compile decoding while the model is loaded, for a GPU."),
]
Lookup = Annotated[
    Switch,
    typer.Option("--lookup", help="Let the model confirm tokens that are looked up in its prompt."),
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


def file_to_write(path: Path | None) -> Path | None:
    """A file that can be written; wrong usage for another path."""
    if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
        wrong(f"--out {path}: it is no file in a folder that is there")
    return path


def page_settings(
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
    """What the options say of browser, page and approval."""
    from webmcp_agent.browser.policy import origin_of
    from webmcp_agent.scenarios.errors import WrongUsage
    from webmcp_agent.scenarios.given import read_given
    from webmcp_agent.scenarios.policy_file import read_policy, with_policy
    from webmcp_agent.scenarios.runner import PageSettings

    for one in origin or ():
        if origin_of(one) is None:
            wrong(f"--origin {one}: an origin has a scheme and a host, as https://shop.example")
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
        wrong(str(exc))


def model_settings(
    model: str | None,
    adapter: Path | None,
    device: str,
    constrain: Switch,
    *,
    quantize: Bits | None = None,
    compiled: bool = False,
    lookup: Switch = Switch.on,
) -> "ModelSettings":
    """What the options say of the model."""
    from webmcp_agent.scenarios.runner import ModelSettings

    if adapter is not None and not (adapter / "adapter_config.json").is_file():
        wrong(f"--adapter {adapter}: there is no adapter_config.json in it")
    return ModelSettings(
        model=model,
        adapter=adapter,
        device=device,
        constrained=constrain is Switch.on,
        quantize=None if quantize is None else quantize.value,
        compiled=compiled,
        prompt_lookup=lookup is Switch.on,
    )


def film_settings(
    record: Recorded, options: list[str] | None, secrets: list[str] | None
) -> "FilmSettings":
    """What the options say of the film."""
    from webmcp_agent.scenarios.errors import WrongUsage
    from webmcp_agent.scenarios.film import read_film

    try:
        settings = read_film(record.value, options or ())
    except WrongUsage as exc:
        wrong(str(exc))
    if settings.options.trace and secrets:
        wrong("--film trace=on: a trace holds all that the page held; leave it out with --secret")
    return settings


def text_or_file(text: str | None) -> str | None:
    """The text itself, or with a leading @ that of a file."""
    if text is None or not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        wrong(f"--instructions {text}: {exc.strerror if isinstance(exc, OSError) else exc}")


def json_object(text: str) -> "JsonObject":
    """The arguments of a call."""
    import json as json_module

    try:
        value = json_module.loads(text)
    except ValueError as exc:
        wrong(f"--args is no JSON: {exc}")
    if not isinstance(value, dict):
        wrong(f"--args must be a JSON object such as {{}}, not {text[:80]}")
    return cast("JsonObject", value)


def wrong(text: str) -> NoReturn:
    """One line on stderr, and the exit code for wrong usage."""
    typer.echo(f"Error: {text}", err=True)
    raise typer.Exit(WRONG_USAGE)


def leave(command: "Command", *args: object) -> NoReturn:
    """Run a command with Ctrl-C as Stop, errors as one line, and leave with its code."""
    from webmcp_agent.scenarios.exit_codes import finished, masker_of
    from webmcp_agent.scenarios.logs import guard_stderr

    guard_stderr(masker_of(args))
    raise typer.Exit(finished(command, *args))
