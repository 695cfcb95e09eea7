// Searching the catalogue and looking things up in it: requests in, documents out.

import { CATEGORIES, PRODUCTS, price } from "../products.js";
import { searchWith } from "../search.js";
import {
  detailDocument,
  envelope,
  featuredFirst,
  info,
  productDocument,
  returnPolicy,
  variantDocument,
  warning,
} from "./documents.js";
import { findById, optionsOf, readOptions, variantsOf } from "./goods.js";
import { Refusal } from "./refusal.js";

export const PAGE_SIZE = 10;
export const MOST_ON_A_PAGE = 50;

const labelsOf = (product) => optionsOf(product).flatMap(({ labels }) => labels);

const plain = (text) => String(text).toLowerCase();

const byWords = searchWith((product) => labelsOf(product).join(" "));

/**
 * The search of this face: what a product can be chosen in finds it too, and a product whose whole
 * title is in the query comes first.
 */
export const search = (query, asked) => {
  const found = byWords(query, asked);
  const isNamed = ({ title }) => plain(query).includes(plain(title));
  return [...found.filter(isNamed), ...found.filter((product) => !isNamed(product))];
};

// The variants that a query names come first: "trail runner 2 black 42" means that one.
const asAsked = (variants, query) => {
  const words = new Set(plain(query).match(/[\p{L}\p{N}]+/gu) ?? []);
  const named = ({ options }) => options.filter(({ label }) => words.has(plain(label))).length;
  const most = Math.max(...variants.map(named));
  const best = variants.filter((variant) => named(variant) === most);
  return [...featuredFirst(best), ...variants.filter((variant) => !best.includes(variant))];
};

const amount = (value, name) => {
  if (value === undefined || (Number.isInteger(value) && value >= 0)) return value;
  throw new Refusal(
    "invalid_filter",
    `${name} must be a whole number in minor units, such as 10000 for ${price(10000)}.`,
  );
};

const listOf = (value, name) => {
  if (Array.isArray(value)) return value;
  throw new Refusal("invalid_request", `${name} must be a list.`);
};

const object = (value, name) => {
  if (value && typeof value === "object" && !Array.isArray(value)) return value;
  throw new Refusal("invalid_request", `${name} must be an object.`);
};

const offsetOf = (cursor) => {
  if (cursor === undefined) return 0;
  const found = /^page-(\d+)$/.exec(cursor);
  if (found) return Number(found[1]);
  throw new Refusal("invalid_cursor", "The cursor is none that an earlier answer gave.");
};

const limitOf = (limit = PAGE_SIZE) => {
  if (Number.isInteger(limit) && limit >= 1) return Math.min(limit, MOST_ON_A_PAGE);
  throw new Refusal("invalid_request", "pagination.limit must be a whole number from 1 on.");
};

const categoriesOf = (names, messages) => {
  const known = names.map((name) =>
    CATEGORIES.find((each) => plain(each.name) === plain(name) || each.id === plain(name)),
  );
  const unknown = names.filter((_, index) => !known[index]);
  if (unknown.length) {
    const all = CATEGORIES.map(({ name }) => name).join(", ");
    messages.push(
      warning("unknown_category", `There is no category ${unknown.join(", ")}. There are ${all}.`),
    );
  }
  return known.filter(Boolean).map(({ id }) => id);
};

const nothingFound = (query, { min, max }, found) => {
  if (!found) return `Nothing matches ${JSON.stringify(query)}.`;
  const limits = [
    min !== undefined && `from ${price(min)}`,
    max !== undefined && `up to ${price(max)}`,
  ]
    .filter(Boolean)
    .join(" ");
  const hint = max < 1000 ? " Prices are in minor units: 10000 is €100.00." : "";
  return `Nothing matches ${JSON.stringify(query)} ${limits || "in this category"}.${hint}`;
};

/** The answer to { query, context, filters: { categories, price: { min, max } }, pagination }. */
export const searchCatalog = (request) => {
  const { query = "", filters = {}, pagination = {} } = object(request, "catalog");
  const { categories, price: limits = {} } = object(filters, "filters");
  const range = {
    min: amount(object(limits, "filters.price").min, "filters.price.min"),
    max: amount(limits.max, "filters.price.max"),
  };
  const { cursor, limit } = object(pagination, "pagination");
  const [from, size] = [offsetOf(cursor), limitOf(limit)];
  const messages = [];
  const wanted = categories && categoriesOf(listOf(categories, "filters.categories"), messages);
  const { min = 0, max = Infinity } = range;
  const matches = search(query);
  const found = matches
    .filter(({ category }) => !wanted || wanted.includes(category))
    .map((product) => ({
      product,
      variants: variantsOf(product).filter(({ price: cents }) => cents >= min && cents <= max),
    }))
    .filter(({ variants }) => variants.length);
  if (!found.length) {
    messages.push(info("not_found", nothingFound(query, range, matches.length)));
  }
  const hasNext = from + size < found.length;
  return {
    ucp: envelope("catalog.search"),
    products: found
      .slice(from, from + size)
      .map(({ product, variants }) => productDocument(product, asAsked(variants, query))),
    pagination: {
      has_next_page: hasNext,
      total_count: found.length,
      ...(hasNext && { cursor: `page-${from + size}` }),
    },
    messages,
    policies: found.length ? [returnPolicy("$.products[*]")] : [],
  };
};

/** The answer to { ids }: products or variants, each with the id that asked for it. */
export const lookupCatalog = (request) => {
  const ids = listOf(object(request, "catalog").ids, "catalog.ids").map(String);
  const resolved = ids.map((id) => ({ id, ...findById(id) }));
  const products = PRODUCTS.map((product) => {
    const asked = new Map();
    for (const each of resolved.filter((one) => one.product === product)) {
      const variant = each.variant ?? featuredFirst(variantsOf(product))[0];
      const inputs = asked.get(variant) ?? [];
      asked.set(variant, [...inputs, { id: each.id, match: each.variant ? "exact" : "featured" }]);
    }
    return { product, asked };
  }).filter(({ asked }) => asked.size);
  return {
    ucp: envelope("catalog.lookup"),
    products: products.map(({ product, asked }) =>
      productDocument(product, [...asked.keys()], (variant) => ({
        ...variantDocument(variant),
        inputs: asked.get(variant),
      })),
    ),
    messages: resolved
      .filter(({ product }) => !product)
      .map(({ id }) => info("not_found", `There is nothing with the id ${JSON.stringify(id)}.`)),
    policies: products.length ? [returnPolicy("$.products[*]")] : [],
  };
};

/** The product and the options that { id, selected } means; a variant's id has its own options. */
export const readSelection = (request) => {
  const { id, selected = [] } = object(request, "catalog");
  const found = findById(id);
  if (!found) {
    throw new Refusal(
      "not_found",
      `There is no product with the id ${JSON.stringify(id ?? "")}. search_catalog gives ids.`,
    );
  }
  const wished = listOf(selected, "catalog.selected").map((each) => object(each, "selected"));
  const own = found.variant?.options ?? [];
  const chosen = readOptions(found.product, wished);
  const kept = own.filter(({ name }) => !chosen.some((each) => each.name === name));
  return { product: found.product, chosen: [...kept, ...chosen] };
};

/** The answer to { id, selected }: the product in detail. */
export const getProduct = (request) => {
  const { product, chosen } = readSelection(request);
  return detailDocument(product, chosen);
};
