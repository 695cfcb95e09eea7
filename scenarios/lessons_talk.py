"""Lessons without a call: small talk, what the page can do, and what no tool here can do."""

from typing import cast

from webmcp_agent.scenarios.lessons import said
from webmcp_agent.scenarios.lessons_lookup import asked, domains_of, foreign_request
from webmcp_agent.scenarios.phrases import data
from webmcp_agent.scenarios.simulator import Lesson, Script, Turn, World
from webmcp_agent.scenarios.vocabulary import Draw

_CLOSE: dict[str, tuple[str, ...]] = {
    "shop": ("delivery", "events", "food"),
    "booking": ("events", "property", "routes"),
    "records": ("messages", "school", "files", "jobsite", "health"),
    "devices": ("media", "display"),
    "ledger": ("currency", "insurance"),
}
"""Themes whose requests a site of that kind might half understand."""


def talk_lesson(draw: Draw, site: Lesson) -> Lesson:
    """Talk on the site of another lesson, in place of its requests."""
    make = draw.random.choices((_refused, _small, _can), (70, 15, 15))[0]
    return Lesson("talk", site.world, [make(site)])


def _topic(world: World) -> str:
    action = world.draw.pick(world.actions[:4])
    says = action.tool.description.rstrip(".")
    return says[0].lower() + says[1:]


def _refused(site: Lesson) -> Turn:
    world, draw = site.world, site.world.draw
    avoid = (
        [str(t["id"]) for t in domains_of(False)] if site.kind == "lookup" else _CLOSE[site.kind]
    )
    text = foreign_request(draw, avoid) if site.kind != "lookup" else _other(draw, world)

    def script() -> Script:
        pattern = draw.pick(cast("list[str]", data("talk")["refuse"]["told"]))
        yield said(
            world,
            pattern,
            "can't|no tool|not possible|not able|none of",
            kind="refusal",
            topic=_topic(world),
        )

    return Turn(text, script)


def _other(draw: Draw, world: World) -> str:
    names = " ".join(
        action.tool.name.lower() + action.tool.description.lower() for action in world.actions
    )
    themes = [
        t
        for t in domains_of(False)
        if str(t["page"]).split()[0].lower() not in world.place.title.lower()
    ]
    for _ in range(20):
        tool = draw.pick(cast("list[dict[str, object]]", draw.pick(themes)["tool"]))
        words = str(tool["name"]).split("|")[0].split()
        if not any(word in names for word in words if len(word) > 3):
            return asked(draw, tool)[0]
    return draw.phrase("[Call|Phone] {person} for me", person=draw.person())


def _small(site: Lesson) -> Turn:
    world, draw = site.world, site.world.draw
    flow = draw.pick(("small", "small", "thanks", "who"))
    text = draw.phrase(draw.pick(cast("list[str]", data("talk")[flow]["ask"])))

    def script() -> Script:
        yield said(world, draw.pick(cast("list[str]", data("talk")[flow]["told"])), kind="talk")

    return Turn(text, script)


def _can(site: Lesson) -> Turn:
    world, draw = site.world, site.world.draw
    text = draw.phrase(draw.pick(cast("list[str]", data("talk")["can"]["ask"])))
    here = [action.tool for action in world.actions if not action.pages]

    def script() -> Script:
        told = [tool.description.rstrip(".") for tool in here[:4]]
        names = ", ".join(text[0].lower() + text[1:] for text in told)
        yield said(
            world,
            draw.pick(cast("list[str]", data("talk")["can"]["told"])),
            kind="talk",
            names=names,
        )

    return Turn(text, script)
