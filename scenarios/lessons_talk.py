"""Lessons without a call: small talk, what the page can do, and what no tool here can do."""

from collections.abc import Callable
from typing import cast

from webmcp_agent.scenarios.lessons import said
from webmcp_agent.scenarios.lessons_lookup import asked, domains_of, foreign_request
from webmcp_agent.scenarios.phrases import data
from webmcp_agent.scenarios.shop_world import Shop
from webmcp_agent.scenarios.simulator import Lesson, Script, Turn, World
from webmcp_agent.scenarios.told_values import drawn
from webmcp_agent.scenarios.vocabulary import CITIES, Draw

_CLOSE: dict[str, tuple[str, ...]] = {
    "shop": ("delivery", "events", "food"),
    "booking": ("events", "property", "routes"),
    "records": ("messages", "school", "files", "jobsite", "health"),
    "devices": ("media", "display"),
    "ledger": ("currency", "insurance"),
}
"""Themes whose requests a site of that kind might half understand."""


def talk_lesson(draw: Draw, site: Lesson, near: float = 0.0, full: float = 0.0) -> Lesson:
    """Talk on the site of another lesson, in place of its requests.

    `near` is how often a shop is asked for what shops do and this one cannot, and `full` how often
    that is asked for in two clauses."""
    make: Callable[[Lesson], Turn] = draw.random.choices((_refused, _small, _can), (70, 15, 15))[0]
    if make is _refused and site.kind == "shop" and near > 0 and draw.chance(near):
        make = _refused_fully if full and draw.chance(full) else _refused_near
        if isinstance(site.world, Shop) and draw.chance(0.5):
            site.world.fill(draw.whole(1, 2))
    return Lesson("talk", site.world, [make(site)])


def _topic(world: World) -> str:
    action = world.draw.pick(world.actions[:4])
    says = action.tool.description.rstrip(".")
    return says[0].lower() + says[1:]


def _refused(site: Lesson) -> Turn:
    draw, close = site.world.draw, _CLOSE.get(site.kind)
    return _refusal(site, _other(site.world) if close is None else foreign_request(draw, close))


def _refused_near(site: Lesson) -> Turn:
    return _of_a_shop(site, "ask")


def _refused_fully(site: Lesson) -> Turn:
    return _of_a_shop(site, "ask_fully")


def _of_a_shop(site: Lesson, patterns: str) -> Turn:
    draw = site.world.draw
    pattern = draw.pick(cast("list[str]", data("talk")["shop"][patterns]))
    person = draw.person()
    text = draw.phrase(
        pattern,
        code=drawn(draw, "code").said,
        title=_thing(site.world),
        street=draw.street(),
        city=draw.pick(CITIES),
        person=person,
        email=draw.email(person),
        brand=draw.brand(),
        n=draw.whole(1, 5),
    )
    return _refusal(site, draw.roughly(text, ()))


def _thing(world: World) -> str:
    """Something of this shop's, or of no shop's."""
    if isinstance(world, Shop) and world.draw.chance(0.7):
        title = str(world.draw.pick(world.items)["title"])
        return title if world.draw.chance(0.5) else title.lower()
    kinds = ("lamp", "jacket", "mug", "shoes", "bag", "kettle")
    return f"{world.draw.brand()} {world.draw.pick(kinds)}"


def _refusal(site: Lesson, text: str) -> Turn:
    world, draw = site.world, site.world.draw

    def script() -> Script:
        pattern = draw.pick(cast("list[str]", data("talk")["refuse"]["told"]))
        facts = "can't|no tool|not possible|not able|none of"
        yield said(world, pattern, facts, kind="refusal", topic=_topic(world))

    return Turn(text, script)


def _other(world: World) -> str:
    draw = world.draw
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
