"""What happened in a run as scenes of a film: which card, which pictures, for how long."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from webmcp_agent.browser.recording_cards import (
    Look,
    band,
    call_card,
    end_page,
    title_page,
)
from webmcp_agent.browser.recording_cutting import (
    Picture,
    Shown,
    Waiting,
    motion,
    reading_ms,
    speed_text,
    spread,
    wait_ms,
    without_flashes,
)
from webmcp_agent.browser.recording_editor import Scene
from webmcp_agent.browser.recording_layers import Layer, Layers
from webmcp_agent.browser.recording_moments import Act, End, Moment, Reply, Rest, Tick, Title

THINKING = "The model decides what to do next"
_DIMMED = 0.35
"""The page below a card that tells of a call."""
_BESIDE = 0.16
"""The page around what changed."""
_LOOK_MS = 500
"""The page without a card after it changed."""


class Director:
    """Turns moments into scenes; `put` takes them."""

    def __init__(
        self,
        cards: Layers,
        look: Look,
        waiting: Waiting,
        put: Callable[[Scene], Awaitable[None]],
    ) -> None:
        self._cards = cards
        self._look = look
        self._waiting: Waiting = waiting
        self._put = put
        self._zero_ms: float | None = None
        """When the first request began: the clock of the film starts there."""
        self._from_ms = 0.0
        """Run time up to which the film has come."""
        self._act: Act | None = None
        self._reply: Reply | None = None
        self._reply_ms = 0.0
        self._moved: list[Picture] = []

    async def handle(self, moment: Moment) -> None:
        """Make the scenes of a moment. Raises what drawing raises."""
        if self._zero_ms is None:
            self._zero_ms = moment.at_ms
        moment = _since(moment, self._zero_ms)
        match moment.what:
            case Title() as title:
                await self._title(moment, title)
            case Act() as act:
                await self._acts(moment, act)
            case Reply() as reply:
                self._reply, self._reply_ms = reply, moment.at_ms
                self._moved = list(moment.pictures)
            case Rest():
                await self._rests(moment)
            case Tick():
                await self._waits(moment, None)
            case End() as end:
                await self._ends(moment, end)

    async def _title(self, moment: Moment, title: Title) -> None:
        await self._waits(moment, None)
        body = title_page(self._look, title.kicker, title.headline, title.facts)
        await self._put(
            Scene(
                "title",
                title.headline,
                moment.at_ms,
                moment.at_ms,
                reading_ms(title.headline, 2_200, 4_000),
                layers=(await self._cards.draw(body),),
                page=False,
                chapter=title.kicker,
            )
        )
        self._from_ms = moment.at_ms

    async def _acts(self, moment: Moment, act: Act) -> None:
        waited_ms = moment.at_ms - self._from_ms
        chapter = await self._waits(moment, act.chapter)
        later = f"{_seconds(waited_ms)} later" if self._waiting == "cut" else ""
        caption = await self._band(act.number, act.caption, moment.address, later)
        card = await self._cards.draw(call_card(act.tool, act.rows, None))
        words = " ".join([act.caption, *(f"{row.name} {row.value}" for row in act.rows)])
        await self._put(
            Scene(
                "call",
                act.caption,
                moment.at_ms,
                moment.at_ms,
                reading_ms(words, 1_300, 2_600),
                layers=(caption, card),
                dim=_DIMMED,
                chapter=chapter,
            )
        )
        self._act, self._reply, self._from_ms = act, None, moment.at_ms

    async def _rests(self, moment: Moment) -> None:
        """The page moves, then the answer stands beside what changed."""
        act, reply = self._act, self._reply
        if act is None or reply is None:
            return
        shown = motion([*self._moved, *moment.pictures])
        # Where the run is: what was painted after the answer belongs to it.
        at_ms = max(self._reply_ms, shown[-1].picture.at_ms if shown else 0.0)
        caption = await self._band(act.number, act.caption, moment.address, "")
        if shown:
            await self._put(
                Scene(
                    "page", act.caption, self._from_ms, at_ms, _LOOK_MS,
                    shown=tuple(shown), layers=(caption,),
                )
            )  # fmt: skip
        card = await self._cards.draw(call_card(act.tool, act.rows, reply))
        await self._put(
            Scene(
                "answer",
                f"{'✓' if reply.ok else '✗'} {reply.text or reply.outcome}",
                self._from_ms,
                at_ms,
                reading_ms(reply.text, 1_600, 3_000),
                layers=(caption, card),
                movable=True,
                dim=_BESIDE,
                changes=True,
            )
        )
        self._act, self._from_ms, self._moved = None, at_ms, []

    async def _ends(self, moment: Moment, end: End) -> None:
        await self._waits(moment, None)
        body = end_page(self._look, end.kicker, end.headline, end.calls, end.facts)
        await self._put(
            Scene(
                "end",
                end.headline,
                moment.at_ms,
                moment.at_ms,
                reading_ms(end.headline, 3_200, 5_500),
                layers=(await self._cards.draw(body),),
                page=False,
                chapter=end.kicker,
            )
        )

    async def _waits(self, moment: Moment, chapter: str | None) -> str | None:
        """The wait up to `moment`; returns the chapter when no scene has taken it."""
        run_ms = moment.at_ms - self._from_ms
        film_ms = wait_ms(run_ms, self._waiting)
        seen = without_flashes(moment.pictures)
        shown = spread(seen, self._from_ms, moment.at_ms, film_ms)
        if not film_ms and seen:
            shown = [Shown(seen[-1], 0)]
        if not film_ms and not shown:
            return chapter
        layers: tuple[Layer, ...] = ()
        if film_ms:
            # Without a note it is the same picture each time, and drawn once.
            layers = (await self._band("", THINKING, moment.address, ""),)
        await self._put(
            Scene(
                "wait", THINKING, self._from_ms, moment.at_ms, film_ms,
                shown=tuple(shown), layers=layers, chapter=chapter,
                speed=speed_text(run_ms, film_ms),
            )
        )  # fmt: skip
        self._from_ms = moment.at_ms
        return None if film_ms else chapter

    async def _band(self, chip: str, caption: str, address: str, note: str) -> Layer:
        return await self._cards.draw(band(chip, caption, address, note))


def _since(moment: Moment, zero_ms: float) -> Moment:
    """The moment by a clock that shows 0 at `zero_ms`."""
    pictures = (replace(each, at_ms=max(0.0, each.at_ms - zero_ms)) for each in moment.pictures)
    return replace(moment, at_ms=moment.at_ms - zero_ms, pictures=tuple(pictures))


def _seconds(ms: float) -> str:
    return f"{ms / 1000:.1f} s"
