// attack: asks every list, search and description for tools outside of its patterns
// property: S43
// tools: ["shop.list_customers"]
// expect: value []
const told: string[] = [];
const look = async (how: string, f: () => unknown) => {
  try { const text = JSON.stringify(await f()) ?? ""; if (/get_customer|list_orders|echo|noted/.test(text)) told.push(`${how}: ${text.slice(0, 200)}`); } catch (e) { if (/list_orders|echo|noted/.test(String(e.hint))) told.push(`${how} hint: ${e.hint}`); }
};
await look("search", () => search("get customer order echo note", { limit: 50 }));
await look("describe server", () => describe("shop"));
await look("describe tool", () => describe("probe", "echo"));
await look("servers", () => servers());
await look("listServers", () => listServers());
await look("keys", () => Object.keys(tools.shop));
await look("discover", () => discoverMCPTools({}));
await look("searchTools", () => searchTools("orders echo", 50));
await look("schema", () => getToolSchema("probe", "echo"));
await look("denied", () => tools.probe.xyz({}));
return told;
