// attack: replaces every method of arrays, strings, maps, sets and functions by a spy before a call, to see what the prelude holds
// property: S07
// expect: value ["{\"n\":1}", 0]
let trapped = 0;
const { defineProperty } = Object;
const protos = [Array.prototype, String.prototype, Map.prototype, Set.prototype, WeakMap.prototype, RegExp.prototype, Function.prototype,
  Number.prototype, Error.prototype, Iterator.prototype, Object.getPrototypeOf([].values()), Object.getPrototypeOf(new Map().values())];
const keep = new Set<PropertyKey>(["constructor", "length", "prototype", "caller", "arguments", Symbol.hasInstance]);
const ownKeys = protos.map((p) => Reflect.ownKeys(p).filter((key) => !keep.has(key)));
for (let p = 0; p < protos.length; p++) {
  for (let k = 0; k < ownKeys[p].length; k++) {
    if (ownKeys[p][k] === "concat" && protos[p] === String.prototype) continue;
    defineProperty(protos[p], ownKeys[p][k], { value: () => { trapped += 1; throw new TypeError("trap"); }, configurable: true, writable: true });
  }
}
const echoed = await tools.probe.echo({ n: 1 });
return { 0: echoed.text, 1: trapped, length: 2, toJSON() { const a: unknown[] = new Array(2); a[0] = echoed.text; a[1] = trapped; return a; } };
