// The page of one product (?id=): picture, facts, adding it to the cart, reviews, its neighbours.

import { price, productById } from "./products.js";
import { add, count, lines } from "./cart.js";
import { element, picture } from "./dom.js";
import { frame, say } from "./frame.js";
import { heldLine, quantityChoice, showProduct, soldOutLine } from "./product-parts.js";
import { offerTools } from "./tools.js";

const buyForm = (product) => {
  if (!product.stock) {
    return soldOutLine("Out of stock. We do not know yet when it comes back.");
  }
  const quantity = quantityChoice();
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

const held = (product) => lines().find((each) => each.product === product)?.quantity;

const buying = (product) => [
  element("p", { class: "price big" }, price(product.price)),
  buyForm(product),
  heldLine(() => held(product)),
];

frame(count);
const product = productById(new URLSearchParams(location.search).get("id") ?? "");
showProduct(product, () => ({
  tile: picture(product.kind, product.colours, `Drawing: ${product.title}`),
  buying: buying(product),
}));
offerTools({ product });
