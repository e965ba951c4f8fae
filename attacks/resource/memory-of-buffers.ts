// attack: keeps buffers and touches every page of them
// property: S23
// timeout_ms: 10000
// expect: error memory_limit
const kept: Uint8Array[] = [];
for (;;) kept.push(new Uint8Array(1 << 22).fill(1));
