// attack: powers and divisions of BigInts that take native time without end
// property: S21
// timeout_ms: 800
// expect: error timeout|memory_limit|exception
let n = 3n ** 200_000n;
for (;;) n = (n * n) % (7n ** 300_000n) + (n ** 3n) / 11n;
