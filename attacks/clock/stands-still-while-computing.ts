// attack: reads every clock around a long computation, looking for one that moves
// property: S20
// timeout_ms: 10000
// expect: value []
const clocks: Record<string, () => number> = {
  date: () => Date.now(), newDate: () => +new Date(), performance: () => performance.now(), called: () => Date.parse(Date()),
  format: () => Date.parse(new Date().toISOString()), budget: () => budget.elapsedMs, remaining: () => budget.remainingMs, intl: () => +new Intl.DateTimeFormat("en-US", { fractionalSecondDigits: 3 } as any).format().slice(-3),
  origin: () => performance.timeOrigin, uuid: () => 0,
};
const before = Object.entries(clocks).map(([name, read]) => [name, read()]);
let x = 0;
for (let i = 0; i < 3_000_000; i++) x += Math.sqrt(i);
for (let i = 0; i < 100; i++) await null;
console.log(x);
return before.filter(([name, then]) => clocks[name as string]() !== then);
