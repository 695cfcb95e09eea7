"""Lessons with lists of records: notes, tasks, events, tickets, contacts."""

from collections.abc import Callable, Sequence

from webmcp_agent.browser.tools import ToolFail, ToolOk
from webmcp_agent.scenarios.lessons import answer, told_failure, troubled
from webmcp_agent.scenarios.phrases import Table, Wording, language, plural, request
from webmcp_agent.scenarios.records_world import Records
from webmcp_agent.scenarios.simulator import Doing, Lesson, Record, Reply, Script, Turn
from webmcp_agent.scenarios.vocabulary import Draw

_REMARKS = (
    "Please check again",
    "Waiting for an answer",
    "Looks good",
    "Call back on Monday",
    "Nearly finished",
    "See the photo",
    "Ask Vera first",
)


def _find(world: Records, title: str) -> Doing:
    """The call that shows the record's id: the search where there is one, else the list."""
    if world.searchable:
        return (yield from world.act("search", query=title))
    return (yield from world.act("list"))


def _create(world: Records) -> Turn:
    draw = world.draw
    code = language(draw, "records", "create")
    title = (
        draw.pick(world.spare)
        if world.spare and draw.chance(0.5)
        else f"{draw.brand()} {draw.pick(('list', 'plan', 'check', 'report', 'item', 'call'))}"
    )
    label = draw.pick(world.labels) if draw.chance(0.6) else None
    due, due_said = draw.date() if world.dated and draw.chance(0.6) else (None, "")
    details = draw.pick(_REMARKS) if world.has("create", "details") and draw.chance(0.5) else None
    labelled = f", {world.label_name} {label}" if label else ""
    dated = ""
    if due:
        lead = draw.pick(("on", "due", "date")) if code == "en" else ""
        dated = f", {lead} {due_said}".replace("  ", " ")
    detailed = f". {draw.pick(('Text', 'Note', 'Details'))}: {details}" if details else ""
    values = {"noun": world.noun, "title": title, "label": labelled}
    text = request(draw, "records", "create", code, due=dated, details=detailed, **values)
    fields: Record | None = {
        k: v for k, v in ((world.label_name, label), ("due", due)) if v is not None
    }
    troubled(world, "create")

    def script() -> Script:
        seen = yield from world.act(
            "create", title=title, label=label, due=due, details=details, fields=fields or None
        )
        if isinstance(seen, ToolFail):
            yield told_failure(world, seen, f"create the {world.noun}")
            return
        ident = world.rows[-1]["id"]
        reply = answer(
            world,
            "records",
            "create",
            "told",
            title,
            noun=world.noun,
            title=title,
            id=ident if str(ident) in seen.text else "",
        )
        yield Reply(reply.kind, reply.text.replace(" (id )", ""), facts=reply.facts)

    return Turn(text, script)


def _asked(world: Records, flow: str) -> Turn:
    draw = world.draw
    state, label = draw.pick(world.states), draw.pick(world.labels)
    code = language(draw, "records", flow)
    values = {
        "noun": world.noun,
        "nouns": plural(world.noun),
        "state": state,
        "labelname": world.label_name,
        "label": label,
    }
    text = request(draw, "records", flow, code, **values)
    troubled(world, "list", 0.04)

    def script() -> Script:
        if flow == "labelled":
            seen = yield from world.act("list", label=label)
        else:
            seen = yield from world.act("list", status=state)
        if isinstance(seen, ToolFail):
            yield told_failure(world, seen, f"list the {values['nouns']}")
            return
        rows = [
            r
            for r in world.rows
            if (r[world.label_name] == label if flow == "labelled" else r["status"] == state)
        ]
        told = ", ".join(str(r["title"]) for r in rows[:6]) + (
            f" and {len(rows) - 6} more" if len(rows) > 6 else ""
        )
        if not rows:
            yield answer(
                world,
                "records",
                "labelled" if flow == "labelled" else "count",
                "none",
                "no",
                **values,
            )
        elif flow == "count" and len(rows) > 1:
            yield answer(world, "records", "count", "told", len(rows), n=len(rows), **values)
        elif len(rows) == 1 and flow != "labelled":
            yield answer(
                world, "records", "count", "one", rows[0]["title"], title=rows[0]["title"], **values
            )
        else:
            yield answer(
                world,
                "records",
                flow,
                "told",
                *(r["title"] for r in rows[:6]),
                n=len(rows),
                told=told,
                **values,
            )

    return Turn(text, script)


def _changed(world: Records, flow: str) -> Turn:
    draw = world.draw
    row = draw.pick(world.rows)
    title = str(row["title"])
    missing = draw.chance(0.08)
    if missing:
        title = f"{draw.brand()} {draw.whole(2, 9)}"
    said = title if draw.chance(0.8) else title.lower()
    state = draw.pick([s for s in world.states if s != row["status"]])
    remark = draw.pick(_REMARKS)
    text = request(
        draw,
        "records",
        flow,
        language(draw, "records", flow),
        noun=world.noun,
        title=said,
        state=state,
        text=remark,
    )
    troubled(world, flow, 0.08)

    def script() -> Script:
        seen = yield from _find(world, said)
        if isinstance(seen, ToolOk) and missing:
            yield answer(
                world, "records", "missing", "none", "no|couldn't", noun=world.noun, title=title
            )
            return
        if isinstance(seen, ToolOk):
            seen = yield from world.act(flow, id=row["id"], status=state, text=remark)
        if isinstance(seen, ToolFail):
            doing = {"state": f"change {title}", "delete": f"delete {title}"}.get(
                flow, f"comment on {title}"
            )
            yield told_failure(world, seen, doing)
            return
        yield answer(
            world,
            "records",
            flow,
            "told",
            title,
            *([state] if flow == "state" else []),
            noun=world.noun,
            title=title,
            state=state,
        )

    return Turn(text, script)


def _looked(world: Records, flow: str) -> Turn:
    draw = world.draw
    row = draw.pick(world.rows)
    title = str(row["title"])
    state = draw.pick(world.states)
    text = request(
        draw,
        "records",
        flow,
        "en",
        noun=world.noun,
        title=title,
        labelname=world.label_name,
        state=state,
    )

    def script() -> Script:
        seen = yield from _find(world, title)
        if isinstance(seen, ToolFail):
            yield told_failure(world, seen, f"look up {title}")
        elif flow == "due":
            yield answer(world, "records", "due", "told", row["due"], title=title, date=row["due"])
        elif state in text:
            key = "yes" if row["status"] == state else "no"
            actual = row["status"]
            told = f"{key}|is {actual}"
            yield answer(
                world, "records", "get", key, told, title=title, state=state, actual=actual
            )
        else:
            label = row[world.label_name]
            yield answer(
                world,
                "records",
                "get",
                "label",
                label,
                title=title,
                labelname=world.label_name,
                label=label,
            )

    return Turn(text, script)


def _both(world: Records) -> Turn:
    draw = world.draw
    a, b = draw.some(world.rows, 2)
    state = draw.pick(world.states)
    text = request(draw, "records", "both", "en", title=a["title"], title2=b["title"], state=state)

    def script() -> Script:
        seen = yield from world.act("list")
        for row in (a, b):
            if isinstance(seen, ToolOk):
                seen = yield from world.act("state", id=row["id"], status=state)
        if isinstance(seen, ToolFail):
            yield told_failure(world, seen, f"change both {plural(world.noun)}")
            return
        yield answer(
            world,
            "records",
            "both",
            "told",
            a["title"],
            b["title"],
            state,
            title=a["title"],
            title2=b["title"],
            state=state,
        )

    return Turn(text, script)


_FLOWS: Sequence[tuple[int, str, Callable[[Records], Turn]]] = (
    (8, "create", _create),
    (4, "list", lambda w: _asked(w, "count")),
    (4, "list", lambda w: _asked(w, "list")),
    (3, "list", lambda w: _asked(w, "labelled")),
    (8, "state", lambda w: _changed(w, "state")),
    (5, "delete", lambda w: _changed(w, "delete")),
    (3, "comment", lambda w: _changed(w, "comment")),
    (3, "list", lambda w: _looked(w, "due") if w.dated else _looked(w, "get")),
    (3, "list", lambda w: _looked(w, "get")),
    (3, "state", _both),
)


def records_lesson(draw: Draw, domain: Table, wording: Wording) -> Lesson:
    """One list of records and a request to it."""
    world = Records(draw, domain, wording)
    able = [flow for flow in _FLOWS if world.has(flow[1])]
    make = draw.random.choices([f[2] for f in able], [f[0] for f in able])[0]
    return Lesson("records", world, [make(world)])
