// The page of one product (?id=, and &variant= for one of its variants): its options are chosen here.

import { element, picture } from "../dom.js";
import { heldLine, quantityChoice, showProduct, soldOutLine } from "../product-parts.js";
import { price, productById } from "../products.js";
import { frame, say } from "./frame.js";
import { featuredFirst, pageOf } from "./documents.js";
import { fullTitle, matching, optionsOf, soldOutText, variantsOf } from "./goods.js";
import { add, lines } from "./store.js";
import { offerStorefront } from "./storefront-tools.js";

const asked = new URLSearchParams(location.search);
const product = productById(asked.get("id") ?? "");

const begin = () => {
  const variants = variantsOf(product);
  const named = variants.find(({ id }) => id.endsWith(`/${asked.get("variant")}`));
  return named ?? featuredFirst(variants)[0];
};

const optionField = ({ name, labels }, variant) =>
  element(
    "fieldset",
    { class: "option" },
    element("legend", {}, name),
    element(
      "div",
      { class: "choices" },
      ...labels.map((label) => {
        const others = variant.options.map((each) => (each.name === name ? { name, label } : each));
        const [other] = matching(product, others);
        return element(
          "label",
          { class: other?.available ? "choice" : "choice gone" },
          element("input", {
            type: "radio",
            name,
            value: label,
            checked: variant.options.some((each) => each.name === name && each.label === label),
          }),
          element("span", {}, label),
          ...(other?.available ? [] : [element("span", { class: "unseen" }, " (sold out)")]),
        );
      }),
    ),
  );

const buyRow = (variant) => {
  if (!variant.available) return [soldOutLine(soldOutText(variant))];
  return [
    element(
      "div",
      { class: "buy" },
      element("label", { for: "quantity" }, "Quantity"),
      quantityChoice(),
      element("button", { type: "submit", class: "main" }, "Add to cart"),
    ),
  ];
};

const productParts = () => {
  let variant = begin();
  const tile = element("div", { class: "variant-tile" });
  const cost = element("p", { class: "price big", "aria-live": "polite" });
  const form = element("form", { class: "choose", "aria-label": "Choose and add to the cart" });
  const held = heldLine(() => lines().find((line) => line.variant === variant)?.quantity);

  const show = () => {
    tile.replaceChildren(picture(product.kind, variant.colours, `Drawing: ${fullTitle(variant)}`));
    cost.textContent = price(variant.price);
    form.replaceChildren(
      ...optionsOf(product).map((option) => optionField(option, variant)),
      ...buyRow(variant),
    );
  };
  form.addEventListener("change", ({ target }) => {
    if (target.type !== "radio") return;
    const { name, value: label } = target;
    const chosen = variant.options.map((each) => (each.name === name ? { name, label } : each));
    [variant] = matching(product, chosen);
    show();
    history.replaceState(null, "", pageOf(variant));
    [...form.querySelectorAll(":checked")].find((each) => each.name === name)?.focus();
    window.dispatchEvent(new CustomEvent("cart-change", { detail: "" }));
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    try {
      add(variant, Number(form.elements.quantity.value));
    } catch (error) {
      say(error.message);
    }
  });
  show();
  return { tile, buying: [cost, form, held] };
};

frame();
showProduct(product, productParts);
offerStorefront();
