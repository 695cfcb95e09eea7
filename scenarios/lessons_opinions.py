"""Lessons on what customers wrote of a thing in a shop."""

from webmcp_agent.browser.tools import ToolFail, ToolOk
from webmcp_agent.scenarios.lessons import told_failure
from webmcp_agent.scenarios.lessons_cart import say
from webmcp_agent.scenarios.phrases import language, request
from webmcp_agent.scenarios.shop_goods import TOPICS
from webmcp_agent.scenarios.shop_world import Shop
from webmcp_agent.scenarios.simulator import Reply, Script, Turn


def opinions(shop: Shop, flow: str) -> Turn:
    """The reviews of a thing, or with `reviews_about` what they say of one side of it."""
    draw = shop.draw
    here = shop.opened is not None and draw.chance(0.5)
    item = shop.opened if here and shop.opened else draw.pick(shop.items)
    title = str(item["title"])
    topic = draw.pick([*TOPICS]) if flow == "reviews_about" else None
    shop.topic = topic if draw.chance(0.85) else None
    code = "en" if here else language(draw, "shop", flow)
    named = title if draw.chance(0.6) else title.lower()
    named = draw.pick((named, f"the {named}")) if code == "en" else named
    if here and draw.chance(0.5):
        named = draw.pick(("it", "this", f"this {shop.noun.split()[-1]}"))
    text = request(draw, "shop", flow, code, title=named, topic=topic)

    def script() -> Script:
        if not here:
            seen = yield from shop.act("search", query=title)
            if isinstance(seen, ToolOk) and shop.paged:
                seen = yield from shop.act("open", id=item["id"])
            if isinstance(seen, ToolFail):
                yield told_failure(shop, seen, f"open {title}")
                return
        seen = yield from shop.act("reviews", id=item["id"])
        if isinstance(seen, ToolFail):
            yield told_failure(shop, seen, f"read the reviews of {title}")
        elif topic is None:
            yield _reviewed(shop)
        else:
            yield _about(shop, topic)

    return Turn(text, script)


def _about(shop: Shop, topic: str) -> Reply:
    for one in shop.opinions:
        if str(one["text"]) in TOPICS[topic]:
            text, author = str(one["text"]), one["author"]
            short = text.rstrip(".")
            return say(shop, "reviewed_about", short, text=short, author=author, topic=topic)
    return say(shop, "reviewed_nothing", "none|no review|nothing|not", topic=topic)


def _reviewed(shop: Shop) -> Reply:
    one, stars = shop.opinions[0], [str(each["stars"]) for each in shop.opinions]
    text, author = one["text"], one["author"]
    values: dict[str, object] = {"author": author, "stars": one["stars"], "all": ", ".join(stars)}
    return say(shop, "reviewed", text, n=len(stars), text=text, **values)
