// The catalogue as documents in the shape of the Universal Commerce Protocol: products with options
// and variants, prices in minor units with a currency, media, pages, messages.

import { asset } from "../dom.js";
import { categoryById } from "../products.js";
import { ratingOf, reviewsOf } from "../reviews.js";
import { gidOf, matching, optionsOf, soldOutText, variantsOf } from "./goods.js";
import { POLICIES } from "./policies.js";

const VERSION = "2026-04-08";

export const CURRENCY = "EUR";

/** The address of a page of this face. */
export const address = (page) => new URL(page, import.meta.url).href;

/** What every document begins with; `capability` is the part of the protocol that it belongs to. */
export const envelope = (capability, status = "success") => ({
  version: VERSION,
  status,
  capabilities: { [`dev.ucp.shopping.${capability}`]: [{ version: VERSION }] },
});

export const info = (code, content) => ({ type: "info", code, content });

export const warning = (code, content, path) => ({
  type: "warning",
  code,
  content,
  ...(path && { path }),
});

export const problem = (code, content, { path, severity = "recoverable" } = {}) => ({
  type: "error",
  code,
  content,
  severity,
  ...(path && { path }),
});

export const links = () =>
  POLICIES.map(({ id, link, title }) => ({
    type: link,
    url: address(`policies.html#${id}`),
    title,
  }));

export const policyDocument = ({ id, type, title, text }, appliesTo) => ({
  type,
  description: { plain: `${title}: ${text}` },
  url: address(`policies.html#${id}`),
  ...(appliesTo && { applies_to: [appliesTo] }),
});

export const returnPolicy = (appliesTo) =>
  policyDocument(
    POLICIES.find(({ id }) => id === "returns"),
    appliesTo,
  );

const money = (amount) => ({ amount, currency: CURRENCY });

const picture = (product, name) => ({
  type: "image",
  url: asset(`pictures.svg#${product.kind}`),
  alt_text: `Drawing: ${name}`,
  width: 240,
  height: 240,
});

const inWords = ({ product, options }) =>
  [product.title, ...options.map(({ name, label }) => `${name} ${label}`)].join(", ");

/** The page of a variant: its product's, with its options chosen. */
export const pageOf = ({ id, product }) =>
  `product.html?id=${product.id}&variant=${id.replace(/.*\//, "")}`;

export const variantDocument = (variant) => ({
  id: variant.id,
  sku: variant.sku,
  title: variant.title,
  description: { plain: inWords(variant) },
  url: address(pageOf(variant)),
  price: money(variant.price),
  availability: {
    available: variant.available,
    status: variant.available ? "in_stock" : "out_of_stock",
  },
  options: variant.options,
  media: [picture(variant.product, inWords(variant))],
  tags: [],
  seller: { name: "Tarnhill", links: links().slice(0, 2) },
});

const priceRange = (product) => {
  const prices = variantsOf(product).map(({ price }) => price);
  return { min: money(Math.min(...prices)), max: money(Math.max(...prices)) };
};

/** A product with these of its variants, the first one as the one that stands for it. */
export const productDocument = (product, variants, variantOf = variantDocument) => ({
  id: gidOf(product),
  handle: product.id,
  title: product.title,
  description: {
    plain: `${product.line}. ${product.text}`,
    html: `<p>${product.line}.</p><p>${product.text}</p>`,
  },
  url: address(`product.html?id=${product.id}`),
  categories: [{ value: categoryById(product.category).name, taxonomy: "merchant" }],
  price_range: priceRange(product),
  media: [picture(product, product.title)],
  options: optionsOf(product).map(({ name, labels }) => ({
    name,
    values: labels.map((label) => ({ label })),
  })),
  variants: variants.map(variantOf),
  rating: {
    value: ratingOf(product.id),
    scale_min: 1,
    scale_max: 5,
    count: reviewsOf(product.id).length,
  },
  tags: product.words.split(" "),
  metadata: { facts: product.facts },
});

/** Variants with the one first that stands for them: the first in stock. */
export const featuredFirst = (variants) => {
  const featured = variants.find(({ available }) => available) ?? variants[0];
  return [featured, ...variants.filter((variant) => variant !== featured)];
};

/** One product in detail, narrowed to the chosen options, with what else can be chosen beside them. */
export const detailDocument = (product, chosen) => {
  const found = matching(product, chosen);
  const beside = (name, label) =>
    matching(product, [...chosen.filter((each) => each.name !== name), { name, label }]);
  const messages = [];
  if (found.length && !found.some(({ available }) => available)) {
    messages.push(warning("out_of_stock", soldOutText(found[0]), "$.product.variants[0]"));
  }
  return {
    ucp: envelope("catalog.lookup"),
    product: {
      ...productDocument(product, featuredFirst(found)),
      selected: chosen,
      options: optionsOf(product).map(({ name, labels }) => ({
        name,
        values: labels.map((label) => ({
          label,
          exists: beside(name, label).length > 0,
          available: beside(name, label).some(({ available }) => available),
        })),
      })),
    },
    messages,
    policies: [returnPolicy("$.product")],
  };
};
