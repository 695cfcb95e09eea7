"""The film of a run: what its parts say as captions and cards, and when the film stays.

The film itself is made by `browser/recording.py`; here is what it tells.
"""

import json
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Literal, Protocol

from pydantic import JsonValue

from webmcp_agent.agent.stream import (
    AgentStreamPart,
    CallReport,
    RunReport,
    ToolCall,
    ToolError,
    ToolResult,
)
from webmcp_agent.agent.wording import gist
from webmcp_agent.browser.page_tools import PageTools
from webmcp_agent.browser.recording import (
    Recording,
    RecordingOptions,
    logo_address,
    open_recording,
    require_encoder,
    short_address,
)
from webmcp_agent.browser.recording_moments import Act, End, Ran, Reply, Row, Title
from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.console import FINISH_WORDS, call_text, seconds
from webmcp_agent.scenarios.errors import WrongUsage
from webmcp_agent.scenarios.given import Given
from webmcp_agent.scenarios.masking import Masker

Record = Literal["off", "on", "retain-on-failure"]
"""The words of pytest-playwright: no film, a film, a film of what did not succeed."""

_SHOWN_ANSWER = 420
"""Characters of the answer on the last card."""
_SHOWN_VALUE = 120
_SENTENCES = {"message", "summary", "text"}
"""Members that say all in words."""
_SWITCH = {"on": True, "off": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class FilmSettings:
    """Whether there is a film, and how it is made."""

    record: Record = "off"
    options: RecordingOptions = field(default_factory=RecordingOptions)

    def check(self) -> None:
        """Raises: `NoEncoder` when a film is wanted and cannot be made here."""
        if self.record != "off":
            require_encoder()


def read_film(record: Record, pairs: Sequence[str]) -> FilmSettings:
    """The settings that `NAME=VALUE` pairs describe. Raises: `WrongUsage`."""
    options = RecordingOptions()
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or name not in _CHOICES:
            raise WrongUsage(f"--film {pair}: it is one of {', '.join(_CHOICES.values())}")
        options = _with_option(options, pair, name, value)
    return FilmSettings(record=record, options=options)


_CHOICES = {
    "waiting": "waiting=fast|cut|real",
    "theme": "theme=light|dark",
    "color": "color=#rrggbb",
    "logo": "logo=FILE",
    "scale": "scale=1|2",
    "gif": "gif=on|off",
    "trace": "trace=on|off",
}


def _with_option(options: RecordingOptions, pair: str, name: str, value: str) -> RecordingOptions:
    match name, value:
        case "waiting", "fast" | "cut" | "real":
            return replace(options, waiting=value)
        case "theme", "light" | "dark":
            return replace(options, theme=value)
        case "scale", "1":
            return replace(options, scale=1)
        case "scale", "2":
            return replace(options, scale=2)
        case "gif", "on" | "off":
            return replace(options, gif=_SWITCH[value])
        case "trace", "on" | "off":
            return replace(options, trace=_SWITCH[value])
        case "color", _ if re.fullmatch("#[0-9a-fA-F]{6}", value):
            return replace(options, color=value)
        case "logo", _:
            try:
                logo_address(Path(value))
            except (OSError, ValueError) as exc:
                raise WrongUsage(f"--film {pair}: {exc}") from exc
            return replace(options, logo=Path(value))
        case _:
            raise WrongUsage(f"--film {pair}: write {_CHOICES[name]}")


class Film:
    """Tells a recording what the parts of a run say; nothing here can fail a run."""

    def __init__(
        self, recording: Recording, settings: FilmSettings, model: str, masker: Masker
    ) -> None:
        self._recording = recording
        self._masker = masker
        self._settings = settings
        self._model = model
        self._requests = 0
        self._calls = 0
        self._took: list[float] = []
        self._began = perf_counter()

    @property
    def path(self) -> Path | None:
        """The film, if there is one and it stays."""
        return self._recording.path if self._recording.keep else None

    @property
    def trouble(self) -> str | None:
        """Why it ended early, or lacks something."""
        return self._recording.trouble

    def request(self, text: str, address: str) -> None:
        """A request begins."""
        self._requests += 1
        self._took = []
        kicker = "Request" if self._requests == 1 else f"Request {self._requests}"
        facts = (short_address(address), self._model)
        self._recording.title(Title(kicker, text, tuple(fact for fact in facts if fact)))

    def part(self, part: AgentStreamPart) -> None:
        """A part of the run, in its order."""
        match self._masker.part(part):
            case ToolCall() as part:
                self._calls += 1
                self._began = perf_counter()
                caption = caption_of(part.name, part.args)
                self._recording.acts(
                    Act(
                        number=str(self._calls),
                        caption=caption,
                        chapter=f"{self._calls} {words_of(part.name)}",
                        tool=part.name,
                        rows=tuple(Row(key, value_text(value)) for key, value in part.args.items()),
                    )
                )
            case ToolResult() as part:
                self._answered(Reply(True, "answered", self._taken(), answer_text(part.text)))
            case ToolError() as part:
                self._answered(Reply(False, part.code, self._taken(), part.error))
            case _:
                return

    def over(self, report: RunReport, total_ms: float, model_ms: float) -> None:
        """A request ended."""
        waited = {"fast": "sped up", "cut": "cut out", "real": ""}[self._settings.options.waiting]
        facts = [f"{seconds(total_ms)} in all, {seconds(model_ms)} of it the model's"]
        if waited and model_ms:
            facts.append(f"waiting for the model is {waited}")
        facts.append(self._model)
        answer = report.answer or report.error or "No answer"
        took = [*self._took, *[0.0] * len(report.calls)]
        self._recording.ends(
            End(
                kicker=FINISH_WORDS.get(report.finish, report.finish).capitalize(),
                headline=answer if len(answer) <= _SHOWN_ANSWER else answer[:_SHOWN_ANSWER] + "…",
                calls=tuple(map(self._ran, report.calls, took)),
                facts=tuple(fact for fact in facts if fact),
            )
        )

    def judged(self, succeeded: bool) -> None:
        """Whether what was filmed succeeded: what did not is always retained."""
        self._recording.keep = self._settings.record == "on" or not succeeded

    def _ran(self, call: CallReport, ms: float) -> Ran:
        ok = call.outcome == "ok"
        what = call_text(call.name, self._masker.members(call.args))
        return Ran(ok, what, seconds(ms) if ok else call.outcome)

    def _answered(self, reply: Reply) -> None:
        self._recording.answers(reply)

    def _taken(self) -> str:
        ms = (perf_counter() - self._began) * 1000
        self._took.append(ms)
        return seconds(ms)


def words_of(name: str) -> str:
    """`search_products`, `searchProducts` and `search-products` as `Search products`."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    words = [word for word in re.split(r"[\s._-]+", parted) if word]
    lower = [word if word.isupper() and len(word) > 1 else word.lower() for word in words]
    return " ".join([lower[0].capitalize(), *lower[1:]]) if lower else name


def caption_of(name: str, args: JsonObject) -> str:
    """What a call is about to do, in a line: `Search products: “mug”, max price 20`."""
    told: list[str] = []
    for key, value in args.items():
        match value:
            case str() if value:
                told.append(f"“{_cut(value)}”")
            case bool():
                told.append(f"{words_of(key).lower()} {'yes' if value else 'no'}")
            case int() | float():
                told.append(f"{words_of(key).lower()} {value}")
            case _:
                continue
    return f"{words_of(name)}: {', '.join(told[:3])}" if told else words_of(name)


def answer_text(text: str) -> str:
    """An answer in short, for people: the members of a flat object, else what `gist` says."""
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return gist(text)
    if not isinstance(value, dict) or _SENTENCES & value.keys():
        return gist(text)
    if not value or any(isinstance(member, dict | list) for member in value.values()):
        return gist(text)
    told = (f"{words_of(key).lower()}: {value_text(member)}" for key, member in value.items())
    return ", ".join(told)


def value_text(value: JsonValue) -> str:
    """A value of an argument as people read it."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN_VALUE else text[: _SHOWN_VALUE - 1] + "…"


def _cut(text: str, limit: int = 48) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


class FilmedPage(Protocol):
    """What a film has to know of how its page was opened."""

    @property
    def headed(self) -> bool:
        """Whether the browser can be seen."""
        ...

    @property
    def cdp(self) -> str | None:
        """Where a browser of somebody else was attached to."""
        ...

    @property
    def given(self) -> Given:
        """The secrets."""
        ...


@asynccontextmanager
async def open_film(
    settings: FilmSettings,
    page: FilmedPage,
    tools: PageTools,
    folder: Path,
    *,
    model: str,
) -> AsyncGenerator[Film | None]:
    """A film of a page in `folder`, finished at the end; None when none is wanted.

    Raises: `NoEncoder`."""
    if settings.record == "off":
        yield None
        return
    given = page.given
    options = replace(
        settings.options, mask=given.masker.text, secrets=tuple(given.secrets.values())
    )
    # Captions are drawn where nobody sees them being drawn.
    browser = None if page.headed or page.cdp else tools.page.context.browser
    async with open_recording(lambda: tools.page, folder, options, browser=browser) as recording:
        yield Film(recording, settings, model, given.masker)
