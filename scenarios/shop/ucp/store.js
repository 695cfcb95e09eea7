// The cart, the checkout and the orders of this face, kept in localStorage; `window.shop` shows them.
// Each change is announced by a "cart-change" event on `window` with a sentence for people.
// Amounts are whole euro cents inside, and euros in `window.shop`.

import { PRODUCTS, euros, price } from "../products.js";
import { COUPONS, DELIVERIES, MOST_OF_ONE, deliveryPrice, discountOf } from "../terms.js";
import { fullTitle, soldOutText, variantById, variantsOf } from "./goods.js";
import { Refusal } from "./refusal.js";

const KEY = "tarnhill.ucp";

export const COUNTRIES = { NL: "Netherlands", BE: "Belgium", DE: "Germany" };

export const PAYMENTS = {
  card: { name: "Card", says: "your bank asks you to confirm it" },
  test_payment: { name: "Test payment", says: "a stand-in: the order is placed, no money moves" },
};

const NEW_CHECKOUT = {
  buyer: {},
  address: {},
  delivery: "standard",
  payment: "card",
  waits: false,
};

const read = () => {
  let kept = {};
  try {
    kept = JSON.parse(localStorage.getItem(KEY)) ?? {};
  } catch {
    // unreadable text from elsewhere: begin anew
  }
  const { lines = [], code = null, checkout = NEW_CHECKOUT, orders = [] } = kept;
  return {
    lines: lines.filter(({ id }) => variantById(id)),
    code: Object.hasOwn(COUPONS, code) ? code : null,
    checkout,
    orders,
  };
};

const write = (changes, says) => {
  localStorage.setItem(KEY, JSON.stringify({ ...read(), ...changes }));
  window.dispatchEvent(new CustomEvent("cart-change", { detail: says }));
};

window.addEventListener("storage", (event) => {
  if (event.key === KEY) window.dispatchEvent(new CustomEvent("cart-change", { detail: "" }));
});

/** The lines of the cart, oldest first: the variant and how many. */
export const lines = () =>
  read().lines.map(({ id, quantity }) => ({ variant: variantById(id), quantity }));

export const count = () => lines().reduce((sum, line) => sum + line.quantity, 0);

/** What the cart costs before delivery. A coupon counts while its conditions hold. */
export const sums = () => {
  const subtotal = lines().reduce(
    (sum, { variant, quantity }) => sum + variant.price * quantity,
    0,
  );
  const { code } = read();
  const discount = discountOf(code, subtotal);
  return { subtotal, coupon: code, discount, total: subtotal - discount };
};

const checked = ({ variant, quantity }, held) => {
  const where = held ? ` The cart has ${held}.` : "";
  if (!Number.isInteger(quantity) || quantity < 0 || quantity > MOST_OF_ONE) {
    throw new Refusal(
      "invalid_quantity",
      `The quantity must be a whole number from 0 to ${MOST_OF_ONE}, 0 removes it; ` +
        `not ${JSON.stringify(quantity)}.${where}`,
    );
  }
  if (quantity && !variant.available) throw new Refusal("out_of_stock", soldOutText(variant));
  return { id: variant.id, quantity };
};

const couponCode = (text, subtotal) => {
  const code = String(text).trim().toUpperCase();
  const terms = Object.hasOwn(COUPONS, code) ? COUPONS[code] : undefined;
  const refuse = (content) => {
    throw new Refusal("discount_code_invalid", content, "$.discounts.codes");
  };
  if (!terms) refuse(`The coupon code "${text}" is not valid.`);
  if (subtotal < (terms.least ?? 0)) {
    refuse(`The coupon ${code} needs a cart of at least ${price(terms.least)}.`);
  }
  return code;
};

const told = (before, after, code) => {
  const changed = [...new Set([...before, ...after].map(({ id }) => id))].filter(
    (id) =>
      before.find((line) => line.id === id)?.quantity !==
      after.find((line) => line.id === id)?.quantity,
  );
  const says = changed.map((id) => {
    const left = after.find((line) => line.id === id)?.quantity;
    const title = fullTitle(variantById(id));
    return left ? `${title}: now ${left} in the cart.` : `Removed ${title} from the cart.`;
  });
  if (code !== read().code) {
    says.push(code ? `Coupon ${code}: ${COUPONS[code].says}.` : "The coupon was removed.");
  }
  return says.join(" ");
};

/**
 * Set how many of some variants the cart has, and its coupon; all of it or, with a Refusal, nothing.
 * `codes` undefined leaves the coupon as it is, [] removes it.
 */
export const changeCart = (changes, codes) => {
  const before = read();
  let after = before.lines;
  for (const change of changes) {
    const held = after.find((line) => line.id === change.variant.id);
    const line = checked(change, held?.quantity);
    after = held ? after.map((each) => (each === held ? line : each)) : [...after, line];
  }
  after = after.filter((line) => line.quantity);
  const subtotal = after.reduce(
    (sum, { id, quantity }) => sum + variantById(id).price * quantity,
    0,
  );
  if (codes?.length > 1) {
    throw new Refusal("discount_code_invalid", "Only one coupon can be used at a time.");
  }
  if (codes?.length && !after.length) {
    throw new Refusal("discount_code_invalid", "The cart is empty. Add a product first.");
  }
  let { code } = before;
  if (codes) code = codes.length ? couponCode(codes[0], subtotal) : null;
  if (!after.length) code = null;
  const checkout = { ...before.checkout, waits: false };
  write({ lines: after, code, checkout }, told(before.lines, after, code));
};

/** Put `quantity` more of a variant into the cart. */
export const add = (variant, quantity) => {
  const held = lines().find((line) => line.variant === variant)?.quantity ?? 0;
  if (held && held + quantity > MOST_OF_ONE) {
    throw new Refusal(
      "invalid_quantity",
      `At most ${MOST_OF_ONE} of one product. The cart already has ${held}.`,
    );
  }
  changeCart([{ variant, quantity: held + quantity }]);
};

export const emptyCart = () => changeCart(lines().map(({ variant }) => ({ variant, quantity: 0 })));

/** What the checkout knows: buyer, address, delivery, payment, and whether it waits for the buyer. */
export const checkout = () => ({ ...NEW_CHECKOUT, ...read().checkout });

/** Change some of it; a change takes back a question to the buyer that was still open. */
export const changeCheckout = (changes, says = "") => {
  const { buyer, address, ...now } = checkout();
  write(
    {
      checkout: {
        ...now,
        waits: false,
        ...changes,
        buyer: { ...buyer, ...changes.buyer },
        address: { ...address, ...changes.address },
      },
    },
    says,
  );
};

/** What the order costs with its delivery. */
export const orderSums = () => {
  const paid = sums();
  const delivery = deliveryPrice(checkout().delivery, paid.total);
  return { ...paid, delivery, total: paid.total + delivery };
};

const NEEDED = [
  ["buyer", "first_name", "first name"],
  ["buyer", "last_name", "last name"],
  ["buyer", "email", "email address"],
  ["address", "street_address", "street and number"],
  ["address", "postal_code", "postcode"],
  ["address", "address_locality", "city"],
];

/** What is missing before the order can be paid: { group, field, name }. */
export const missing = () => {
  const now = checkout();
  return NEEDED.filter(([group]) => group === "buyer" || now.delivery !== "pickup")
    .filter(([group, field]) => !now[group][field])
    .map(([group, field, name]) => ({ group, field, name }));
};

/** incomplete, ready_for_complete, or requires_escalation once it waits for the buyer. */
export const status = () => {
  if (missing().length || !lines().length) return "incomplete";
  return checkout().waits ? "requires_escalation" : "ready_for_complete";
};

/** The number of the checkout that is open now: each order was one before. */
export const checkoutNumber = () => read().orders.length + 1;

export const orders = () => read().orders;

/** Turn the cart into an order, and empty it. Returns the order. */
export const placeOrder = () => {
  if (status() === "incomplete") throw new Error("The order is not complete.");
  const { buyer, address, delivery, payment } = checkout();
  const paid = orderSums();
  const order = {
    id: `TH-${1000 + checkoutNumber()}`,
    number: checkoutNumber(),
    lines: read().lines,
    items: cartItems(),
    subtotal: euros(paid.subtotal),
    coupon: paid.coupon,
    discount: euros(paid.discount),
    delivery,
    delivery_price: euros(paid.delivery),
    total: euros(paid.total),
    payment,
    buyer,
    address: delivery === "pickup" ? {} : address,
  };
  const kept = { ...checkout(), waits: false, payment: NEW_CHECKOUT.payment };
  write(
    { lines: [], code: null, checkout: kept, orders: [...orders(), order] },
    `Order ${order.id} is placed.`,
  );
  return order;
};

/** The cart as values. */
export const cartItems = () =>
  lines().map(({ variant, quantity }) => ({
    id: variant.id,
    product: variant.product.id,
    title: fullTitle(variant),
    quantity,
    price: euros(variant.price),
    sum: euros(variant.price * quantity),
  }));

const checkoutValue = () => {
  const { waits, ...now } = checkout();
  return { status: status(), ...now, delivery_name: DELIVERIES[now.delivery].name };
};

// What tests, reports and curious people read.
window.shop = {
  products: () =>
    PRODUCTS.map((product) => ({
      id: product.id,
      title: product.title,
      variants: variantsOf(product).map(({ id, title, price: cents, available }) => ({
        id,
        title,
        price: euros(cents),
        in_stock: available,
      })),
    })),
  cart: cartItems,
  count,
  subtotal: () => euros(sums().subtotal),
  coupon: () => sums().coupon,
  discount: () => euros(sums().discount),
  total: () => euros(sums().total),
  checkout: checkoutValue,
  to_pay: () => euros(orderSums().total),
  orders,
};
