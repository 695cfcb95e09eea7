// The page of a placed order (?order=): a thank-you for people, JSON-LD for machines.

import { price, productById } from "./products.js";
import { DELIVERIES, orders } from "./cart.js";
import { byId, element, picture } from "./dom.js";
import { frame } from "./frame.js";
import { offerTools } from "./tools.js";

const linkedData = (order) => ({
  "@context": "https://schema.org",
  "@type": "Order",
  orderNumber: order.id,
  orderStatus: "https://schema.org/OrderProcessing",
  price: order.total.toFixed(2),
  priceCurrency: "EUR",
  customer: { "@type": "Person", name: order.name },
  acceptedOffer: order.items.map(({ id, title, quantity, price: each }) => ({
    "@type": "Offer",
    itemOffered: { "@type": "Product", sku: id, name: title },
    eligibleQuantity: { "@type": "QuantitativeValue", value: quantity },
    price: each.toFixed(2),
    priceCurrency: "EUR",
  })),
});

const cents = (amount) => Math.round(amount * 100);

const orderView = (order) => [
  element("h1", {}, `Thank you, ${order.name}`),
  element("p", { class: "lead" }, "Your order ", element("strong", {}, order.id), " is placed."),
  element(
    "div",
    { class: "summary alone" },
    element(
      "ul",
      { class: "brief" },
      ...order.items.map(({ id, title, quantity, sum }) => {
        const { kind, colours } = productById(id);
        return element(
          "li",
          {},
          picture(kind, colours),
          element("span", {}, `${quantity} × ${title}`),
          element("span", { class: "price" }, price(cents(sum))),
        );
      }),
    ),
    element(
      "dl",
      { class: "sums" },
      ...(order.discount
        ? [
            element("dt", {}, `Coupon ${order.coupon}`),
            element("dd", {}, `−${price(cents(order.discount))}`),
          ]
        : []),
      element("dt", {}, DELIVERIES[order.delivery].name),
      element("dd", {}, order.delivery_price ? price(cents(order.delivery_price)) : "free"),
      element("dt", { class: "sum" }, "Total"),
      element("dd", { class: "sum" }, price(cents(order.total))),
    ),
    element(
      "p",
      { class: "quiet" },
      `${order.name}, ${order.address}, ${order.postcode} ${order.city}. ${order.email}`,
    ),
  ),
  element("p", {}, element("a", { class: "button", href: "index.html" }, "Continue shopping")),
  element("script", { type: "application/ld+json" }, JSON.stringify(linkedData(order))),
];

const missingView = () => [
  element("h1", {}, "No such order"),
  element(
    "p",
    {},
    "This browser knows no order of that number. ",
    element("a", { href: "index.html" }, "See all products"),
  ),
];

frame();
const number = new URLSearchParams(location.search).get("order");
const order = orders().find(({ id }) => id === number);
document.title = `${order ? `Order ${order.id} placed` : "No such order"} – Tarnhill`;
byId("main").replaceChildren(...(order ? orderView(order) : missingView()));
offerTools();
