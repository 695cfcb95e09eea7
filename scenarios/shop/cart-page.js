// The cart page: lines with quantities, a coupon, sums, the way to the checkout.

import { price } from "./products.js";
import { applyCoupon, lines, removeCoupon, setQuantity, sums } from "./cart.js";
import { byId, element, picture } from "./dom.js";
import { frame } from "./frame.js";
import { offerTools } from "./tools.js";

const lineOf = ({ product, quantity }) => {
  const field = `quantity-${product.id}`;
  const choice = element("select", {
    id: field,
    onchange: () => setQuantity(product.id, Number(choice.value)),
  });
  for (let many = 1; many <= 10; many += 1) choice.append(new Option(String(many), String(many)));
  choice.value = String(quantity);
  return element(
    "li",
    {},
    picture(product.kind, product.colours),
    element(
      "div",
      {},
      element("h2", {}, element("a", { href: `product.html?id=${product.id}` }, product.title)),
      element("p", { class: "quiet" }, `${price(product.price)} each`),
      element(
        "p",
        { class: "amount" },
        element(
          "label",
          { for: field },
          "Quantity",
          element("span", { class: "unseen" }, ` of ${product.title}`),
        ),
        choice,
        element(
          "button",
          { type: "button", class: "plain", onclick: () => setQuantity(product.id, 0) },
          "Remove",
          element("span", { class: "unseen" }, ` ${product.title}`),
        ),
      ),
    ),
    element("p", { class: "price" }, price(product.price * quantity)),
  );
};

const couponForm = (coupon) => {
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

const sumLines = ({ subtotal, coupon, discount, total }) =>
  element(
    "dl",
    { class: "sums" },
    element("dt", {}, "Products"),
    element("dd", {}, price(subtotal)),
    ...(discount
      ? [element("dt", {}, `Coupon ${coupon}`), element("dd", {}, `−${price(discount)}`)]
      : []),
    element("dt", { class: "sum" }, "Total"),
    element("dd", { class: "sum" }, price(total)),
  );

const cartView = () => {
  if (!lines().length) {
    return [
      element("p", {}, "There is nothing in it yet."),
      element("p", {}, element("a", { class: "button", href: "index.html" }, "See all products")),
    ];
  }
  const paid = sums();
  return [
    element("ul", { class: "lines", "aria-label": "Products in the cart" }, ...lines().map(lineOf)),
    element(
      "section",
      { class: "summary", "aria-label": "Summary" },
      couponForm(paid.coupon),
      sumLines(paid),
      element("p", { class: "quiet" }, "Delivery is chosen at the checkout, free from €75."),
      element("a", { class: "button main", href: "checkout.html" }, "Go to checkout"),
    ),
  ];
};

// Rebuilding takes the focus from the element that was used; it goes to the one with the same id (the coupon
// field and its remove button share one), or to the heading when that is gone.
const show = () => {
  const focused = byId("cart").contains(document.activeElement) && document.activeElement;
  byId("cart").replaceChildren(...cartView());
  byId("cart").classList.toggle("split", lines().length > 0);
  if (focused) (byId(focused.id) ?? document.querySelector("h1")).focus();
};

frame();
show();
window.addEventListener("cart-change", show);
offerTools();
