"""How each command ends: errors become one line on stderr and an exit code, in one place."""

import os
import sys
from collections.abc import Awaitable, Callable, Sequence

from rich.text import Text

from webmcp_agent.browser.errors import BrowserError
from webmcp_agent.providers.errors import Aborted, ProviderError
from webmcp_agent.scenarios.console import (
    printable,
    progress_console,
)
from webmcp_agent.scenarios.errors import ScenarioError, WrongUsage
from webmcp_agent.scenarios.interrupt import INTERRUPTED_EXIT, run_interruptible
from webmcp_agent.scenarios.masking import Masker
from webmcp_agent.scenarios.runner import (
    RunSettings,
)

DONE, NO_SUCCESS, WRONG_USAGE, CANNOT_RUN = 0, 1, 2, 3

Command = Callable[..., Awaitable[int]]


def finished(command: Command, *args: object) -> int:
    """Run a command to its exit code; what went wrong is one line on stderr."""
    masker = masker_of(args)
    try:
        return run_interruptible(lambda interrupt: command(interrupt, *args))
    except WrongUsage as exc:
        return told(masker.text(str(exc)), WRONG_USAGE)
    except Aborted:
        return INTERRUPTED_EXIT
    except (BrowserError, ProviderError, ScenarioError) as exc:
        return told(masker.text(str(exc)), CANNOT_RUN)
    except BrokenPipeError:
        # Whoever read our output has left; say nothing more to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE


def masker_of(args: Sequence[object]) -> Masker:
    """What keeps the secrets of a command's settings out of all that is said."""
    settings = (each for each in args if isinstance(each, RunSettings))
    return next((each.page.given.masker for each in settings), Masker())


def told(text: str, code: int) -> int:
    """Say what went wrong; the code."""
    progress_console().print(Text(f"Error: {printable(text)}"))
    return code
