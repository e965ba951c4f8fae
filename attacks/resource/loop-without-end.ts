// attack: a loop without calls, allocations or awaits
// property: S21
// timeout_ms: 500
// expect: error timeout
for (;;);
