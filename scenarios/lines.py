"""A line from the person: edited in a terminal, read as it is from a pipe."""

import asyncio
import sys

from webmcp_agent.scenarios.approval import ReadLine


def is_interactive() -> bool:
    """Whether somebody can be asked: input and progress are both a terminal."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def line_reader() -> ReadLine:
    """Asks for lines with a history of its own; Ctrl-C at the prompt empties the line."""
    if not is_interactive():
        return _from_pipe
    from prompt_toolkit import PromptSession
    from prompt_toolkit.output import create_output

    # On stderr, like all that is not a result: stdout may be a file.
    session: PromptSession[str] = PromptSession(output=create_output(stdout=sys.stderr))

    async def read(prompt: str) -> str | None:
        while True:
            try:
                return await session.prompt_async(prompt, handle_sigint=False)
            except KeyboardInterrupt:
                continue
            except EOFError:
                return None

    return read


async def _from_pipe(prompt: str) -> str | None:
    line = await asyncio.to_thread(sys.stdin.readline)
    return line.rstrip("\n") if line else None
