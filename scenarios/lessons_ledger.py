"""Lessons with accounts: balances, entries, moving an amount."""

from collections.abc import Callable, Sequence
from typing import cast

from pydantic import JsonValue

from webmcp_agent.browser.tools import ToolFail
from webmcp_agent.scenarios.lessons import answer, told_failure, troubled
from webmcp_agent.scenarios.phrases import Table, Wording, language, request
from webmcp_agent.scenarios.simulator import (
    Answer,
    Args,
    Lesson,
    Manner,
    Parameter,
    Place,
    Record,
    Refusal,
    Script,
    Turn,
    World,
)
from webmcp_agent.scenarios.vocabulary import Draw, money, plain_number


class Ledger(World):
    """Accounts with a balance and entries."""

    def __init__(self, draw: Draw, domain: Table, wording: Wording) -> None:
        manner = Manner(draw, wording, ids=("large", "prefixed", "sku"))
        name = f"{draw.brand()} {domain['place']}"
        super().__init__(draw, manner, Place(draw.pick(("/", "/accounts", "/home")), name.title()))
        self.domain = domain
        self.unit = (
            manner.currency
            if domain["id"] in {"bank", "wallet"}
            else draw.pick(("points", "coins"))
        )
        if domain["id"] == "tokens":
            self.unit = "tokens"
        self.accounts: dict[str, int | float] = {
            name: draw.price(20, 4000)
            for name in draw.some(cast("list[str]", domain["accounts"]), draw.whole(2, 4))
        }
        self.entries: dict[str, list[Record]] = {
            account: [
                {"date": date, "title": title, "amount": -draw.price(2, 300)}
                for date, title in zip(
                    sorted((draw.date()[0] for _ in range(5)), reverse=True),
                    draw.some(cast("list[str]", domain["entries"]), draw.whole(3, 5)),
                    strict=False,
                )
            ]
            for account in self.accounts
        }
        self._tools()

    def _tools(self) -> None:
        draw, manner = self.draw, self.manner
        listed: dict[str, JsonValue] = (
            {"type": "string", "enum": [*self.accounts]} if draw.chance(0.6) else {"type": "string"}
        )
        account = Parameter(
            "account",
            listed,
            "account|account name|from account",
            "[Which account|Name of the account]",
            required=True,
        )
        self.single = draw.chance(0.5)
        if self.single:
            self.offer(
                "balance",
                manner.choose(
                    "get balance|show balance|account balance|check balance", "peek balance|tally"
                ),
                draw.phrase("[Balance of one account|How much is on an account][.|]"),
                self._balance,
                [account],
                read_only=True,
            )
        if not self.single or draw.chance(0.4):
            self.offer(
                "accounts",
                manner.choose(
                    "list accounts|get accounts|show accounts|accounts overview",
                    "enumerate accounts|survey accounts",
                ),
                draw.phrase("[All accounts with their balance|List the accounts][.|]"),
                lambda _: manner.listing(
                    [{"title": k, "balance": v} for k, v in self.accounts.items()], "accounts"
                ),
                read_only=True,
            )
        self.offer(
            "entries",
            manner.choose(
                "list transactions|get transactions|account history|show entries",
                "fetch ledger|statement lines",
            ),
            draw.phrase(
                "[The latest transactions of an account|Entries of an account, newest first][.|]"
            ),
            self._list,
            [
                account,
                *(
                    [Parameter("limit", {"type": "integer"}, "limit|count|max", "How many")]
                    if draw.chance(0.4)
                    else []
                ),
            ],
            read_only=True,
        )
        verb = str(self.domain["move"])
        other = Parameter(
            "to",
            listed,
            "to|to account|target|destination",
            "[Account that gets it|To]",
            required=True,
        )
        source = Parameter(
            "from",
            listed,
            "from|from account|source|origin",
            "[Account to take it from|From]",
            required=True,
        )
        amount = Parameter(
            "amount",
            {"type": "number"},
            "amount|value|sum",
            f"[How much, in {self.unit}|Amount]",
            required=True,
        )
        self.offer(
            "move",
            manner.choose(
                f"{verb}|transfer|create transfer|move funds", f"{verb} over|shift funds"
            ),
            draw.phrase(
                "[Move an amount between accounts|Transfer from one account to another][.|]"
            ),
            self._move,
            [
                source,
                other,
                amount,
                Parameter(
                    "note",
                    {"type": "string"},
                    "note|reference|message|purpose",
                    "[What it is for|Text of the transfer]",
                ),
            ],
            consequential=draw.chance(0.4),
        )

    def _known(self, name: JsonValue) -> str:
        if name not in self.accounts:
            raise Refusal(f"There is no account {name}.")
        return str(name)

    def _balance(self, args: Args) -> Answer:
        name = self._known(args.get("account"))
        return self.manner.record({"account": name, "balance": self.accounts[name]})

    def _list(self, args: Args) -> Answer:
        return self.manner.listing(self.entries[self._known(args.get("account"))], "transactions")

    def _move(self, args: Args) -> Answer:
        source, target = self._known(args.get("from")), self._known(args.get("to"))
        amount = args.get("amount")
        assert isinstance(amount, int | float), "checked by the schema"
        if amount > self.accounts[source]:
            raise Refusal(
                self.draw.pick(
                    (
                        f"Not enough on {source}: only {plain_number(self.accounts[source])} left.",
                        "Insufficient funds",
                        f"The balance of {source} is too low.",
                    )
                )
            )
        self.accounts[source] = round(self.accounts[source] - amount, 2)
        self.accounts[target] = round(self.accounts[target] + amount, 2)
        return self.manner.note(f"Moved {plain_number(amount)} from {source} to {target}.")


def _balance(world: Ledger) -> Turn:
    draw = world.draw
    account = draw.pick(list(world.accounts))
    text = request(draw, "ledger", "balance", language(draw, "ledger", "balance"), account=account)

    def script() -> Script:
        seen = yield from (
            world.act("balance", account=account) if world.single else world.act("accounts")
        )
        if isinstance(seen, ToolFail):
            yield told_failure(world, seen, "read the balance")
            return
        amount = world.accounts[account]
        yield answer(
            world,
            "ledger",
            "balance",
            "told",
            plain_number(amount),
            account=account,
            amount=money(amount, world.unit),
        )

    return Turn(text, script)


def _entry(world: Ledger, flow: str) -> Turn:
    draw = world.draw
    account = draw.pick(list(world.accounts))
    text = request(draw, "ledger", flow, "en", account=account)

    def script() -> Script:
        seen = yield from world.act("entries", account=account)
        if isinstance(seen, ToolFail):
            yield told_failure(world, seen, "read the transactions")
            return
        rows = world.entries[account]
        row = rows[0] if flow == "last" else min(rows, key=lambda r: cast("float", r["amount"]))
        amount = abs(cast("float", row["amount"]))
        yield answer(
            world,
            "ledger",
            flow,
            "told",
            row["title"],
            plain_number(amount),
            title=row["title"],
            date=row["date"],
            amount=money(amount, world.unit),
        )

    return Turn(text, script)


def _move(world: Ledger) -> Turn:
    draw = world.draw
    source, target = draw.some(list(world.accounts), 2)
    left = world.accounts[source]
    amount = (
        draw.price(1, max(2, int(left) - 1))
        if draw.chance(0.85)
        else int(left) + draw.whole(20, 900)
    )
    note = draw.pick(cast("list[str]", world.domain["entries"])) if draw.chance(0.35) else None
    text = request(
        draw,
        "ledger",
        "move",
        language(draw, "ledger", "move"),
        account=source,
        account2=target,
        amount=money(amount, world.unit),
        note=f", {draw.pick(('note', 'reference', 'for'))} {note}" if note else "",
    )
    troubled(world, "move", 0.08)

    def script() -> Script:
        seen = yield from world.act(
            "move", **{"from": source, "to": target, "amount": amount, "note": note}
        )
        if isinstance(seen, ToolFail):
            yield told_failure(world, seen, f"move the {world.unit}")
            return
        yield answer(
            world,
            "ledger",
            "move",
            "told",
            plain_number(amount),
            account=source,
            account2=target,
            amount=money(amount, world.unit),
        )

    return Turn(text, script)


def _richest(world: Ledger) -> Turn:
    text = request(world.draw, "ledger", "richest", "en")

    def script() -> Script:
        seen = yield from world.act("accounts")
        if isinstance(seen, ToolFail):
            yield told_failure(world, seen, "read the accounts")
            return
        account = max(world.accounts, key=lambda name: world.accounts[name])
        amount = world.accounts[account]
        yield answer(
            world,
            "ledger",
            "richest",
            "told",
            account,
            plain_number(amount),
            account=account,
            amount=money(amount, world.unit),
        )

    return Turn(text, script)


_FLOWS: Sequence[tuple[int, str, Callable[[Ledger], Turn]]] = (
    (6, "entries", _balance),
    (3, "entries", lambda w: _entry(w, "biggest")),
    (3, "entries", lambda w: _entry(w, "last")),
    (8, "move", _move),
    (3, "accounts", _richest),
)


def ledger_lesson(draw: Draw, domain: Table, wording: Wording) -> Lesson:
    """One set of accounts and a request to it."""
    world = Ledger(draw, domain, wording)
    able = [flow for flow in _FLOWS if world.has(flow[1])]
    make = draw.random.choices([f[2] for f in able], [f[0] for f in able])[0]
    return Lesson("ledger", world, [make(world)])
