// The page of a product, around what can be bought there: where it is, its facts and reviews, what
// lies beside it; or that there is no such product.

import { PRODUCTS, categoryById, price } from "./products.js";
import { ratingOf, reviewsOf } from "./reviews.js";
import { byId, element, picture, stars } from "./dom.js";

const crumbs = ({ id, name }, title) =>
  element(
    "nav",
    { class: "crumbs", "aria-label": "You are here" },
    element(
      "ol",
      {},
      element("li", {}, element("a", { href: "index.html" }, "Shop")),
      element("li", {}, element("a", { href: `index.html?category=${id}` }, name)),
      element("li", { "aria-current": "page" }, title),
    ),
  );

export const soldOutLine = (says) => element("p", { class: "soldout" }, says);

/** How many, from 1 to 10. */
export const quantityChoice = () => {
  const choice = element("select", { id: "quantity", name: "quantity" });
  for (let many = 1; many <= 10; many += 1) choice.append(new Option(String(many), String(many)));
  return choice;
};

/** The line that tells how many of it are in the cart; `held()` says how many. */
export const heldLine = (held) => {
  const line = element("p", { class: "held" });
  const show = () => {
    const many = held();
    if (many)
      line.replaceChildren(
        `${many} in your cart. `,
        element("a", { href: "cart.html" }, "View cart"),
      );
    else line.replaceChildren();
  };
  show();
  window.addEventListener("cart-change", show);
  return line;
};

const ratedLine = (product) => {
  const rating = ratingOf(product.id);
  const many = reviewsOf(product.id).length;
  return element(
    "p",
    { class: "rated" },
    stars(rating, many),
    element("a", { href: "#reviews-heading" }, `${rating} from ${many} reviews`),
  );
};

const reviewList = (product) => {
  const reviews = reviewsOf(product.id);
  return element(
    "section",
    { class: "reviews", "aria-labelledby": "reviews-heading" },
    element("h2", { id: "reviews-heading" }, "Reviews"),
    element(
      "ul",
      {},
      ...reviews.map(({ author, stars: given, text }) =>
        element(
          "li",
          {},
          stars(given),
          element("blockquote", {}, text),
          element("p", { class: "author" }, author),
        ),
      ),
    ),
  );
};

const neighbours = (product) =>
  element(
    "section",
    { "aria-labelledby": "more-heading" },
    element("h2", { id: "more-heading" }, `More in ${categoryById(product.category).name}`),
    element(
      "ul",
      { class: "grid" },
      ...PRODUCTS.filter((other) => other.category === product.category && other !== product).map(
        (other) =>
          element(
            "li",
            { class: "card" },
            picture(other.kind, other.colours),
            element("h3", {}, element("a", { href: `product.html?id=${other.id}` }, other.title)),
            element(
              "p",
              { class: "facts" },
              element("span", { class: "price" }, price(other.price)),
            ),
          ),
      ),
    ),
  );

const missingView = () => [
  element("h1", {}, "No such product"),
  element(
    "p",
    {},
    "This address names no product of ours. ",
    element("a", { href: "index.html" }, "See all products"),
  ),
];

const productView = (product, { tile, buying }) => [
  crumbs(categoryById(product.category), product.title),
  element(
    "article",
    { class: "product" },
    tile,
    element(
      "div",
      { class: "details" },
      element("h1", {}, product.title),
      element("p", { class: "lead" }, product.line),
      ratedLine(product),
      ...buying,
      element("p", {}, product.text),
      element("ul", { class: "ticks" }, ...product.facts.map((fact) => element("li", {}, fact))),
    ),
  ),
  reviewList(product),
  neighbours(product),
];

/** Fill the page; `parts` gives its picture (`tile`) and what it takes to buy it (`buying`). */
export const showProduct = (product, parts) => {
  document.title = `${product?.title ?? "No such product"} – Tarnhill`;
  byId("main").replaceChildren(...(product ? productView(product, parts()) : missingView()));
};
