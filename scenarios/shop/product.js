// The page of one product (?id=): picture, facts, adding it to the cart, reviews, its neighbours.

import { PRODUCTS, categoryById, price, productById } from "./products.js";
import { ratingOf, reviewsOf } from "./reviews.js";
import { add, count, lines } from "./cart.js";
import { byId, element, picture, stars } from "./dom.js";
import { frame, say } from "./frame.js";
import { offerTools } from "./tools.js";

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

const buyForm = (product) => {
  if (!product.stock) {
    return element(
      "p",
      { class: "soldout" },
      "Out of stock. We do not know yet when it comes back.",
    );
  }
  const quantity = element("select", { id: "quantity", name: "quantity" });
  for (let many = 1; many <= 10; many += 1) quantity.append(new Option(String(many), String(many)));
  return element(
    "form",
    {
      class: "buy",
      onsubmit: (event) => {
        event.preventDefault();
        try {
          add(product, Number(quantity.value));
        } catch (error) {
          say(error.message);
        }
      },
    },
    element("label", { for: "quantity" }, "Quantity"),
    quantity,
    element("button", { type: "submit", class: "main" }, "Add to cart"),
  );
};

const heldLine = (product) => {
  const line = element("p", { class: "held" });
  const show = () => {
    const held = lines().find((each) => each.product === product)?.quantity;
    if (held)
      line.replaceChildren(
        `${held} in your cart. `,
        element("a", { href: "cart.html" }, "View cart"),
      );
    else line.replaceChildren();
  };
  show();
  window.addEventListener("cart-change", show);
  return line;
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

const productView = (product) => {
  const rating = ratingOf(product.id);
  const many = reviewsOf(product.id).length;
  return [
    crumbs(categoryById(product.category), product.title),
    element(
      "article",
      { class: "product" },
      picture(product.kind, product.colours, `Drawing: ${product.title}`),
      element(
        "div",
        { class: "details" },
        element("h1", {}, product.title),
        element("p", { class: "lead" }, product.line),
        element(
          "p",
          { class: "rated" },
          stars(rating, many),
          element("a", { href: "#reviews-heading" }, `${rating} from ${many} reviews`),
        ),
        element("p", { class: "price big" }, price(product.price)),
        buyForm(product),
        heldLine(product),
        element("p", {}, product.text),
        element("ul", { class: "ticks" }, ...product.facts.map((fact) => element("li", {}, fact))),
      ),
    ),
    reviewList(product),
    neighbours(product),
  ];
};

const missingView = () => [
  element("h1", {}, "No such product"),
  element(
    "p",
    {},
    "This address names no product of ours. ",
    element("a", { href: "index.html" }, "See all products"),
  ),
];

frame(count);
const product = productById(new URLSearchParams(location.search).get("id") ?? "");
document.title = `${product?.title ?? "No such product"} – Tarnhill`;
byId("main").replaceChildren(...(product ? productView(product) : missingView()));
offerTools({ product });
