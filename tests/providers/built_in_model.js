// A stand-in for Chrome's built-in model: `LanguageModel` as the specification has it, led and
// watched through `builtIn`. A token is a character.
() => {
  const builtIn = (globalThis.builtIn = {
    state: "available",
    steps: [],
    replies: [],
    window: 100_000,
    quota: Infinity,
    names: "now",
    holds: false,
    fails: null,
    created: [],
    prompts: [],
    open: 0,
    aborted: 0,
  });

  const ended = (signal) =>
    new Promise((_, reject) =>
      signal?.addEventListener("abort", () => {
        builtIn.aborted += 1;
        reject(signal.reason);
      })
    );

  const length = (messages) => messages.reduce((sum, { content }) => sum + content.length, 0);

  class Session {
    constructor(used) {
      this.used = used;
      builtIn.open += 1;
      const now = builtIn.names === "now";
      const measure = async (messages) => length(messages);
      this[now ? "measureContextUsage" : "measureInputUsage"] = measure;
      Object.defineProperty(this, now ? "contextWindow" : "inputQuota", {
        get: () => builtIn.window,
      });
      this[now ? "contextUsage" : "inputUsage"] = used;
    }

    async clone() {
      return new Session(this.used);
    }

    async prompt(messages, { signal }) {
      builtIn.prompts.push(messages);
      if (builtIn.fails) throw new DOMException("no way", builtIn.fails);
      if (builtIn.holds) await ended(signal);
      if (this.used + length(messages) > builtIn.quota) {
        throw new DOMException("too much", "QuotaExceededError");
      }
      return builtIn.replies.shift();
    }

    destroy() {
      builtIn.open -= 1;
    }
  }

  globalThis.LanguageModel = {
    availability: async () => builtIn.state,
    async create({ initialPrompts = [], monitor, signal }) {
      if (builtIn.state === "downloadable") {
        const target = new EventTarget();
        monitor?.(target);
        if (builtIn.holds) await ended(signal);
        if (builtIn.fails) throw new DOMException("no way", builtIn.fails);
        for (const loaded of builtIn.steps) {
          target.dispatchEvent(Object.assign(new Event("downloadprogress"), { loaded }));
          await new Promise((resolve) => setTimeout(resolve));
        }
        builtIn.state = "available";
      } else {
        builtIn.created.push(initialPrompts);
      }
      return new Session(length(initialPrompts));
    },
  };
}
