// attack: replaces every global it may, and tries to replace those of the gateway
// property: S06
// expect: value ["{\"n\":1}", []]
const { getOwnPropertyNames, defineProperty } = Object;
const fixed = ["tools", "ToolError", "search", "describe", "servers", "store", "budget", "callMCPTool", "searchTools"];
const originals = fixed.map((name) => (globalThis as any)[name]);
const call = tools.probe.echo;
for (const name of getOwnPropertyNames(globalThis)) {
  if (["undefined", "NaN", "Infinity", "globalThis"].includes(name)) continue;
  try { defineProperty(globalThis, name, { value: () => "forged" }); } catch {}
}
const replaced: string[] = [];
for (let i = 0; i < fixed.length; i++) if ((globalThis as any)[fixed[i]] !== originals[i]) replaced.push(fixed[i]);
return [(await call({ n: 1 })).text, replaced];
