// The shop's tools for a browser agent. `document.modelContext` is where browsers have it today,
// `navigator.modelContext` where the first releases had it; without either the shop is just a shop.
//
// The order itself is no tool of this file: it is the form of checkout.html, which an agent can fill
// in and only the person can send. A form cannot say that it is consequential: Chromium 156 knows no
// attribute for it. That the form waits is the guard.

import { CATEGORIES, PRODUCTS, euros, productById } from "./products.js";
import { ratingOf, reviewsOf } from "./reviews.js";
import * as cart from "./cart.js";
import { SORTS, search } from "./search.js";

const MOST_RESULTS = 10;

const modelContext = document.modelContext ?? navigator.modelContext;

const object = (properties = {}, required = []) => ({ type: "object", properties, required });

// No example here: a small model tends to use it as the answer.
const productId = { type: "string", description: "Product id, as search_products gives it" };

const whole = (value, name, least, most) => {
  const number = typeof value === "string" && value.trim() ? Number(value) : value;
  if (!Number.isInteger(number) || number < least || number > most) {
    throw new Error(
      `${name} must be a whole number from ${least} to ${most}, not ${JSON.stringify(value)}.`,
    );
  }
  return number;
};

const oneOf = (value, name, allowed) => {
  if (value === undefined || allowed.includes(value)) return value;
  throw new Error(`${name} must be one of ${allowed.join(", ")}, not ${JSON.stringify(value)}.`);
};

const amount = (value, name) => {
  const number = typeof value === "string" && value.trim() ? Number(value) : value;
  if (number === undefined || (Number.isFinite(number) && number >= 0)) return number;
  throw new Error(`${name} must be a number of euros, not ${JSON.stringify(value)}.`);
};

const wanted = (id) => {
  const product = productById(id);
  if (product) return product;
  const near = search(String(id).replaceAll("-", " "))
    .slice(0, 3)
    .map((each) => each.id);
  const hint = near.length
    ? ` Did you mean ${near.join(", ")}?`
    : " Use search_products to find ids.";
  throw new Error(`There is no product with the id "${id}".${hint}`);
};

// The answer leaves the page before the page leaves: a navigation begun in the next task never
// overtakes it (measured), one begun in this task does now and then.
const goTo = (address) => setTimeout(() => location.assign(address), 0);

const cartValue = () => {
  const { coupon, discount, total } = cart.sums();
  return { items: cart.cartItems(), coupon, discount: euros(discount), total: euros(total) };
};

const READ_ONLY = { readOnlyHint: true };

const everywhere = (onSearch) => [
  {
    name: "search_products",
    description: "Find products in the shop by words, category and price.",
    inputSchema: object(
      {
        query: { type: "string", description: "Words to look for" },
        category: {
          type: "string",
          enum: CATEGORIES.map(({ id }) => id),
          description: "Only this category",
        },
        max_price: { type: "number", minimum: 0, description: "Highest price in euros" },
        sort: { type: "string", enum: Object.keys(SORTS), description: "Order of the results" },
      },
      ["query"],
    ),
    annotations: READ_ONLY,
    execute: async ({ query = "", category, max_price, sort }) => {
      const filters = {
        category: oneOf(
          category,
          "category",
          CATEGORIES.map(({ id }) => id),
        ),
        maxPrice: amount(max_price, "max_price"),
        sort: oneOf(sort, "sort", Object.keys(SORTS)),
      };
      const found = search(query, filters);
      onSearch?.(String(query), filters);
      return { results: found.slice(0, MOST_RESULTS).map(cart.brief), total: found.length };
    },
  },
  {
    name: "list_categories",
    description: "List the categories of the shop.",
    inputSchema: object(),
    annotations: READ_ONLY,
    execute: async () => ({
      categories: CATEGORIES.map(({ id, name }) => ({
        id,
        name,
        products: PRODUCTS.filter((product) => product.category === id).length,
      })),
    }),
  },
  {
    name: "open_product",
    description: "Open the page of a product. There it can be added to the cart.",
    inputSchema: object({ id: productId }, ["id"]),
    execute: async ({ id }) => {
      const product = wanted(id);
      goTo(`product.html?id=${product.id}`);
      return `Opening ${product.title}, ${euros(product.price)} euros.`;
    },
  },
  {
    name: "view_cart",
    description: "Show what is in the cart and the total price.",
    inputSchema: object(),
    annotations: READ_ONLY,
    execute: async () => cartValue(),
  },
  {
    name: "set_quantity",
    description: "Change how many of a product are in the cart.",
    inputSchema: object(
      {
        id: productId,
        quantity: {
          type: "integer",
          minimum: 0,
          maximum: 10,
          description: "The new number; 0 removes it",
        },
      },
      ["id", "quantity"],
    ),
    execute: async ({ id, quantity }) => {
      cart.setQuantity(id, whole(quantity, "quantity", 0, 10));
      return cartValue();
    },
  },
  {
    name: "remove_from_cart",
    description: "Remove a product from the cart.",
    inputSchema: object({ id: productId }, ["id"]),
    execute: async ({ id }) => {
      cart.setQuantity(id, 0);
      return cartValue();
    },
  },
  {
    name: "apply_coupon",
    description: "Use a coupon code for the cart.",
    inputSchema: object({ code: { type: "string", description: "The code" } }, ["code"]),
    execute: async ({ code }) => {
      cart.applyCoupon(code);
      return cartValue();
    },
  },
];

const toCheckout = {
  name: "start_checkout",
  description: "Go to the checkout to order what is in the cart.",
  inputSchema: object(),
  execute: async () => {
    if (!cart.count()) throw new Error("The cart is empty. Add a product first.");
    goTo("checkout.html");
    return `Opening the checkout: ${cart.count()} in the cart, ${euros(cart.sums().total)} euros.`;
  },
};

const ofProduct = (product) => [
  {
    name: "add_to_cart",
    description: "Add the product of this page to the cart.",
    inputSchema: object({
      quantity: { type: "integer", minimum: 1, maximum: 10, default: 1, description: "How many" },
    }),
    execute: async ({ quantity = 1 }) => {
      const added = whole(quantity, "quantity", 1, 10);
      const held = cart.add(product, added);
      const { id, title } = product;
      return { id, title, added, in_cart: held, total: euros(cart.sums().total) };
    },
  },
  {
    name: "get_reviews",
    description: "Read what customers say about the product of this page.",
    inputSchema: object(),
    annotations: { readOnlyHint: true, untrustedContentHint: true },
    execute: async () => ({
      product: product.title,
      rating: ratingOf(product.id),
      reviews: reviewsOf(product.id),
    }),
  },
];

/**
 * Offer the tools of this page: those of every page, the checkout unless this is it, and those of
 * `product` on its page. `onSearch` hears what an agent looked for.
 */
export const offerTools = ({ product, onSearch, checkout = false } = {}) => {
  if (!modelContext?.registerTool) return;
  const tools = everywhere(onSearch);
  if (!checkout) tools.push(toCheckout);
  if (product) tools.push(...ofProduct(product));
  for (const tool of tools) modelContext.registerTool(tool);
};
