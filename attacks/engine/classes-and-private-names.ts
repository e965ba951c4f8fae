// attack: puts private names on foreign objects, constructs without `super` and reads names before they exist
// property: S16
// expect: value []
const strange: string[] = [];
class Give { constructor(o: any) { return o; } }
class Brand extends (Give as any) { #mark = 1; static has(o: any) { return #mark in o; } static get(o: any) { return o.#mark; } }
for (const target of [tools, tools.shop, store, console, console.log, globalThis, Object.prototype, Math]) {
  try { new (Brand as any)(target); if (!Brand.has(target)) strange.push("no brand"); } catch {}
}
try { Brand.get({}); strange.push("read a private name of a stranger"); } catch {}
class NoSuper extends Object { constructor() { try { (this as any).x; strange.push("this before super"); } catch {} super(); try { super(); strange.push("super twice"); } catch {} } }
new NoSuper();
class Loop { static x = (() => { try { return new Loop2(); } catch { return 0; } })(); }
class Loop2 extends Loop {}
try { Reflect.construct(Map, [], Object.assign(function () {}, { get prototype() { return null; } })); } catch {}
try { (Object as any).setPrototypeOf(Brand, Brand); strange.push("a cycle of prototypes"); } catch {}
return strange;
