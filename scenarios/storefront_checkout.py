"""A made-up storefront's checkout that offers ways to deliver and to pay."""

from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

from webmcp_agent.browser.tools import JsonObject
from webmcp_agent.scenarios.simulator import Args
from webmcp_agent.scenarios.storefront_documents import list_of, object_of
from webmcp_agent.scenarios.vocabulary import Draw


@dataclass(frozen=True, slots=True)
class Payment:
    """One way to pay."""

    id: str
    name: str
    says: str
    by: str
    """In a request: "pay by card"."""
    needs_buyer: bool = False
    """The buyer has to confirm it."""


PAYMENTS = (
    Payment("card", "Card", "the bank asks the buyer", "by card|with my card", needs_buyer=True),
    Payment("wallet", "Wallet", "confirmed on the phone", "with the wallet", needs_buyer=True),
    Payment("invoice", "Invoice", "paid within two weeks", "by invoice|on invoice"),
    Payment("bank_transfer", "Bank transfer", "paid in advance", "by bank transfer"),
    Payment("cash_on_delivery", "Cash on delivery", "paid at the door", "in cash on delivery"),
    Payment("gift_card", "Gift card", "taken off the balance", "with the gift card"),
    Payment("demo_payment", "Demo payment", "no money moves", "with the demo payment"),
)
DELIVERIES = (("standard", "express"), ("standard", "express", "pickup"), ("economy", "priority"))


class Checkout:
    """What a checkout offers, and what was filled in."""

    def __init__(self, draw: Draw) -> None:
        self.payments = draw.some(PAYMENTS, draw.pick((2, 2, 3)))
        self.deliveries = draw.pick(DELIVERIES)
        self.delivery = self.deliveries[0]
        self.order = f"{draw.brand()[:2].upper()}-{draw.whole(1000, 9999)}"
        self.is_filled = False

    def groups_schema(self) -> JsonObject:
        """The schema of a method's delivery."""
        choice: JsonObject = {"type": "string", "description": "Delivery"}
        choice["enum"] = [*self.deliveries]
        return list_of(object_of(selected_option_id=choice))

    def payment_schema(self) -> JsonObject:
        """The schema of how it is paid."""
        told = "; ".join(f"{each.id}: {each.says}" for each in self.payments)
        choice: JsonObject = {"type": "string", "description": told}
        choice["enum"] = [each.id for each in self.payments]
        return object_of(instruments=list_of(object_of(("id",), id=choice)))

    def fill(self, args: Args) -> None:
        """Take what was sent."""
        sent = cast("JsonObject", args.get("checkout") or {})
        fulfillment = cast("JsonObject", sent.get("fulfillment") or {})
        methods = cast("list[JsonObject]", fulfillment.get("methods") or [])
        for method in methods:
            for group in cast("list[JsonObject]", method.get("groups") or []):
                self.delivery = str(group.get("selected_option_id", self.delivery))
        self.is_filled = "buyer" in sent and bool(methods)

    def paid_by(self, args: Args) -> Payment | None:
        """The payment that was sent, of those on offer."""
        sent = cast("JsonObject", args.get("checkout") or {})
        payment = cast("JsonObject", sent.get("payment") or {})
        chosen = cast("list[JsonObject]", payment.get("instruments") or [])
        ids = [one.get("id") for one in chosen]
        return next((each for each in self.payments if each.id in ids), None)

    def told(self) -> JsonObject:
        """Its part of the document."""
        instruments: list[JsonValue] = [
            {
                "id": each.id,
                "type": each.id,
                "display": {"name": each.name, "description": each.says},
                "selected": number == 0,
            }
            for number, each in enumerate(self.payments)
        ]
        group: JsonObject = {"id": "shipping-1", "selected_option_id": self.delivery}
        method: JsonObject = {"id": "shipping", "type": "shipping", "groups": [group]}
        return {"fulfillment": {"methods": [method]}, "payment": {"instruments": instruments}}
