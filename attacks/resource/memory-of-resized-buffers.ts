// attack: makes small resizable buffers with a large reserve and then grows them
// property: S23
// timeout_ms: 10000
// expect: error memory_limit|exception
const kept: ArrayBuffer[] = [];
for (;;) {
  const buffer: any = new ArrayBuffer(1, { maxByteLength: 1 << 24 } as any);
  buffer.resize(1 << 24);
  new Uint8Array(buffer).fill(1);
  kept.push(buffer);
}
