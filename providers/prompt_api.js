// The page side of the `prompt-api` provider: Chrome's built-in model, as `LanguageModel`.
// Written against https://webmachinelearning.github.io/prompt-api/ (November 2026); the names that
// Chrome used before (`measureInputUsage`, `inputQuota`, `inputUsage`) are understood as well.
() => {
  /** The session of the last system prompt, and controllers of what runs, by number. */
  let kept = null;
  const running = new Map();
  let loading = null;

  const failure = (error) => ({
    error: { name: String(error?.name ?? "Error"), message: String(error?.message ?? error) },
  });

  const guarded = async (id, work) => {
    const controller = new AbortController();
    running.set(id, controller);
    try {
      return { value: await work(controller.signal) };
    } catch (error) {
      return failure(error);
    } finally {
      running.delete(id);
    }
  };

  /** A session that has heard the system prompt and nothing else; steps share it. */
  const session = async (system, signal) => {
    if (kept?.system === system) return kept.session;
    kept?.session.destroy();
    kept = null;
    // To create a session where there is no model yet would begin the download.
    const state = typeof LanguageModel === "undefined" ? "missing" : await LanguageModel.availability();
    if (state !== "available") throw { name: "NotReady", message: `the model is ${state}` };
    const initialPrompts = system ? [{ role: "system", content: system }] : [];
    const made = await LanguageModel.create({ initialPrompts, signal });
    kept = { system, session: made };
    return made;
  };

  return {
    availability: (id) =>
      guarded(id, () =>
        typeof LanguageModel === "undefined" ? null : LanguageModel.availability()
      ),

    /** Begins the download, or joins it; `news` tells how it goes. */
    load(id) {
      if (loading && loading.done === null) return;
      const state = { progress: 0, done: null };
      const tell = () => {
        state.wake?.();
        state.changed = new Promise((resolve) => (state.wake = resolve));
      };
      tell();
      loading = state;
      const monitor = (target) =>
        target.addEventListener("downloadprogress", (event) => {
          state.progress = event.loaded;
          tell();
        });
      guarded(id, async (signal) => {
        (await LanguageModel.create({ monitor, signal })).destroy();
        return null;
      }).then((outcome) => {
        state.done = outcome;
        tell();
      });
    },

    /** The next progress behind `seen`, or the outcome. */
    async news(seen) {
      const state = loading;
      while (state.done === null && state.progress <= seen) await state.changed;
      return { progress: state.progress, done: state.done };
    },

    /** Tokens of system prompt and messages, and the window; null where nothing is said. */
    measure: (id, system, messages) =>
      guarded(id, async (signal) => {
        const model = await session(system, signal);
        const measure = model.measureContextUsage ?? model.measureInputUsage;
        const window = model.contextWindow ?? model.inputQuota;
        if (!measure || !Number.isFinite(window)) return null;
        const used = model.contextUsage ?? model.inputUsage ?? 0;
        return { needed: used + (await measure.call(model, messages, { signal })), window };
      }),

    prompt: (id, system, messages) =>
      guarded(id, async (signal) => {
        const model = await (await session(system, signal)).clone({ signal });
        try {
          return await model.prompt(messages, { signal });
        } finally {
          model.destroy();
        }
      }),

    abort(id) {
      running.get(id)?.abort();
    },

    dispose() {
      for (const controller of running.values()) controller.abort();
      kept?.session.destroy();
      kept = null;
    },
  };
}
