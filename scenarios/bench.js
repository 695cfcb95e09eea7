// The page of `bench page`: registers the tools of tools-N.json, N from the address. Each answers
// with its name and what it was asked.

const count = new URLSearchParams(location.search).get("tools");
const tools = await (await fetch(`tools-${count}.json`)).json();

for (const tool of tools) {
  const execute = async (input) => `${tool.name}: ${JSON.stringify(input)}`;
  await document.modelContext.registerTool({ ...tool, execute });
}
document.title = "Ready";
