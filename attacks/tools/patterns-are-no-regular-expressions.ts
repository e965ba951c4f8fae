// attack: patterns that would match as regular expressions, in another case, or as a part of a name
// property: S40
// tools: ["sho.\\.list_customers", "SHOP.*", "shop.list_customer", "hop.list_customers", "shop.*_orders?", "probe.(echo|say)", "shop..list_customers", "[s]hop.*"]
// expect: value ["denied", "denied", "denied"]
const out: string[] = [];
for (const f of [() => tools.shop.list_customers({}), () => tools.shop.list_orders({}), () => tools.probe.echo({})]) {
  try { await (f as any)(); out.push("sent"); } catch (e) { out.push(e.code); }
}
return out;
