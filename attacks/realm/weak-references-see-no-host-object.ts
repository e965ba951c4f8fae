// attack: uses weak references and finalisers to learn about objects of the host that are collected
// property: S12
// expect: value "held"
const events: unknown[] = [];
const registry = new FinalizationRegistry((held) => events.push(held));
for (let i = 0; i < 1000; i++) registry.register({ i }, `own ${i}`);
const refs = [tools, console, store, tools.shop].map((o) => new WeakRef(o as object));
for (let i = 0; i < 200; i++) new Array(10_000).fill({ i });
await new Promise((resolve) => setTimeout(resolve, 1));
const foreign = events.filter((held) => !String(held).startsWith("own "));
const lost = refs.filter((ref) => ref.deref() === undefined);
return foreign.length === 0 && lost.length === 0 ? "held" : { foreign, lost: lost.length };
