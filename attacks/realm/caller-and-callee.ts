// attack: walks `caller`, `callee` and `arguments` up from a function that the prelude calls
// property: S06
// expect: value "held"
const reached: string[] = [];
const look = new Function("report", `
  return function own() {
    for (const name of ["caller", "arguments"]) {
      try { const got = own[name]; if (got != null && got !== arguments) report(name + ": " + String(got).slice(0, 60)); } catch {}
    }
    try { const c = arguments.callee.caller; if (c != null) report("callee.caller: " + String(c).slice(0, 60)); } catch {}
    return 0;
  };`)((what: string) => reached.push(what));
[1].map(look);
JSON.stringify({ toJSON: look });
await tools.shop.list_customers({ page: 1, page_size: { toJSON: () => { look(); return 1; } } } as any);
await new Promise<void>((resolve) => setTimeout(() => { look(); resolve(); }, 1));
queueMicrotask(look as any);
await null;
console.log({ get x() { look(); return 1; } });
structuredClone({ get x() { return look(); } });
for (const f of [tools.shop.list_customers, console.log, search, setTimeout, structuredClone]) {
  for (const name of ["caller", "arguments"]) {
    try { if ((f as any)[name] != null) reached.push(`${f.name}.${name}`); } catch {}
  }
}
return reached.length === 0 ? "held" : reached;
