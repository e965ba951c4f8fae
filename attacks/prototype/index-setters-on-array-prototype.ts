// attack: puts setters for the indexes 0 to 9 on `Array.prototype`, to be handed functions of the prelude when lists grow
// property: S07
// expect: value []
const objects = new Set<unknown>();
let on = true;
for (let i = 0; i < 10; i++) {
  Object.defineProperty(Array.prototype, i, {
    configurable: true,
    get() { return undefined; },
    set(value) { if (on && (typeof value === "function" || typeof value === "object")) objects.add(value); },
  });
}
try { await tools.probe.echo({ n: new Map([["a", 1]]), s: new Set([1]) }); } catch {}
try { await tools.probe.nothing({}); } catch {}
console.log(new Map([[1, 2]]), [1, 2]);
on = false;
for (let i = 0; i < 10; i++) delete (Array.prototype as any)[i];
const strange: string[] = [];
for (const o of objects) if (typeof o === "function" || Object.values(o as object).some((v) => typeof v === "function")) strange.push(typeof o);
return strange;
