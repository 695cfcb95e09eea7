// The page side of PageTools: one object per document, which the page cannot reach.
//
// It reads the tools of whichever model context the document has (document.modelContext, the
// navigator.modelContext of first releases and of polyfills, navigator.modelContextTesting) and
// calls one of them. Tool objects are read field by field and never serialised: they are cyclic in
// some browsers and opaque in others.
() => {
  const running = new Map(); // call id → AbortController
  const places = [window]; // windows whose tools are listed here; 0 is this document

  const surface = () => {
    const context = [document.modelContext, navigator.modelContext].find(
      c => typeof c?.getTools === 'function',
    );
    if (context) {
      return {
        kind: 'context',
        events: context,
        list: async origins => {
          if (!origins?.length) return await context.getTools();
          // A polyfill refuses the option; its own tools are still there.
          try {
            return await context.getTools({ fromOrigins: origins });
          } catch (error) {
            if (nameOf(error) === 'NotAllowedError') throw error;
            return await context.getTools();
          }
        },
        run: (tool, tools, json, signal) => context.executeTool(tool, input(tools, json), { signal }),
      };
    }
    const testing = navigator.modelContextTesting;
    if (typeof testing?.listTools === 'function') {
      return {
        kind: 'testing',
        events: testing,
        list: async () => await testing.listTools(),
        run: (tool, tools, json) => testing.executeTool(tool.name, json),
      };
    }
    return null;
  };

  // Chosen before the call, since a failed call must not be tried again in the other form: whoever
  // gives schemas as text takes text. The others get an object that turns into the same JSON when a
  // browser or a polyfill wants text after all.
  const input = (tools, json) =>
    tools.some(t => typeof t.inputSchema === 'string')
      ? json
      : Object.setPrototypeOf(JSON.parse(json), { toString: () => json });

  const windowOf = tool => tool.source ?? tool.window ?? window;

  const placeOf = tool => {
    const source = windowOf(tool);
    const at = places.indexOf(source);
    return at < 0 ? places.push(source) - 1 : at;
  };

  // What a tool is, as one line: also its identity, compared again at the moment of the call.
  const describe = tool => {
    const hints = tool.annotations;
    return JSON.stringify({
      name: tool.name,
      description: tool.description,
      schema: tool.inputSchema ?? null,
      origin: tool.origin ?? null,
      read_only: hints?.readOnlyHint === true,
      untrusted: hints?.untrustedContentHint === true,
      consequential: hints?.consequentialHint === true,
    });
  };

  // What a page throws may be anything, getters that throw included.
  const text = read => {
    try {
      return String(read() ?? '');
    } catch {
      return '';
    }
  };
  const nameOf = error => text(() => error?.name);
  const messageOf = error => text(() => error?.message ?? error);

  // Tools of this document, and with `origins` those that frames of these origins expose to it.
  const wanted = (tool, origins) => {
    if (windowOf(tool) === window) return true;
    return tool.origin !== self.origin && origins.includes(tool.origin);
  };

  const forms = deep => {
    const found = {};
    const visit = root => {
      for (const form of root.querySelectorAll('form[toolname]')) {
        found[form.getAttribute('toolname')] ??= form.hasAttribute('toolautosubmit');
      }
      if (!deep) return;
      for (const element of root.querySelectorAll('*')) {
        if (element.shadowRoot) visit(element.shadowRoot);
      }
    };
    visit(document);
    return found;
  };

  const pause = ms =>
    new Promise(done => {
      const events = surface()?.events;
      const end = changed => {
        clearTimeout(timer);
        events?.removeEventListener?.('toolchange', hit);
        done(changed);
      };
      const hit = () => end(true);
      const timer = setTimeout(() => end(false), ms);
      events?.addEventListener?.('toolchange', hit);
    });

  // Milliseconds since the document was read; 0 while it is being read.
  const age = () => {
    const read = performance.getEntriesByType('navigation')[0]?.domContentLoadedEventEnd ?? 0;
    return read > 0 ? performance.now() - read : 0;
  };

  const POLL = 200; // for surfaces without `toolchange`, and for polyfills that come late
  const QUIET = 50; // a registration is announced 1 to 3 ms after it was made
  const FRESH = 500; // an older document has shown what it shows at start

  const isCode = element => !element.type || /script|module/.test(element.type);

  // Whether a document without tools can still get some: not when it is all there and has no
  // script, or no model context.
  const mayGrow = () =>
    document.readyState !== 'complete' || (surface() && [...document.scripts].some(isCode));

  // Waits for the tools that a young document still adds: until its list has been the same for a
  // moment, and while there are none at most until the document is `cap` ms old.
  const settled = async (read, cap) => {
    let tools = await read();
    const end = performance.now() + cap;
    while (performance.now() < end) {
      if (!tools.length && !mayGrow()) break;
      if (age() > (tools.length ? FRESH : cap)) break;
      const changed = await pause(tools.length ? QUIET : Math.min(POLL, cap));
      const before = tools.length;
      tools = await read();
      if (!changed && before && tools.length === before) break;
    }
    return tools;
  };

  return {
    // First line: what this document is. Then one line per tool. Text, because one string crosses
    // to Python several times faster than the same objects.
    async list({ cap, origins, deep }) {
      const read = async () => (await surface()?.list(origins)) ?? [];
      let tools = [];
      let problem = null;
      try {
        tools = await settled(read, cap);
      } catch (error) {
        // NotAllowedError: the permissions policy keeps tools out of this document.
        if (nameOf(error) !== 'NotAllowedError') problem = messageOf(error);
      }
      const head = {
        surface: surface()?.kind ?? null,
        origin: self.origin,
        forms: forms(deep),
        titles: [],
        places: [],
        unreadable: 0,
        problem,
      };
      const lines = [];
      for (const tool of tools) {
        try {
          if (!wanted(tool, origins)) continue;
          lines.push(describe(tool));
          head.titles.push(text(() => tool.title) || null);
          head.places.push(placeOf(tool));
        } catch {
          head.unreadable += 1;
        }
      }
      return [JSON.stringify(head), ...lines].join('\n');
    },

    // One word for how it ended, and after a line's end what there is to say of it.
    async call({ id, name, place, spec, json, origins }) {
      const controller = new AbortController();
      try {
        const context = surface();
        const tools = (await context?.list(origins)) ?? [];
        const tool = tools.find(t => t.name === name && windowOf(t) === places[place]);
        if (!tool) return 'gone';
        if (describe(tool) !== spec) return 'changed';
        running.set(id, controller);
        // No await between the comparison and this call: the page has no turn in between.
        const answer = await context.run(tool, tools, json, controller.signal);
        try {
          const said = typeof answer === 'string' ? answer : JSON.stringify(answer ?? undefined);
          return said === undefined ? 'nothing' : `answer\n${said}`;
        } catch {
          return 'unreadable';
        }
      } catch (error) {
        return `error\n${nameOf(error)}\n${messageOf(error)}`;
      } finally {
        running.delete(id);
      }
    },

    abort: ({ id }) => running.get(id)?.abort(),

    // What a submitted form left on this document as its answer: all blocks that parse.
    linkedData: () =>
      JSON.stringify(
        [...document.querySelectorAll('script[type="application/ld+json"]')].flatMap(block => {
          try {
            return [JSON.parse(block.textContent)];
          } catch {
            return [];
          }
        }),
      ),
  };
}
