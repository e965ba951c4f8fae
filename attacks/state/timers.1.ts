// attack: leaves timers, intervals and microtasks behind when it ends
// property: S12
// expect: value "left"
for (let i = 0; i < 100; i++) setTimeout(() => console.log("a late timer"), i);
setInterval(() => console.log("a late interval"), 1);
const spin = (n: number): void => { if (n < 1000) queueMicrotask(() => spin(n + 1)); };
spin(0);
// Timers that are set before a race do not keep the program.
void Promise.race([0]);
return "left";
