// attack: calls outside of the patterns given to `limbeck run`
// property: S40
// via: run
// tools: ["shop.list_*"]
// expect: value [1, "denied", "denied"]
const out: unknown[] = [(await tools.shop.list_customers({ page_size: 1 })).items.length];
for (const f of [() => tools.shop.get_customer({ id: "cus_0001" }), () => tools.probe.echo({})]) {
  try { await (f as any)(); out.push("sent"); } catch (e) { out.push(e.code); }
}
return out;
