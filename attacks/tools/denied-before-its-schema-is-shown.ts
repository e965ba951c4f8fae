// attack: calls tools outside of its patterns with wrong arguments, to learn their schemas from the refusal
// property: S43
// tools: ["probe.echo"]
// expect: value ["denied", "denied", "denied"]
const out: string[] = [];
for (const f of [() => (tools.shop.list_orders as any)({ status: 1, nothing: 2 }), () => (tools.shop.get_customer as any)({}), () => tools.shop.get_customer.raw({ id: 1 } as any)]) {
  try { await f(); out.push("sent"); } catch (e) { out.push(e.code); }
}
return out;
