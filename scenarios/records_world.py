"""A made-up list of records with a state, a label and perhaps a date."""

from typing import cast

from pydantic import JsonValue

from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.phrases import Table, Wording, plural
from webmcp_agent.scenarios.simulator import (
    Answer,
    Args,
    Manner,
    Parameter,
    Place,
    Record,
    Refusal,
    World,
)
from webmcp_agent.scenarios.vocabulary import Draw


class Records(World):
    """A list of records with a state, a label and perhaps a date."""

    def __init__(self, draw: Draw, domain: Table, wording: Wording) -> None:
        manner = Manner(draw, wording)
        self.noun = str(domain["noun"])
        name = draw.pick(
            (
                f"{draw.brand()} {plural(self.noun)}",
                f"My {plural(self.noun)}",
                plural(self.noun).title(),
            )
        )
        super().__init__(
            draw,
            manner,
            Place(
                draw.pick(("/", f"/{plural(self.noun)}", "/app", "/dashboard")),
                name,
                draw.pick((None, name)),
            ),
        )
        self.states = cast("list[str]", domain["states"])
        labels = cast("list[str]", domain["labels"])
        self.label_name, self.labels = labels[0], labels[1:]
        self.dated = bool(domain["dated"])
        titles = draw.shuffled(cast("list[str]", domain["titles"]))
        held = draw.whole(3, max(3, len(titles) - 2))
        self.spare = titles[held:]
        self.rows: list[Record] = []
        for title in titles[:held]:
            row: Record = {
                "id": manner.new_id(title),
                "title": title,
                "status": draw.pick(self.states),
                self.label_name: draw.pick(self.labels),
            }
            if self.dated:
                row["due"] = draw.date()[0]
            self.rows.append(row)
        if draw.chance(0.12):
            for n in range(draw.whole(10, 18)):
                title = f"{draw.brand()} {draw.whole(1, 99)}"
                self.rows.append(
                    {**self.rows[n % held], "id": manner.new_id(title), "title": title}
                )
        self.nested = draw.chance(0.2)
        self.searchable = draw.chance(0.45)
        self._tools()

    def _tools(self) -> None:
        draw, manner, noun = self.draw, self.manner, self.noun
        states: JsonObject = {"type": "string", "enum": [*self.states]}
        says = "[Only with this status|Status]"
        status = Parameter("status", states, "status|state|status", says)
        listed: JsonObject = {"type": "string"}
        if draw.chance(0.7):
            listed["enum"] = [*self.labels]
        says = f"[{self.label_name.title()} of the {noun}|Only this {self.label_name}]"
        label = Parameter("label", listed, self.label_name, says)
        filters = [p for p in (status, label) if draw.chance(0.7)]

        def words(role: str) -> tuple[str, str]:
            return self.words("records", role, noun=noun, nouns=plural(noun))

        self.offer("list", *words("list"), self._list, filters, read_only=True)
        if self.searchable:
            says = "[Words of the title|What to find]"
            query = Parameter("query", {"type": "string"}, "query|text|q|title", says, True)
            self.offer("search", *words("search"), self._search, [query], read_only=True)
        asked = self._create_parameters(label)
        self.offer("create", *words("create"), self._create, asked)
        says = f"[Id of the {noun}|Which {noun}]"
        ident = Parameter("id", manner.id_schema(), f"id|{noun} id", says, required=True)
        if draw.chance(0.6):
            self.offer("get", *words("get"), self._get, [ident], read_only=True)
        new = Parameter("status", states, "status|state|new status", "New status", required=True)
        self.offer("state", *words("state"), self._state, [ident, new])
        if draw.chance(0.7):
            delete, said = words("delete")
            serious = draw.chance(0.4)
            self.offer("delete", delete, said, self._delete, [ident], consequential=serious)
        if draw.chance(0.4):
            names = "text|comment|body|message"
            text = Parameter("text", {"type": "string"}, names, "The comment", required=True)
            self.offer("comment", *words("comment"), self._comment, [ident, text])

    def _create_parameters(self, label: Parameter) -> list[Parameter]:
        draw = self.draw
        due: list[Parameter] = []
        if self.dated:
            isodate: JsonObject = {"type": "string"}
            if draw.chance(0.5):
                isodate["format"] = "date"
            says = "[Day, YYYY-MM-DD|Date as YYYY-MM-DD]"
            due = [Parameter("due", isodate, "due|date|due date", says)]
        names, says = "title|name|subject|summary", f"[Title of the {self.noun}|Short title]"
        title = Parameter("title", {"type": "string"}, names, says, required=True)
        details: list[Parameter] = []
        if draw.chance(0.5):
            names, says = "description|details|text|body|notes", "[More about it|Longer text]"
            details = [Parameter("details", {"type": "string"}, names, says)]
        if not self.nested:
            return [title, label, *due, *details]
        members: JsonObject = {self.label_name: label.schema}
        if self.dated:
            members["due"] = {"type": "string"}
        inner: JsonObject = {"type": "object", "properties": members}
        says = "[Other fields|More fields]"
        return [title, Parameter("fields", inner, "fields|properties|meta", says)]

    def _get(self, args: Args) -> Answer:
        return self.manner.record(self.row(args.get("id")))

    def row(self, ident: JsonValue) -> Record:
        """The record with that id."""
        for row in self.rows:
            if str(row["id"]) == str(ident):
                return row
        raise Refusal(
            self.draw.pick((f"There is no {self.noun} {ident}.", f"{self.noun} {ident} not found"))
        )

    def _list(self, args: Args) -> Answer:
        status, label = args.get("status"), args.get("label")
        rows = [
            r
            for r in self.rows
            if status in (None, r["status"]) and label in (None, r[self.label_name])
        ]
        return self.manner.listing(rows, plural(self.noun))

    def _search(self, args: Args) -> Answer:
        query = str(args.get("query", "")).lower()
        return self.manner.listing(
            [r for r in self.rows if query in str(r["title"]).lower()], plural(self.noun)
        )

    def _create(self, args: Args) -> Answer:
        fields = cast("Record", args.get("fields") or {})
        row: Record = {
            "id": self.manner.new_id(str(args["title"])),
            "title": args["title"],
            "status": self.states[0],
            self.label_name: args.get("label") or fields.get(self.label_name),
        }
        self.rows.append(row)
        return self.manner.note(
            f"Created {self.noun} {row['title']} with id {row['id']}.", id=row["id"]
        )

    def _state(self, args: Args) -> Answer:
        row = self.row(args.get("id"))
        row["status"] = args["status"]
        return self.manner.note(f"{row['title']} is now {row['status']}.")

    def _delete(self, args: Args) -> Answer:
        row = self.row(args.get("id"))
        self.rows.remove(row)
        return self.manner.note(f"Deleted {row['title']}.")

    def _comment(self, args: Args) -> Answer:
        row = self.row(args.get("id"))
        return self.manner.note(f"Comment added to {row['title']}.")
