// attack: throws an error whose message, name, stack and hint are megabytes
// property: S25
// timeout_ms: 5000
// expect: error exception
// message: yyyy
const e: any = new Error("y".repeat(8 << 20));
e.name = "y".repeat(1 << 20);
e.stack = "at x (program:1:1)\n".repeat(1 << 18);
e.hint = "y".repeat(1 << 20);
throw e;
