// control: code made by `Function` runs, and sees the globals of this program and nothing else
// property: S06
// expect: value [true, "visible", 3]
globalThis.planted = "visible";
const inner = new Function("return globalThis")();
return [inner === globalThis, inner.planted, (0, eval)("1 + 2")];
