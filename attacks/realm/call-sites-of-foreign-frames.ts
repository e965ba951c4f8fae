// attack: takes functions of the prelude and of the binding out of the call sites that `Error.prepareStackTrace` gets
// property: S06
// expect: value "held"
const reached = new Set<string>();
(Error as any).prepareStackTrace = (_: Error, sites: any[]) => {
  for (const site of sites) {
    const f = site.getFunction?.();
    const file = site.getFileName?.();
    if (typeof f === "function" && file !== "program") reached.add(`${file}: ${f.name}`);
  }
  return "";
};
const provoke = [
  () => tools.shop.no_such_tool({}),
  () => tools.shop.list_customers(1 as any),
  () => (tools as any).shop.list_customers({ page: 1n }),
  () => { (tools as any).x = 1; },
  () => new URL("::"),
  () => structuredClone(Symbol()),
  () => new TextDecoder("no-such-encoding"),
  () => crypto.subtle.digest("none", new Uint8Array()),
  () => setTimeout(1 as any),
  () => store.get(1 as any),
  () => new Intl.NumberFormat("en", { style: "nothing" as any }),
  () => AbortSignal.abort().throwIfAborted(),
  () => atob("*"),
];
for (const f of provoke) {
  try { (await (f as any)())?.stack; } catch (e) { e?.stack; }
}
return reached.size === 0 ? "held" : [...reached].slice(0, 20);
