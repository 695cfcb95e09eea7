// The drawings. Each says in words what it shows, or is hidden where the words stand beside it.

const WIDTH = 1000;

function drawing(height, label, ...children) {
  const named = label ? { role: "img", "aria-label": label } : { "aria-hidden": "true" };
  const view = { viewBox: `0 0 ${WIDTH} ${height}`, preserveAspectRatio: "none", height };
  return svg("svg", { class: "chart", ...view, ...named }, ...children);
}

function box(kind, x, width, y, height, title) {
  const at = { x: x.toFixed(2), y, width: Math.max(width, 0).toFixed(2), height };
  return svg("rect", { class: kind, ...at }, title ? svg("title", {}, title) : null);
}

/** Shares side by side; `parts` are [kind, value], of `whole` or of their sum. */
function shares(parts, { whole = sum(parts.map((part) => part[1])), height = 8, label } = {}) {
  let x = 0;
  const boxes = parts.map(([kind, value]) => {
    const width = whole ? (value / whole) * WIDTH : 0;
    x += width;
    return box(kind, x - width, width, 0, height);
  });
  return drawing(height, label, box("track", 0, WIDTH, 0, height), ...boxes);
}

/** A pass rate: how many passed, failed and were not judged, and under it the interval. */
function rate(counts, label) {
  const total = counts.passed + counts.failed + counts.error;
  const judged = counts.passed + counts.failed;
  const [low, high] = interval(counts.passed, judged);
  const line = (x1, y1, x2, y2) => svg("line", { class: "whisker", x1, y1, x2, y2 });
  const marks = judged ? [
    line(low * WIDTH, 17, high * WIDTH, 17),
    line(low * WIDTH, 13, low * WIDTH, 21),
    line(high * WIDTH, 13, high * WIDTH, 21),
  ] : [];
  let x = 0;
  const boxes = ["passed", "failed", "error"].map((kind) => {
    const width = total ? (counts[kind] / total) * WIDTH : 0;
    x += width;
    return box(kind, x - width, width, 0, 8);
  });
  return drawing(22, label, box("track", 0, WIDTH, 0, 8), ...boxes, ...marks);
}

/** How values are spread: `bins` columns from 0 to the longest. */
function histogram(values, bins, label) {
  const longest = Math.max(...values, 1);
  const counts = Array(bins).fill(0);
  for (const value of values) counts[Math.min(bins - 1, Math.floor((value / longest) * bins))] += 1;
  const most = Math.max(...counts);
  const step = WIDTH / bins;
  const height = 44;
  return drawing(height, label, ...counts.map((count, bin) => {
    const tall = count ? Math.max(2, (count / most) * height) : 0;
    const from = duration((bin / bins) * longest);
    const to = duration(((bin + 1) / bins) * longest);
    return box("bar", bin * step, step - 3, height - tall, tall, `${from} to ${to}: ${count}`);
  }), box("track", 0, WIDTH, height - 1, 1));
}

/** When model and page were at work in a conversation; what is left is our own. */
function waterfall(spans, length) {
  const height = 18;
  return drawing(height, null, box("own", 0, WIDTH, 6, height - 12), ...spans.map((span) => {
    const x = (span.from / length) * WIDTH;
    const width = Math.max(2, ((span.to - span.from) / length) * WIDTH);
    return box(span.kind, x, width, 0, height, `${span.what}: ${duration(span.to - span.from)}`);
  }));
}

function legend(parts) {
  return el("ul", { class: "legend" }, parts.map(([kind, text]) =>
    el("li", {}, el("span", { class: `swatch ${kind}`, "aria-hidden": "true" }), text)));
}
