// The cart, its coupon and the orders, kept in localStorage; `window.shop` shows them.
// Each change is announced by a "cart-change" event on `window` with a sentence for people.

import { PRODUCTS, euros, productById } from "./products.js";
import { ratingOf } from "./reviews.js";
import { COUPONS, MOST_OF_ONE, deliveryPrice, discountOf } from "./terms.js";

const CART_KEY = "tarnhill.cart";
const ORDERS_KEY = "tarnhill.orders";

const read = (key, empty) => {
  try {
    return JSON.parse(localStorage.getItem(key)) ?? empty;
  } catch {
    return empty; // unreadable text from elsewhere: begin anew
  }
};

const readCart = () => {
  const { items = [], coupon = null } = read(CART_KEY, {});
  return { items: items.filter(({ id }) => productById(id)), coupon };
};

const announce = (says) => window.dispatchEvent(new CustomEvent("cart-change", { detail: says }));

const writeCart = (items, coupon, says) => {
  localStorage.setItem(CART_KEY, JSON.stringify({ items, coupon: items.length ? coupon : null }));
  announce(says);
};

window.addEventListener("storage", (event) => event.key === CART_KEY && announce(""));

/** The lines of the cart, oldest first: the product and how many. */
export const lines = () =>
  readCart().items.map(({ id, quantity }) => ({ product: productById(id), quantity }));

export const count = () => lines().reduce((sum, line) => sum + line.quantity, 0);

/** What the cart costs, in cents, before delivery. A coupon counts while its conditions hold. */
export const sums = () => {
  const subtotal = lines().reduce(
    (sum, { product, quantity }) => sum + product.price * quantity,
    0,
  );
  const code = readCart().coupon;
  const discount = discountOf(code, subtotal);
  return { subtotal, coupon: COUPONS[code] ? code : null, discount, total: subtotal - discount };
};

const inCart = (id) => {
  const found = lines().find(({ product }) => product === productById(id));
  if (found) return found;
  const ids = lines().map(({ product }) => product.id);
  throw new Error(
    `"${id}" is not in the cart. ${ids.length ? `In the cart: ${ids.join(", ")}.` : "The cart is empty."}`,
  );
};

/** Put `quantity` more of a product into the cart; returns how many are in it now. */
export const add = (product, quantity) => {
  if (!product.stock) throw new Error(`${product.title} is out of stock.`);
  const { items, coupon } = readCart();
  const line = items.find(({ id }) => id === product.id);
  const before = line?.quantity ?? 0;
  if (before + quantity > MOST_OF_ONE) {
    const held = before ? ` The cart already has ${before}.` : "";
    throw new Error(`At most ${MOST_OF_ONE} of one product.${held}`);
  }
  if (line) line.quantity += quantity;
  else items.push({ id: product.id, quantity });
  writeCart(items, coupon, `Added ${quantity} × ${product.title} to the cart.`);
  return before + quantity;
};

/** Set how many of a product the cart has; 0 removes it. Returns the product. */
export const setQuantity = (id, quantity) => {
  const { product } = inCart(id);
  const { items, coupon } = readCart();
  const kept = items
    .map((item) => (item.id === product.id ? { ...item, quantity } : item))
    .filter((item) => item.quantity > 0);
  const says = quantity
    ? `${product.title}: now ${quantity} in the cart.`
    : `Removed ${product.title} from the cart.`;
  writeCart(kept, coupon, says);
  return product;
};

/** Use a coupon code; returns its code as the shop writes it. */
export const applyCoupon = (text) => {
  const code = String(text).trim().toUpperCase();
  const terms = Object.hasOwn(COUPONS, code) ? COUPONS[code] : undefined;
  if (!terms) throw new Error(`The coupon code "${text}" is not valid.`);
  const { items } = readCart();
  if (!items.length) throw new Error("The cart is empty. Add a product first.");
  if (sums().subtotal < (terms.least ?? 0)) {
    throw new Error(`The coupon ${code} needs a cart of at least ${euros(terms.least)} euros.`);
  }
  writeCart(items, code, `Coupon ${code}: ${terms.says}.`);
  return code;
};

export const removeCoupon = () => writeCart(readCart().items, null, "The coupon was removed.");

export const orders = () => read(ORDERS_KEY, []);

/** Turn the cart into an order for this person, and empty it. Returns the order. */
export const placeOrder = ({ delivery, ...person }) => {
  const { subtotal, coupon, discount, total } = sums();
  const delivered = deliveryPrice(delivery, total);
  const order = {
    id: `TH-${1001 + orders().length}`,
    items: cartItems(),
    subtotal: euros(subtotal),
    coupon,
    discount: euros(discount),
    delivery,
    delivery_price: euros(delivered),
    total: euros(total + delivered),
    ...person,
  };
  localStorage.setItem(ORDERS_KEY, JSON.stringify([...orders(), order]));
  writeCart([], null, `Order ${order.id} is placed.`);
  return order;
};

/** The cart as values: ids, titles, how many, and prices in euros. */
export const cartItems = () =>
  lines().map(({ product, quantity }) => ({
    id: product.id,
    title: product.title,
    quantity,
    price: euros(product.price),
    sum: euros(product.price * quantity),
  }));

/** A product as values, as searches list it. */
export const brief = (product) => ({
  id: product.id,
  title: product.title,
  price: euros(product.price),
  rating: ratingOf(product.id),
  in_stock: product.stock,
});

// What tests, reports and curious people read; amounts in euros, before delivery.
window.shop = {
  products: () => PRODUCTS.map((product) => ({ ...brief(product), category: product.category })),
  cart: cartItems,
  count,
  subtotal: () => euros(sums().subtotal),
  coupon: () => sums().coupon,
  discount: () => euros(sums().discount),
  total: () => euros(sums().total),
  orders,
};
