// Building and filling parts of a page without ever parsing text as HTML.

/** A new element; `attributes` named on… are listeners, true and false set and leave out. */
export const element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
};

const SVG = "http://www.w3.org/2000/svg";

/** A file of the shop, wherever the page that asks for it lies. */
export const asset = (name) => new URL(name, import.meta.url).href;

/** The drawing of a kind of product on its tile; without a label it is mere decoration. */
export const picture = (kind, colours, label = "") => {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 240 240");
  if (label) {
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", label);
  } else {
    svg.setAttribute("aria-hidden", "true");
  }
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", asset(`pictures.svg#${kind}`));
  svg.append(use);
  const tile = element("span", { class: "tile" }, svg);
  for (const [name, colour] of Object.entries({ t: colours.a, ...colours })) {
    tile.style.setProperty(`--${name}`, colour);
  }
  return tile;
};

/** Stars for eyes and a sentence for ears. */
export const stars = (rating, count) => {
  const label = `Rated ${rating} of 5${count === undefined ? "" : ` by ${count} customers`}`;
  const bar = element("span", { class: "stars", role: "img", "aria-label": label });
  bar.style.setProperty("--share", `${rating * 20}%`);
  return bar;
};

export const byId = (id) => document.getElementById(id);
