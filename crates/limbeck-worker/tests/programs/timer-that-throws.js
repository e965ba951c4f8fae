// throws: Error: too late
setTimeout(() => { throw new Error("too late"); }, 1);
await new Promise((resolve) => setTimeout(resolve, 100));
