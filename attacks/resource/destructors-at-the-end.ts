// attack: leaves a chain of 200,000 objects behind at the end of the program
// property: S24
// timeout_ms: 20000
// expect: value "ended"
let chain: unknown = null;
for (let i = 0; i < 200_000; i++) chain = [chain, new Map([[chain, i]])];
(globalThis as any).chain = chain;
return "ended";
