// Elements, texts and numbers. What a page or a model wrote becomes text here, never markup.

const SVG = "http://www.w3.org/2000/svg";
const ATTRIBUTE = /^(?:aria-[a-z]+|class|for|id|role|tabindex|title|type|value|placeholder|autocomplete|hidden|disabled|open|scope|colspan|d|x|y|x1|x2|y1|y2|width|height|viewBox|preserveAspectRatio)$/;
const HIDDEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\p{Cs}\u{e0000}-\u{e007f}]/u;
const HIDDEN_PARTS = new RegExp(`(${HIDDEN.source})`, "gu");

const WORD_LIMIT = 100;
const LONG_WORD = new RegExp(`[^\\s]{${WORD_LIMIT}}`, "gu");

/** A text as nodes: characters that repaint, reorder or hide are shown by their numbers, and long
 * words have places to break, without which a browser takes seconds to lay them out. */
function said(text) {
  if (!HIDDEN.test(text)) return breakable(text);
  return text.split(HIDDEN_PARTS).filter(Boolean).flatMap((piece) => {
    if (!HIDDEN.test(piece)) return breakable(piece);
    const shown = document.createElement("span");
    shown.className = "hidden-character";
    shown.textContent = `\\u{${piece.codePointAt(0).toString(16)}}`;
    return shown;
  });
}

function breakable(text) {
  const nodes = [];
  let from = 0;
  if (text.length > WORD_LIMIT) for (const word of text.matchAll(LONG_WORD)) {
    const to = word.index + word[0].length;
    nodes.push(document.createTextNode(text.slice(from, to)), document.createElement("wbr"));
    from = to;
  }
  if (from < text.length || !nodes.length) nodes.push(document.createTextNode(text.slice(from)));
  return nodes;
}

/** The same as one plain text, for places that hold no nodes. */
const plain = (text) => said(text).map((node) => node.textContent).join("");

/** An element with the attributes above and nothing else: no address, no handler, no style. */
function el(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** The same for a drawing. */
function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (!ATTRIBUTE.test(name)) throw new TypeError(`${name} is not set here`);
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    if (child instanceof Node) element.append(child);
    else element.append(...said(String(child)));
  }
  return element;
}

/** Head and tail of a text that is meant to be short, so that nothing hides at its end. */
function brief(text, limit = 200) {
  const whole = String(text);
  if (whole.length <= limit) return whole;
  const tail = Math.floor(limit / 3);
  return `${whole.slice(0, limit - tail)} … ${whole.slice(-tail)} (${number(whole.length)} characters)`;
}

/** `640 ms`, `2.4 s`, `1 min 12 s`. */
function duration(ms) {
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

const grouped = new Intl.NumberFormat("en-US");
const number = (value) => grouped.format(value);
const percent = (share) => `${(share * 100).toFixed(share > 0 && share < 1 ? 1 : 0)} %`;
const plural = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;
const sum = (values) => values.reduce((total, value) => total + value, 0);

/** The value below which a share of the values lies; 0 without any. */
function quantile(values, share) {
  if (!values.length) return 0;
  const sorted = [...values].sort((one, other) => one - other);
  const at = (sorted.length - 1) * share;
  const low = sorted[Math.floor(at)];
  return low + (sorted[Math.ceil(at)] - low) * (at - Math.floor(at));
}

/** Wilson's score interval of a rate, 95 %. */
function interval(passed, total) {
  if (!total) return [0, 1];
  const z = 1.959964;
  const rate = passed / total;
  const middle = rate + (z * z) / (2 * total);
  const half = z * Math.sqrt((rate * (1 - rate)) / total + (z * z) / (4 * total * total));
  const whole = 1 + (z * z) / total;
  return [Math.max(0, (middle - half) / whole), Math.min(1, (middle + half) / whole)];
}
