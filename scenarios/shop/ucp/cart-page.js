// The cart page.

import { showCart } from "../basket.js";
import { frame } from "./frame.js";
import { fullTitle, variantById } from "./goods.js";
import { pageOf } from "./documents.js";
import * as store from "./store.js";
import { offerStorefront } from "./storefront-tools.js";

const shown = ({ variant, quantity }) => ({
  id: variant.id,
  title: fullTitle(variant),
  href: pageOf(variant),
  kind: variant.product.kind,
  colours: variant.colours,
  price: variant.price,
  quantity,
});

frame();
showCart({
  lines: () => store.lines().map(shown),
  sums: store.sums,
  setQuantity: (id, quantity) => store.changeCart([{ variant: variantById(id), quantity }]),
  applyCoupon: (code) => store.changeCart([], [code]),
  removeCoupon: () => store.changeCart([], []),
});
offerStorefront();
