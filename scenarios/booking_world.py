"""A made-up place that takes bookings: what is free on a day, and what is booked."""

from typing import cast

from pydantic import JsonValue

from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.phrases import Table, Wording
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


class Bookings(World):
    """What can be booked on which day, and what is booked."""

    def __init__(self, draw: Draw, domain: Table, wording: Wording) -> None:
        manner = Manner(draw, wording)
        name = f"{draw.brand()} {domain['place']}"
        super().__init__(
            draw, manner, Place(draw.pick(("/", "/booking", "/index.html")), name.title())
        )
        self.domain = domain
        self.thing = str(domain["thing"])
        extra = cast("list[str]", domain["extra"])
        self.extra_name, self.extra_values = extra[0], extra[1:]
        self.direct = draw.chance(0.4)
        """One tool books by date and time; else a free slot is booked by its id."""
        self.day, self.day_said = draw.date()
        self.slots: list[Record] = []
        for title in draw.some(cast("list[str]", domain["names"]), draw.whole(2, 4)):
            for _ in range(draw.pick((1, 1, 2))):
                self.slots.append(
                    {
                        "id": manner.new_id(f"{title} {draw.whole(1, 99)}"),
                        "title": title,
                        "time": draw.time()[0],
                        "price": draw.price(8, 190),
                        "seats": draw.whole(2, 8),
                    }
                )
        self.slots = draw.shuffled(self.slots)
        self.bookings: list[Record] = []
        for title in draw.some(cast("list[str]", domain["names"]), draw.whole(1, 3)):
            self.bookings.append(
                {
                    "id": manner.new_id(f"booking {title}"),
                    "title": title,
                    "date": draw.date()[0],
                    "time": draw.time()[0],
                }
            )
        self._tools()

    def _tools(self) -> None:
        draw, manner = self.draw, self.manner
        thing, options = self.thing, str(self.domain["options"])
        unit = str(self.domain["unit"])
        isodate: JsonObject = {"type": "string"}
        if draw.chance(0.5):
            isodate["format"] = "date"
        says = "[Day, YYYY-MM-DD|Date as YYYY-MM-DD|ISO date]"
        day = Parameter("date", isodate, "date|day|date|on date", says, required=True)
        names = f"{unit}|guests|party size|people|{unit}"
        says, needed = f"[Number of {unit}|How many {unit}]", draw.chance(0.7)
        count = Parameter("count", {"type": "integer"}, names, says, required=needed)
        listed: JsonObject = {"type": "string", "enum": [*self.extra_values]}
        says = f"[Wanted {self.extra_name}|{self.extra_name.title()}]"
        extra = Parameter("extra", listed, self.extra_name, says)
        names = "name|guest name|customer name|name|booked by"
        says = "[Name for the booking|Who books]"
        name = Parameter("name", {"type": "string"}, names, says, required=True)
        says = "[Time, HH:MM|24-hour time]"
        time = Parameter("time", {"type": "string"}, "time|start time|at", says, required=True)

        def words(role: str) -> tuple[str, str]:
            return self.words("booking", role, thing=thing, options=options)

        if not self.direct or draw.chance(0.5):
            self.offer("free", *words("free"), self._free, [day, count], read_only=True)
        verb, said = words("book")
        names, says = f"slot id|id|{thing.split()[-1]} id", "[Id of a free slot|Which one]"
        slot = Parameter("slot", manner.id_schema(), names, says, required=True)
        if self.direct:
            asked = [day, time, count, name, extra]
        else:
            asked = [slot, name, count if draw.chance(0.5) else extra]
        self.offer("book", verb, said, self._book, asked)
        self.offer("mine", *words("mine"), self._mine, read_only=True)
        names = "booking id|id|reference|reservation id"
        says = "[Id of the booking|Which booking]"
        ref = Parameter("id", manner.id_schema(), names, says, required=True)
        cancel, said = words("cancel")
        serious = draw.chance(0.3)
        self.offer("cancel", cancel, said, self._cancel, [ref], consequential=serious)
        if draw.chance(0.7):
            self.offer("move", *words("move"), self._move, [ref, time])

    def _mine(self, args: Args) -> Answer:
        return self.manner.listing(self.bookings, "bookings")

    def _free(self, args: Args) -> Answer:
        found = self.open_slots(args.get("count")) if args.get("date") == self.day else []
        return self.manner.listing(found, str(self.domain["options"]))

    def open_slots(self, count: JsonValue) -> list[Record]:
        """The slots of the day with room for `count`."""
        return [
            s for s in self.slots if not isinstance(count, int) or cast("int", s["seats"]) >= count
        ]

    def _book(self, args: Args) -> Answer:
        if self.direct:
            record: Record = {
                "title": self.thing.title(),
                "date": args["date"],
                "time": args["time"],
            }
        else:
            slot = next((s for s in self.slots if str(s["id"]) == str(args.get("slot"))), None)
            if slot is None:
                raise Refusal(f"There is no slot {args.get('slot')}.")
            record = {"title": slot["title"], "date": self.day, "time": slot["time"]}
        record["id"] = self.manner.new_id(f"booking {self.draw.brand()}")
        self.bookings.append(record)
        ref, nothing = record["id"], Record()
        booked = f"Booked {record['title']} on {record['date']} at {record['time']}."
        facts = self.draw.pick((nothing, {"booking_id": ref}, {"reference": ref}))
        return self.manner.note(f"{booked} Reference: {ref}", **facts)

    def _booking(self, args: Args) -> Record:
        for booking in self.bookings:
            if str(booking["id"]) == str(args.get("id")):
                return booking
        raise Refusal(f"There is no booking {args.get('id')}.")

    def _cancel(self, args: Args) -> Answer:
        booking = self._booking(args)
        self.bookings.remove(booking)
        return self.manner.note(f"Cancelled {booking['title']}.")

    def _move(self, args: Args) -> Answer:
        booking = self._booking(args)
        booking["time"] = args["time"]
        return self.manner.note(f"{booking['title']} is now at {args['time']}.")
