// attack: proxies whose traps break the rules of the language while natives rely on them
// property: S16
// timeout_ms: 20000
// expect: value []
const strange: string[] = [];
const traps: ProxyHandler<any>[] = [
  { ownKeys: () => ["a", "a"] }, { ownKeys: () => [1 as any] }, { ownKeys: () => new Array(100_000).fill("x") },
  { getOwnPropertyDescriptor: () => ({ configurable: false, value: 1 }) }, { getOwnPropertyDescriptor: () => 5 as any },
  { get: () => { throw 1; } }, { has: () => { throw 1; } }, { getPrototypeOf: () => 5 as any }, { isExtensible: () => false },
  { defineProperty: () => false }, { deleteProperty: () => false }, { set: () => false },
];
const uses: ((p: any) => unknown)[] = [
  (p) => JSON.stringify(p), (p) => Object.assign({}, p), (p) => ({ ...p }), (p) => Object.entries(p), (p) => structuredClone(p), (p) => [].concat(p),
  (p) => Object.freeze(p), (p) => Array.from(p), (p) => new Map(p), (p) => console.log(p), (p) => Object.prototype.toString.call(p), (p) => `${p}`,
  (p) => Object.getOwnPropertyDescriptors(p), (p) => { for (const _ in p); }, (p) => Reflect.ownKeys(p), (p) => p instanceof (p as any), (p) => new URLSearchParams(p),
];
for (const handler of traps) {
  for (const target of [{ a: 1 }, [1, 2], () => 0]) {
    for (const use of uses) {
      const p = new Proxy(Object.freeze(target), handler);
      try { use(p); } catch (e) { if (e !== 1 && !(e instanceof Error)) strange.push(String(e)); }
    }
  }
}
return strange;
