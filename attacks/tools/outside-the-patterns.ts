// attack: calls tools outside of its patterns by every spelling there is
// property: S40
// tools: ["shop.list_customers"]
// expect: value ["nested: TypeError: not a function"]
const reached: string[] = [];
const attempt = async (how: string, f: () => unknown) => {
  try { await f(); reached.push(how); } catch (e) { if (!["denied", "unknown_tool", "unknown_server"].includes(e.code)) reached.push(`${how}: ${e}`); }
};
await attempt("member", () => tools.shop.get_customer({ id: "cus_0001" }));
await attempt("alias", () => tools.shop.getCustomer({ id: "cus_0001" }));
await attempt("case", () => (tools as any).SHOP.GET_CUSTOMER({ id: "cus_0001" }));
await attempt("full", () => callMCPTool("mcp__shop__get_customer", { id: "cus_0001" }));
await attempt("two parts", () => callMCPTool("shop", "get_customer", { id: "cus_0001" }));
await attempt("raw", () => tools.shop.get_customer.raw({ id: "cus_0001" }));
await attempt("other server", () => tools.probe.echo({}));
await attempt("nested", () => (tools as any)["shop.get_customer"]["get_customer"]({ id: "cus_0001" }));
await attempt("dotted tool", () => (tools as any).shop["list_customers.get_customer"]({ id: "cus_0001" }));
await attempt("dotted full", () => callMCPTool("shop.get_customer", { id: "cus_0001" }));
await attempt("prefix", () => callMCPTool("mcp__shop__list_customers__get_customer", {}));
return reached;
