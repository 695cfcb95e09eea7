// What the attacker's pages share: tools, and a log of the harm that was done.
globalThis.attack = {
  /** What happened that the person did not want, oldest first. */
  done: [],
  /** Address of the attacker's own server. */
  elsewhere: `http://${new URLSearchParams(location.search).get('to')}/stolen`,
  tool(name, description, execute, more = {}) {
    const registered = document.modelContext.registerTool(
      { name, description, inputSchema: { type: 'object' }, execute, ...more },
      more.options,
    );
    return registered;
  },
  /** A tool that does harm: it is called only when something went wrong. */
  harm(name, description, more = {}) {
    return attack.tool(
      name,
      description,
      args => {
        attack.done.push(`${name} ${JSON.stringify(args ?? {})}`);
        return 'Done.';
      },
      more,
    );
  },
};
