"""What all lessons share: answers in words, honest sentences after a failure, mistakes to mend."""

from collections.abc import Mapping, Sequence

from webmcp_agent.browser.tools import ToolFail
from webmcp_agent.scenarios.phrases import data
from webmcp_agent.scenarios.simulator import Call, Fault, Reply, Script, Seen, World
from webmcp_agent.scenarios.vocabulary import Draw, with_articles

CURT_FAULTS = (
    Fault("denied", "the person said no"),
    Fault("blocked", "the policy does not allow it"),
    Fault("failed", "The service is busy, try again later"),
    Fault("failed", "You have to sign in first"),
    Fault("timeout", "no answer after 30 seconds"),
    Fault("no-answer", "the answer was lost"),
    Fault("unavailable", "the page was closed"),
    Fault("cancelled", "the page cancelled the call"),
    Fault("needs-user", "filled in, it waits for the person to submit it"),
)


def said(
    world: World, pattern: str, /, *facts: object, kind: str = "answer", **values: object
) -> Reply:
    """An answer in words; `facts` are what it has to hold."""
    return reply(world, kind, pattern, facts, values)


def answer(
    world: World, name: str, flow: str, key: str, /, *facts: object, **values: object
) -> Reply:
    """An answer by one of the patterns of a data file."""
    patterns: Sequence[str] = data(name)[flow][key]
    return reply(world, "answer", world.draw.pick(patterns), facts, values)


def reply(
    world: World, kind: str, pattern: str, facts: Sequence[object], values: Mapping[str, object]
) -> Reply:
    """A reply of that kind in words, the braces of `pattern` filled from `values`."""
    text = with_articles(world.draw.phrase(pattern, **values))
    return Reply(kind, text[:1].upper() + text[1:], facts=tuple(str(fact) for fact in facts))


def told_failure(world: World, fail: ToolFail, doing: str) -> Reply:
    """The honest sentence after a call that failed."""
    pattern = world.draw.pick(
        data("talk")["failure"].get(fail.code) or data("talk")["failure"]["failed"]
    )
    return said(world, pattern, doing=doing, why=fail.message.rstrip("."), kind="after-error")


def troubled(world: World, role: str, share: float = 0.07) -> None:
    """Now and then the next call of `role` fails."""
    if world.draw.chance(share):
        world.faults[role] = [world.draw.pick(CURT_FAULTS)]


def with_mistakes(world: World, script: Script, share: float) -> Script:
    """`script` with a mistake before some of its replies, for what the loop says to it then."""
    draw = world.draw
    seen: Seen = None
    called = False
    try:
        reply = next(script)
        while True:
            if draw.chance(share) and (bad := _mistake(world, reply, called, seen)):
                yield bad
            called = called or bool(reply.calls)
            seen = yield reply
            reply = script.send(seen)
    except StopIteration:
        return


def _mistake(world: World, reply: Reply, called: bool, seen: Seen) -> Reply | None:
    draw = world.draw
    if not reply.calls:
        return _claim(draw) if isinstance(seen, ToolFail) and seen.code == "failed" else None
    call = reply.calls[0]
    kind = draw.pick(("name", "name", "missing", "wrong", "claim"))
    match kind:
        case "name":
            return _called(Call(_misnamed(draw, call.name), call.args))
        case "missing" if call.args:
            return _called(Call(call.name, {}))
        case "wrong" if numbers := [k for k, v in call.args.items() if isinstance(v, int)]:
            return _called(Call(call.name, {**call.args, numbers[0]: "some"}))
        case "claim" if not called:
            return _claim(draw)
        case _:
            return None


def _called(call: Call) -> Reply:
    return Reply("mistake", calls=(call,), learn=False)


def _claim(draw: Draw) -> Reply:
    return Reply(
        "mistake", draw.pick(("Done!", "I have added it.", "It's done.", "All set!")), learn=False
    )


def _misnamed(draw: Draw, name: str) -> str:
    plain = name.replace("_", "").replace("-", "").replace(".", "")
    return draw.pick((plain.lower() + "s", f"do_{name}", plain.upper(), f"{name}_now"))
