// The cart and the checkout as documents in the shape of the Universal Commerce Protocol.

import { asset } from "../dom.js";
import { price } from "../products.js";
import { DELIVERIES, deliveryPrice } from "../terms.js";
import { CURRENCY, address, envelope, info, links, problem, returnPolicy } from "./documents.js";
import { fullTitle, variantById } from "./goods.js";
import * as store from "./store.js";

const total = (type, amount, text) => ({ type, amount, display_text: text });

const lineDocument = ({ variant, quantity }) => {
  const amount = variant.price * quantity;
  return {
    id: variant.id.replace("ProductVariant", "CartLine"),
    item: {
      id: variant.id,
      title: fullTitle(variant),
      price: variant.price,
      image_url: asset(`pictures.svg#${variant.product.kind}`),
    },
    quantity,
    totals: [total("subtotal", amount, "Products"), total("total", amount, "Total")],
  };
};

const totals = ({ subtotal, discount, coupon, delivery, total: sum }) => [
  total("subtotal", subtotal, "Products"),
  ...(discount ? [total("discount", -discount, `Coupon ${coupon}`)] : []),
  ...(delivery === undefined ? [] : [total("fulfillment", delivery, "Delivery")]),
  total("total", sum, "Total"),
];

const discounts = ({ coupon, discount }) => ({
  codes: coupon ? [coupon] : [],
  applied: discount
    ? [
        {
          code: coupon,
          title: `Coupon ${coupon}`,
          amount: discount,
          method: "across",
          allocations: [{ path: "$.totals[0]", amount: discount }],
        },
      ]
    : [],
});

/** The cart; `messages` are added to what it says. */
export const cartDocument = (messages = []) => {
  const lines = store.lines();
  const paid = store.sums();
  return {
    ucp: envelope("cart"),
    id: "gid://tarnhill/Cart/1",
    line_items: lines.map(lineDocument),
    currency: CURRENCY,
    totals: totals(paid),
    discounts: discounts(paid),
    messages: lines.length ? messages : [...messages, info("cart_empty", "The cart is empty.")],
    links: links(),
    policies: lines.length ? [returnPolicy("$.line_items[*]")] : [],
    continue_url: address(lines.length ? "checkout.html" : "index.html"),
  };
};

const SHOP_PLACE = {
  type: "business_location",
  id: "haarlem",
  name: "Tarnhill, Haarlem",
  address: {
    street_address: "Quay 7",
    postal_code: "2011 CA",
    address_locality: "Haarlem",
    address_country: "NL",
  },
};

const option = (way, paid) => {
  const [title, ...rest] = DELIVERIES[way].name.split(", ");
  const amount = deliveryPrice(way, paid);
  return {
    id: way,
    title,
    ...(rest.length && { description: { plain: rest.join(", ") } }),
    totals: [total("fulfillment", amount, title), total("total", amount, title)],
  };
};

const method = (type, ways, destinations, { delivery, ids, paid }) => {
  const chosen = ways.includes(delivery);
  return {
    id: type,
    type,
    line_item_ids: ids,
    destinations,
    selected_destination_id: chosen ? (destinations[0]?.id ?? null) : null,
    groups: [
      {
        id: `${type}-1`,
        line_item_ids: ids,
        options: ways.map((way) => option(way, paid)),
        selected_option_id: chosen ? delivery : null,
      },
    ],
  };
};

const fulfillment = (delivery, to, lines, paid) => {
  const facts = { delivery, ids: lines.map(({ id }) => id), paid };
  const filled = Object.keys(to).length > 0;
  const place = filled ? [{ id: "address-1", type: "shipping_address", ...to }] : [];
  return {
    methods: [
      method("shipping", ["standard", "express"], place, facts),
      method("pickup", ["pickup"], [SHOP_PLACE], facts),
    ],
  };
};

const instruments = (selected) =>
  Object.entries(store.PAYMENTS).map(([id, { name, says }]) => ({
    id,
    handler_id: `shop.tarnhill.${id}`,
    type: id,
    display: { name, description: says },
    selected: id === selected,
  }));

const orderOf = ({ id, number }) => ({
  id: `gid://tarnhill/Order/${number}`,
  label: id,
  permalink_url: address(`confirmation.html?order=${id}`),
});

const said = (status, paid) => {
  if (!store.count()) return [problem("cart_empty", "The cart is empty. Add a product first.")];
  const lacking = store.missing().map(({ group, field, name }) =>
    problem(`missing_${field}`, `The buyer's ${name} is missing.`, {
      path:
        group === "buyer"
          ? `$.buyer.${field}`
          : `$.fulfillment.methods[0].destinations[0].${field}`,
    }),
  );
  if (status !== "requires_escalation") return lacking;
  const content =
    `The bank asks the buyer to confirm the payment of ${price(paid.total)}. ` +
    'The buyer checks the order on the checkout page and presses "Confirm and pay".';
  return [problem("payment_confirmation_required", content, { severity: "requires_buyer_review" })];
};

/** The checkout as it is now; `messages` are added to what it says. */
export const checkoutDocument = (messages = []) => {
  const { buyer, address: to, delivery, payment } = store.checkout();
  const lines = store.lines().map(lineDocument);
  const paid = store.orderSums();
  const status = store.status();
  return {
    ucp: envelope("checkout"),
    id: `gid://tarnhill/Checkout/${store.checkoutNumber()}`,
    line_items: lines,
    buyer,
    status,
    currency: CURRENCY,
    totals: totals(paid),
    discounts: discounts(paid),
    fulfillment: fulfillment(delivery, to, lines, paid.total - paid.delivery),
    payment: { instruments: instruments(payment) },
    messages: [...messages, ...said(status, paid)],
    links: links(),
    policies: [returnPolicy("$.line_items[*]")],
    continue_url: address("checkout.html"),
  };
};

const cents = (euros) => Math.round(euros * 100);

/** An order as the completed checkout that it came from: the receipt. */
export const receiptDocument = (order) => {
  const lines = order.lines.map(({ id, quantity }) =>
    lineDocument({ variant: variantById(id), quantity }),
  );
  const paid = {
    subtotal: cents(order.subtotal),
    discount: cents(order.discount),
    coupon: order.coupon,
    delivery: cents(order.delivery_price),
    total: cents(order.total),
  };
  return {
    ucp: envelope("checkout"),
    id: `gid://tarnhill/Checkout/${order.number}`,
    line_items: lines,
    buyer: order.buyer,
    status: "completed",
    currency: CURRENCY,
    totals: totals(paid),
    discounts: discounts(paid),
    fulfillment: fulfillment(order.delivery, order.address, lines, paid.total - paid.delivery),
    payment: { instruments: instruments(order.payment).filter(({ selected }) => selected) },
    messages: [info("order_placed", `Order ${order.id} is placed.`)],
    links: links(),
    policies: [returnPolicy("$.line_items[*]")],
    order: orderOf(order),
  };
};
