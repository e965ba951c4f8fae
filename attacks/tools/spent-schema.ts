// attack: arguments that are valid in one reading of the schema and not in another: inherited, hidden, duplicated or of the wrong type
// property: S44
// expect: value ["invalid_arguments", "invalid_arguments", "invalid_arguments", "invalid_arguments", "invalid_arguments"]
const out: string[] = [];
for (const args of [
  { page: "1" }, { page: 1, page_size: 51 }, { page: 1.5 }, { page: 1, extra: true }, { status: "placed' OR 1=1" },
]) {
  try { await (tools.shop.list_orders as any)(args); out.push("sent"); } catch (e) { out.push(e.code); }
}
return out;
