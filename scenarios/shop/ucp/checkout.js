// The checkout: buyer, delivery, payment, and the confirmation that a bank asks of the buyer. What is
// typed here and what comes through the tools is the same checkout.

import { briefList, couponRows, sumList } from "../basket.js";
import { byId, element } from "../dom.js";
import { price } from "../products.js";
import { DELIVERIES, deliveryPrice } from "../terms.js";
import { offerCheckout } from "./checkout-tools.js";
import { frame } from "./frame.js";
import { fullTitle } from "./goods.js";
import * as store from "./store.js";
import { goTo } from "./tools.js";

// Held from the start: with an empty cart they leave the page.
const form = byId("order");
const confirmYes = byId("confirm-yes");
const confirmNo = byId("confirm-no");
const GROUPS = {
  buyer: ["first_name", "last_name", "email"],
  address: ["street_address", "postal_code", "address_locality", "address_country"],
};

const shown = ({ variant, quantity }) => ({
  title: fullTitle(variant),
  kind: variant.product.kind,
  colours: variant.colours,
  price: variant.price,
  quantity,
});

const showSummary = () => {
  const paid = store.orderSums();
  byId("summary").replaceChildren(
    briefList(store.lines().map(shown)),
    sumList([
      ["Products", price(paid.subtotal)],
      ...couponRows(paid),
      ["Delivery", paid.delivery ? price(paid.delivery) : "free"],
      ["To pay", price(paid.total)],
    ]),
  );
  byId("pay").textContent = `Pay ${price(paid.total)}`;
  byId("confirm-text").textContent =
    `Your bank asks whether it is you who pays ${price(paid.total)} to Tarnhill.`;
};

const showDeliveries = (chosen) => {
  const { total } = store.sums();
  const options = Object.entries(DELIVERIES).map(([way, { name }]) => {
    const cost = deliveryPrice(way, total);
    return new Option(
      `${name}: ${cost ? price(cost) : "free"}`,
      way,
      way === chosen,
      way === chosen,
    );
  });
  form.elements.delivery.replaceChildren(...options);
};

const showFields = () => {
  const { delivery, payment, ...groups } = store.checkout();
  for (const [group, names] of Object.entries(GROUPS)) {
    for (const name of names) {
      const field = form.elements[name];
      if (field !== document.activeElement)
        field.value = groups[group][name] ?? field.dataset.first ?? "";
    }
  }
  showDeliveries(delivery);
  form.elements.payment.value = payment;
  const pickup = delivery === "pickup";
  byId("address").hidden = pickup;
  for (const name of GROUPS.address) form.elements[name].disabled = pickup;
};

const nothingToOrder = () =>
  byId("checkout").replaceChildren(
    element("p", {}, "Your cart is empty, so there is nothing to order yet."),
    element("p", {}, element("a", { class: "button", href: "index.html" }, "See all products")),
  );

const number = store.checkoutNumber();

const show = () => {
  if (store.checkoutNumber() !== number) return; // ordered: the page is about to leave
  if (!store.count()) {
    nothingToOrder();
    return;
  }
  showSummary();
  showFields();
  const { waits } = store.checkout();
  const asks = byId("confirm").hidden && waits;
  byId("confirm").hidden = !waits;
  if (asks) byId("confirm-heading").focus();
};

const taken = (names) =>
  Object.fromEntries(
    names
      .filter((name) => form.elements[name].value.trim())
      .map((name) => [name, form.elements[name].value.trim()]),
  );

const keep = (more = {}) =>
  store.changeCheckout({
    buyer: taken(GROUPS.buyer),
    address: taken(GROUPS.address),
    delivery: form.elements.delivery.value,
    payment: form.elements.payment.value,
    ...more,
  });

const pay = () => goTo(`confirmation.html?order=${store.placeOrder().id}`);

const fill = () => {
  byId("payments").replaceChildren(
    ...Object.entries(store.PAYMENTS).map(([id, { name, says }]) =>
      element(
        "label",
        { class: "payment" },
        element("input", { type: "radio", name: "payment", value: id }),
        element("span", {}, element("b", {}, name), `: ${says}`),
      ),
    ),
  );
  const countries = form.elements.address_country;
  countries.append(
    ...Object.entries(store.COUNTRIES).map(([code, name]) => new Option(name, code)),
  );
  countries.dataset.first = "NL";
};

frame();
fill();
show();
window.addEventListener("cart-change", show);
window.addEventListener("cart-change", (event) => {
  if (event.detail.startsWith("Your assistant")) {
    byId("filled").textContent = `${event.detail} Check it before you pay.`;
  }
});
form.addEventListener("change", () => keep());
form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (!store.count()) return;
  if (form.elements.payment.value === "test_payment") {
    keep();
    pay();
  } else {
    keep({ waits: true });
  }
});
confirmYes.addEventListener("click", pay);
confirmNo.addEventListener("click", () => {
  store.changeCheckout({}, "The payment was not made.");
  byId("pay").focus();
});
offerCheckout();
