// attack: returns a promise that waits for the program itself
// property: S26
// timeout_ms: 5000
// expect: error exception
// message: promise self resolution
const self: { p?: Promise<unknown> } = {};
self.p = (async () => { await null; return self.p; })();
return await self.p;
