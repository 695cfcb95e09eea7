// What every page shares: header with search and cart, footer, and the line that tells of changes.

import { CATEGORIES } from "./products.js";
import { asset, byId, element } from "./dom.js";

const searchForm = () =>
  element(
    "form",
    { class: "find", role: "search", action: "index.html" },
    element("label", { class: "unseen", for: "find" }, "Search the shop"),
    element("input", {
      id: "find",
      name: "q",
      type: "search",
      placeholder: "Search shoes, mugs, lamps …",
      autocomplete: "off",
      value: new URLSearchParams(location.search).get("q") ?? "",
    }),
    element("button", { type: "submit" }, "Search"),
  );

const cartLink = (count) => {
  const link = element("a", { class: "cart-link", href: "cart.html" });
  const show = () => {
    const many = count();
    link.replaceChildren("Cart ", element("span", { class: "count" }, String(many)));
    link.setAttribute("aria-label", `Cart, ${many} ${many === 1 ? "item" : "items"}`);
  };
  show();
  window.addEventListener("cart-change", show);
  if (location.pathname.endsWith("/cart.html")) link.setAttribute("aria-current", "page");
  return link;
};

const categoryLinks = () => {
  const here = new URLSearchParams(location.search).get("category");
  return element(
    "nav",
    { "aria-label": "Categories", class: "categories" },
    element(
      "ul",
      {},
      ...CATEGORIES.map(({ id, name }) =>
        element(
          "li",
          {},
          element(
            "a",
            { href: `index.html?category=${id}`, "aria-current": here === id && "page" },
            name,
          ),
        ),
      ),
    ),
  );
};

const footer = (links) => [
  element(
    "div",
    { class: "wide" },
    element(
      "p",
      {},
      element("strong", {}, "Tarnhill"),
      " sells gear for desks, kitchens and hills.",
    ),
    element("p", {}, "Delivery €4.90, free from €75. Thirty days to change your mind."),
    ...links.map(([href, name]) => element("p", {}, element("a", { href }, name))),
    element(
      "p",
      { class: "quiet" },
      "This is a demonstration shop: nothing is sold, and what you enter stays in this browser.",
    ),
  ),
];

/** Say a sentence to everybody: on the screen for a while, and to screen readers. */
export const say = (sentence) => {
  const notice = byId("notice");
  notice.textContent = sentence;
  notice.classList.remove("shown");
  if (!sentence) return;
  void notice.offsetWidth; // restarts the animation
  notice.classList.add("shown");
};

/** Fill header and footer, and begin to tell of changes to the cart, which holds `count()` items. */
export const frame = (count, links = []) => {
  document
    .querySelector("body > header")
    .replaceChildren(
      element(
        "p",
        { class: "strip" },
        "10 % off with ",
        element("b", {}, "WELCOME10"),
        element(
          "span",
          { class: "roomy" },
          ", 20 % off from €100 with ",
          element("b", {}, "HILLS20"),
        ),
      ),
      element(
        "div",
        { class: "wide bar" },
        element(
          "a",
          { class: "brand", href: "index.html" },
          element("img", { src: asset("icon.svg"), alt: "", width: "34", height: "34" }),
          "Tarnhill",
        ),
        searchForm(),
        cartLink(count),
      ),
      categoryLinks(),
    );
  document.querySelector("body > footer").replaceChildren(...footer(links));
  window.addEventListener("cart-change", (event) => say(event.detail));
};
