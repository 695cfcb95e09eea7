// The tools of the checkout and of a placed order. What is typed on the page and what comes through
// the tools is the same checkout.

import { Refusal } from "./refusal.js";
import { checkoutDocument, receiptDocument } from "./sales.js";
import * as store from "./store.js";
import { READS, goTo, list, object, offer, text } from "./tools.js";

const WAYS = { shipping: ["standard", "express"], pickup: ["pickup"] };

const PAYMENT = object({
  instruments: list(
    object(
      {
        id: text("card waits for the buyer; test_payment is a stand-in that moves no money", {
          enum: Object.keys(store.PAYMENTS),
        }),
      },
      ["id"],
    ),
    "How it is paid: one instrument",
  ),
});

const CHECKOUT = object({
  buyer: object({
    first_name: text("First name"),
    last_name: text("Last name"),
    email: text("Email address"),
    phone_number: text("Phone number"),
  }),
  fulfillment: object({
    methods: list(
      object({
        type: text("How it gets to the buyer", { enum: Object.keys(WAYS) }),
        destinations: list(
          object({
            street_address: text("Street and number"),
            postal_code: text("Postcode"),
            address_locality: text("City"),
            address_country: text("Country: NL, BE or DE"),
          }),
        ),
        groups: list(
          object({
            selected_option_id: text("Delivery", { enum: Object.values(WAYS).flat() }),
          }),
        ),
      }),
      "One method, with its address and delivery",
    ),
  }),
  discounts: object({
    codes: list({ type: "string" }, "Coupon codes to use; an empty list removes the coupon"),
  }),
  payment: PAYMENT,
});

const words = (value, name) => {
  if (typeof value === "string" || typeof value === "number") return String(value).trim();
  throw new Refusal("invalid_request", `${name} must be a text.`);
};

const FIELDS = {
  buyer: ["first_name", "last_name", "email", "phone_number"],
  address: ["street_address", "postal_code", "address_locality", "address_country"],
};

const taken = (given, group) =>
  Object.fromEntries(
    FIELDS[group]
      .filter((name) => given[name] !== undefined && given[name] !== null)
      .map((name) => [name, words(given[name], name)]),
  );

const readBuyer = (buyer) => {
  const read = taken(buyer, "buyer");
  if (read.email && !/^\S+@\S+\.\S+$/.test(read.email)) {
    throw new Refusal("invalid_email", `"${read.email}" is no email address.`, "$.buyer.email");
  }
  return read;
};

const readAddress = (destination) => {
  const read = taken(destination, "address");
  if (read.address_country) {
    const asked = read.address_country.toLowerCase();
    const found = Object.entries(store.COUNTRIES).find(([code, name]) =>
      [code, name].some((each) => each.toLowerCase() === asked),
    );
    if (!found) {
      throw new Refusal(
        "address_undeliverable",
        `The shop does not deliver to ${read.address_country}, only to ` +
          `${Object.values(store.COUNTRIES).join(", ")}.`,
        "$.fulfillment.methods[0].destinations[0]",
      );
    }
    [read.address_country] = found;
  }
  return read;
};

const readMethod = (method) => {
  const now = store.checkout().delivery;
  const way = method.groups?.[0]?.selected_option_id;
  const all = Object.values(WAYS).flat();
  if (way && !all.includes(way)) {
    throw new Refusal(
      "invalid_option",
      `There is no delivery ${JSON.stringify(way)}. There is ${all.join(", ")}.`,
    );
  }
  if (method.type && !Object.hasOwn(WAYS, method.type)) {
    throw new Refusal(
      "invalid_option",
      `There is no method ${JSON.stringify(method.type)}. There is ${Object.keys(WAYS).join(", ")}.`,
    );
  }
  const ways = WAYS[method.type] ?? all;
  if (way && !ways.includes(way)) {
    throw new Refusal(
      "invalid_option",
      `${method.type} has no delivery ${JSON.stringify(way)}. It has ${ways.join(", ")}.`,
    );
  }
  return {
    delivery: way ?? (ways.includes(now) ? now : ways[0]),
    ...(method.destinations?.[0] && { address: readAddress(method.destinations[0]) }),
  };
};

const readPayment = ({ instruments = [] }) => {
  const [asked] = [...instruments.filter(({ selected }) => selected), ...instruments];
  if (!asked) return {};
  if (!Object.hasOwn(store.PAYMENTS, asked.id)) {
    throw new Refusal(
      "invalid_option",
      `There is no payment ${JSON.stringify(asked.id ?? "")}. ` +
        `There is ${Object.keys(store.PAYMENTS).join(", ")}.`,
    );
  }
  return { payment: asked.id };
};

const needCart = () => {
  if (!store.count()) throw new Refusal("cart_empty", "The cart is empty. Add a product first.");
};

const updateCheckout = ({ checkout }) => {
  needCart();
  const { buyer, fulfillment, discounts, payment } = checkout ?? {};
  const method = fulfillment?.methods?.[0];
  const changes = {
    ...(buyer && { buyer: readBuyer(buyer) }),
    ...(method && readMethod(method)),
    ...(payment && readPayment(payment)),
  };
  if (!Object.keys(changes).length && !discounts?.codes) {
    throw new Refusal(
      "invalid_request",
      "There is nothing to change. Give checkout.buyer, fulfillment, discounts or payment.",
    );
  }
  if (discounts?.codes) store.changeCart([], discounts.codes);
  store.changeCheckout(changes, "Your assistant has filled in this checkout.");
  return checkoutDocument();
};

const completeCheckout = ({ checkout }) => {
  needCart();
  const chosen = readPayment(checkout?.payment ?? {});
  const lacking = store.missing();
  if (lacking.length) {
    const names = lacking.map(({ name }) => name).join(", ");
    throw new Refusal(
      "checkout_incomplete",
      `The order cannot be placed yet. Missing: ${names}. Give it with update_checkout.`,
    );
  }
  const { payment } = { ...store.checkout(), ...chosen };
  if (payment !== "test_payment") {
    store.changeCheckout({ payment, waits: true }, "Please confirm the payment.");
    return checkoutDocument();
  }
  store.changeCheckout({ payment });
  const order = store.placeOrder();
  goTo(`confirmation.html?order=${order.id}`);
  return receiptDocument(order);
};

const toStorefront = {
  name: "navigate_to_storefront",
  description: "Leave the checkout and go back to the shop. The cart stays as it is.",
  inputSchema: object(),
  capability: "checkout",
  run: () => {
    const many = store.count();
    goTo("index.html");
    return `Back to the shop. The cart has ${many} ${many === 1 ? "item" : "items"}.`;
  },
};

const readCheckout = (description, run) => ({
  name: "get_checkout",
  description,
  inputSchema: object(),
  annotations: READS,
  capability: "checkout",
  run,
});

/** Offer the tools of the checkout; with nothing to buy there is nothing to fill in or complete. */
export const offerCheckout = () => {
  const tools = [
    readCheckout("Read the checkout: status, what is missing, deliveries, costs.", () =>
      checkoutDocument(),
    ),
    toStorefront,
  ];
  if (store.count()) {
    tools.push(
      {
        name: "update_checkout",
        description:
          "Fill in the checkout: buyer, address, delivery, coupon, payment. Others stay as they are.",
        inputSchema: object({ checkout: CHECKOUT }, ["checkout"]),
        capability: "checkout",
        run: updateCheckout,
      },
      {
        name: "complete_checkout",
        description: "Place the order once the buyer has agreed to it.",
        inputSchema: object({ checkout: object({ payment: PAYMENT }) }),
        annotations: { consequentialHint: true },
        capability: "checkout",
        run: completeCheckout,
      },
    );
  }
  offer(tools);
};

/** Offer the tools of a placed order's page; without an order only the way back. */
export const offerReceipt = (order) => {
  const receipt = readCheckout("Read the receipt of this order.", () => receiptDocument(order));
  offer(order ? [receipt, toStorefront] : [toStorefront]);
};
