// The storefront: all products, or those that were looked for.

import { showListing } from "../listing.js";
import { price } from "../products.js";
import { search } from "./catalog.js";
import { frame } from "./frame.js";
import { variantsOf } from "./goods.js";
import { offerStorefront } from "./storefront-tools.js";

const priceText = (product) => {
  const prices = variantsOf(product).map((variant) => variant.price);
  const least = Math.min(...prices);
  return least < Math.max(...prices) ? `from ${price(least)}` : price(least);
};

frame();
const onSearch = showListing({
  search,
  priceText,
  inStock: (product) => variantsOf(product).some(({ available }) => available),
});
offerStorefront({ onSearch });
