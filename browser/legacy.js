// Puts the navigator.modelContext of the first releases beside a browser's document.modelContext,
// for pages that know only the old one: registerTool, unregisterTool, provideContext, clearContext.
// Their tools are then the browser's own, with its events, forms and rules.
(() => {
  const context = document.modelContext;
  if (!context || navigator.modelContext) return;
  const registered = new Map(); // name → AbortController

  const unregisterTool = name => {
    registered.get(name)?.abort();
    registered.delete(name);
  };

  const readSchema = schema => {
    if (typeof schema !== 'string') return schema;
    try {
      return JSON.parse(schema);
    } catch {
      return undefined;
    }
  };

  const registerTool = tool => {
    unregisterTool(tool.name);
    const controller = new AbortController();
    const { inputSchema, ...rest } = tool;
    const schema = readSchema(inputSchema);
    registered.set(tool.name, controller);
    const done = context.registerTool(
      {
        ...rest,
        ...(schema === undefined ? {} : { inputSchema: schema }),
        // Old tools ask the person through the client that they are given.
        execute: (input, options) =>
          tool.execute(input, { ...options, requestUserInteraction: ask => ask() }),
      },
      { signal: controller.signal },
    );
    // Registration used to be synchronous: nobody waits for this promise.
    done.catch(() => {});
    return Object.assign(done, { unregister: () => unregisterTool(tool.name) });
  };

  const clearContext = () => [...registered.keys()].forEach(unregisterTool);

  const provideContext = given => {
    clearContext();
    (given?.tools ?? []).forEach(registerTool);
  };

  Object.defineProperty(navigator, 'modelContext', {
    configurable: true,
    writable: true, // a page may bring its own
    value: { registerTool, unregisterTool, provideContext, clearContext },
  });
})();
