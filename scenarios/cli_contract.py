"""The commands of `contract`: their options, checked, and one call each."""

from pathlib import Path
from typing import Annotated

import typer

from webmcp_agent.scenarios.cli_options import (
    Browser,
    Cdp,
    Headed,
    Json,
    Origins,
    Url,
    leave,
    page_settings,
    wrong,
)

contract_app = typer.Typer(
    help="The tools of a site as a contract.", no_args_is_help=True, rich_markup_mode=None
)


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

    settings = page_settings(browser, cdp, headed, origin, None, None, None)
    leave(save_command, url, file, page or [], settings)


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

    settings = page_settings(browser, cdp, headed, origin, None, None, None)
    leave(check_command, url, file, strict, _form(markdown, json), settings)


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

    leave(diff_command, old, new, strict, _form(markdown, json))


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

    settings = page_settings(browser, cdp, headed, origin, None, None, None)
    leave(lint_command, source, page or [], off or [], strict, json, settings)


def _form(markdown: bool, json: bool) -> str:
    if markdown and json:
        wrong("--markdown and --json are two forms: choose one")
    return "markdown" if markdown else "json" if json else "text"
