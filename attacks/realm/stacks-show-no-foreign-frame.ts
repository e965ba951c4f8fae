// attack: reads the stacks of errors made inside the prelude, the engine and the gateway for frames that are not its own
// property: S55
// expect: value "held"
const stacks: string[] = [];
const take = async (f: () => unknown) => {
  try { await f(); } catch (e) { stacks.push(String(e.stack), String(e.message), String(e.hint)); }
};
await take(() => tools.shop.get_customer({}));
await take(() => tools.shop.no_such_tool({}));
await take(() => (tools as any).nobody.x({}));
await take(() => tools.probe.fail({ message: "m" }));
await take(() => callMCPTool("probe", "nothing", {}));
await take(() => store.set("k", { toJSON() { throw new Error("own"); } }));
await take(() => (tools as any).shop.list_customers({ page: 1n }));
await take(() => new URL("::"));
await take(() => [1].map(() => { null.x; }));
await take(() => JSON.parse("{"));
await take(() => new Function("return )"));
const foreign = stacks.join("\n").split("\n").filter((line) =>
  /\.rs\b|\.c:|\/home|\/root|\/usr|node_modules|wasm/.test(line));
return foreign.length === 0 ? "held" : foreign.slice(0, 5);
