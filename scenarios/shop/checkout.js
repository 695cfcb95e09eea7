// The checkout: address, delivery, and the order itself. The form is also the tool place_order.

import { price } from "./products.js";
import { briefList, couponRows, sumList } from "./basket.js";
import { count, lines, placeOrder, sums } from "./cart.js";
import { byId, element } from "./dom.js";
import { frame } from "./frame.js";
import { deliveryPrice } from "./terms.js";
import { offerTools } from "./tools.js";

const form = byId("order");

const showSummary = () => {
  const paid = sums();
  const delivery = deliveryPrice(form.elements.delivery.value, paid.total);
  byId("summary").replaceChildren(
    briefList(lines().map(({ product, quantity }) => ({ ...product, quantity }))),
    sumList([
      ["Products", price(paid.subtotal)],
      ...couponRows(paid),
      ["Delivery", delivery ? price(delivery) : "free"],
      ["To pay", price(paid.total + delivery)],
    ]),
  );
};

const nothingToOrder = () =>
  byId("checkout").replaceChildren(
    element("p", {}, "Your cart is empty, so there is nothing to order yet."),
    element("p", {}, element("a", { class: "button", href: "index.html" }, "See all products")),
  );

const show = () => {
  if (lines().length) showSummary();
  else nothingToOrder();
};

// An agent that filled in the form hears of the order; whoever sent it sees the confirmation.
// The page keeps its form until it leaves: a form that goes away would cancel the agent's call.
const send = (event) => {
  event.preventDefault();
  if (!lines().length) return;
  window.removeEventListener("cart-change", show);
  const order = placeOrder(Object.fromEntries(new FormData(form)));
  if (event.agentInvoked) {
    event.respondWith(Promise.resolve({ order: order.id, total: order.total }));
  }
  setTimeout(() => location.assign(`confirmation.html?order=${order.id}`), 0);
};

frame(count);
show();
form.elements.delivery.addEventListener("change", showSummary);
window.addEventListener("cart-change", show);
form.addEventListener("submit", send);
document.modelContext?.addEventListener?.("toolactivated", (event) => {
  if (event.toolName !== "place_order") return;
  showSummary();
  byId("filled").textContent =
    "Your assistant has filled in this form. Check it, then place the order.";
});
offerTools({ checkout: true });
