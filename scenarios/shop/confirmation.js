// The page of a placed order (?order=): a thank-you for people, JSON-LD for machines.

import { price, productById } from "./products.js";
import { briefList, couponRows, sumList } from "./basket.js";
import { count, orders } from "./cart.js";
import { byId, element } from "./dom.js";
import { frame } from "./frame.js";
import { DELIVERIES } from "./terms.js";
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
    briefList(
      order.items.map(({ id, price: each, ...item }) => ({
        ...productById(id),
        ...item,
        price: cents(each),
      })),
    ),
    sumList([
      ...couponRows({ coupon: order.coupon, discount: cents(order.discount) }),
      [
        DELIVERIES[order.delivery].name,
        order.delivery_price ? price(cents(order.delivery_price)) : "free",
      ],
      ["Total", price(cents(order.total))],
    ]),
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

frame(count);
const number = new URLSearchParams(location.search).get("order");
const order = orders().find(({ id }) => id === number);
document.title = `${order ? `Order ${order.id} placed` : "No such order"} – Tarnhill`;
byId("main").replaceChildren(...(order ? orderView(order) : missingView()));
offerTools();
