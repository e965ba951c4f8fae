// attack: puts NUL, zero-width characters, line ends and bidirectional marks into names of tools and servers
// property: S41
// expect: value []
const reached: string[] = [];
for (const extra of ["\u0000", "\u200b", "\u200d", "\ufeff", "\u202e", "\n", "\u2028", "\t", "\u00ad"]) {
  for (const [server, tool] of [["probe", `echo${extra}`], ["probe", `ec${extra}ho`], [`probe${extra}`, "echo"], [`pr${extra}obe`, "echo"]]) {
    try { await tools[server][tool]({}); reached.push(JSON.stringify([server, tool])); } catch (e) { if (!/^unknown_/.test(e.code)) reached.push(`${JSON.stringify([server, tool])}: ${e.code}`); }
  }
}
return reached;
