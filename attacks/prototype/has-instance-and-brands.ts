// attack: makes `instanceof` lie for the classes the prelude asks about, and wears their brands, to be treated as what it is not
// property: S07
// expect: value ["{\"fake\":{}}", "{\"fake\":{}}", "exception"]
for (const type of [Map, Set, Error, Date]) {
  Object.defineProperty(type, Symbol.hasInstance, { value: () => true, configurable: true });
}
const out = [(await tools.probe.echo({ fake: Object.create(Map.prototype) })).text, (await tools.probe.echo({ fake: Object.create(Set.prototype) })).text];
try { await tools.probe.echo({ fake: Object.create(Date.prototype) }); out.push("sent"); } catch { out.push("exception"); }
return out;
