// attack: squares a BigInt until it has more digits than memory
// property: S23
// timeout_ms: 2000
// expect: error exception|memory_limit|timeout
let n = 3n;
for (;;) n *= n;
