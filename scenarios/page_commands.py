"""`tools`, `call` and `shop`: a page without a model."""

import time

from rich.text import Text

from webmcp_agent.browser.tools import JsonObject, PageTool, ToolOk
from webmcp_agent.scenarios.console import (
    print_tools,
    printable,
    results_console,
    seconds,
    write_json,
)
from webmcp_agent.scenarios.errors import WrongUsage
from webmcp_agent.scenarios.exit_codes import DONE, NO_SUCCESS
from webmcp_agent.scenarios.interrupt import INTERRUPTED_EXIT, Interrupt
from webmcp_agent.scenarios.runner import (
    PageSettings,
    open_tools,
)
from webmcp_agent.scenarios.serve import SHOP, serve_folder


async def tools_command(
    interrupt: Interrupt, url: str, settings: PageSettings, as_json: bool
) -> int:
    """What a page offers."""
    async with open_tools(url, settings) as page:
        tools = await page.list_tools()
    if as_json:
        write_json([tool_json(tool) for tool in tools])
    else:
        print_tools(results_console(), tools)
    return DONE


def tool_json(tool: PageTool) -> JsonObject:
    """A tool as `tools --json` gives it."""
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "input_schema": tool.input_schema,
        "origin": tool.origin,
        "frame": tool.frame,
        "annotations": {
            "read_only": tool.read_only,
            "untrusted": tool.untrusted,
            "consequential": tool.consequential,
        },
        "declarative": tool.declarative,
    }


async def call_command(
    interrupt: Interrupt,
    url: str,
    name: str,
    args: JsonObject,
    settings: PageSettings,
    as_json: bool,
) -> int:
    """One call without a model."""
    async with open_tools(url, settings) as page:
        names = [tool.name for tool in await page.list_tools()]
        if name not in names:
            raise WrongUsage(
                f"there is no tool {name!r} on this page; it has {', '.join(names) or 'none'}"
            )
        with interrupt.stoppable() as signal:
            began = time.perf_counter()
            answer = await page.call_tool(name, args, call_id="c1.1", signal=signal)
            ms = (time.perf_counter() - began) * 1000
        ok = isinstance(answer, ToolOk)
        line: JsonObject = {
            "outcome": "ok" if ok else answer.code,
            "text": answer.text if ok else answer.message,
            "value": answer.value if ok else None,
            "may_have_happened": ok or bool(answer.may_have_happened),
            "url": page.url,
            "tools": [tool.name for tool in await page.list_tools()],
            "ms": round(ms, 1),
        }
        aborted = signal.aborted
    if as_json:
        write_json(line)
    else:
        console = results_console()
        console.print(Text(f"{line['outcome']}  {seconds(ms)}", style="green" if ok else "red"))
        console.print(Text(printable(str(line["text"]), lines=True)))
    if aborted:
        return INTERRUPTED_EXIT
    return DONE if ok else NO_SUCCESS


async def shop_command(interrupt: Interrupt, port: int) -> int:
    """Serve the demo shop until Ctrl-C."""
    async with serve_folder(SHOP, port=port) as url:
        with interrupt.stoppable() as signal:
            results_console().print(Text(f"{url}\n{url}ucp/ is its second face, shop:ucp"))
            await signal.wait()
    return DONE
