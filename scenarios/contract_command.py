"""`webmcp-agent contract`: save a site's tools, check them, compare two contracts, lint them."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from rich.text import Text

from webmcp_agent.browser.launch import open_chromium
from webmcp_agent.scenarios.console import progress_console, results_console, write_json
from webmcp_agent.scenarios.contract import (
    START,
    SUFFIX,
    Contract,
    load_contract,
    write_contract,
)
from webmcp_agent.scenarios.contract_changes import Change, differences
from webmcp_agent.scenarios.contract_lint import RULES, lint
from webmcp_agent.scenarios.contract_pages import live_contract
from webmcp_agent.scenarios.contract_view import (
    change_lines,
    changes_json,
    changes_markdown,
    count_text,
    lint_lines,
    size_text,
)
from webmcp_agent.scenarios.errors import WrongUsage
from webmcp_agent.scenarios.interrupt import Interrupt
from webmcp_agent.scenarios.runner import PageSettings

KEPT, BROKEN = 0, 1

Form = Literal["text", "markdown", "json"]


async def save_command(
    interrupt: Interrupt, url: str, file: Path, pages: Sequence[str], settings: PageSettings
) -> int:
    """Write the contract of a site; without `pages`, of the pages that the file has already."""
    before = await asyncio.to_thread(_contract_at, file)
    wanted = (START, *pages) if pages or before is None else tuple(before.pages)
    contract = await _live(url, list(dict.fromkeys(wanted)), settings)
    if missing := [page for page in wanted if page not in contract.pages]:
        raise WrongUsage(f"the site has no page {missing[0]}")
    try:
        await asyncio.to_thread(write_contract, file, contract)
    except OSError as exc:
        raise WrongUsage(f"{file} cannot be written: {exc.strerror}") from exc
    console = results_console()
    if before is not None:
        changes = differences(before, contract)
        for line in change_lines(changes, list(contract.pages)):
            console.print(line)
        console.print(Text(count_text(changes) if changes else "no changes"))
    console.print(Text(f"saved {file}: {size_text(contract)}"))
    if not file.name.endswith(SUFFIX):
        progress_console().print(Text(f"pytest collects contracts that are called *{SUFFIX}"))
    return KEPT


async def check_command(
    interrupt: Interrupt, url: str, file: Path, strict: bool, form: Form, settings: PageSettings
) -> int:
    """Hold a site's tools against a contract."""
    kept = await asyncio.to_thread(load_contract, file)
    now = await _live(url, list(kept.pages), settings)
    return _told(differences(kept, now), kept, strict, form)


async def diff_command(interrupt: Interrupt, old: Path, new: Path, strict: bool, form: Form) -> int:
    """What changed from one contract to another."""
    before, after = await asyncio.to_thread(lambda: (load_contract(old), load_contract(new)))
    return _told(differences(before, after), before, strict, form)


def _told(changes: list[Change], contract: Contract, strict: bool, form: Form) -> int:
    """Show the changes; whether the contract holds."""
    pages = list(contract.pages)
    if form == "json":
        write_json(changes_json(changes))
    elif form == "markdown":
        results_console().print(Text(changes_markdown(changes, pages)), end="")
    else:
        for line in change_lines(changes, pages):
            results_console().print(line)
        said = count_text(changes) if changes else f"no changes: {size_text(contract)}"
        results_console().print(Text(said))
    broken = any(change.level == "breaking" or strict for change in changes)
    return BROKEN if broken else KEPT


async def lint_command(
    interrupt: Interrupt,
    source: str,
    pages: Sequence[str],
    off: Sequence[str],
    strict: bool,
    as_json: bool,
    settings: PageSettings,
) -> int:
    """What models and browsers would stumble over, in the tools of a site or of a contract."""
    if unknown := [rule for rule in off if rule not in RULES]:
        raise WrongUsage(f"there is no rule {unknown[0]!r}; the rules are {', '.join(RULES)}")
    left_out: list[str] = []
    contract = await asyncio.to_thread(load_contract, Path(source)) if _is_file(source) else None
    if contract is None:
        wanted = list(dict.fromkeys((START, *pages)))
        contract = await _live(source, wanted, settings, left_out)
        if missing := [page for page in wanted if page not in contract.pages]:
            raise WrongUsage(f"the site has no page {missing[0]}")
    findings = lint(contract, off=off, left_out=left_out)
    if as_json:
        write_json([finding.to_json() for finding in findings])
    else:
        for line in lint_lines(findings):
            results_console().print(line)
        count = len(findings)
        word = "finding" if count == 1 else "findings"
        said = f"{count} {word}" if count else "nothing to say"
        results_console().print(Text(f"{said}: {size_text(contract)}"))
    failed = any(finding.level == "error" or strict for finding in findings)
    return BROKEN if failed else KEPT


def _is_file(source: str) -> bool:
    """Whether a contract is meant, not a page."""
    return source.endswith(".json") and not source.startswith(("http:", "https:", "shop:"))


def _contract_at(file: Path) -> Contract | None:
    """The contract in a file, None when it can be written but is not there yet."""
    if not file.absolute().parent.is_dir() or file.is_dir():
        raise WrongUsage(f"{file}: it is no file in a folder that is there")
    return load_contract(file) if file.exists() else None


async def _live(
    url: str, pages: Sequence[str], settings: PageSettings, left_out: list[str] | None = None
) -> Contract:
    async with open_chromium(
        browser=settings.browser, headed=settings.headed, cdp=settings.cdp
    ) as browser:
        warn = None if left_out is None else left_out.append
        return await live_contract(browser, url, pages, origins=settings.origins, warn=warn)
