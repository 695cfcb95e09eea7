// The shop's terms, each with an anchor of its own.

import { byId, element } from "../dom.js";
import { frame } from "./frame.js";
import { POLICIES } from "./policies.js";
import { offerStorefront } from "./storefront-tools.js";

frame();
byId("main").replaceChildren(
  element("h1", {}, "Delivery, returns and terms"),
  ...POLICIES.map(({ id, title, text }) =>
    element(
      "section",
      { id, class: "policy", "aria-labelledby": `${id}-heading` },
      element("h2", { id: `${id}-heading` }, title),
      element("p", {}, text),
    ),
  ),
);
if (location.hash) byId(location.hash.slice(1))?.scrollIntoView();
offerStorefront();
