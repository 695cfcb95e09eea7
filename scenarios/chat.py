"""Several requests in one conversation: history and resume, Stop, `/retry`, `/model`, `/tools`.

Prose is shown once it has passed the loop's checks, never while it is written.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager

from rich.console import Console
from rich.text import Text

from webmcp_agent.agent.adapter import size_text
from webmcp_agent.agent.history import cut_to_last_call, messages_of
from webmcp_agent.agent.request import ChatMessage, user_message
from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.errors import ProviderError
from webmcp_agent.scenarios.approval import ReadLine
from webmcp_agent.scenarios.console import Progress, RunView, print_tools, printable, seconds
from webmcp_agent.scenarios.errors import WrongUsage
from webmcp_agent.scenarios.report import RunFolder
from webmcp_agent.scenarios.runner import Session, load_model

HELP = """Say what you want done on this page. Besides that:
  /tools         what the page offers now
  /retry         the last request again, from its last finished call on
  /model [ID]    the models there are, or switch to one
  /quit          leave (so does Ctrl-D); Ctrl-C stops what is running"""


class Chat:
    """A conversation about one page."""

    def __init__(
        self,
        session: Session,
        console: Console,
        progress: Progress,
        folder: RunFolder | None = None,
    ) -> None:
        self._session = session
        self._console = console
        self._progress = progress
        self._folder = folder
        self._messages: list[ChatMessage] = []
        self._asked = 0

    async def talk(
        self, read_line: ReadLine, stoppable: Callable[[], AbstractContextManager[AbortSignal]]
    ) -> None:
        """Answer lines until there are no more, or `/quit`."""
        self._console.print(Text("Type a request, or /help.", style="dim"))
        while (line := await read_line("> ")) is not None:
            text = line.strip()
            if not text:
                continue
            if text in {"/quit", "/exit"}:
                return
            with stoppable() as signal:
                if text.startswith("/"):
                    await self._command(text, signal)
                else:
                    await self._ask(text, signal)

    async def _ask(self, text: str, signal: AbortSignal) -> None:
        try:
            filled = self._session.fill(text)
        except WrongUsage as exc:
            self._say(str(exc), style="yellow")
            return
        self._asked += 1
        self._messages.append(user_message(filled, f"u{self._asked}"))
        await self._answer(signal)

    async def _answer(self, signal: AbortSignal) -> None:
        view = RunView(self._console, self._progress)
        try:
            outcome = await self._session.run(
                self._messages,
                signal,
                on_part=view.part,
                on_trace=view.trace,
                folder=self._folder,
            )
        finally:
            self._progress.done()
        self._messages += messages_of(outcome.parts)
        calls = len(outcome.report.calls)
        word = "call" if calls == 1 else "calls"
        self._say(f"{calls} {word}, {seconds(outcome.total_ms)}", style="dim")

    async def _command(self, text: str, signal: AbortSignal) -> None:
        name, _, rest = text.partition(" ")
        match name:
            case "/help":
                self._say(HELP)
            case "/tools":
                print_tools(self._console, await self._session.tools.list_tools())
            case "/retry":
                await self._retry(signal)
            case "/model":
                await self._model(rest.strip(), signal)
            case _:
                self._say(f"There is no {name}; /help lists what there is.", style="yellow")

    async def _retry(self, signal: AbortSignal) -> None:
        if not self._messages:
            self._say("Nothing was asked yet.", style="yellow")
            return
        self._messages = cut_to_last_call(self._messages)
        await self._answer(signal)

    async def _model(self, id: str, signal: AbortSignal) -> None:
        models = self._session.adapter.models()
        if not models:
            self._say("This provider runs one model; there is nothing to choose.")
            return
        if not id:
            for model in models:
                mark = "*" if model.selected else " "
                state = "here" if model.cached else size_text(model.bytes)
                self._say(f"{mark} {model.id:<24} {model.label} ({state})")
            return
        try:
            await self._session.adapter.select_model(id)
            self._session.model = await load_model(self._session.provider, self._progress, signal)
        except (ValueError, ProviderError) as exc:
            self._say(str(exc), style="yellow")
        else:
            self._say(f"Now running {self._session.model}.")
        finally:
            self._progress.done()

    def _say(self, text: str, style: str = "") -> None:
        self._console.print(Text(printable(text, lines=True), style=style))
