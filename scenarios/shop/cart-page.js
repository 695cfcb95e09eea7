// The cart page.

import { showCart } from "./basket.js";
import { applyCoupon, count, lines, removeCoupon, setQuantity, sums } from "./cart.js";
import { frame } from "./frame.js";
import { offerTools } from "./tools.js";

const shown = ({ product: { id, title, kind, colours, price }, quantity }) => ({
  id,
  title,
  href: `product.html?id=${id}`,
  kind,
  colours,
  price,
  quantity,
});

frame(count);
showCart({ lines: () => lines().map(shown), sums, setQuantity, applyCoupon, removeCoupon });
offerTools();
