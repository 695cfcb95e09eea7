// The front page: all products, or those that were looked for.

import { price } from "./products.js";
import { count } from "./cart.js";
import { frame } from "./frame.js";
import { showListing } from "./listing.js";
import { search } from "./search.js";
import { offerTools } from "./tools.js";

frame(count);
const onSearch = showListing({
  search,
  priceText: (product) => price(product.price),
  inStock: (product) => product.stock,
});
offerTools({ onSearch });
