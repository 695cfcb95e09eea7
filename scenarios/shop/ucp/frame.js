// Header and footer of this face: those of the shop, with its own cart and a way to its terms.

import { frame as shopFrame } from "../frame.js";
import { count } from "./store.js";

export { say } from "../frame.js";

export const frame = () => shopFrame(count, [["policies.html", "Delivery, returns and terms"]]);
