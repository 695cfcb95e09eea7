// The checkout: address, delivery, and the order itself. The form is also the tool place_order.

import { price } from "./products.js";
import { deliveryPrice, lines, placeOrder, sums } from "./cart.js";
import { byId, element, picture } from "./dom.js";
import { frame } from "./frame.js";
import { offerTools } from "./tools.js";

const form = byId("order");

const showSummary = () => {
  const { subtotal, coupon, discount, total } = sums();
  const delivery = deliveryPrice(form.elements.delivery.value, total);
  byId("summary").replaceChildren(
    element(
      "ul",
      { class: "brief" },
      ...lines().map(({ product, quantity }) =>
        element(
          "li",
          {},
          picture(product.kind, product.colours),
          element("span", {}, `${quantity} × ${product.title}`),
          element("span", { class: "price" }, price(product.price * quantity)),
        ),
      ),
    ),
    element(
      "dl",
      { class: "sums" },
      element("dt", {}, "Products"),
      element("dd", {}, price(subtotal)),
      ...(discount
        ? [element("dt", {}, `Coupon ${coupon}`), element("dd", {}, `−${price(discount)}`)]
        : []),
      element("dt", {}, "Delivery"),
      element("dd", {}, delivery ? price(delivery) : "free"),
      element("dt", { class: "sum" }, "To pay"),
      element("dd", { class: "sum" }, price(total + delivery)),
    ),
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

frame();
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
