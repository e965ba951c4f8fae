// attack: frees a chain of a million objects at once, where a recursive destructor would overflow
// property: S24
// timeout_ms: 20000
// expect: value "freed"
let chain: unknown = null;
for (let i = 0; i < 1_000_000; i++) chain = { next: chain };
chain = null;
let closures: (() => unknown) | null = null;
for (let i = 0; i < 300_000; i++) { const inner = closures; closures = () => inner; }
closures = null;
return "freed";
