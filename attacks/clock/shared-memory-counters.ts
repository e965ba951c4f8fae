// attack: looks for a counter that another thread could drive: shared memory, atomics, workers, `Atomics.wait`
// property: S20
// expect: value []
const found: string[] = [];
for (const name of ["SharedArrayBuffer", "Atomics", "Worker", "MessageChannel", "BroadcastChannel"]) if (name in globalThis) found.push(name);
try { new Function("return new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true })")(); found.push("shared memory"); } catch {}
const buffer: any = new ArrayBuffer(8);
for (const make of [() => structuredClone(buffer), () => buffer.slice(0), () => buffer.transfer()]) {
  if (Object.prototype.toString.call(make()) !== "[object ArrayBuffer]") found.push("another kind of buffer");
}
return found;
