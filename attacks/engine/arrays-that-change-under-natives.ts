// attack: changes arrays from inside the callbacks and conversions of the native methods that walk over them
// property: S16
// timeout_ms: 20000
// expect: value []
const strange: string[] = [];
const ok = (name: string, f: (a: any[]) => unknown) => {
  const a: any[] = Array.from({ length: 1000 }, (_, i) => ({ i }));
  try { f(a); JSON.stringify(a); } catch (e) { if (!(e instanceof TypeError) && !(e instanceof RangeError)) strange.push(`${name}: ${e}`); }
};
const cut = (a: any[]) => ({ valueOf() { a.length = 0; a.push(1); return 0; }, toString() { a.length = 0; return "x"; } });
ok("splice", (a) => a.splice(cut(a) as any, cut(a) as any, ...a));
ok("fill", (a) => a.fill(0, cut(a) as any));
ok("copyWithin", (a) => a.copyWithin(500, cut(a) as any));
ok("slice", (a) => a.slice(cut(a) as any));
ok("concat", (a) => a.concat({ get length() { a.length = 0; return 10; }, [Symbol.isConcatSpreadable]: true }));
ok("join", (a) => { a[0] = cut(a); a.join(); });
ok("flatMap", (a) => a.flatMap((x, i) => { a.length = i; return [x, a]; }));
ok("reduceRight", (a) => a.reduceRight((s, x, i) => { a.length = 1; a.unshift(1, 2); return s + i; }, 0));
ok("forEach", (a) => a.forEach((_, i) => { if (i < 2000) a.push(i); if (i > 500) a.length = 0; }));
ok("from", (a) => Array.from(a, () => { a.shift(); a.shift(); }));
ok("apply", (a) => { Object.defineProperty(a, 3, { get() { a.length = 0; return 1; } }); Math.max.apply(null, a); });
ok("spread", (a) => { a[Symbol.iterator] = function* () { a.length = 0; yield* [1, 2]; } as any; return [...a]; });
ok("destructuring", (a) => { a[0] = { get x() { a.length = 0; return 1; } }; const [{ x }, ...rest] = a; return [x, rest]; });
ok("push", (a) => { a.length = 2 ** 32 - 1; a.push(1); });
ok("length", (a) => { Object.defineProperty(a, "length", { value: cut(a) as any }); });
ok("groupBy", (a) => (Object as any).groupBy(a, (x: any) => { a.length = 0; return x?.i; }));
return strange;
