// Finding products by words. The words of a query that no product knows are ignored; of the others
// a product needs all, or, when no product has all, as many as the best one has.

import { PRODUCTS, categoryById } from "./products.js";
import { ratingOf } from "./reviews.js";

const STOP_WORDS = new Set(
  [
    "a all an and any at below best buy by cheap cheapest eur euro euros find for from get good i in",
    "is item items less looking me most my need of on or over please price priced product products",
    "show some than that the to under up want with",
  ].flatMap((line) => line.split(" ")),
);

export const SORTS = {
  relevance: "Best match",
  "price-asc": "Price, low to high",
  "price-desc": "Price, high to low",
  rating: "Rating",
};

const stem = (word) =>
  word
    .replace(/ies$/, "y")
    .replace(/(ss|sh|ch|x)es$/, "$1")
    .replace(/([^s])s$/, "$1");

const wordsOf = (text) =>
  (
    String(text)
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  ).map(stem);

const knows = (known, word) =>
  known.has(word) || (word.length > 2 && [...known].some((other) => other.startsWith(word)));

const weight = (entry, word) => (knows(entry.strong, word) ? 3 : knows(entry.weak, word) ? 1 : 0);

const ORDERS = {
  relevance: (left, right) => right.score - left.score,
  "price-asc": (left, right) => left.product.price - right.product.price,
  "price-desc": (left, right) => right.product.price - left.product.price,
  rating: (left, right) => ratingOf(right.product.id) - ratingOf(left.product.id),
};

/**
 * A search over all products, which `moreWords` of a product make findable too. It gives the
 * products that match, best first or in the wished order. An empty query matches all. `maxPrice` is
 * in euros and inclusive.
 */
export const searchWith = (moreWords) => {
  const index = PRODUCTS.map((product) => ({
    product,
    strong: new Set(wordsOf(`${product.title} ${product.words} ${moreWords(product)}`)),
    weak: new Set(wordsOf(`${product.line} ${categoryById(product.category).name}`)),
  }));
  return (query, { category, maxPrice, sort = "relevance" } = {}) => {
    const asked = [...new Set(wordsOf(query))];
    const telling = asked.filter((word) => !STOP_WORDS.has(word) && !/^\d+$/.test(word));
    const known = telling.filter((word) => index.some((entry) => weight(entry, word)));
    if (telling.length && !known.length) return [];
    const rated = index.map((entry) => {
      const weights = known.map((word) => weight(entry, word));
      return {
        product: entry.product,
        matched: weights.filter(Boolean).length,
        score: weights.reduce((sum, each) => sum + each, 0),
      };
    });
    const most = Math.max(...rated.map((each) => each.matched));
    const dearest = maxPrice === undefined ? Infinity : Math.round(maxPrice * 100);
    return rated
      .filter((each) => each.matched === most)
      .filter(({ product }) => !category || product.category === category)
      .filter(({ product }) => product.price <= dearest)
      .sort(ORDERS[sort])
      .map((each) => each.product);
  };
};

/** The search of the demo shop's first face, whose products have no options. */
export const search = searchWith(() => "");
