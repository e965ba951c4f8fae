// attack: declares names by `eval` and `Function` in scopes of the prelude, with sloppy leaks, labels and `with`
// property: S06
// expect: value []
const strange: string[] = [];
(0, eval)("var tools2 = 1; function leaked() { return this; }");
new Function("implicit = 1")();
const outer = new Function("return leaked()")();
if (outer !== globalThis) strange.push("another this");
for (const code of ["const native = 1; native", "native", "pending", "send", "settle", "encode", "serverList", "timers", "unhandled", "jsonStringify", "directoryLabels", "OP", "limits"]) {
  try { const got = (0, eval)(code); if (code !== "const native = 1; native") strange.push(`${code}: ${typeof got}`); } catch {}
  try { const got = new Function(`with (globalThis) { return ${code.includes(" ") ? 0 : `typeof ${code}`} }`)(); if (got !== "undefined" && got !== 0) strange.push(`with ${code}: ${got}`); } catch {}
}
for (const code of ["var tools = 1", "function search() {}", "let store = 1", "tools = 1", "delete globalThis.tools"]) {
  try { (0, eval)(code); } catch {}
}
if (typeof tools.shop !== "object" || typeof search !== "function" || search.name !== "search") strange.push("a global of the gateway was replaced");
return strange;
