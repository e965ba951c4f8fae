// control: a stack trace names the program's own functions, so a foreign frame in it would be seen
// property: S55
// expect: value ["named"]
function named() { throw new Error("x"); }
try { named(); } catch (e) {
  return e.stack.split("\n").filter((l: string) => l.includes("named")).map(() => "named");
}
