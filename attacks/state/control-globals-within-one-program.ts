// control: globals, prototypes and timers are seen later in the same program
// property: S12
// expect: value ["global", "prototype", "timer", "symbol"]
(globalThis as any).left = "global";
(Object.prototype as any).left2 = "prototype";
let fired = "";
setTimeout(() => { fired = "timer"; }, 1);
await new Promise((resolve) => setTimeout(resolve, 10));
(globalThis as any)[Symbol.for("left")] = "symbol";
return [(globalThis as any).left, ({} as any).left2, fired, (globalThis as any)[Symbol.for("left")]];
