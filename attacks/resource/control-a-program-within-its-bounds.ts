// control: a program that uses much of everything, and not too much, ends with its value
// property: S23
// expect: value [1000000, 5000000, 2000, 1000]
// timeout_ms: 10000
const list = new Array(1_000_000).fill(1);
const text = "x".repeat(5_000_000);
const depth = ((f: (n: number) => number) => f(2000))(function f(n: number): number { return n === 0 ? 0 : 1 + f(n - 1); });
let ticks = 0;
for (let i = 0; i < 1000; i++) { await null; ticks += 1; }
return [list.length, text.length, depth, ticks];
