// attack: provokes every refusal and failure of the gateway and looks for paths, places in sources and other servers' secrets in their texts
// property: S55
// expect: value []
const texts: string[] = [];
const take = async (f: () => unknown) => { try { await f(); } catch (e) { texts.push(JSON.stringify({ ...e, m: e.message, s: e.stack, n: e.name })); } };
await take(() => tools.shop.get_customer({}));
await take(() => tools.shop.list_orders({ status: 1 } as any));
await take(() => tools.nothing.x({}));
await take(() => tools.shop.nothing({}));
await take(() => tools.probe.say({ result: "not json" }));
await take(() => tools.probe.say({ result: "null" }));
await take(() => tools.probe.fail({ message: "" }));
await take(() => store.get("x".repeat(300)));
await take(() => store.set("big", "x".repeat(2 << 20)));
await take(() => search("x".repeat(5_000)));
await take(() => describe("nobody", "nothing"));
await take(() => callMCPTool("a".repeat(2_000), {}));
await take(() => tools.probe.echo({ v: "x".repeat(100), w: JSON.parse("[".repeat(200) + "]".repeat(200)) }));
return texts.filter((text) => /\/(root|home|usr|tmp|etc|proc)\b|\.rs\b|cargo|src\/|thread '|panicked|Some\(|Err\(|PROBE_TOKEN|RawValue|serde/.test(text));
