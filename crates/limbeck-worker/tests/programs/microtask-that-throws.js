// throws: Error: soon
queueMicrotask(() => { throw new Error("soon"); });
await new Promise((resolve) => setTimeout(resolve, 100));
