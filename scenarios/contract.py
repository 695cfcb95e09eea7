"""A contract: the tools of a site's pages, kept in a file that people read and tools compare.

The file is the same for the same tools, wherever the site was served: it holds no origin of its
own, no port, no frame and no fingerprint. Tools are sorted by name, and a tool that several pages
have in the same form stands there once.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter

from webmcp_agent.browser.policy import origin_of
from webmcp_agent.browser.tools import JsonObject, PageTool
from webmcp_agent.scenarios.contract_json import contract_json
from webmcp_agent.scenarios.errors import BadFile, Problem
from webmcp_agent.scenarios.source_file import SourceFile, read_json

SUFFIX = ".contract.json"
"""How the files are called."""
VERSION = 1
START = "."
"""The page at the contract's own address."""


@dataclass(frozen=True, slots=True)
class Contract:
    """The tools of a site's pages."""

    pages: Mapping[str, tuple[PageTool, ...]]
    """Tools sorted by name, by page: `.` is the start, others are addresses relative to it."""
    url: str | None = None
    """Where the site is, when that is worth keeping: `shop:`, a web address, a local path."""

    @property
    def tools(self) -> dict[str, list[tuple[PageTool, list[str]]]]:
        """By name, sorted: each form of the tool with the pages that have it."""
        found: dict[str, list[tuple[PageTool, list[str]]]] = {}
        for page, tools in self.pages.items():
            for tool in tools:
                forms = found.setdefault(tool.name, [])
                same = next((pages for form, pages in forms if form == tool), None)
                if same is None:
                    forms.append((tool, [page]))
                else:
                    same.append(page)
        return dict(sorted(found.items()))


Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,128}$")]
Page = Annotated[str, Field(min_length=1)]


class _ToolEntry(BaseModel):
    """A tool as the file has it; what is false or empty is left out."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: Name
    pages: list[Page] | None = Field(default=None, min_length=1)
    """None for all."""
    title: str | None = None
    description: str = ""
    read_only: bool = False
    untrusted: bool = False
    consequential: bool = False
    declarative: bool = False
    autosubmit: bool = False
    origin: str | None = None
    """Only of a tool that lives in a frame of another origin."""
    input_schema: dict[str, JsonValue] | str | None = None

    def tool(self) -> PageTool:
        return PageTool(
            name=self.name,
            description=self.description,
            input_schema=self.input_schema,
            title=self.title,
            read_only=self.read_only,
            untrusted=self.untrusted,
            consequential=self.consequential,
            autosubmit=self.autosubmit,
            declarative=self.declarative,
            origin=self.origin,
        )


class _ContractFile(BaseModel):
    """A `*.contract.json` file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    contract: int = Field(ge=1, le=VERSION)
    url: str | None = Field(default=None, min_length=1)
    pages: list[Page] = Field(default=[START], min_length=1)
    tools: list[_ToolEntry]


_FILE = TypeAdapter(_ContractFile)


def contract_of(
    tools_by_page: Mapping[str, Sequence[PageTool]],
    *,
    url: str | None = None,
    origin: str | None = None,
) -> Contract:
    """The contract that a site's pages keep now.

    `origin` is the site's own: tools that come from there are not said to come from anywhere."""
    return Contract({page: _kept(tools, origin) for page, tools in tools_by_page.items()}, url)


def _kept(tools: Iterable[PageTool], home: str | None) -> tuple[PageTool, ...]:
    kept = [
        replace(
            tool,
            title=tool.title or None,
            input_schema=_as_object(tool.input_schema),
            origin=None if tool.origin == home else _without_port(tool.origin),
            frame=None,
            fingerprint="",
        )
        for tool in tools
    ]
    return tuple(sorted(kept, key=lambda tool: tool.name))


def _as_object(schema: JsonObject | str | None) -> JsonObject | str | None:
    """A schema that an older browser gave as text, as the object that newer ones give."""
    if not isinstance(schema, str):
        return schema
    try:
        read: JsonValue = json.loads(schema, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return schema
    return read if isinstance(read, dict) else schema


def _no_number(text: str) -> JsonValue:
    raise ValueError(f"{text} is no number in JSON")


def _without_port(origin: str | None) -> str | None:
    """The origin; of this machine without its port, which another run may change."""
    parts = urlsplit(origin or "")
    return f"{parts.scheme}://{parts.hostname}" if is_loopback(origin or "") else origin


def is_loopback(url: str) -> bool:
    """Whether the address is one of this machine."""
    host = urlsplit(url).hostname or ""
    return host in {"localhost", "::1"} or host.startswith("127.") or host.endswith(".localhost")


def load_contract(path: Path) -> Contract:
    """The contract in a file; a local `url` is seen from the file.

    Raises: `BadFile`, with line and key of each problem."""
    source = read_json(path)
    value = source.value
    version = value.get("contract") if isinstance(value, dict) else None
    if isinstance(version, int) and not isinstance(version, bool) and version > VERSION:
        text = f"this is version {version}; versions up to {VERSION} can be read here"
        raise BadFile(path, [source.problem(["contract"], text)])
    if not isinstance(value, dict) or "contract" not in value:
        text = 'this is no contract: it does not begin with "contract": 1'
        raise BadFile(path, [source.problem([], text)])
    file = source.as_type(_FILE)
    if problems := _contradictions(file, source):
        raise BadFile(path, problems)
    pages = {
        page: contract_tools([e for e in file.tools if e.pages is None or page in e.pages])
        for page in file.pages
    }
    return Contract(pages, url=_seen_from(path, file.url))


def contract_tools(entries: Sequence[_ToolEntry]) -> tuple[PageTool, ...]:
    """The tools of entries, sorted by name."""
    return tuple(sorted((entry.tool() for entry in entries), key=lambda tool: tool.name))


def _contradictions(file: _ContractFile, source: SourceFile) -> list[Problem]:
    """Pages that are not listed, and tools that a page would have twice."""
    problems: list[Problem] = []
    seen: set[tuple[str, str]] = set()
    if len(set(file.pages)) < len(file.pages):
        problems.append(source.problem(["pages"], "a page is listed twice"))
    for at, entry in enumerate(file.tools):
        for number, page in enumerate(entry.pages or file.pages):
            where = ["tools", at, *(() if entry.pages is None else ("pages", number))]
            if page not in file.pages:
                problems.append(source.problem(where, f"{page!r} is not among the pages"))
            elif (page, entry.name) in seen:
                text = f"the page {page!r} has a tool {entry.name!r} already"
                problems.append(source.problem(where, text))
            seen.add((page, entry.name))
    return problems


def contract_text(contract: Contract) -> str:
    """The contract as its file has it."""
    tools: list[JsonValue] = []
    for forms in contract.tools.values():
        for tool, pages in forms:
            everywhere = len(pages) == len(contract.pages)
            tools.append(_entry(tool, None if everywhere else pages))
    value: JsonObject = {"contract": VERSION}
    if contract.url is not None:
        value["url"] = contract.url
    if list(contract.pages) != [START]:
        value["pages"] = [*contract.pages]
    value["tools"] = tools
    return contract_json(value)


def _entry(tool: PageTool, pages: list[str] | None) -> JsonObject:
    entry = _ToolEntry(
        pages=pages,
        name=tool.name,
        title=tool.title,
        description=tool.description,
        read_only=tool.read_only,
        untrusted=tool.untrusted,
        consequential=tool.consequential,
        declarative=tool.declarative,
        autosubmit=tool.autosubmit,
        origin=tool.origin,
        input_schema=tool.input_schema,
    )
    return entry.model_dump(exclude_defaults=True)


def write_contract(path: Path, contract: Contract) -> None:
    """Write the file; a local `url` is kept relative to it. The file is old or new, never half.

    Raises: `OSError`."""
    text = contract_text(replace(contract, url=_kept_url(path, contract.url)))
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8", newline="\n")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _kept_url(path: Path, url: str | None) -> str | None:
    """An address as the file keeps it: none of this machine's ports, no path of this machine's."""
    if url is None or url.startswith(("shop:", "file:")):
        return url
    if origin_of(url) is not None:
        return None if is_loopback(url) else url
    return Path(os.path.relpath(Path(url).expanduser(), path.parent)).as_posix()


def _seen_from(path: Path, url: str | None) -> str | None:
    if url is None or url.startswith(("http:", "https:", "shop:", "file:")):
        return url
    return str(path.parent / url)
