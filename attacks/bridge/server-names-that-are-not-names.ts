// attack: names of servers and tools that are symbols, numbers, objects with code and texts beyond every bound
// property: S41
// expect: value []
const strange: string[] = [];
for (const name of [Symbol("x"), 1, { toString: () => "shop" }, null, undefined, "", " ", "x".repeat(2_000), "\u0000", "shop\u0000", "..", "shop/list_customers", "*"]) {
  try {
    const value = await (tools as any)[name as any]?.list_customers?.({ page_size: 1 });
    if (value !== undefined && !(typeof name === "object" && name !== null)) strange.push(`tools[${String(name).slice(0, 20)}]`);
  } catch {}
  try { await callMCPTool(name as any, "list_customers", {}); strange.push(`callMCPTool ${String(name).slice(0, 20)}`); } catch {}
}
return strange;
