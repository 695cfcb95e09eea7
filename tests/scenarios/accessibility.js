// What a screen reader, a keyboard or weak eyes would stumble over on this page; [] is good.
// The landmarks and the name are those of the demo shop where nothing else is said.
(asked) => {
  const {
    name = "Tarnhill",
    landmarks = ["body > header", "main", "body > footer", "nav"],
    skip = "#main",
  } = asked ?? {};
  const found = [];
  const visible = (element) => element.checkVisibility({ visibilityProperty: true });
  const all = (selector) => [...document.querySelectorAll(selector)].filter(visible);
  const tell = (element, problem) => found.push(`${element.outerHTML.slice(0, 90)}: ${problem}`);

  if (!document.documentElement.lang) found.push("the page names no language");
  if (!document.title.endsWith(name) && !document.title.startsWith(name))
    found.push(`the title is ${document.title}`);
  const headings = all("h1");
  if (headings.length !== 1 || !headings[0].closest("main") || !headings[0].textContent.trim())
    found.push(`${headings.length} main headings`);
  for (const landmark of landmarks)
    if (!document.querySelector(landmark)) found.push(`no ${landmark}`);
  for (const nav of all("nav"))
    if (!nav.getAttribute("aria-label")) tell(nav, "navigation without a name");
  if (document.body.firstElementChild.getAttribute("href") !== skip)
    found.push("no skip link first");

  let level = 0;
  for (const heading of all("main :is(h1, h2, h3, h4)")) {
    const own = Number(heading.tagName[1]);
    if (own > level + 1) tell(heading, `level ${own} after ${level}`);
    level = own;
  }
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  for (const id of ids)
    if (ids.filter((other) => other === id).length > 1) found.push(`two elements are #${id}`);
  for (const field of all("input, select, textarea"))
    if (![...field.labels].some((label) => label.textContent.trim())) tell(field, "no label");
  for (const control of all("a, button")) {
    const said = control.getAttribute("aria-label") ?? control.innerText + control.textContent;
    if (!said.trim()) tell(control, "no name");
  }
  for (const image of all("img")) if (!image.hasAttribute("alt")) tell(image, "no alt");
  for (const drawing of all("svg"))
    if (drawing.getAttribute("aria-hidden") !== "true" && !drawing.getAttribute("aria-label"))
      tell(drawing, "neither named nor hidden");
  for (const list of all("ul, ol"))
    if ([...list.children].some((child) => child.tagName !== "LI")) tell(list, "not only items");

  // Contrast, where text lies on a plain colour: 4.5 to 1, as WCAG 2.2 wants it of body text.
  const channels = (colour) => colour.match(/^rgba?\(([^)]*)\)$/)?.[1].split(",").map(Number);
  const luminance = (rgb) => {
    const [red, green, blue] = rgb
      .slice(0, 3)
      .map((value) => value / 255)
      .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const background = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = channels(getComputedStyle(at).backgroundColor);
      if (!colour || (colour[3] ?? 1) > 0) return colour;
    }
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let measured = 0;
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !visible(element) || element.closest(".unseen, #notice"))
      continue;
    const behind = background(element);
    const ink = channels(getComputedStyle(element).color);
    if (!behind || !ink) continue;
    const [low, high] = [luminance(ink), luminance(behind)].sort((one, two) => one - two);
    measured += 1;
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < 4.5) tell(element, `contrast ${ratio.toFixed(2)}`);
  }
  if (!measured) found.push("no contrast could be measured");

  if (document.documentElement.scrollWidth > innerWidth)
    found.push(`${document.documentElement.scrollWidth} px wide in ${innerWidth}`);
  return found;
};
