// attack: writes through a tool that its patterns do not allow, and looks in the next call whether it arrived
// property: S40
// tools: ["probe.noted"]
// expect: value ["denied", "denied", "denied", 0]
const mark = "denied " + crypto.randomUUID();
const out: unknown[] = [];
for (const f of [() => tools.probe.note({ mark }), () => tools.probe.note.raw({ mark }), () => callMCPTool("mcp__probe__note", { mark })]) {
  try { await (f as any)(); out.push("sent"); } catch (e) { out.push(e.code); }
}
return [...out, (await tools.probe.noted({ mark })).times];
