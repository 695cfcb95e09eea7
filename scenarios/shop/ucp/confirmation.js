// The page of a placed order (?order=).

import { briefList, couponRows, sumList } from "../basket.js";
import { byId, element } from "../dom.js";
import { price } from "../products.js";
import { DELIVERIES } from "../terms.js";
import { offerReceipt } from "./checkout-tools.js";
import { frame } from "./frame.js";
import { variantById } from "./goods.js";
import { PAYMENTS, orders } from "./store.js";

const cents = (amount) => Math.round(amount * 100);

const shown = ({ id, title, price: each, quantity }) => {
  const { product, colours } = variantById(id);
  return { title, kind: product.kind, colours, price: cents(each), quantity };
};

const whereTo = ({ buyer, address }) =>
  [
    `${buyer.first_name} ${buyer.last_name}`,
    address.street_address,
    address.street_address && `${address.postal_code} ${address.address_locality}`,
    buyer.email,
  ]
    .filter(Boolean)
    .join(", ");

const orderView = (order) => [
  element("h1", {}, `Thank you, ${order.buyer.first_name}`),
  element("p", { class: "lead" }, "Your order ", element("strong", {}, order.id), " is placed."),
  element(
    "div",
    { class: "summary alone" },
    briefList(order.items.map(shown)),
    sumList([
      ...couponRows({ coupon: order.coupon, discount: cents(order.discount) }),
      [
        DELIVERIES[order.delivery].name,
        order.delivery_price ? price(cents(order.delivery_price)) : "free",
      ],
      ["Total", price(cents(order.total))],
    ]),
    element("p", { class: "quiet" }, `Paid by: ${PAYMENTS[order.payment].name}. ${whereTo(order)}`),
  ),
  element("p", {}, element("a", { class: "button", href: "index.html" }, "Continue shopping")),
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
const asked = new URLSearchParams(location.search).get("order");
const order = orders().find(({ id }) => id === asked);
document.title = `${order ? `Order ${order.id} placed` : "No such order"} – Tarnhill`;
byId("main").replaceChildren(...(order ? orderView(order) : missingView()));
offerReceipt(order);
