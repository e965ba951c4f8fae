// attack: an empty list of patterns, which must not be taken for none
// property: S40
// tools: []
// expect: value ["denied", "denied"]
const out: string[] = [];
for (const f of [() => tools.shop.list_customers({}), () => tools.probe.echo({})]) {
  try { await (f as any)(); out.push("sent"); } catch (e) { out.push(e.code); }
}
return out;
