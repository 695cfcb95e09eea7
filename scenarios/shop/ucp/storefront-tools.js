// The tools of every page outside the checkout: the catalogue, the cart, the way into the checkout.

import { price } from "../products.js";
import { cartDocument, checkoutDocument } from "./sales.js";
import {
  MOST_ON_A_PAGE,
  PAGE_SIZE,
  getProduct,
  lookupCatalog,
  readSelection,
  searchCatalog,
} from "./catalog.js";
import { detailDocument, envelope, info, pageOf, policyDocument } from "./documents.js";
import { findById, matching, optionsOf, variantsOf } from "./goods.js";
import { POLICIES, policiesAbout } from "./policies.js";
import { Refusal } from "./refusal.js";
import * as store from "./store.js";
import { READS, goTo, list, object, offer, text } from "./tools.js";

const CONTEXT = object({
  address_country: text("The buyer's country, such as NL"),
  language: text("The buyer's language, such as en"),
  currency: text("Currency of price filters, such as EUR"),
  intent: text("What the buyer is looking for, in a sentence"),
});

const minor = (description) => ({ type: "integer", minimum: 0, description });

const SELECTED = list(
  object({ name: text("Option, such as Color"), label: text("Value, such as Blue") }, [
    "name",
    "label",
  ]),
  "Option values to narrow the variants to",
);

const PRODUCT = object(
  {
    id: text("Product or variant id"),
    selected: SELECTED,
    preferences: list({ type: "string" }, "Option names, the most important first"),
    context: CONTEXT,
  },
  ["id"],
);

const SEARCH = object(
  {
    query: text("Words to look for"),
    context: CONTEXT,
    filters: object({
      categories: list({ type: "string" }, "Only these categories"),
      price: object({
        min: minor("Lowest price in minor units"),
        max: minor("Highest price in minor units: 10000 is 100 euros"),
      }),
    }),
    pagination: object({
      cursor: text("Cursor of an earlier answer, for the next page"),
      limit: {
        type: "integer",
        minimum: 1,
        maximum: MOST_ON_A_PAGE,
        default: PAGE_SIZE,
        description: "Products in one answer",
      },
    }),
  },
  ["query"],
);

const CART = object({
  line_items: list(
    object(
      {
        item: object({ id: text("Variant id") }, ["id"]),
        quantity: {
          type: "integer",
          minimum: 0,
          maximum: 10,
          description: "How many the cart shall have; 0 removes it",
        },
      },
      ["item", "quantity"],
    ),
    "Lines to add or change; others stay as they are",
  ),
  discounts: object({
    codes: list({ type: "string" }, "Coupon codes to use; an empty list removes the coupon"),
  }),
});

const number = (value) => (typeof value === "string" && value.trim() ? Number(value) : value);

// What a line of update_cart means; the id of a line means its variant. A product with options is not
// enough: the variants are told.
const readLine = ({ item, id, quantity } = {}) => {
  const asked = String(item?.id ?? id ?? "").replace("CartLine", "ProductVariant");
  const found = findById(asked);
  if (!found) {
    throw new Refusal(
      "not_found",
      `There is no variant with the id ${JSON.stringify(asked)}. search_catalog gives ids.`,
    );
  }
  const variants = variantsOf(found.product);
  if (!found.variant && variants.length > 1) {
    const options = optionsOf(found.product)
      .map(({ name, labels }) => `${name} (${labels.join(", ")})`)
      .join(" and ");
    throw new Refusal(
      "variant_required",
      `${found.product.title} comes in several variants. Choose ${options} with get_product, ` +
        "then use the variant's id.",
    );
  }
  return { variant: found.variant ?? variants[0], quantity: number(quantity) };
};

const updateCart = ({ cart } = {}) => {
  const changes = cart?.line_items ?? [];
  const codes = cart?.discounts?.codes;
  if (!changes.length && !codes) {
    throw new Refusal(
      "invalid_request",
      "There is nothing to change. Give cart.line_items, cart.discounts.codes, or both.",
    );
  }
  store.changeCart(changes.map(readLine), codes);
  return cartDocument();
};

const policyAnswer = ({ query = "" }) => {
  const found = policiesAbout(query);
  const told = POLICIES.map(({ title }) => title).join(", ");
  return {
    ucp: envelope("catalog.search"),
    policies: found.map((policy) => policyDocument(policy)),
    messages: found.length
      ? []
      : [info("not_found", `The shop's policies say nothing of that. They are on ${told}.`)],
  };
};

const showVariant = ({ catalog }) => {
  const { product, chosen } = readSelection(catalog);
  const answer = detailDocument(product, chosen);
  const [shown] = matching(product, chosen);
  goTo(chosen.length ? pageOf(shown) : `product.html?id=${product.id}`);
  return answer;
};

const toCheckout = () => {
  if (!store.count()) {
    throw new Refusal("cart_empty", "The cart is empty. Add a product first.");
  }
  goTo("checkout.html");
  return checkoutDocument();
};

const tools = (onSearch) => [
  {
    name: "search_catalog",
    description: "Find products of the shop by words, category and price.",
    inputSchema: object({ catalog: SEARCH }, ["catalog"]),
    annotations: READS,
    capability: "catalog.search",
    run: ({ catalog }) => {
      const answer = searchCatalog(catalog);
      const dearest = catalog.filters?.price?.max;
      onSearch?.(
        String(catalog.query ?? ""),
        dearest === undefined ? {} : { maxPrice: dearest / 100 },
      );
      return answer;
    },
  },
  {
    name: "lookup_catalog",
    description: "Get several products or variants by their ids.",
    inputSchema: object(
      { catalog: object({ ids: list({ type: "string" }, "Product or variant ids") }, ["ids"]) },
      ["catalog"],
    ),
    annotations: READS,
    capability: "catalog.lookup",
    run: ({ catalog }) => lookupCatalog(catalog),
  },
  {
    name: "get_product",
    description: "Get one product with its options and the variants that have the selected ones.",
    inputSchema: object({ catalog: PRODUCT }, ["catalog"]),
    annotations: READS,
    capability: "catalog.lookup",
    run: ({ catalog }) => getProduct(catalog),
  },
  {
    name: "show_variant",
    description: "Open the page of a product for the buyer, with the selected options.",
    inputSchema: object(
      { catalog: object({ id: text("Product or variant id"), selected: SELECTED }, ["id"]) },
      ["catalog"],
    ),
    capability: "catalog.lookup",
    run: showVariant,
  },
  {
    name: "get_cart",
    description: "Read what is in the cart and what it costs.",
    inputSchema: object(),
    annotations: READS,
    capability: "cart",
    run: () => cartDocument(),
  },
  {
    name: "update_cart",
    description:
      "Add a variant to the cart, change how many there are, remove it, or use a coupon code.",
    inputSchema: object({ cart: CART }, ["cart"]),
    capability: "cart",
    run: updateCart,
  },
  {
    name: "cancel_cart",
    description: "Remove everything from the cart.",
    inputSchema: object(),
    capability: "cart",
    run: () => {
      const cost = price(store.sums().total);
      if (!store.count()) throw new Refusal("cart_empty", "The cart is empty already.");
      store.emptyCart();
      return cartDocument([info("cart_canceled", `Everything was removed, ${cost} in all.`)]);
    },
  },
  {
    name: "proceed_to_checkout",
    description: "Go to the checkout with what is in the cart.",
    inputSchema: object(),
    capability: "checkout",
    run: toCheckout,
  },
  {
    name: "search_shop_policies_and_faqs",
    description: "Look up what the shop says of delivery, returns, warranty, payment and privacy.",
    inputSchema: object({ query: text("The question") }, ["query"]),
    annotations: { readOnlyHint: true },
    capability: "catalog.search",
    run: policyAnswer,
  },
];

/** Offer the tools of a page outside the checkout. `onSearch` hears what an agent looked for. */
export const offerStorefront = ({ onSearch } = {}) => offer(tools(onSearch));
