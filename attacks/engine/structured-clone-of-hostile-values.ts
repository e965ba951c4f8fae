// attack: clones cycles, getters that change what is cloned, views over shrunk buffers and depths that recurse
// property: S24
// timeout_ms: 20000
// expect: value "held"
const cycle: any = { list: [] };
cycle.list.push(cycle, new Map([[cycle, new Set([cycle])]]));
const copy = structuredClone(cycle);
if (copy.list[0] !== copy) return "a cycle was opened";
const o: any = { get a() { delete o.b; return [o]; }, b: 1 };
structuredClone(o);
let deep: any = 1;
for (let i = 0; i < 200_000; i++) deep = [deep];
try { structuredClone(deep); } catch (e) { if (!(e instanceof RangeError)) return String(e); }
const buffer: any = new ArrayBuffer(64, { maxByteLength: 128 } as any);
const view = new Uint8Array(buffer, 32);
buffer.resize(16);
try { structuredClone(view); structuredClone({ view, dv: new DataView(buffer) }); } catch {}
try { structuredClone({ length: 2 ** 53, e: new Error("x", { cause: cycle }) }); } catch {}
try { structuredClone([tools, store, console.log]); return "a live object was cloned"; } catch {}
return "held";
