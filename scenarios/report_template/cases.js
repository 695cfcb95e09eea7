// The list of cases: one row each, failed first; filter, search, order; a row opens to its timeline.

const VERDICTS = { failed: "Failed", error: "Not judged", passed: "Passed" };
const MARKS = { passed: "✓", failed: "✗", error: "!" };
const ORDERS = {
  verdict: ["Failed first", (one, other) => rank(one) - rank(other) || one.at - other.at],
  file: ["As they ran", (one, other) => one.at - other.at],
  time: ["Slowest first", (one, other) => total(other) - total(one) || one.at - other.at],
  tokens: ["Most tokens first", (one, other) => tokensOf(other) - tokensOf(one) || one.at - other.at],
};
const CAUSE_WORDS = {
  "wrong-tool": "wrong tool", "missing-argument": "missing argument", "wrong-argument": "wrong argument",
  "extra-call": "extra call", "no-call": "no call", "missing-call": "missing call", "no-stop": "no stop",
  "unusable-reply": "unusable reply", "other-finish": "another end", "page-fault": "page fault",
  "wrong-answer": "wrong answer", "wrong-page": "wrong page", "not-judged": "not judged",
};

const rank = (one) => Object.keys(VERDICTS).indexOf(one.verdict);
const total = (one) => one.ms?.total ?? 0;
const tokensOf = (one) => (one.tokens?.prompt ?? 0) + (one.tokens?.completion ?? 0);
const causeWords = (cause) => CAUSE_WORDS[cause] || brief(cause, 60);

/** What a search looks at: all texts of a case but its prompts, in small letters. */
function haystack(one) {
  const found = [one.name, one.group, one.file, one.url, one.why && causeWords(one.why), one.answer];
  for (const failure of one.failures || []) found.push(failure.kind, failure.message);
  for (const request of one.requests || []) {
    found.push(request.ask);
    for (const step of request.steps) for (const entry of step.entries)
      if (entry.kind !== "prompt") found.push(entry.name, entry.args, entry.text, entry.outcome);
  }
  return found.filter(Boolean).join("\n").toLowerCase();
}

class CaseList {
  constructor(data, home) {
    this.data = data;
    this.home = home;
    this.verdict = "all";
    this.cause = "";
    this.order = "verdict";
    this.words = [];
    this.longest = Math.max(...data.cases.map(total), 1);
    this.haystacks = null;
    this.rows = data.cases.map((one) => this.row(one));
    this.list = el("ol", { class: "cases", id: "case-list" });
    this.status = el("p", { class: "status", role: "status" });
    this.nothing = el("p", { class: "empty", hidden: true }, "No case is like that.");
    home.append(this.toolbar(), this.columns(), this.list, this.nothing);
    this.list.addEventListener("keydown", (event) => this.moveFocus(event));
    this.sort();
    this.filter();
  }

  toolbar() {
    const counts = { all: this.data.cases.length };
    for (const one of this.data.cases) counts[one.verdict] = (counts[one.verdict] || 0) + 1;
    this.buttons = Object.entries({ all: "All", ...VERDICTS }).map(([verdict, word]) => {
      const button = el("button", { type: "button", class: `segment ${verdict}`, "aria-pressed": String(verdict === "all"), disabled: !counts[verdict] },
        word, el("span", { class: "segment-count" }, number(counts[verdict] || 0)));
      button.addEventListener("click", () => this.choose({ verdict }));
      return [verdict, button];
    });
    const search = el("input", { type: "search", id: "search", placeholder: "name, tool, answer …", autocomplete: "off" });
    search.addEventListener("input", () => {
      this.words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      this.filter();
    });
    const order = el("select", { id: "order" }, Object.entries(ORDERS).map(([key, [word]]) => el("option", { value: key }, word)));
    order.addEventListener("change", () => {
      this.order = order.value;
      this.sort();
    });
    const causes = [...new Set(this.data.cases.map((one) => one.why).filter(Boolean))].sort();
    this.causeSelect = el("select", { id: "cause" }, el("option", { value: "" }, "any cause"),
      causes.map((cause) => el("option", { value: cause }, causeWords(cause))));
    this.causeSelect.addEventListener("change", () => this.choose({ cause: this.causeSelect.value }));
    return el("div", { class: "toolbar" },
      el("div", { class: "toolbar-line" },
        el("h2", { id: "cases-title" }, "Cases"),
        el("div", { class: "segments", role: "group", "aria-label": "Which cases" }, this.buttons.map((pair) => pair[1])),
        el("label", { class: "field grow", for: "search" }, el("span", { class: "label" }, "Search"), search),
        causes.length ? el("label", { class: "field", for: "cause" }, el("span", { class: "label" }, "Cause"), this.causeSelect) : null,
        el("label", { class: "field", for: "order" }, el("span", { class: "label" }, "Order"), order)));
  }

  columns() {
    const head = (text, kind = "") => el("span", { class: kind, "aria-hidden": "true" }, text);
    return el("div", { class: "columns" }, head(""), this.status, head("Calls", "figure"),
      head("Time: model, page, own"), head("Tokens", "figure"), head(""));
  }

  row(one) {
    const id = `case-${one.at + 1}`;
    const failure = one.failures?.[0];
    const ms = one.ms || { model: 0, page: 0, own: 0, total: 0 };
    const { calls } = one;
    const others = one.repeats > 1 ? el("span", { class: "repeat" }, `${one.repeat} of ${one.repeats}`) : null;
    const parts = [["model", ms.model], ["page", ms.page], ["own", ms.own]];
    const button = el("button", { type: "button", class: "row", "aria-expanded": "false", "aria-controls": `${id}-body` },
      el("span", { class: `mark ${one.verdict}`, "aria-hidden": "true" }, MARKS[one.verdict]),
      el("span", { class: "what" },
        el("span", { class: "what-name" }, el("span", { class: "unseen" }, `${VERDICTS[one.verdict]}: `), brief(one.name), others),
        failure ? el("span", { class: "what-why" }, one.why ? el("strong", {}, causeWords(one.why)) : null, one.why ? " " : null, brief(failure.message, 300)) : null),
      el("span", { class: "figure calls" }, number(calls), el("span", { class: "unit" }, calls === 1 ? " call" : " calls")),
      el("span", { class: "time" }, shares(parts, { whole: this.longest, height: 6 }), el("span", { class: "figure" }, duration(ms.total))),
      el("span", { class: "figure tokens" }, number(tokensOf(one)), el("span", { class: "unit" }, " tokens")),
      el("span", { class: "chevron", "aria-hidden": "true" }));
    const body = el("div", { class: "body", id: `${id}-body`, hidden: true });
    const item = el("li", { class: `case ${one.verdict}`, id }, el("h3", {}, button), body);
    const row = { one, item, button, body };
    button.addEventListener("click", () => this.toggle(row));
    return row;
  }

  toggle(row, open = row.body.hidden) {
    if (open && !row.body.firstChild) row.body.append(...caseBody(row.one, this.data.texts));
    row.body.hidden = !open;
    row.item.classList.toggle("open", open);
    row.button.setAttribute("aria-expanded", String(open));
    if (open) remember(`#${row.item.id}`);
  }

  choose({ verdict = this.verdict, cause = this.cause }) {
    this.verdict = verdict;
    this.cause = cause;
    this.causeSelect.value = cause;
    for (const [key, button] of this.buttons) button.setAttribute("aria-pressed", String(key === verdict));
    this.filter();
  }

  sort() {
    const compare = ORDERS[this.order][1];
    this.rows.sort((first, second) => compare(first.one, second.one));
    this.list.append(...this.rows.map((row) => row.item));
  }

  filter() {
    if (this.words.length) this.haystacks ??= new Map(this.data.cases.map((one) => [one, haystack(one)]));
    let shown = 0;
    for (const row of this.rows) {
      const { one } = row;
      const fits = (this.verdict === "all" || one.verdict === this.verdict)
        && (!this.cause || one.why === this.cause)
        && this.words.every((word) => this.haystacks.get(one).includes(word));
      row.item.hidden = !fits;
      shown += fits ? 1 : 0;
    }
    this.nothing.hidden = shown > 0;
    const all = this.rows.length;
    this.status.textContent = shown === all ? `${plural(all, "case")}` : `${number(shown)} of ${plural(all, "case")}`;
  }

  /** Up, down, Home and End go from row to row. */
  moveFocus(event) {
    if (!event.target.classList.contains("row")) return;
    const shown = this.rows.filter((row) => !row.item.hidden).map((row) => row.button);
    const at = shown.indexOf(event.target);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: shown.length - 1 }[event.key];
    if (next === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    shown[Math.min(Math.max(next, 0), shown.length - 1)].focus();
  }

  /** Open the case that the address names. */
  openNamed(hash) {
    const row = this.rows.find((each) => `#${each.item.id}` === hash);
    if (!row) return;
    this.toggle(row, true);
    row.item.scrollIntoView({ block: "start" });
    row.button.focus({ preventScroll: true });
  }
}

/** Keep the open case in the address, where the browser lets us. */
function remember(hash) {
  try {
    history.replaceState(null, "", hash);
  } catch {
    // Some viewers of local files refuse; the page works without.
  }
}
