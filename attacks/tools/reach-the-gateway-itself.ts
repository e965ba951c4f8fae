// attack: calls the gateway's own tools from inside, to run programs without limits of its own
// property: S49
// expect: value []
const reached: string[] = [];
for (const [server, tool] of [["limbeck", "execute"], ["limbeck", "search"], ["", "execute"], ["gateway", "execute"], ["shop", "execute"], ["probe", "tools/call"], ["probe", "initialize"], ["probe", "notifications/cancelled"]]) {
  try { await callMCPTool(server, tool, { code: "return 1" }); reached.push(`${server}.${tool}`); } catch {}
  try { await tools[server][tool]({ code: "return 1" }); reached.push(`tools.${server}.${tool}`); } catch {}
}
return reached;
