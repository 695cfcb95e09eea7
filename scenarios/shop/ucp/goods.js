// What this face of the shop sells: the same products, with options and variants of its own.
//
// A variant is { id, sku, product, title, options: [{ name, label }], price, available, colours }.
// Ids are global ones; prices are whole euro cents.

import { PRODUCTS, productById } from "../products.js";
import { Refusal } from "./refusal.js";

const sizes = (first, last) =>
  Array.from({ length: last - first + 1 }, (_, index) => String(first + index));

// By product: the options with their values, what is sold out ("Blue / 42", or a value alone for all
// that have it), what a value costs more, and how a colour paints the picture.
const RANGE = {
  "trail-runner-1": {
    options: { Color: ["Green", "Blue"], Size: sizes(39, 44) },
    soldOut: ["Blue / 42", "Green / 44"],
    paint: { Blue: { a: "#3a6ea5", b: "#eef1f6", c: "#f2a33a" } },
  },
  "trail-runner-2": {
    options: { Color: ["Blue", "Coral", "Black"], Size: sizes(38, 45) },
    soldOut: ["Coral / 41", "Black / 43", "Black / 44", "Blue / 38"],
    paint: {
      Coral: { a: "#e2674a", b: "#f7efe9", c: "#2d4f9e" },
      Black: { a: "#2c2f36", b: "#e6e8ec", c: "#ff7a59" },
    },
  },
  "trail-runner-pro": {
    options: { Color: ["Black", "Red"], Size: sizes(40, 45) },
    soldOut: ["Red / 40", "Red / 45"],
    paint: { Red: { a: "#b93a32", b: "#f0e4e2", c: "#2c2f36" } },
  },
  "city-sneaker": {
    options: { Color: ["White", "Black", "Sand"], Size: sizes(36, 45) },
    soldOut: ["Sand", "White / 43"],
    paint: {
      Black: { a: "#2b2e33", b: "#3c4047", c: "#2f7d6b", t: "#86b5a8" },
      Sand: { a: "#d8c6a4", b: "#efe6d3", c: "#8c5a35" },
    },
  },
  "day-pack-20": {
    options: { Color: ["Blue", "Black", "Olive"] },
    paint: {
      Black: { a: "#33373d", b: "#1f2226", c: "#f0b64d" },
      Olive: { a: "#6b7148", b: "#4a4f31", c: "#e0b565" },
    },
  },
  "trek-pack-45": {
    options: { Color: ["Red", "Slate"], "Back length": ["Short", "Long"] },
    soldOut: ["Slate / Short"],
    paint: { Slate: { a: "#50606c", b: "#36424b", c: "#e9c46a" } },
  },
  "canvas-tote": {
    options: { Color: ["Natural", "Black"] },
    paint: { Black: { a: "#3a3a3c", b: "#1f1f21", c: "#c9a26b" } },
  },
  "messenger-bag": {
    options: { Color: ["Olive", "Black"] },
    paint: { Black: { a: "#33353a", b: "#1f2125", c: "#c98f4e" } },
  },
  "blue-stoneware-mug": { options: { Set: ["One", "Set of four"] }, more: { "Set of four": 4350 } },
  "steel-travel-mug": {
    options: { Color: ["Silver", "Black", "Green"] },
    soldOut: ["Green"],
    paint: {
      Black: { a: "#2f343a", b: "#16191c", c: "#4fb286" },
      Green: { a: "#4d7a5d", b: "#2c4636", c: "#d8e6dd" },
    },
  },
  "arc-desk-lamp": {
    options: { Color: ["Yellow", "White", "Black"] },
    soldOut: ["White"],
    paint: {
      White: { a: "#e9e7e0", b: "#5b666d", c: "#ffe9a8", t: "#a9b4b8" },
      Black: { a: "#34383d", b: "#1d2023", c: "#ffe9a8" },
    },
  },
  "grid-notebook": {
    options: { Color: ["Green", "Navy"], Format: ["A5", "B5"] },
    more: { B5: 350 },
    paint: { Navy: { a: "#2b3f66", b: "#f6f1e4", c: "#e2764a" } },
  },
  "compact-keyboard": {
    options: { Layout: ["US", "UK", "German"] },
    soldOut: ["German"],
  },
  "steel-water-bottle": {
    options: { Color: ["Teal", "Steel"], Volume: ["0.5 l", "0.7 l", "1 l"] },
    soldOut: ["Steel / 1 l"],
    more: { "0.5 l": -300, "1 l": 500 },
    paint: { Steel: { a: "#9aa8ad", b: "#5c686d", c: "#e8eef0" } },
  },
  "two-person-tent": {
    options: { Color: ["Orange", "Green"] },
    paint: { Green: { a: "#5d7f4e", b: "#3f5936", c: "#e8e3c2" } },
  },
  "rain-jacket": {
    options: { Color: ["Yellow", "Navy"], Size: ["XS", "S", "M", "L", "XL"] },
    soldOut: ["Navy / M", "Yellow / XL"],
    paint: { Navy: { a: "#2c3e63", b: "#1f2c47", c: "#e0b02c" } },
  },
};

const combinations = (options) =>
  Object.entries(options).reduce(
    (made, [name, labels]) =>
      made.flatMap((chosen) => labels.map((label) => [...chosen, { name, label }])),
    [[]],
  );

const isSoldOut = (product, chosen, soldOut) => {
  const labels = chosen.map(({ label }) => label);
  return !product.stock || soldOut.some((each) => [...labels, labels.join(" / ")].includes(each));
};

const variantsFor = (product, number) => {
  const { options = {}, soldOut = [], more = {}, paint = {} } = RANGE[product.id] ?? {};
  return combinations(options).map((chosen, index) => {
    const labels = chosen.map(({ label }) => label);
    return {
      id: `gid://tarnhill/ProductVariant/${41000 + number * 100 + index}`,
      sku: ["TH", String(number + 1).padStart(2, "0"), String(index + 1).padStart(2, "0")].join(
        "-",
      ),
      product,
      title: labels.join(" / ") || product.title,
      options: chosen,
      price: labels.reduce((sum, label) => sum + (more[label] ?? 0), product.price),
      available: !isSoldOut(product, chosen, soldOut),
      colours: labels.map((label) => paint[label]).find(Boolean) ?? product.colours,
    };
  });
};

const VARIANTS = new Map(
  PRODUCTS.map((product, number) => [product, variantsFor(product, number)]),
);

export const allVariants = () => [...VARIANTS.values()].flat();

export const variantsOf = (product) => VARIANTS.get(product);

export const gidOf = (product) => `gid://tarnhill/Product/${8001 + PRODUCTS.indexOf(product)}`;

/** The product's options in order: { name, labels }. */
export const optionsOf = (product) =>
  Object.entries(RANGE[product.id]?.options ?? {}).map(([name, labels]) => ({ name, labels }));

export const variantById = (id) => allVariants().find((variant) => variant.id === id);

/** A variant's name as carts show it. */
export const fullTitle = ({ product, options, title }) =>
  options.length ? `${product.title}, ${title}` : product.title;

/** What an id means: a variant's, a product's, its handle, or a stock number; undefined for others. */
export const findById = (text) => {
  const id = String(text).trim();
  const variant = allVariants().find((each) => each.id === id || each.sku === id);
  if (variant) return { product: variant.product, variant };
  const product = PRODUCTS.find((each) => gidOf(each) === id) ?? productById(id);
  return product && { product };
};

const plain = (text) =>
  String(text ?? "")
    .toLowerCase()
    .replace("colour", "color")
    .replace(/[^\p{L}\p{N}.]+/gu, "");

const listed = (product) =>
  optionsOf(product)
    .map(({ name, labels }) => `${name}: ${labels.join(", ")}`)
    .join("; ");

const optionNamed = (product, { name, label }) => {
  const known = optionsOf(product);
  const option = known.find((each) => plain(each.name) === plain(name));
  if (option) return option;
  if (!known.length) {
    throw new Refusal(
      "invalid_option",
      `${product.title} has no options, so there is no ${name} to choose. It comes in one variant.`,
    );
  }
  throw new Refusal(
    "invalid_option",
    `${product.title} has no option ${JSON.stringify(name ?? label)}. It has ${listed(product)}.`,
  );
};

/**
 * The wished options in the product's own words: "colour: blue" becomes { name: "Color", label:
 * "Blue" }. Throws a Refusal that lists what there is.
 */
export const readOptions = (product, wished) =>
  wished.map((wish) => {
    const { name, labels } = optionNamed(product, wish);
    const said = plain(wish.label);
    const bare = said.replace(plain(name), "").replace(/^eu(?=\d)/, "");
    const label = labels.find((each) => [said, bare].includes(plain(each)));
    if (label) return { name, label };
    throw new Refusal(
      "invalid_option",
      `${product.title} has no ${name} ${JSON.stringify(wish.label ?? "")}. ` +
        `There is ${labels.join(", ")}.`,
    );
  });

/** The variants of a product that have all these options. */
export const matching = (product, chosen) =>
  variantsOf(product).filter((variant) =>
    chosen.every(({ name, label }) =>
      variant.options.some((option) => option.name === name && option.label === label),
    ),
  );

/** That a variant is sold out, and the nearest ones that are not: with the same first option. */
export const soldOutText = (variant) => {
  const said = `${fullTitle(variant)} is sold out.`;
  const others = variantsOf(variant.product).filter((each) => each.available);
  if (!others.length) return variant.options.length ? `${said} So are all its variants.` : said;
  const [first, ...rest] = variant.options;
  const near = others.filter((each) => each.options[0].label === first.label);
  if (!rest.length || !near.length) {
    return `${said} In stock: ${others.map((each) => each.title).join(", ")}.`;
  }
  const names = rest.map(({ name }) => name.toLowerCase()).join(" and ");
  const labels = near.map((each) =>
    each.options
      .slice(1)
      .map(({ label }) => label)
      .join(" / "),
  );
  return `${said} In ${first.label} there is ${names} ${labels.join(", ")}.`;
};
