// How this face offers its tools: what all of them share. `document.modelContext` is where browsers
// have it today, `navigator.modelContext` where the first releases had it; without either the shop is
// just a shop.

import { address, envelope, problem } from "./documents.js";
import { Refusal } from "./refusal.js";

const modelContext = document.modelContext ?? navigator.modelContext;

export const object = (properties = {}, required = []) => ({
  type: "object",
  properties,
  ...(required.length && { required }),
});

export const text = (description, more = {}) => ({ type: "string", description, ...more });

export const list = (items, description) => ({
  type: "array",
  items,
  ...(description && { description }),
});

/** Reads only, and gives words that sellers and customers wrote. */
export const READS = { readOnlyHint: true, untrustedContentHint: true };

// A refusal is a failure for whoever calls, in plain words, and a document for whoever reads on.
const refused = (refusal, capability) => ({
  isError: true,
  content: [{ type: "text", text: refusal.message }],
  structuredContent: {
    ucp: envelope(capability, "error"),
    messages: [problem(refusal.code, refusal.message, { path: refusal.path })],
    continue_url: address("index.html"),
  },
});

/** The answer leaves the page before the page leaves. */
export const goTo = (address) => setTimeout(() => location.assign(address), 0);

/** Offer tools: `run` answers with a document, or throws a Refusal. */
export const offer = (tools) => {
  if (!modelContext?.registerTool) return;
  for (const { capability, run, ...tool } of tools) {
    modelContext.registerTool({
      ...tool,
      execute: async (input) => {
        try {
          return run(input ?? {});
        } catch (error) {
          if (error instanceof Refusal) return refused(error, capability);
          throw error;
        }
      },
    });
  }
};
