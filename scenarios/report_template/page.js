// The page: verdict and overview, the cases or the one run, colours, and what stands at the end.

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

function counted(cases) {
  const counts = { passed: 0, failed: 0, error: 0 };
  for (const one of cases) counts[one.verdict] += 1;
  return counts;
}

function numbered(cases) {
  const times = new Map();
  const key = (one) => `${one.file}\n${one.name}`;
  for (const one of cases) times.set(key(one), (times.get(key(one)) || 0) + 1);
  cases.forEach((one, at) => Object.assign(one, { at, repeats: times.get(key(one)) }));
}

function card(title, ...children) {
  return el("figure", { class: "card" }, el("figcaption", {}, title), ...children);
}

function big(text, beside) {
  return el("p", { class: "big" }, text, beside ? el("span", { class: "beside" }, beside) : null);
}

function rateCard(cases) {
  const counts = counted(cases);
  const judged = counts.passed + counts.failed;
  if (!judged) return card("Pass rate", big("–"), el("p", { class: "soft" }, "No case could be judged."));
  const [low, high] = interval(counts.passed, judged);
  const between = `${percent(low)} to ${percent(high)}`;
  const label = `${counts.passed} of ${judged} judged cases passed; with 95 % confidence the rate is ${between}`;
  const most = Math.max(...cases.map((one) => one.repeats));
  const every = new Map();
  for (const one of cases) {
    const key = `${one.file}\n${one.name}`;
    every.set(key, (every.get(key) ?? true) && one.verdict === "passed");
  }
  const always = [...every.values()].filter(Boolean).length;
  return card("Pass rate", big(percent(counts.passed / judged), `95 %: ${between}`), rate(counts, label),
    legend([["passed", `${number(counts.passed)} passed`], ["failed", `${number(counts.failed)} failed`],
      ...(counts.error ? [["error", `${number(counts.error)} not judged`]] : [])]),
    most > 1 ? el("p", { class: "soft" }, `${number(always)} of ${plural(every.size, "case")} passed all ${most} times`) : null);
}

function causesCard(cases, list) {
  const counts = new Map();
  for (const one of cases) if (one.why) counts.set(one.why, (counts.get(one.why) || 0) + 1);
  if (!counts.size) return card("Why cases failed", el("p", { class: "soft" }, "None did."));
  const rows = [...counts].sort((one, other) => other[1] - one[1]);
  const most = rows[0][1];
  return card("Why cases failed", el("ul", { class: "causes" }, rows.map(([cause, count]) => {
    const button = el("button", { type: "button", class: "cause" },
      el("span", { class: "cause-name" }, causeWords(cause)), el("span", { class: "figure" }, number(count)),
      shares([[cause === "not-judged" ? "error" : "failed", count]], { whole: most, height: 4 }));
    button.addEventListener("click", () => {
      list.choose({ verdict: "all", cause });
      byId("cases").scrollIntoView();
    });
    return el("li", {}, button);
  })));
}

function timeCard(cases) {
  const totals = cases.map(total);
  const whole = (kind) => sum(cases.map((one) => one.ms?.[kind] ?? 0));
  const parts = ["model", "page", "own"].map((kind) => [kind, whole(kind)]);
  const median = duration(quantile(totals, 0.5));
  const slow = duration(quantile(totals, 0.9));
  const label = `Times of the cases: half take up to ${median}, nine of ten up to ${slow}`;
  return card("Time of a case", big(median, `median, nine of ten up to ${slow}`),
    cases.length > 1 ? histogram(totals, 24, label) : null,
    cases.length > 1 ? el("p", { class: "axis" }, el("span", {}, "0"), el("span", {}, duration(Math.max(...totals)))) : null,
    shares(parts), legend(parts.map(([kind, ms]) => [kind, `${kind} ${duration(ms)}`])));
}

function tokensCard(cases) {
  const whole = (kind) => sum(cases.map((one) => one.tokens?.[kind] ?? 0));
  const [read, cached, written] = ["prompt", "cached", "completion"].map(whole);
  if (!read && !written) return card("Tokens", big("–"), el("p", { class: "soft" }, "The model counted none."));
  const fresh = Math.max(0, read - cached);
  return card("Tokens", big(number(read + written), `median of a case ${number(Math.round(quantile(cases.map(tokensOf), 0.5)))}`),
    shares([["cached", cached], ["read", fresh], ["written", written]]),
    legend([["cached", `${number(cached)} read, cached`], ["read", `${number(fresh)} read anew`], ["written", `${number(written)} written`]]));
}

function groupsTable(cases) {
  const groups = new Map();
  for (const one of cases) {
    if (!groups.has(one.group)) groups.set(one.group, []);
    groups.get(one.group).push(one);
  }
  if (groups.size < 2) return null;
  const body = [...groups].map(([name, members]) => {
    const counts = counted(members);
    const judged = counts.passed + counts.failed;
    const [low, high] = interval(counts.passed, judged);
    const between = judged ? `${Math.round(low * 100)} to ${Math.round(high * 100)} %` : "–";
    return el("tr", {}, el("th", { scope: "row" }, brief(name || "–")),
      el("td", { class: "figure" }, `${number(counts.passed)} of ${number(members.length)}`),
      el("td", { class: "group-rate" }, rate(counts)), el("td", { class: "figure wide" }, between),
      el("td", { class: "figure wide" }, duration(quantile(members.map(total), 0.5))),
      el("td", { class: "figure wide" }, number(sum(members.map(tokensOf)))));
  });
  const heads = [["File", ""], ["Passed", "figure"], ["Rate", ""], ["95 %", "figure wide"], ["Median time", "figure wide"], ["Tokens", "figure wide"]];
  return el("section", { class: "groups", "aria-labelledby": "groups-title" },
    el("h2", { id: "groups-title" }, "By file"),
    el("table", {}, el("thead", {}, el("tr", {}, heads.map(([text, kind]) => el("th", { scope: "col", class: kind }, text)))), el("tbody", {}, body)));
}

function subtitle(...more) {
  const { model, began, wall_ms: wall } = data.about;
  const pieces = [...more, model, began, wall === null ? "" : `${duration(wall)} in all`].filter(Boolean);
  return el("p", { class: "subtitle" }, pieces.flatMap((piece, at) => [at ? el("span", { class: "dot", "aria-hidden": "true" }, "·") : null, el("span", {}, brief(piece))]));
}

function heading(verdict, text) {
  return el("h1", { id: "verdict" }, el("span", { class: `mark ${verdict}`, "aria-hidden": "true" }, MARKS[verdict]), text);
}

function showCases(cases) {
  const counts = counted(cases);
  const verdict = counts.failed ? "failed" : counts.error || !cases.length ? "error" : "passed";
  const words = `${number(counts.passed)} of ${number(cases.length)} passed`;
  document.title = plain(`${words} – webmcp-agent ${brief(data.about.command)}`);
  const list = cases.length ? new CaseList(data, byId("cases")) : null;
  const cards = list ? el("div", { class: "cards" }, rateCard(cases), causesCard(cases, list), timeCard(cases), tokensCard(cases)) : null;
  byId("overview").append(heading(verdict, words), data.about.title ? el("p", { class: "task" }, brief(data.about.title, 2000)) : "", subtitle(), cards ?? "", groupsTable(cases) ?? "");
  if (!list) byId("cases").append(el("h2", { id: "cases-title" }, "Cases"), el("p", { class: "empty" }, "There are none."));
  else if (location.hash) list.openNamed(location.hash);
}

function showRun(one) {
  const words = one.finish ? FINISH_WORDS[one.finish] || brief(one.finish) : "Cut off";
  const text = one.verdict === "failed" && one.finish === "stop" ? "Ended, but the last call failed" : words;
  document.title = plain(`${text} – webmcp-agent ${brief(data.about.command)}`);
  byId("overview").append(heading(one.verdict, text), data.about.title ? el("p", { class: "task" }, brief(data.about.title, 2000)) : "", subtitle());
  if (one.answer) byId("overview").append(el("div", { class: "answer-card" }, el("p", { class: "turn-role" }, "Answer"), block(one.answer)));
  byId("cases").append(el("h2", { id: "cases-title" }, "What happened"), el("div", { class: "body alone" }, caseBody(one, data.texts)));
}

/** Light, dark, or as the system has it; kept for the next report where the browser keeps things. */
function themes() {
  const key = "webmcp-agent-report-colours";
  const stored = () => {
    try {
      return localStorage.getItem(key);
    } catch {
      return null;
    }
  };
  const choose = (theme) => {
    document.documentElement.dataset.theme = theme;
    for (const [name, button] of buttons) button.setAttribute("aria-pressed", String(name === theme));
  };
  const buttons = [["auto", "Auto"], ["light", "Light"], ["dark", "Dark"]].map(([theme, word]) => {
    const button = el("button", { type: "button", class: "segment", "aria-pressed": "false" }, word);
    button.addEventListener("click", () => {
      choose(theme);
      try {
        localStorage.setItem(key, theme);
      } catch {
        // Not kept, then.
      }
    });
    return [theme, button];
  });
  byId("themes").append(...buttons.map((pair) => pair[1]));
  choose(["light", "dark"].includes(stored()) ? stored() : "auto");
}

themes();
byId("command").append(...said(brief(data.about.command)));
numbered(data.cases);
if (data.about.command === "run" && data.cases.length === 1) showRun(data.cases[0]);
else showCases(data.cases);
byId("end").append(el("p", {}, `Texts longer than ${number(data.text_limit)} characters are cut; they are whole in the folders of the cases. This page loads nothing.`));
