// attack: clears and refills maps and sets from inside their own iteration, and drops the iterator in the middle
// property: S16
// timeout_ms: 20000
// expect: value "held"
const map = new Map(Array.from({ length: 1000 }, (_, i) => [i, {}]));
let steps = 0;
map.forEach((_, key) => { steps += 1; map.delete(key); if (steps < 5000) map.set(`again ${steps}`, {}); if (steps % 100 === 0) map.clear(); });
const set = new Set([1, 2, 3]);
for (const x of set) { set.delete(x); if (set.size < 50 && steps++ < 9000) set.add({ x }); }
const a = new Set([1, 2, 3]);
const evil = { size: 3, has: () => { a.clear(); return true; }, keys: () => { a.clear(); return [1, 2].values(); } };
for (const name of ["union", "intersection", "difference", "symmetricDifference", "isSubsetOf", "isSupersetOf", "isDisjointFrom"]) {
  try { (a as any)[name]?.(evil); a.add(1); a.add(2); } catch {}
}
const it = map.entries();
map.clear();
it.next();
return "held";
