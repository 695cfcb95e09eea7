// The list of products on a front page: all, or those that match the address (?q=, category=, max=,
// sort=).

import { CATEGORIES, categoryById, productById } from "./products.js";
import { ratingOf, reviewsOf } from "./reviews.js";
import { SORTS } from "./search.js";
import { byId, element, picture, stars } from "./dom.js";

const HERO = ["blue-stoneware-mug", "trail-runner-2", "arc-desk-lamp"];

const filters = byId("filters");

const card = (product, { priceText, inStock }) =>
  element(
    "li",
    { class: "card" },
    picture(product.kind, product.colours),
    element("h3", {}, element("a", { href: `product.html?id=${product.id}` }, product.title)),
    element("p", { class: "line" }, product.line),
    element(
      "p",
      { class: "facts" },
      element("span", { class: "price" }, priceText(product)),
      stars(ratingOf(product.id), reviewsOf(product.id).length),
    ),
    ...(inStock(product) ? [] : [element("p", { class: "badge" }, "Out of stock")]),
  );

const readAddress = () => {
  const asked = new URLSearchParams(location.search);
  const max = Number(asked.get("max") || Number.NaN);
  return {
    query: asked.get("q")?.trim() ?? "",
    category: categoryById(asked.get("category"))?.id,
    maxPrice: Number.isFinite(max) ? max : undefined,
    sort: Object.hasOwn(SORTS, asked.get("sort")) ? asked.get("sort") : "relevance",
  };
};

const writeAddress = ({ query, category, maxPrice, sort }) => {
  const parts = new URLSearchParams();
  if (query) parts.set("q", query);
  if (category) parts.set("category", category);
  if (maxPrice !== undefined) parts.set("max", maxPrice);
  if (sort && sort !== "relevance") parts.set("sort", sort);
  history.replaceState(null, "", `?${parts}`);
};

const showFilters = ({ category, maxPrice, sort }) => {
  const { category: categories, max, sort: sorts } = filters.elements;
  categories.value = category ?? "";
  sorts.value = sort;
  const value = maxPrice === undefined ? "" : String(maxPrice);
  if (![...max.options].some((option) => option.value === value))
    max.add(new Option(`€${value}`, value));
  max.value = value;
};

const show = (shop) => {
  const asked = readAddress();
  const { query, category } = asked;
  const name = categoryById(category)?.name;
  const found = shop.search(query, asked);
  const heading = query ? `Results for “${query}”` : (name ?? "All products");
  const narrowed = Boolean(query || name);
  byId("hero").classList.toggle("narrow", narrowed);
  byId("heading").textContent = narrowed ? heading : "Made for the long way round";
  byId("list-heading").textContent = narrowed ? "Products" : heading;
  document.title = narrowed
    ? `${heading} – Tarnhill`
    : "Tarnhill: gear for desks, kitchens and hills";
  byId("found").textContent = `${found.length} ${found.length === 1 ? "product" : "products"}`;
  byId("grid").replaceChildren(...found.map((product) => card(product, shop)));
  showFilters(asked);
};

/**
 * Fill the front page of a shop: `search`, and the price and stock that a card shows. Returns the
 * listener that shows what an agent looked for.
 */
export const showListing = (shop) => {
  filters.elements.category.append(
    new Option("all", ""),
    ...CATEGORIES.map(({ id, name }) => new Option(name, id)),
  );
  filters.elements.sort.append(
    ...Object.entries(SORTS).map(([value, name]) => new Option(name, value)),
  );
  filters.addEventListener("change", () => {
    const { category, max, sort } = filters.elements;
    writeAddress({
      query: readAddress().query,
      category: category.value,
      maxPrice: max.value === "" ? undefined : Number(max.value),
      sort: sort.value,
    });
    show(shop);
  });
  filters.addEventListener("submit", (event) => event.preventDefault());
  byId("shelf").replaceChildren(
    ...HERO.map(productById).map(({ kind, colours }) => picture(kind, colours)),
  );
  show(shop);
  return (query, asked) => {
    writeAddress({ query, ...asked });
    byId("find").value = query;
    show(shop);
  };
};
