// attack: looks through fresh buffers for what the program before wrote
// property: S12
// timeout_ms: 10000
// expect: value "clean"
for (let i = 0; i < 40; i++) {
  const fresh = new Uint8Array(1 << 20);
  if (fresh.some((byte) => byte !== 0)) return `a fresh buffer holds ${fresh.find((byte) => byte !== 0)}`;
}
const grown: any = new ArrayBuffer(8, { maxByteLength: 1 << 20 } as any);
grown.resize(1 << 20);
if (new Uint8Array(grown).some((byte) => byte !== 0)) return "a grown buffer holds something";
return "clean";
