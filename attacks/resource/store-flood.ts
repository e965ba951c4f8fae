// attack: writes keys and values to the store beyond every bound of them
// property: S28
// timeout_ms: 10000
// expect: value ["refused", "refused", "refused", "kept"]
const out: string[] = [];
for (const [key, value] of [["x".repeat(257), 1], ["", 1], ["large", "x".repeat(1_100_000)], ["small", "x"]] as [string, unknown][]) {
  try { await store.set(key, value); out.push("kept"); } catch { out.push("refused"); }
}
return out;
