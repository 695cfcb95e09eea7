// What is in a cart, for people: lines with quantities, a coupon, sums, the way to the checkout; and
// the short list of it that a checkout shows.
//
// A line is { id, title, href, kind, colours, price, quantity }; amounts are cents.

import { price } from "./products.js";
import { byId, element, picture } from "./dom.js";

const lineOf = ({ id, title, href, kind, colours, price: each, quantity }, setQuantity) => {
  const field = `quantity-${id}`;
  const choice = element("select", {
    id: field,
    onchange: () => setQuantity(id, Number(choice.value)),
  });
  for (let many = 1; many <= 10; many += 1) choice.append(new Option(String(many), String(many)));
  choice.value = String(quantity);
  return element(
    "li",
    {},
    picture(kind, colours),
    element(
      "div",
      {},
      element("h2", {}, element("a", { href }, title)),
      element("p", { class: "quiet" }, `${price(each)} each`),
      element(
        "p",
        { class: "amount" },
        element(
          "label",
          { for: field },
          "Quantity",
          element("span", { class: "unseen" }, ` of ${title}`),
        ),
        choice,
        element(
          "button",
          { type: "button", class: "plain", onclick: () => setQuantity(id, 0) },
          "Remove",
          element("span", { class: "unseen" }, ` ${title}`),
        ),
      ),
    ),
    element("p", { class: "price" }, price(each * quantity)),
  );
};

const couponForm = (coupon, { applyCoupon, removeCoupon }) => {
  if (coupon) {
    return element(
      "p",
      { class: "coupon" },
      `Coupon ${coupon} `,
      element(
        "button",
        { type: "button", id: "code", class: "plain", onclick: removeCoupon },
        "Remove",
        element("span", { class: "unseen" }, " coupon"),
      ),
    );
  }
  const problem = element("p", { class: "problem", id: "coupon-problem", role: "alert" });
  const code = element("input", {
    id: "code",
    autocomplete: "off",
    "aria-describedby": "coupon-problem",
    required: true,
  });
  return element(
    "form",
    {
      class: "coupon",
      onsubmit: (event) => {
        event.preventDefault();
        try {
          applyCoupon(code.value);
        } catch (error) {
          problem.textContent = error.message;
        }
      },
    },
    element("label", { for: "code" }, "Coupon code"),
    element("span", { class: "row" }, code, element("button", { type: "submit" }, "Apply")),
    problem,
  );
};

/** The lines of an order in short. */
export const briefList = (lines) =>
  element(
    "ul",
    { class: "brief" },
    ...lines.map(({ title, kind, colours, price: each, quantity }) =>
      element(
        "li",
        {},
        picture(kind, colours),
        element("span", {}, `${quantity} × ${title}`),
        element("span", { class: "price" }, price(each * quantity)),
      ),
    ),
  );

/** Names with amounts, the last one as the sum of them. */
export const sumList = (rows) =>
  element(
    "dl",
    { class: "sums" },
    ...rows.flatMap(([name, amount], index) => {
      const last = index === rows.length - 1 && { class: "sum" };
      return [element("dt", last || {}, name), element("dd", last || {}, amount)];
    }),
  );

/** The rows of a coupon that takes something off. */
export const couponRows = ({ coupon, discount }) =>
  discount ? [[`Coupon ${coupon}`, `−${price(discount)}`]] : [];

const cartView = (shop) => {
  const lines = shop.lines();
  if (!lines.length) {
    return [
      element("p", {}, "There is nothing in it yet."),
      element("p", {}, element("a", { class: "button", href: "index.html" }, "See all products")),
    ];
  }
  const paid = shop.sums();
  return [
    element(
      "ul",
      { class: "lines", "aria-label": "Products in the cart" },
      ...lines.map((line) => lineOf(line, shop.setQuantity)),
    ),
    element(
      "section",
      { class: "summary", "aria-label": "Summary" },
      couponForm(paid.coupon, shop),
      sumList([
        ["Products", price(paid.subtotal)],
        ...couponRows(paid),
        ["Total", price(paid.total)],
      ]),
      element("p", { class: "quiet" }, "Delivery is chosen at the checkout, free from €75."),
      element("a", { class: "button main", href: "checkout.html" }, "Go to checkout"),
    ),
  ];
};

/**
 * Show the cart of a shop ({ lines, sums, setQuantity, applyCoupon, removeCoupon }) and keep it right.
 *
 * Rebuilding takes the focus from the element that was used; it goes to the one with the same id (the
 * coupon field and its remove button share one), or to the heading when that is gone.
 */
export const showCart = (shop) => {
  const show = () => {
    const focused = byId("cart").contains(document.activeElement) && document.activeElement;
    byId("cart").replaceChildren(...cartView(shop));
    byId("cart").classList.toggle("split", shop.lines().length > 0);
    if (focused) (byId(focused.id) ?? document.querySelector("h1")).focus();
  };
  show();
  window.addEventListener("cart-change", show);
};
