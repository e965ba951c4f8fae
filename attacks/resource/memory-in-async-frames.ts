// attack: fills memory with suspended generators and async functions
// property: S23
// timeout_ms: 15000
// expect: error memory_limit|timeout
const kept: unknown[] = [];
function* held() { const local = new Array(100).fill(0); yield local; }
for (;;) { const g = held(); g.next(); kept.push(g, (async () => { await new Promise(() => {}); })()); }
