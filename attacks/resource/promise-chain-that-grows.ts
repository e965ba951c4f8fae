// attack: promises that each make two more, until memory or time ends it
// property: S23
// timeout_ms: 5000
// expect: error timeout|memory_limit
const grow = async (): Promise<void> => { await null; void grow(); void grow(); };
await grow();
await new Promise((resolve) => setTimeout(resolve, 60_000));
