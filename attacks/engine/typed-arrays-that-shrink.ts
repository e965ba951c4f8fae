// attack: shrinks and detaches the buffer while native methods walk over it, to read or write outside of it
// property: S16
// timeout_ms: 20000
// expect: value []
const strange: string[] = [];
const fresh = () => { const buffer: any = new ArrayBuffer(1 << 16, { maxByteLength: 1 << 20 } as any); return { buffer, view: new Uint32Array(buffer).fill(0x41414141) }; };
const shrink = (buffer: any) => ({ valueOf() { buffer.resize(8); return 0x42; } });
const ok = (name: string, f: () => unknown) => {
  try {
    const got = f();
    const list = ArrayBuffer.isView(got) ? [...(got as any)] : [];
    if (list.some((n) => ![0, 0x41414141, 0x42].includes(n))) strange.push(name);
  } catch (e) { if (!(e instanceof TypeError) && !(e instanceof RangeError)) strange.push(`${name}: ${e}`); }
};
ok("fill", () => { const { buffer, view } = fresh(); return view.fill(shrink(buffer) as any); });
ok("set", () => { const { buffer, view } = fresh(); view.set({ length: 100, get 0() { buffer.resize(8); return 0x42; } } as any, 50); return view; });
ok("slice", () => { const { buffer, view } = fresh(); return view.slice(shrink(buffer) as any, 16_000); });
ok("subarray", () => { const { buffer, view } = fresh(); return view.subarray(shrink(buffer) as any, 16_000); });
ok("copyWithin", () => { const { buffer, view } = fresh(); return view.copyWithin(0, shrink(buffer) as any, 16_000); });
ok("with", () => { const { buffer, view } = fresh(); return view.with(0, shrink(buffer) as any); });
ok("map", () => { const { buffer, view } = fresh(); return view.map((v, i) => { if (i === 1) buffer.resize(8); return v ?? 0; }); });
ok("sort", () => { const { buffer, view } = fresh(); return view.sort((a, b) => { buffer.resize(8); return a - b; }); });
ok("join", () => { const { buffer, view } = fresh(); view.join({ toString() { buffer.resize(8); return ","; } } as any); return view; });
ok("indexOf", () => { const { buffer, view } = fresh(); view.indexOf(0x42, shrink(buffer) as any); return view; });
ok("transfer", () => { const { buffer, view } = fresh(); return view.fill({ valueOf() { buffer.transfer(); return 0x42; } } as any); });
ok("species", () => { const { buffer, view } = fresh(); class Small extends Uint32Array { static get [Symbol.species]() { return function () { return new Uint32Array(1); } as any; } } Object.setPrototypeOf(view, Small.prototype); return view.map((v) => v); });
ok("dataview", () => { const { buffer } = fresh(); const dv = new DataView(buffer, 4); dv.setUint32({ valueOf() { buffer.resize(4); return 60_000; } } as any, 0x42); return new Uint8Array(0); });
ok("from", () => { const { buffer, view } = fresh(); return Uint32Array.from(view, (v, i) => { if (i === 1) buffer.resize(8); return v ?? 0; }); });
ok("toReversed", () => { const { buffer, view } = fresh(); buffer.resize(8); return view.toReversed(); });
ok("digest", () => { const { buffer, view } = fresh(); buffer.resize(8); void crypto.subtle.digest("SHA-256", view); buffer.transfer(); return new Uint8Array(0); });
return strange;
