// One case as it went: what was asked, and step by step the prompt, the reply, calls and answers.

const OUTCOME_WORDS = {
  ok: "ok", "not-found": "not found", changed: "tool changed", "invalid-args": "invalid arguments",
  failed: "failed", denied: "denied", "needs-user": "needs the person", blocked: "blocked",
  timeout: "timed out", navigated: "page moved", "no-answer": "no answer", cancelled: "cancelled",
  unavailable: "page gone",
};
const FINISH_WORDS = {
  stop: "Done", aborted: "Stopped", "max-steps": "Out of steps", loop: "Going in circles",
  "repair-failed": "The model could not write a call that fits",
};
const LONG_TEXT = 900;
const LONG_LINES = 14;

/** A text in its own lines; a long one shows its beginning and a button. */
function block(text, kind = "") {
  const pre = el("pre", { class: kind, tabindex: "-1" }, text);
  if (text.length <= LONG_TEXT && text.split("\n", LONG_LINES + 1).length <= LONG_LINES) return pre;
  pre.classList.add("clamped");
  const size = `${number(text.length)} characters`;
  const button = el("button", { type: "button", class: "quiet", "aria-expanded": "false" }, `Show all, ${size}`);
  button.addEventListener("click", () => {
    const clamped = pre.classList.toggle("clamped");
    button.setAttribute("aria-expanded", String(!clamped));
    button.textContent = clamped ? `Show all, ${size}` : "Show less";
  });
  return el("div", { class: "long" }, pre, button);
}

/** JSON with line breaks where it is longer than a line; other text as it is. */
function pretty(text) {
  if (!/^\s*[[{]/.test(text) || text.length < 72) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function entryRow(kind, name, head, ms, ...body) {
  return el("div", { class: `entry ${kind}` },
    el("div", { class: "entry-head" },
      el("span", { class: "entry-name" }, name),
      el("span", { class: "entry-what" }, head),
      typeof ms === "number" ? el("span", { class: "entry-ms" }, duration(ms)) : null),
    ...body);
}

/** The prompt, folded; turns that the step before did not have are marked. */
function promptEntry(entry, texts, seen) {
  const system = entry.system.map((at) => texts[at]).join("\n");
  const size = system.length + sum(entry.turns.map((turn) => texts[turn.content].length));
  const more = entry.not_shown ? `, ${number(entry.not_shown)} more not shown` : "";
  const what = `${plural(size, "character")}, ${plural(entry.turns.length, "turn")}, ${plural(entry.tools.length, "tool")}${more}`;
  const before = new Set(seen);
  seen.clear();
  for (const turn of entry.turns) seen.add(`${turn.role} ${turn.content}`);
  const fill = () => [
    el("p", { class: "turn-role" }, "system"),
    block(system),
    ...entry.turns.flatMap((turn) => {
      const fresh = before.size > 0 && !before.has(`${turn.role} ${turn.content}`);
      const role = turn.name ? `${turn.role}, ${brief(turn.name)}` : turn.role;
      return [
        el("p", { class: "turn-role" }, role, fresh ? el("span", { class: "fresh" }, "new in this step") : null),
        block(texts[turn.content]),
      ];
    }),
    el("p", { class: "turn-role" }, "tools shown"),
    el("p", { class: "tool-names" }, entry.tools.map((at) => texts[at]).join("  ") || "none"),
  ];
  return folded("Prompt", what, fill);
}

/** A part that is drawn when it is opened. */
function folded(name, what, fill) {
  const inside = el("div", { class: "folded-body" });
  const details = el("details", { class: "entry folded" },
    el("summary", {}, el("span", { class: "entry-name" }, name), el("span", { class: "entry-what" }, what)), inside);
  details.addEventListener("toggle", () => {
    if (details.open && !inside.firstChild) inside.append(...fill());
  });
  return details;
}

function replyEntry(entry) {
  const usage = entry.usage || {};
  const read = usage.prompt_tokens;
  const cached = usage.cached_tokens ? ` (${number(usage.cached_tokens)} cached)` : "";
  const tokens = typeof read === "number" ? `${number(read)} tokens read${cached}, ${number(usage.completion_tokens || 0)} written` : plural((entry.text || "").length, "character");
  const cut = entry.finish_reason === "length" ? "cut off; " : "";
  return entryRow("reply", "Reply", cut + tokens, entry.ms, entry.text ? block(entry.text) : el("p", { class: "none" }, "empty"));
}

function callEntry(entry, failures) {
  const wrong = failures.filter((failure) => failure.call !== undefined && failure.call === entry.number);
  const outcome = entry.outcome || "no-answer";
  const uncertain = outcome !== "ok" && entry.may_have_happened ? el("span", { class: "entry-note" }, "may have happened") : null;
  const head = [
    el("code", { class: "tool" }, brief(entry.name)),
    el("span", { class: `outcome ${outcome === "ok" ? "passed" : "failed"}` }, OUTCOME_WORDS[outcome] || brief(outcome)),
    uncertain,
  ];
  const body = [
    entry.args && entry.args !== "{}" ? block(pretty(entry.args), "args") : null,
    typeof entry.text === "string" ? block(pretty(entry.text) || "(an empty text)", "answer") : null,
    ...wrong.map((failure) => el("p", { class: "wrong" }, failure.message)),
  ];
  return entryRow(`call${wrong.length ? " is-wrong" : ""}`, entry.number ? `Call ${entry.number}` : "Call", head, entry.ms, ...body);
}

const NOTE_WORDS = {
  fitted: "Fitted", read: "Read as", arguments: "Arguments", repair: "Sent back", correction: "Sent back",
  repeat: "Repeated", warning: "Warning",
};

function entryOf(entry, texts, seen, failures) {
  switch (entry.kind) {
    case "prompt": return promptEntry(entry, texts, seen);
    case "reply": return replyEntry(entry);
    case "call": return callEntry(entry, failures);
    case "said": return entryRow("said", "Shown", "to the person", null, block(entry.text));
    default: return entryRow("note", NOTE_WORDS[entry.what] || entry.what, "", null, block(entry.text));
  }
}

function stepItem(step, texts, seen, failures, pictures) {
  const nested = new Map();
  const page = step.entries.find((entry) => entry.kind === "page" && !entry.agent);
  const entries = step.entries.filter((entry) => entry.kind !== "page").map((entry) => {
    if (!entry.agent) return entryOf(entry, texts, seen, failures);
    if (!nested.has(entry.agent)) nested.set(entry.agent, new Set());
    const row = entryOf(entry, texts, nested.get(entry.agent), []);
    row.classList.add("nested");
    row.prepend(el("span", { class: "agent" }, `sub-agent ${brief(entry.agent)}`));
    return row;
  });
  const read = page ? `page: ${plural(page.tools || 0, "tool")}, read in ${duration(page.ms || 0)}` : "";
  const head = el("div", { class: "step-head" }, el("h4", {}, `Step ${step.step}`), el("span", {}, read));
  return el("li", { class: "step" }, head, ...entries, ...pictures.map(picture));
}

/** Where a film or picture lies: beside the report or below it, never at an address. */
function beside(address) {
  if (/^(?:[a-z][a-z0-9+.-]*:|\/|\\)/i.test(address)) throw new TypeError(`${address} is not beside the report`);
  return address;
}

function picture(medium) {
  const image = el("img", { class: "picture" });
  image.alt = medium.name;
  image.loading = "lazy";
  image.src = beside(medium.address);
  return el("figure", { class: "medium" }, image, el("figcaption", {}, medium.name));
}

function film(medium) {
  const video = el("video", { class: "picture" });
  video.controls = true;
  video.preload = "none";
  video.muted = true;
  video.src = beside(medium.address);
  if (medium.poster) video.poster = beside(medium.poster);
  video.setAttribute("aria-label", `Recording ${medium.name}`);
  return el("figure", { class: "medium" }, video, el("figcaption", {}, medium.name));
}

/** When model and page were at work, from the moment that the first of them began. */
function spansOf(one) {
  const spans = [];
  for (const request of one.requests || []) for (const step of request.steps) for (const entry of step.entries) {
    if (typeof entry.at !== "number" || typeof entry.ms !== "number" || entry.agent) continue;
    const kind = entry.kind === "reply" ? "model" : "page";
    const what = entry.kind === "call" ? `call ${brief(entry.name)}` : entry.kind === "reply" ? "reply" : "reading the page";
    spans.push({ kind, what, from: entry.at - entry.ms, to: entry.at });
  }
  const start = Math.min(...spans.map((span) => span.from));
  for (const span of spans) Object.assign(span, { from: span.from - start, to: span.to - start });
  return spans;
}

function timesOf(one) {
  const ms = one.ms || { total: 0, model: 0, page: 0, own: 0 };
  const spans = spansOf(one);
  const length = Math.max(ms.total, ...spans.map((span) => span.to), 1);
  const tokens = one.tokens || { prompt: 0, cached: 0, completion: 0 };
  const read = tokens.cached ? `${number(tokens.prompt)} tokens read (${number(tokens.cached)} cached)` : `${number(tokens.prompt)} tokens read`;
  return el("div", { class: "case-times" },
    spans.length ? waterfall(spans, length) : shares([["model", ms.model], ["page", ms.page], ["own", ms.own]], { height: 18 }),
    legend([
      ["model", `model ${duration(ms.model)}`], ["page", `page ${duration(ms.page)}`], ["own", `own ${duration(ms.own)}`],
    ]),
    el("p", { class: "case-sums" }, `${duration(ms.total)} in all`,
      tokens.prompt || tokens.completion ? `, ${read}, ${number(tokens.completion)} written` : ""));
}

function callsLine(one) {
  const calls = (one.requests || []).flatMap((request) => request.steps.flatMap((step) =>
    step.entries.filter((entry) => entry.kind === "call" && !entry.agent)));
  const names = calls.flatMap((call, at) => [
    at ? ", " : ": ", el("code", {}, brief(call.name)), call.outcome === "ok" ? "" : ` (${OUTCOME_WORDS[call.outcome] || brief(call.outcome)})`,
  ]);
  return el("p", { class: "case-calls" }, el("strong", {}, calls.length === 1 ? "1 call ran" : `${number(calls.length)} calls ran`), ...names);
}

function facts(one) {
  const rows = [["file", one.file], ["repeat", one.repeats > 1 ? `${one.repeat} of ${one.repeats}` : ""], ["model", one.model], ["open at the end", one.url], ["folder", one.folder === "." ? "" : one.folder]];
  return el("dl", { class: "facts" }, rows.filter((row) => row[1]).map(([name, value]) =>
    el("div", {}, el("dt", {}, name), el("dd", {}, brief(value, 500)))));
}

function endLine(end) {
  if (!end) return el("p", { class: "end-line failed" }, "Cut off");
  const words = FINISH_WORDS[end.finish] || brief(end.finish);
  return el("p", { class: `end-line ${end.finish === "stop" ? "passed" : "failed"}` }, end.message ? `${words}: ${end.message}` : words);
}

/** All of a case; drawn when it is opened. */
function caseBody(one, texts) {
  const failures = one.failures || [];
  const pictures = one.media.filter((medium) => medium.kind === "picture");
  const ofStep = (step) => pictures.filter((medium) => Number(/^step-0*(\d+)\D/.exec(medium.name)?.[1]) === step);
  const placed = new Set();
  const requests = (one.requests || []).map((request) => {
    const seen = new Set();
    return el("section", { class: "request" },
      request.ask === null ? null : el("blockquote", { class: "ask" }, request.ask),
      el("ol", { class: "steps" }, request.steps.map((step) => {
        const shown = one.requests.length === 1 ? ofStep(step.step) : [];
        for (const medium of shown) placed.add(medium);
        return stepItem(step, texts, seen, failures, shown);
      })),
      endLine(request.end));
  });
  return [
    failures.length ? el("ul", { class: "failures" }, failures.map((failure) => el("li", {},
      el("span", { class: "failure-kind" }, failure.kind === "error" ? "not judged" : brief(`${failure.check}: ${failure.kind}`)),
      el("span", { class: "failure-text" }, failure.message)))) : null,
    facts(one),
    timesOf(one),
    one.requests ? callsLine(one) : el("p", { class: "none" }, "Its steps are left out to keep this page small; they are in its folder."),
    one.media.filter((medium) => medium.kind === "video").map(film),
    ...requests,
    pictures.filter((medium) => !placed.has(medium)).map(picture),
  ].flat().filter(Boolean);
}
