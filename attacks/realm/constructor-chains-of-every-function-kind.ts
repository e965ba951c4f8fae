// attack: climbs from every kind of function to its constructor, looking for a realm with authority
// property: S06
// expect: value "held"
const kinds = {
  arrow: () => 0,
  method: { m() {} }.m,
  generator: function* () {},
  async: async () => 0,
  asyncGenerator: async function* () {},
  klass: class {},
  bound: function () {}.bind(null),
  tool: tools.shop.list_customers,
  raw: tools.shop.list_customers.raw,
  host: console.log,
  native: setTimeout,
};
const names = ["process", "require", "module", "Deno", "Bun", "fetch", "std", "os", "WebAssembly", "XMLHttpRequest"];
const reached = [];
for (const [kind, f] of Object.entries(kinds)) {
  const Make = f.constructor as any;
  for (const name of names) {
    let found = await Make(`return typeof ${name}`)();
    if (typeof found === "object") found = (await (found as any).next()).value ?? found;
    if (found !== "undefined") reached.push(`${kind}: ${name} is ${String(found)}`);
  }
  const realm = Make("return globalThis")();
  const realGlobal = realm?.next ? (await realm.next()).value : await realm;
  if (realGlobal !== globalThis) reached.push(`${kind}: another global object`);
}
return reached.length === 0 ? "held" : reached;
