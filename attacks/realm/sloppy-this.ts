// attack: makes the prelude call a sloppy function with no receiver, to see an object of its own as `this`
// property: S06
// expect: value "held"
const seen = new Set<unknown>();
const spy = new Function("seen", "return function () { seen.add(this); return 1; }")(seen);
setTimeout(spy, 1);
queueMicrotask(spy);
await new Promise((resolve) => setTimeout(resolve, 5));
const c = new AbortController();
c.signal.addEventListener("abort", spy);
c.signal.onabort = spy;
c.abort();
new Map([[1, 1]]).forEach(spy);
JSON.stringify({ a: 1 }, spy);
await tools.probe.echo({ a: { toJSON: spy } });
const known = [globalThis, c.signal];
const strange = [...seen].filter((o) => !known.includes(o as any)
  && typeof o === "object" && o !== null && Object.getPrototypeOf(o) === null);
return strange.length === 0 ? "held" : strange.map((o) => Reflect.ownKeys(o as object).join(","));
