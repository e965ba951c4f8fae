// attack: catches the error of an exhausted memory and goes on allocating in the handler
// property: S23
// timeout_ms: 5000
// expect: error memory_limit|timeout|exception|stack_limit
const kept: unknown[] = [];
const hoard = (): void => { try { for (;;) kept.push(new Array(10_000).fill(kept.length)); } catch { hoard(); } };
hoard();
