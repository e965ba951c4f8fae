// attack: puts `server`, `tool` and `form` on `Object.prototype`, so that a call that leaves one out goes to another tool than was permitted
// property: S41
// tools: ["probe.echo"]
// expect: value ["denied", "denied", "{\"n\":1}"]
const outcome = async (f: () => Promise<any>) => {
  try { return (await f()).text ?? "reached"; } catch (e) { return e.code ?? e.message; }
};
(Object.prototype as any).server = "shop";
(Object.prototype as any).tool = "list_customers";
(Object.prototype as any).form = "raw";
const out = [
  await outcome(() => callMCPTool("mcp__shop__list_customers", {})),
  await outcome(() => tools.shop.list_customers({})),
  await outcome(() => tools.probe.echo({ n: 1 })),
];
for (const name of ["server", "tool", "form"]) delete (Object.prototype as any)[name];
return out;
