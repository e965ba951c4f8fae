// attack: ends its worker by memory, to leave the pool with a broken one
// property: S39
// timeout_ms: 10000
// expect: error memory_limit
const kept: Uint8Array[] = [];
for (;;) kept.push(new Uint8Array(1 << 22).fill(7));
