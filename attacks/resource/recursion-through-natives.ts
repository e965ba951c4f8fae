// attack: recursion through sorts, replacers, getters, proxies, `toJSON`, iterators and `valueOf`, where each level is native
// property: S24
// timeout_ms: 20000
// expect: value 9
let ended = 0;
const through = (f: () => unknown) => { try { f(); } catch (e) { if (e instanceof RangeError || e.name === "InternalError") ended += 1; } };
const a = (): any => [2, 1].sort(a);
const b = (): any => "x".replace("x", b);
const c = { get x(): any { return this.x; } };
const d: any = new Proxy({}, { get: (_, key) => d[key] });
const e = { toJSON(): any { return JSON.stringify(e); } };
const f = { [Symbol.iterator](): any { return [...f]; } };
const g: any = { valueOf: () => +g };
const h = () => Reflect.apply(h, null, []);
const i: any = function () { return new i(); };
through(a); through(b); through(() => c.x); through(() => d.x); through(() => JSON.stringify(e)); through(() => [...f as any]);
through(() => +g); through(h); through(() => new i());
return ended;
