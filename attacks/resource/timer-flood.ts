// attack: a million timers, each with text of its own, and intervals that never end
// property: S23
// timeout_ms: 3000
// expect: error timeout|memory_limit
for (let i = 0; i < 1_000_000; i++) {
  const text = `timer ${i}`.repeat(8);
  setTimeout(() => text, i % 1000);
  if (i % 100 === 0) setInterval(() => text, 1);
}
await new Promise(() => {});
